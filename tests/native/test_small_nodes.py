"""Small nodes grown to their leaves at once, beside the way of all nodes."""

from typing import Any

import numpy as np
import pytest

from native.test_labels import params
from weald import _native

N = 500
RNG = np.random.default_rng(8)
NUMBERS = np.column_stack(
    [RNG.normal(size=(N, 3)), RNG.integers(0, 3, (N, 2)), RNG.integers(0, 30, N), np.ones(N)]
)
SOME_MISSING = np.where(
    RNG.random(NUMBERS.shape) < [0.05, 0, 0.4, 0.1, 0, 0.02, 0.3], np.nan, NUMBERS
)
SOME_MISSING[:40] = SOME_MISSING[0]  # rows that no column parts
TARGET = NUMBERS[:, 0] + NUMBERS[:, 3] + RNG.normal(size=N)
TARGET[RNG.random(N) < 0.2] = 1.0  # pure nodes of several rows
BIG = 10**6  # a limit on leaves that none reaches: nodes are grown one by one, best first


def grow(
    table: np.ndarray, criterion: str, random_cuts: bool, copies: Any = None, **changed: Any
) -> dict[str, np.ndarray]:
    """Three trees, and their out-of-bag predictions where no copies are given."""
    of_numbers = {"values": TARGET, "classes": None, "n_classes": 0}
    of_classes = {"values": None, "classes": (TARGET > 1).astype(np.int32), "n_classes": 2}
    is_of_numbers = criterion == "squared_error"
    sums, counts = np.zeros((N, 1 if is_of_numbers else 2)), np.zeros(N, dtype=np.int32)
    trees = _native.grow_forest(
        table=_native.RankedTable(table, np.arange(N), None, 1, keeps_values=random_cuts),
        params=params(
            **{"max_features": 2, "criterion": criterion, "random_cuts": random_cuts, **changed}
        ),
        bootstrap=_native.Bootstrap(None, N, N, 3) if copies is None else None,
        weight=None,
        copies=copies,
        first=0,
        n_trees=3,
        oob_sums=sums if copies is None else None,
        oob_counts=counts if copies is None else None,
        **(of_numbers if is_of_numbers else of_classes),
    )
    return trees | {"sums": sums, "counts": counts}


def assert_same(some: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> None:
    assert some.keys() == others.keys()
    for name, array in some.items():
        assert array.tobytes() == others[name].tobytes(), name


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_features": 7},
        {"max_depth": 6},
        {"columns_of_tree": True, "max_features": 4},
        {"copies": RNG.integers(1, 4, N)},
    ],
    ids=str,
)
def test_small_nodes_are_grown_as_others_are(
    criterion: str, random_cuts: bool, dtype: type, has_missing: bool, settings: dict[str, Any]
) -> None:
    table = (SOME_MISSING if has_missing else NUMBERS).astype(dtype)
    at_once = grow(table, criterion, random_cuts, **settings)
    one_by_one = grow(table, criterion, random_cuts, max_leaf_nodes=BIG, **settings)
    assert len(at_once["feature"]) > 60
    assert_same(at_once, one_by_one)


@pytest.mark.parametrize("criterion", ["squared_error", "gini"])
def test_two_columns_of_many_that_are_constant(criterion: str) -> None:
    """Most draws find nothing to cut, in columns remembered for it and in those beyond these."""
    table = np.zeros((N, 300))
    table[:, [3, 7, 280, 295]] = NUMBERS[:, :4]
    at_once = grow(table, criterion, True)
    assert len(np.unique(at_once["feature"])) == 5
    assert_same(at_once, grow(table, criterion, True, max_leaf_nodes=BIG))


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e12, 1e300])
def test_numbers_of_any_size(size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "TARGET", TARGET * size)
    assert_same(
        grow(NUMBERS, "squared_error", False),
        grow(NUMBERS, "squared_error", False, max_leaf_nodes=BIG),
    )


def parted_pairs(trees: dict[str, np.ndarray]) -> np.ndarray:
    """Nodes of weight 2 that are split."""
    return np.flatnonzero((trees["weight"] == 2) & (trees["feature"] >= 0))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "gini"])
def test_two_rows_are_parted_half_way(criterion: str) -> None:
    """Every way there is for nodes of two rows: the lower value goes left, nothing is heavier."""
    n, limit = 300, {} if criterion != "gini" else {"max_leaf_nodes": BIG}
    x = np.sort(np.random.default_rng(1).normal(size=n))
    y = np.random.default_rng(2).permutation(n).astype(float)
    of_classes = {"values": None, "classes": (y % 3).astype(np.int32), "n_classes": 3}
    of_numbers = {"values": y, "classes": None, "n_classes": 0}
    trees = _native.grow_forest(
        table=_native.RankedTable(x[:, np.newaxis], np.arange(n), None, 1),
        params=params(max_features=1, criterion=criterion, **limit),
        bootstrap=None,
        weight=None,
        copies=None,
        first=0,
        n_trees=1,
        oob_sums=None,
        oob_counts=None,
        **(of_classes if criterion == "gini" else of_numbers),
    )
    pairs = parted_pairs(trees)
    half_way = x[:-1] / 2 + x[1:] / 2
    assert len(pairs) > n / 10
    assert np.isin(trees["threshold"][pairs], half_way).all()
    assert trees["missing_left"][pairs].all()
    left, right = pairs + 1, trees["right"][pairs]
    if criterion != "gini":
        value = trees["value"].ravel()
        place = np.searchsorted(half_way, trees["threshold"][pairs])
        assert np.array_equal(value[trees["right"][left]], y[place])
        assert np.array_equal(value[trees["right"][right]], y[place + 1])
