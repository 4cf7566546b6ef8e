"""Columns that mostly hold the same are counted by lists: the trees are those of whole columns."""

import numpy as np
import pytest

from native.test_sorted_engine import assert_equal, sorted_as
from weald import BoostedTreesClassifier
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

N = 18_000  # of fewer rows lists are not made
LIMITS = {"max_leaf_nodes": 40, "min_samples_leaf": 5, "min_gain": 0.0}


def amounts(rng: np.random.Generator, columns: int, usual: float) -> np.ndarray:
    """Columns of many values, but so large a share of zeros."""
    table = np.exp(rng.normal(size=(N, columns)))
    table[rng.random(table.shape) < usual] = 0.0
    return table.astype(np.float32)


def table_of(kind: str) -> np.ndarray:
    """Tables whose usual codes lie at the bottom, at the top, among the missing, or nowhere."""
    rng = np.random.default_rng(11)
    if kind == "zeros":
        return amounts(rng, 21, 0.9)
    if kind == "one column":
        return amounts(rng, 1, 0.9)
    if kind == "no row is usual":
        return np.where(rng.random((N, 9)) < 0.7, 0.0, rng.normal(size=(N, 9))).astype(np.float32)
    if kind == "missing":
        table = amounts(rng, 17, 0.95)
        table[:, ::2] = np.where(table[:, ::2] == 0.0, np.nan, -table[:, ::2])
        table[rng.random(table.shape) < 0.1] = np.nan
        return table
    if kind == "beside full columns":  # groups of eight with lists between groups without
        full = rng.normal(size=(N, 80)).astype(np.float32)
        full[:, 8:24] = amounts(rng, 16, 0.8)
        full[:, 60:] = amounts(rng, 20, 0.85)
        return full
    assert kind == "many blocks"  # more cells than 16 bits number
    return amounts(rng, 300, 0.95)


KINDS = ["zeros", "one column", "no row is usual", "missing", "beside full columns"]


def target_of(table: np.ndarray) -> np.ndarray:
    """Whole numbers: they are rounded to themselves, in packed cells and in wide ones."""
    rng = np.random.default_rng(12)
    seen = np.nan_to_num(np.clip(table[:, -24:], -2, 2), nan=0.7)
    sums = seen @ rng.normal(size=seen.shape[1])
    return np.rint(np.clip(2 * sums + rng.normal(size=N), -9, 9))[np.newaxis]


def grown(
    table: np.ndarray, cells: str, n_threads: int, copies: np.ndarray | None = None, bins: int = 255
) -> GrownTree:
    """A tree of words, which lists are of, or of wide cells without them, which they are not."""
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=bins, n_threads=1)
    limits = TreeLimits(**LIMITS, cells=cells)
    grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
    return grower.on_sums(target_of(table), None, copies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copies", [None, np.arange(N) % 3])
def test_same_tree_as_whole_columns(kind: str, copies: np.ndarray | None) -> None:
    table = table_of(kind)
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=255, n_threads=1)
    limits = TreeLimits(**LIMITS, cells="wide")
    one_by_one = TreeGrower(sorted_as(binned, table), "newton", limits, n_threads=1)
    expected = one_by_one.on_sums(target_of(table), None, copies)
    assert len(expected.value) > 10
    for n_threads in (1, 3):
        for cells in ("packed", "blocks"):
            assert_equal(grown(table, cells, n_threads, copies), expected)
    assert_equal(grown(table, "wide", 1, copies), expected)


def test_more_cells_than_two_bytes() -> None:
    table = table_of("many blocks")
    for cells in ("packed", "blocks"):
        assert_equal(grown(table, cells, 2), grown(table, "wide", 2))


@pytest.mark.parametrize("bins", [2, 7, 70])
def test_few_bins(bins: int) -> None:
    table = table_of("missing")
    for cells in ("packed", "blocks"):
        assert_equal(grown(table, cells, 2, bins=bins), grown(table, "wide", 2, bins=bins))


@pytest.mark.parametrize("has_levels", [False, True])
def test_order_of_rows_and_columns(has_levels: bool) -> None:
    """Full columns between the others leave no group of eight that is worth lists; a column of more
    categories than a byte can hold is counted by itself."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(13)
    full, zeros = rng.normal(size=(N, 16)).astype(np.float32), amounts(rng, 16, 0.9)
    table = np.column_stack([full, zeros])
    levels = rng.integers(0, 400, N)
    classes = (target_of(table)[0] + levels % 7 - 3 > 0).astype(int)
    frame = pandas.DataFrame(table, columns=[f"x{i}" for i in range(32)])
    if has_levels:
        frame["level"] = pandas.Categorical(levels)
    model = BoostedTreesClassifier(quality="fast", n_estimators=5, n_jobs=2).fit(frame, classes)
    order = rng.permutation(N)
    again = BoostedTreesClassifier(quality="fast", n_estimators=5, n_jobs=1)
    again.fit(frame.iloc[order], classes[order])
    assert again.fingerprint() == model.fingerprint()
    by_turns = np.arange(32).reshape(2, 16).T.ravel().tolist() + [32] * has_levels
    mixed = frame.iloc[:, by_turns]
    again.fit(mixed, classes)
    assert np.array_equal(again.predict_proba(mixed), model.predict_proba(frame))


@pytest.mark.parametrize("kind", ["counts", "four values"])
@pytest.mark.parametrize("copies", [None, np.arange(N) % 3])
def test_rows_of_rare_codes_are_counted_together(kind: str, copies: np.ndarray | None) -> None:
    """With weights, sums of packed cells do not tell whether a child has enough rows. Here that
    is open in more columns than lists have entries, or than there are bundles of columns of four
    values, so that the rows of all columns are counted at once."""
    rng = np.random.default_rng(14)
    if kind == "counts":
        table = np.where(rng.random((N, 120)) < 0.01, rng.poisson(1.0, (N, 120)) + 1, 0)
    else:
        table = rng.integers(0, 4, (N, 30))
    weight = np.where(rng.random(N) < 0.9, 1.0, 4.0)
    sums = np.rint(rng.normal(scale=3.0, size=(1, N)))
    binned = bin_rows(Rows(table.astype(np.float32), np.zeros(N)), max_bins=255, n_threads=1)

    def tree(cells: str, n_threads: int) -> GrownTree:
        limits = TreeLimits(max_leaf_nodes=300, min_samples_leaf=30, min_gain=0.0, cells=cells)
        return TreeGrower(binned, "newton", limits, n_threads=n_threads).on_sums(
            sums, weight, copies
        )

    expected = tree("wide", 1)
    assert len(expected.value) > 100
    for n_threads in (1, 3):
        for cells in ("packed", "blocks"):
            assert_equal(tree(cells, n_threads), expected)
