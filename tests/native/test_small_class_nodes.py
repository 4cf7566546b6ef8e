"""Trees of several classes: small nodes at once, columns of two values by their bits."""

from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_labels import params
from native.test_small_nodes import assert_same
from weald import _native

BIG = 10**6  # a limit on leaves that none reaches: nodes are grown one by one, best first


def make_table(n: int, n_bits: int, seed: int = 0, missing: float = 0.0) -> np.ndarray:
    """Six columns of numbers among columns of two values, some of which nearly all rows share."""
    rng = np.random.default_rng(seed)
    numbers = np.column_stack(
        [rng.normal(size=(n, 3)), rng.integers(0, 3, n), rng.integers(0, 40, n), np.ones(n)]
    )
    numbers[rng.random(numbers.shape) < missing] = np.nan
    two = np.where(rng.random((n, n_bits)) < np.geomspace(0.002, 0.6, n_bits), 3.5, -0.25)
    table = np.column_stack([numbers, two])[:, rng.permutation(6 + n_bits)]
    table[: n // 20] = table[0]  # rows that no column parts
    return table


def make_classes(table: np.ndarray, n_classes: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    score = np.nan_to_num(table) @ rng.normal(size=(table.shape[1], n_classes))
    classes = (score + 8 * rng.gumbel(size=score.shape)).argmax(axis=1).astype(np.int32)
    classes[:n_classes] = np.arange(n_classes)
    return classes


def grow(
    table: np.ndarray,
    classes: np.ndarray,
    random_cuts: bool,
    copies: np.ndarray | None = None,
    **changed: Any,
) -> dict[str, np.ndarray]:
    """Two trees, and their out-of-bag predictions where no copies are given."""
    n, n_classes = len(table), int(classes.max()) + 1
    sums, counts = np.zeros((n, n_classes)), np.zeros(n, dtype=np.int32)
    draws = copies is None
    trees = _native.grow_forest(
        table=_native.RankedTable(table, np.arange(n), copies, 1, keeps_values=random_cuts),
        params=params(**{"max_features": 4, "random_cuts": random_cuts, **changed}),
        bootstrap=_native.Bootstrap(None, n, n, 3) if draws else None,
        weight=None,
        copies=copies,
        first=0,
        n_trees=2,
        oob_sums=sums if draws else None,
        oob_counts=counts if draws else None,
        values=None,
        classes=classes,
        n_classes=n_classes,
    )
    return trees | {"sums": sums, "counts": counts}


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("n_classes", [3, 7, 12, 30, 60])
@pytest.mark.parametrize(
    ("n_bits", "missing", "dtype"),
    [(0, 0.0, np.float32), (2, 0.2, np.float64), (12, 0.2, np.float32), (70, 0.0, np.float64)],
)
def test_small_nodes_are_grown_as_others_are(
    criterion: str, random_cuts: bool, n_classes: int, n_bits: int, missing: float, dtype: type
) -> None:
    """Counts of classes take 1, 2 or 4 words; of 60 classes they would take more."""
    table = make_table(900, n_bits, missing=missing).astype(dtype)
    classes = make_classes(table, n_classes)
    some = {"criterion": criterion}
    at_once = grow(table, classes, random_cuts, **some)
    assert len(at_once["feature"]) > 300
    assert_same(at_once, grow(table, classes, random_cuts, max_leaf_nodes=BIG, **some))


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"max_features": 18},
        {"max_features": 1},
        {"max_depth": 5},
        {"columns_of_tree": True, "max_features": 9},
        {"most_copies": 4},
        {"most_copies": 300},  # counts of many copies in few rows
        {"most_copies": 100_000},  # and of so many that they fit no word
    ],
    ids=str,
)
def test_settings(random_cuts: bool, settings: dict[str, Any]) -> None:
    table = make_table(500, 12, missing=0.1)
    classes = make_classes(table, 5)
    some = dict(settings)
    if "most_copies" in some:
        most = some.pop("most_copies")
        some["copies"] = np.random.default_rng(2).integers(1, most, len(table))
    at_once = grow(table, classes, random_cuts, **some)
    assert_same(at_once, grow(table, classes, random_cuts, max_leaf_nodes=BIG, **some))


def with_third_values(table: np.ndarray) -> np.ndarray:
    """One more row, as the first but for columns of two values: it has a third one."""
    has_two = [len(np.unique(column)) == 2 for column in table.T]
    return np.vstack([table, table[0] + np.where(has_two, 8.0, 0.0).astype(table.dtype)])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_features": 20},
        {"max_features": 1},
        {"min_samples_leaf": 3},
        {"columns_of_tree": True, "max_features": 9},
        {"max_leaf_nodes": 200},
    ],
    ids=str,
)
def test_bits_and_values_give_the_same_splits(
    criterion: str, random_cuts: bool, dtype: type, settings: dict[str, Any]
) -> None:
    """An unsampled row has a third value in all binary columns: none is stored as bits then."""
    n = 3000
    table = make_table(n, 14, missing=0.02).astype(dtype)
    classes = make_classes(table, 6)
    copies = np.random.default_rng(3).integers(1, 3, n)
    by_bits = grow(table, classes, random_cuts, copies, criterion=criterion, **settings)
    by_values = grow(
        with_third_values(table),
        np.append(classes, 0).astype(np.int32),
        random_cuts,
        np.append(copies, 0),
        criterion=criterion,
        **settings,
    )
    for trees in (by_bits, by_values):
        del trees["sums"], trees["counts"]
    assert len(by_bits["feature"]) > 300
    assert_same(by_bits, by_values)


@pytest.mark.parametrize(("n_classes", "most"), [(9, 3), (30, 40), (40, 3)])
def test_copies_are_rows_to_drawn_cuts(n_classes: int, most: int) -> None:
    """Large nodes too: of few bits for each class, a word counts but a block of rows."""
    table = make_table(2500, 9)
    classes = make_classes(table, n_classes)
    copies = np.random.default_rng(4).integers(1, most, len(table))
    every = np.repeat(np.arange(len(table)), copies)
    merged = grow(table, classes, True, copies, max_depth=3)
    single = grow(table[every], classes[every], True, np.ones(len(every), dtype=int), max_depth=3)
    for name in ("feature", "threshold", "gain", "weight", "value"):
        assert np.array_equal(merged[name], single[name]), name


def digest() -> str:
    table = make_table(2000, 14, missing=0.02)
    classes = make_classes(table, 6)
    return digest_of(grow(table, classes, random_cuts) for random_cuts in (False, True))


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_every_instruction_set_grows_the_same_trees(instructions: str) -> None:
    assert_same_digest(instructions, "test_small_class_nodes", digest())
