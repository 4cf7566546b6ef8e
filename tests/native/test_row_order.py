"""Small tables: the search among rows in order finds what the search over packed cells finds."""

import dataclasses

import numpy as np
import pytest

from native.instructions import run_with
from native.learning import random_limits, with_more
from native.tables import random_column, random_target
from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import BinnedTable, Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

KINDS = ("distinct", "few", "binary", "constant", "zeros", "nearly_constant")
MOST_ROWS = 1024


def whole_table(rng, n: int, n_columns: int) -> np.ndarray:
    """No value is missing."""
    columns = [random_column(rng, str(rng.choice(KINDS)), n) for _ in range(n_columns)]
    return np.column_stack([*columns, columns[0], rng.normal(size=n)])


def random_lesson(rng, n: int) -> tuple:
    """Gradients, some of them zero; hessians, some zero or far smaller than others; rows drawn."""
    gradient = random_target(rng, n) * (rng.random(n) < rng.choice([0.5, 1.0]))
    hessian = [
        None,
        rng.integers(1, 9, n) / 8,
        rng.random(n) * (rng.random(n) < 0.8),
        10.0 ** -rng.integers(0, 9, n),
    ][rng.integers(4)]
    if hessian is not None:
        hessian[0] = 0.5  # beside none at all, any l2 would be too large
    copies = None
    if rng.random() < 0.4:
        copies = np.maximum(rng.random(n) < 0.6, np.arange(n) == 0).astype(np.int64)
    return gradient[np.newaxis], hessian, copies


def binned_of(table: np.ndarray, max_bins: int = 255) -> BinnedTable:
    return bin_rows(Rows(table, np.zeros(len(table))), max_bins=max_bins, n_threads=1)


def grown(binned: BinnedTable, limits: TreeLimits, lessons: list, cells: str) -> list[GrownTree]:
    limits = dataclasses.replace(limits, cells=cells)
    grower = TreeGrower(binned, "newton", limits, n_threads=1)
    trees = [grower.on_sums(*lesson) for lesson in lessons]
    return [dataclasses.replace(tree, leaf_of_row=tree.leaf_of_row.copy()) for tree in trees]


def compare(seed: int, kind: str = "") -> int:
    """Compares trees of one random table; returns how many splits these have."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.choice([2, 3, 15, 16, 17, 60, 200, 426, MOST_ROWS]))
    table = whole_table(rng, n, int(rng.integers(1, 12)))
    binned = binned_of(table, int(rng.choice([2, 7, 255])))
    limits = with_more(random_limits(rng, "newton", "packed"), kind, rng, table.shape[1])
    least = int(rng.choice([limits.min_samples_leaf, 20]))
    limits = dataclasses.replace(limits, min_samples_leaf=least)
    lessons = [random_lesson(rng, n) for _ in range(3)]
    pairs = zip(
        grown(binned, limits, lessons, "ordered"),
        grown(binned, limits, lessons, "packed"),
        strict=True,
    )
    n_splits = 0
    for ordered, packed in pairs:
        assert_equal(ordered, packed)
        n_splits += len(packed.value) - 1
    return n_splits


@pytest.mark.parametrize("kind", ["", "columns", "groups", "prune"])
def test_same_trees_as_from_packed_cells(kind: str) -> None:
    assert sum(compare(seed, kind) for seed in range(60)) > 300


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    run_with(
        instructions,
        "from native.test_row_order import compare\nfor seed in range(30): compare(seed)",
    )


def test_nearly_equal_scores_are_distinguished() -> None:
    """In single precision all these cuts score the same: the gains are millionths of the scores."""
    rng = np.random.default_rng(3)
    for n in (40, 300, MOST_ROWS):
        binned = binned_of(rng.normal(size=(n, 9)))
        gradient = (1000.0 + rng.random(n))[np.newaxis]
        limits = TreeLimits(max_leaf_nodes=31, min_samples_leaf=5, min_gain=0.0)
        lessons = [(gradient, None, None), (gradient, rng.random(n) * 1e-3 + 1.0, None)]
        for a, b in zip(
            grown(binned, limits, lessons, "ordered"),
            grown(binned, limits, lessons, "packed"),
            strict=True,
        ):
            assert_equal(a, b)
            assert len(a.value) > 2


@pytest.mark.parametrize("l2", [0.0, 1e-300, 1e9, 1e300])
def test_penalties_of_any_size(l2: float) -> None:
    """Where l2 is too large for single precision, cells are searched."""
    rng = np.random.default_rng(4)
    binned = binned_of(rng.normal(size=(300, 4)))
    lessons = [(rng.normal(size=(1, 300)), rng.random(300), None)]
    limits = TreeLimits(max_leaf_nodes=9, min_gain=0.0, l2=l2)
    for a, b in zip(
        grown(binned, limits, lessons, "automatic"),
        grown(binned, limits, lessons, "packed"),
        strict=True,
    ):
        assert_equal(a, b)


def test_what_cannot_be_searched_in_order_is_refused() -> None:
    rng = np.random.default_rng(5)
    limits = TreeLimits(max_leaf_nodes=4)
    n = 50
    gradient = rng.normal(size=(1, n))
    table = rng.normal(size=(n, 3))
    twice = np.full(n, 2)
    gaps = table.copy()
    gaps[7, 1] = np.nan
    many = rng.normal(size=(MOST_ROWS + 1, 2))
    for binned, more, lesson in (
        (binned_of(gaps), {}, (gradient, None, None)),
        (binned_of(table), {}, (gradient, None, twice)),
        (binned_of(table), {"l1": 0.5}, (gradient, None, None)),
        (binned_of(table), {"directions": (1, 0, 0)}, (gradient, None, None)),
        (binned_of(many), {}, (rng.normal(size=(1, len(many))), None, None)),
    ):
        with pytest.raises(ValueError, match="is not possible for this table"):
            grown(binned, dataclasses.replace(limits, **more), [lesson], "ordered")
