"""The core trusts nothing from outside: what is damaged or out of range is refused."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesRegressor, _native
from weald.data import Rows, bin_rows
from weald.losses import BuiltinLoss
from weald.resampling import RowSamples
from weald.trees import (
    Forest,
    ForestGrower,
    ForestLimits,
    ForestRows,
    OutOfBag,
    TreeGrower,
    TreeLimits,
)


def small_forest() -> Forest:
    x = np.arange(40.0)[:, np.newaxis]
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=2, min_samples_leaf=5, max_leaf_nodes=4
    )
    return model.fit(x, np.sin(x[:, 0])).forest_


def changed(array: np.ndarray, place: int, value: float) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


DAMAGE = {
    "a column that is not there": lambda f: {"feature": changed(f.feature, 0, 1)},
    "a strange mark": lambda f: {"feature": changed(f.feature, 0, -2)},
    "a right child that is the left": lambda f: {"right": changed(f.right, 0, 1)},
    "a right child behind": lambda f: {
        "right": changed(f.right, np.flatnonzero(f.feature >= 0)[-1], 0)
    },
    "a right child far out": lambda f: {"right": changed(f.right, 0, 2**30)},
    "a leaf that is not there": lambda f: {"right": changed(f.right, -1, 9)},
    "a leaf named twice": lambda f: {
        "right": changed(f.right, np.flatnonzero(f.feature < 0)[1], 0)
    },
    "no number as threshold": lambda f: {"threshold": changed(f.threshold, 0, np.nan)},
    "an output that is not there": lambda f: {"output": changed(f.output, 0, 1)},
    "a tree that begins before it ends": lambda f: {"first_node": changed(f.first_node, 1, 99)},
    "leaves of another number": lambda f: {"first_leaf": changed(f.first_leaf, 1, 1)},
    "arrays of other lengths": lambda f: {"threshold": f.threshold[:-1]},
    "no columns": lambda _: {"n_columns": 0},
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_forest_is_refused(what: str) -> None:
    forest = small_forest()
    damaged = replace(forest, **DAMAGE[what](forest))
    with pytest.raises(ValueError, match="damaged|same length"):
        damaged.predict(np.zeros((3, 1)), n_threads=1)


def test_far_more_nodes_than_leaves_are_refused() -> None:
    n = 20_001
    feature, right = np.zeros(n, dtype=np.int32), np.full(n, n - 1, dtype=np.int32)
    feature[-1], right[-1] = -1, 0
    arrays = {
        "feature": feature,
        "threshold": np.zeros(n),
        "right": right,
        "missing_left": np.zeros(n, dtype=np.uint8),
        "value": np.ones((1, 1)),
        "first_node": np.array([0, n]),
        "first_leaf": np.array([0, 1]),
        "output": np.zeros(1, dtype=np.int32),
        "tree_weight": np.ones(1),
        "base_score": np.zeros(1),
        "category_set": np.full(n, -1, dtype=np.int32),
        "first_word": np.zeros(1, dtype=np.int64),
        "words": np.zeros(0, dtype=np.uint64),
        "n_columns": 1,
    }
    with pytest.raises(ValueError, match="damaged"):
        _native.Predictor(**arrays)


@pytest.mark.parametrize("n_threads", [0, -1, 2000])
def test_numbers_of_threads_are_checked(n_threads: int) -> None:
    table = np.zeros((4, 2))
    with pytest.raises(ValueError, match="n_threads"):
        _native.find_cuts(table, None, 255, n_threads)
    with pytest.raises(ValueError, match="n_threads"):
        _native.hash_rows(table, np.zeros(4), n_threads)


def test_wrong_numbers_of_scores_are_rejected() -> None:
    y, none = np.zeros(5), np.zeros((0, 5))
    with pytest.raises(ValueError, match="n_scores must be at least 1"):
        BuiltinLoss("squared_error", 0, 1).gradients(y, none, None, none.copy(), none.copy())
    two = np.zeros((2, 5))
    with pytest.raises(ValueError, match="several scores"):
        BuiltinLoss("squared_error", 2, 1).gradients(y, two, None, two.copy(), two.copy())


def grown(X, g, h, cells: str = "automatic", copies=None, **limits):
    table = np.array(X, dtype=float)[:, np.newaxis]
    binned = bin_rows(Rows(table, np.zeros(len(table))), max_bins=255, n_threads=1)
    limits = TreeLimits(max_leaf_nodes=2, min_gain=0.0, cells=cells, **limits)
    grower = TreeGrower(binned, "newton", limits, n_threads=1)
    return grower.on_sums(np.array([g], dtype=float), np.array(h, dtype=float), copies)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_hessians_are_finite_and_not_negative(bad: float) -> None:
    with pytest.raises(ValueError, match="finite|negative"):
        grown([0, 1, 2, 3], [1, 2, 3, 4], [1, bad, 1, 1])


@pytest.mark.parametrize("copies", [[-1, 1, 1, 1], [2**40, 1, 1, 1]])
def test_copies_are_in_range(copies: list[int]) -> None:
    with pytest.raises(ValueError, match="copies"):
        grown([0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 1], copies=np.array(copies, dtype=np.int64))


@pytest.mark.parametrize("cells", ["packed", "wide"])
@pytest.mark.parametrize(
    ("X", "g", "h"),
    [
        ([0] * 5 + [1] * 2 + [np.nan] * 3, [-1] * 5 + [1] * 2 + [0] * 3, [1] * 7 + [0] * 3),
        (
            [0] * 5 + [1] * 3 + [np.nan] * 2,
            [-1] * 5 + [0] * 3 + [1] * 2,
            [1] * 5 + [0] * 3 + [1] * 2,
        ),
    ],
    ids=["missing rows that weigh nothing", "present rows that weigh nothing"],
)
def test_rows_without_weight_still_count(cells: str, X, g, h) -> None:
    tree = grown(X, g, h, cells, min_samples_leaf=4)
    assert np.bincount(tree.leaf_of_row).tolist() == [5, 5]


def grower_on(table: np.ndarray, limits: TreeLimits) -> TreeGrower:
    binned = bin_rows(Rows(table, np.zeros(len(table))), max_bins=8, n_threads=1)
    return TreeGrower(binned, "newton", limits, n_threads=1)


BAD_LIMITS = {
    "more columns than there are": (TreeLimits(max_features=4), "number of columns"),
    "fewer columns than none": (TreeLimits(max_features=-1), "number of columns"),
    "a group of a column that is not there": (TreeLimits(groups=((0, 3),)), "columns of the table"),
    "a group of a column before the first": (TreeLimits(groups=((-1, 0),)), "columns of the table"),
    "an empty group": (TreeLimits(groups=((0, 1, 2), ())), "columns of the table"),
    "too few directions": (TreeLimits(directions=(1, 0)), "one entry per column"),
    "a direction that is none": (TreeLimits(directions=(1, 0, 2)), "-1, 0 or 1"),
    "a sampling that is none": (TreeLimits(feature_sampling="row"), "unknown sampling"),
    "draws of nodes in levels": (
        TreeLimits(growth="symmetric", max_features=1),
        "does not support column sampling per node",
    ),
    "levels taken back": (
        TreeLimits(growth="symmetric", prune_gain=1.0),
        "does not support pruning",
    ),
    "levels in sorted rows": (
        TreeLimits(growth="symmetric", cells="ordered"),
        "symmetric growth is not possible with cells='ordered'",
    ),
    "a negative penalty": (TreeLimits(l1=-1.0), "must not be negative"),
    "no number as penalty": (TreeLimits(l1=np.nan), "must not be negative"),
}


@pytest.mark.parametrize("what", BAD_LIMITS)
def test_limits_that_make_no_sense_are_refused(what: str) -> None:
    limits, message = BAD_LIMITS[what]
    with pytest.raises(ValueError, match=message):
        grower_on(np.arange(30.0).reshape(10, 3), limits)


def test_directions_are_of_numbers_and_of_two_classes() -> None:
    rows = Rows(np.arange(30.0).reshape(10, 3), np.zeros(10))
    binned = bin_rows(rows, max_bins=8, n_threads=1)
    grower = TreeGrower(binned, "gini", TreeLimits(directions=(1, 0, 0)), n_threads=1)
    classes = np.arange(10, dtype=np.int32) % 3
    with pytest.raises(ValueError, match="one score or two classes"):
        grower.on_classes(classes, 3, None, None)
    assert len(grower.on_classes(classes % 2, 2, None, None).value) > 1


def test_counts_are_not_negative() -> None:
    rows = Rows(np.arange(30.0).reshape(10, 3), np.zeros(10))
    binned = bin_rows(rows, max_bins=8, n_threads=1)
    grower = TreeGrower(binned, "poisson", TreeLimits(), n_threads=1)
    with pytest.raises(ValueError, match="non-negative"):
        grower.on_values(np.arange(-1.0, 9.0)[np.newaxis], None, None)


def test_squares_out_of_bag_belong_to_sums() -> None:
    X, n = np.arange(8.0)[:, np.newaxis], 8
    samples = RowSamples(seed=0, n_draws=n, place=np.arange(n), n=n)
    ranks = _native.RankedTable(X, np.arange(n), None, 1)
    rows = ForestRows(ranks, X[:, 0].copy(), None, 0, None, None, samples, 1)
    limits = ForestLimits(criterion="squared_error", max_features=1)
    for n_squares in (n - 1, 0):
        oob = OutOfBag(np.zeros((n, 1)), np.zeros(n_squares))
        with pytest.raises(ValueError, match="oob_squares must have one entry per row"):
            ForestGrower(rows, limits, seed=0, n_threads=1, out_of_bag=oob).grow(range(1))


BEYOND_MEMORY = """
import resource
from weald import _native

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    _native.empty_codes(2**20, 2**13)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_memory_exhaustion_raises_an_error_with_advice() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEYOND_MEMORY], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Out of memory in the compiled core. Use fewer rows"), done


def ranked_state(X: Any, **given: Any) -> tuple[Any, ...]:
    index = np.arange(len(X))
    return tuple(_native.RankedTable(X, index, None, 1, **given).__getstate__())


def test_a_damaged_ranked_table_is_refused() -> None:
    """A pickled table comes from another machine: every rank, bin and offset is checked."""
    X = np.column_stack([np.arange(300.0), np.arange(300) % 3])
    sound = ranked_state(X, n_levels=[0, 3])
    ranks, _, _, low, _, first, last, first_bin, _ = sound
    beyond = ranks.copy()
    beyond[7, 1] = 4
    wrong = [
        (0, beyond, "a rank is beyond"),
        (0, None, "either ranks or values"),
        (0, ranks[:0], "must have rows and columns"),
        (3, low[::-1].copy(), "must increase|levels in"),
        (3, low[1:].copy(), "must be all entries"),
        (4, low[1:].copy(), "an entry per rank"),
        (5, first[:-1].copy(), "first entry of every column"),
        (5, first[::-1].copy(), "must be all entries"),
        (5, np.array([0, -5, first[-1]]), "must not decrease"),
        (6, np.full_like(last, 65535), "must hold all its ranks"),
        (6, last[:0].copy(), "must be all entries"),
        (7, np.zeros_like(first_bin), "must be all entries"),
        (8, [0], "one entry per column"),
        (8, [0, 2], r"levels in \[0, n_levels\)|beyond"),
        (8, [0, 70000], "at most 65535 levels"),
    ]
    for place, value, message in wrong:
        state = (*sound[:place], value, *sound[place + 1 :])
        with pytest.raises(ValueError, match=message):
            _native.RankedTable.__new__(_native.RankedTable).__setstate__(state)
    values = ranked_state(X, keeps_values=True, n_levels=[0, 3])
    damaged = np.where(X == 2, 1.5, X).astype(np.float32)
    with pytest.raises(ValueError, match="levels in"):
        _native.RankedTable.__new__(_native.RankedTable).__setstate__((None, damaged, *values[2:]))
