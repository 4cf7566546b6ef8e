"""Trees of several channels from cells of half words: those from wide cells, bit for bit.

Whole numbers and eighths fit both kinds of cells without rounding, and the search over half words
does the operations of the plain one in its order.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.tables import random_table
from native.test_categories import mixed_table
from weald import _native
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

CHANNELS = (2, 3, 4, 5, 8, 9, 17, 126)
ARRAYS = ("feature", "threshold", "right", "missing_left", "weight", "gain", "value", "words")


def random_limits(rng, n_columns: int) -> TreeLimits:
    return TreeLimits(
        growth=str(rng.choice(["best_first", "depth_wise"])),
        max_leaf_nodes=int(rng.choice([2, 8, 31])),
        min_samples_leaf=int(rng.choice([1, 2, 7])),
        min_child_weight=float(rng.choice([0.0, 1.75])),
        min_gain=float(rng.choice([0.0, -math.inf])),
        l2=float(rng.choice([0.0, 1.5])),
        max_features=int(rng.choice([(n_columns + 1) // 2, n_columns])),
        seed=5,
    )


def whole_numbers(rng, n_channels: int, n: int) -> np.ndarray:
    """Gradients with ties, zeros and a channel that is constant."""
    gradient = rng.integers(-9, 10, (n_channels, n)) * (rng.random(n) < 0.9)
    gradient[rng.integers(n_channels)] = int(rng.integers(-1, 2))
    return gradient.astype(np.float64)


def lesson(rng, n_channels: int, n: int) -> tuple:
    """Gradients, weights or none, copies or none."""
    weight = rng.integers(0, 9, n) / 8 if rng.random() < 0.5 else None
    copies = [None, rng.integers(0, 2, n), rng.integers(0, 50, n)][rng.integers(3)]
    if copies is not None:
        copies[0] = 1
    return whole_numbers(rng, n_channels, n), weight, copies


def tables(rng):
    """A table of numbers, and one of numbers and categories."""
    n = int(rng.choice([9, 60, 700]))
    n_columns = int(rng.choice([1, 8, 19]))
    for table in (random_table(rng, n, n_columns), mixed_table(rng, n, n_columns)):
        yield n, n_columns, bin_rows(Rows(table, np.zeros(n)), max_bins=255, n_threads=1)


def grown(binned, limits: TreeLimits, cells: str, given: tuple, n_threads: int = 1) -> GrownTree:
    grower = TreeGrower(binned, "newton", replace(limits, cells=cells), n_threads=n_threads)
    return grower.on_sums(*given)


def all_trees(n_channels: int, cells: str):
    rng = np.random.default_rng(n_channels)
    for _ in range(8):
        for n, n_columns, binned in tables(rng):
            limits, given = random_limits(rng, n_columns), lesson(rng, n_channels, n)
            tree = grown(binned, limits, cells, given, n_threads=int(rng.choice([1, 2, 8])))
            yield {name: getattr(tree, name).copy() for name in (*ARRAYS, "leaf_of_row")}


def digest() -> str:
    """Of the trees on half words; the processes of other instruction sets compute it, too."""
    return digest_of(tree for n in CHANNELS for tree in all_trees(n, "packed"))


@pytest.mark.parametrize("n_channels", CHANNELS)
def test_trees_are_those_of_wide_cells(n_channels: int) -> None:
    n_nodes = 0
    for cells in ("packed", "automatic"):
        both = zip(all_trees(n_channels, cells), all_trees(n_channels, "wide"), strict=True)
        for tree, twin in both:
            n_nodes += len(tree["feature"])
            for name, array in tree.items():
                np.testing.assert_array_equal(array, twin[name], err_msg=name)
    assert n_nodes > 50


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_every_instruction_set_grows_the_same_trees(instructions: str) -> None:
    assert_same_digest(instructions, "test_half_words", digest())


def test_any_number_of_threads_grows_the_same_tree() -> None:
    """Of enough rows to be worth several threads."""
    rng = np.random.default_rng(2)
    table = rng.normal(size=(20_000, 20))
    table[rng.random(table.shape) < 0.05] = np.nan
    binned = bin_rows(Rows(table, np.zeros(20_000)), max_bins=255, n_threads=1)
    given = rng.normal(size=(5, 20_000)), rng.random(20_000), rng.integers(0, 3, 20_000)
    one, *others = (grown(binned, LIMITS, "automatic", given, n) for n in (1, 2, 8))
    assert len(one.value) == 31
    assert all(same_trees(one, other) for other in others)


def random_task(target) -> tuple:
    """Bins of 2,000 rows, and three channels of what `target` draws."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(2000, 9))
    binned = bin_rows(Rows(table, np.zeros(2000)), max_bins=255, n_threads=1)
    signal = np.stack([table[:, 0], table[:, 1] ** 2, table[:, 2] * table[:, 3]])
    return binned, signal + target(rng, (3, 2000))


LIMITS = TreeLimits(max_leaf_nodes=31, min_gain=0.0, min_samples_leaf=5)


def gain_of(binned, gradient: np.ndarray, cells: str) -> float:
    return float(grown(binned, LIMITS, cells, (gradient, None, None)).gain.sum())


def same_trees(one: GrownTree, other: GrownTree) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def test_rounded_sums_find_splits_that_gain_as_much() -> None:
    """A step is small beside the channels: rounding changes few splits, and hardly the gains."""
    binned, gradient = random_task(lambda rng, shape: rng.normal(size=shape))
    assert gain_of(binned, gradient, "packed") == pytest.approx(
        gain_of(binned, gradient, "wide"), rel=1e-3
    )


def test_heavy_tails_fall_back_to_wide_cells() -> None:
    """One large number, and so many small ones that their sums leave no bits for a single one."""
    binned, gradient = random_task(lambda rng, shape: rng.normal(size=shape))
    gradient *= 2.0**-12
    gradient[:, 0] = 4.0
    copies = np.full(2000, 2**18)
    copies[0] = 1
    given = gradient, None, copies
    wide = grown(binned, LIMITS, "wide", given)
    assert same_trees(grown(binned, LIMITS, "automatic", given), wide)
    assert not same_trees(grown(binned, LIMITS, "packed", given), wide)


def test_a_channel_without_numbers_changes_nothing() -> None:
    """What counts is a step beside all channels: one of zeros does not need finer ones."""
    binned, gradient = random_task(lambda rng, shape: rng.normal(size=shape))
    with_zeros = np.vstack([gradient, np.zeros((1, 2000))])
    one = grown(binned, LIMITS, "automatic", (gradient, None, None))
    more = grown(binned, LIMITS, "automatic", (with_zeros, None, None))
    assert np.array_equal(one.feature, more.feature)
    assert np.array_equal(one.threshold, more.threshold)


@pytest.mark.parametrize(
    "own", [{"l1": 0.5}, {"growth": "symmetric", "max_leaf_nodes": 16}], ids=["l1", "symmetric"]
)
def test_other_searches_keep_wide_cells(own: dict) -> None:
    binned, gradient = random_task(lambda rng, shape: rng.normal(size=shape))
    limits = replace(LIMITS, **own)
    automatic, wide = (
        grown(binned, limits, cells, (gradient, None, None)) for cells in ("automatic", "wide")
    )
    assert same_trees(automatic, wide) and len(automatic.value) > 8
