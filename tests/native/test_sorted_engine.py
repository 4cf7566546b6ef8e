"""Rows kept sorted by every column give the trees that histograms give, and the exact ones."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from native import naive
from native.learning import learn, random_limits, with_more
from native.tables import random_table
from weald import _native
from weald.data import BinnedTable, Rows, SortedTable, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits


def assert_equal(a: GrownTree, b: GrownTree) -> None:
    for field in dataclasses.fields(GrownTree):
        if field.name == "saw_missing":
            continue  # for display only; not used with values
        assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


def sorted_as(binned: BinnedTable, table: np.ndarray) -> SortedTable:
    """The same cuts, for the other engine."""
    return SortedTable(table, binned.cuts, binned.first)


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_same_trees_as_from_histograms(criterion: str, kind: type) -> None:
    n_nodes = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        n, n_columns = int(rng.integers(5, 200)), int(rng.choice([1, 3, 9]))
        with np.errstate(over="ignore"):
            table = random_table(rng, n, n_columns).astype(kind)
        max_bins = int(rng.choice([2, 4, 16, 255]))
        binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
        limits = random_limits(rng, criterion, "wide")
        trees = [
            learn(
                criterion,
                TreeGrower(one, criterion, limits, n_threads=1 + seed % 3),
                np.random.default_rng([seed, 2]),
                n,
                "wide",
            )[0]
            for one in (binned, sorted_as(binned, table))
        ]
        assert_equal(*trees)
        n_nodes += len(trees[0].feature)
    assert n_nodes > 400


# ---- exact search ----


def rows_of_nodes(tree: GrownTree, table: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """The rows that come to each node."""
    came: list[np.ndarray] = [rows] * len(tree.feature)
    for node in np.flatnonzero(tree.feature >= 0):
        x = table[came[node], tree.feature[node]]
        left = np.where(np.isnan(x), tree.missing_left[node] != 0, x <= tree.threshold[node])
        came[node + 1], came[tree.right[node]] = came[node][left], came[node][~left]
    return came


def last_codes(tree: GrownTree, table: np.ndarray, codes: list[list[int]], rows) -> list[int]:
    """The last code, of those that come to a node, that its split sends left."""
    found = []
    for node, came in enumerate(rows_of_nodes(tree, table, rows)):
        column = tree.feature[node]
        if column < 0:
            found.append(0)
        elif np.isinf(tree.threshold[node]) and tree.threshold[node] > 0:
            found.append(max(codes[column]))
        else:
            x = table[came, column]
            found.append(max(codes[column][r] for r in came[x <= tree.threshold[node]]))
    return found


def assert_thresholds_are_between_neighbours(tree: GrownTree, table: np.ndarray, rows) -> None:
    for node, came in enumerate(rows_of_nodes(tree, table, rows)):
        if tree.feature[node] < 0:
            continue
        x, threshold = table[came, tree.feature[node]], tree.threshold[node]
        below, above = x[x <= threshold], x[x > threshold]
        if above.size:
            assert threshold == naive.cut_between(float(below.max()), float(above.min()))
        else:
            assert threshold == np.inf and np.isnan(x).any()


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 2, 9])
def test_exact_trees_equal_the_naive_twin_s(criterion: str, n_columns: int) -> None:
    compare_exact(criterion, n_columns)


def compare_exact(criterion: str, n_columns: int, kind: str = "") -> None:
    """Trees on random tables; `kind`: further limits."""
    for seed in range(12):
        rng = np.random.default_rng([seed, n_columns, 3])
        n = 7 + 6 * seed
        table = random_table(rng, n, n_columns)
        limits = with_more(random_limits(rng, criterion, "wide"), kind, rng, n_columns)
        grower = TreeGrower(
            SortedTable(table, None, None), criterion, limits, n_threads=1 + seed % 2
        )
        tree, lesson = learn(criterion, grower, rng, n, "wide", limits)
        rows = np.flatnonzero([cell.copies > 0 for cell in lesson.cells])
        cuts = [naive.cuts_of_column(column, [1] * n, n + 1) for column in table.T]
        codes = [naive.codes_of_column(x, c) for x, c in zip(table.T, cuts, strict=True)]
        last = last_codes(tree, table, codes, rows)
        twin = naive.TreeTwin(
            codes,
            [max(column) for column in codes],
            lesson,
            criterion,
            naive.Limits(
                **{f.name: getattr(limits, f.name) for f in dataclasses.fields(naive.Limits)}
            ),
            naive.Guide(tree.feature, last, tree.missing_left, tree.right),
        ).grow()
        nodes = twin.in_order()
        assert len(nodes) == len(tree.feature)
        for i, node in enumerate(nodes):
            assert tree.weight[i] == pytest.approx(float(node.cell.weight), rel=1e-12)
            if node.split is None:
                assert tree.feature[i] == -1
                continue
            assert (tree.feature[i], last[i]) == (node.split.column, node.split.code)
            assert node.split.missing_left in (None, bool(tree.missing_left[i]))
        assert_thresholds_are_between_neighbours(tree, table, rows)


def big_task() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    table = rng.normal(size=(20_000, 5)).astype(np.float32)
    table[:, 3] = np.round(table[:, 3], 1)
    table[rng.random(table.shape) < 0.05] = np.nan
    gradient = np.nan_to_num(table[:, 0] * table[:, 1]) + rng.normal(size=20_000)
    return table, gradient[np.newaxis], rng.integers(0, 3, 20_000)


LIMITS = TreeLimits(max_leaf_nodes=40, min_samples_leaf=3, min_gain=0.0)


@pytest.mark.parametrize("is_exact", [True, False])
def test_same_tree_for_any_number_of_threads_and_layout(is_exact: bool) -> None:
    table, gradient, copies = big_task()
    cuts, first = _native.find_cuts(table, None, 3000, 1)
    where = (None, None) if is_exact else (cuts, first)
    alone = TreeGrower(SortedTable(table, *where), "newton", LIMITS, n_threads=1)
    expected = alone.on_sums(gradient, None, copies)
    assert len(expected.value) == 40
    for other in (table, np.asfortranarray(table), table.astype(np.float64)):
        grower = TreeGrower(SortedTable(other, *where), "newton", LIMITS, n_threads=3)
        grower.on_sums(-gradient, None, None)  # what one tree leaves behind does not matter
        again = grower.on_sums(gradient, None, copies)
        expected = alone.on_sums(gradient, None, copies)
        assert_equal(again, expected)


def test_copies_are_repetitions_and_no_copies_are_absence() -> None:
    table, gradient, copies = big_task()
    weighted = TreeGrower(SortedTable(table, None, None), "newton", LIMITS, n_threads=2)
    repeated = TreeGrower(
        SortedTable(np.repeat(table, copies, axis=0), None, None), "newton", LIMITS, n_threads=2
    )
    a = weighted.on_sums(gradient, None, copies)
    b = repeated.on_sums(np.repeat(gradient, copies, axis=1), None, None)
    for name in ("feature", "threshold", "right", "missing_left", "weight", "gain", "value"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_unsampled_rows_fall_into_the_leaf_of_their_value() -> None:
    """Also those whose value lies between the two that a threshold is the middle of."""
    rng = np.random.default_rng(6)
    table = rng.integers(0, 40, (300, 2)).astype(np.float64)
    copies = (rng.random(300) < 0.2).astype(np.int64)
    tree = TreeGrower(
        SortedTable(table, None, None), "squared_error", TreeLimits(), n_threads=1
    ).on_values(rng.normal(size=(1, 300)), None, copies)
    came = rows_of_nodes(tree, table, np.arange(300))
    for node in np.flatnonzero(tree.feature < 0):
        assert (tree.leaf_of_row[came[node]] == tree.right[node]).all()


def test_a_constant_column_is_never_split_on() -> None:
    table = np.column_stack([np.full(50, 2.0), np.full(50, np.nan), np.arange(50.0)])
    grower = TreeGrower(SortedTable(table, None, None), "squared_error", TreeLimits(), n_threads=1)
    tree = grower.on_values(np.arange(50.0)[np.newaxis], None, None)
    assert set(tree.feature) == {-1, 2} and len(tree.value) == 50
    nothing = TreeGrower(
        SortedTable(table[:, :2], None, None), "squared_error", TreeLimits(), n_threads=1
    ).on_values(np.arange(50.0)[np.newaxis], None, None)
    assert len(nothing.value) == 1


# ---- more than 255 bins ----


@pytest.mark.parametrize(("max_bins", "kind"), [(1000, BinnedTable), (2600, SortedTable)])
def test_many_bins_have_thresholds_by_the_rule(max_bins: int, kind: type) -> None:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(5000, 3))
    table[:2000, 1] = 0.5  # a heavy value is alone in its bin
    binned = bin_rows(Rows(table, np.zeros(5000)), max_bins=max_bins, n_threads=1)
    assert isinstance(binned, kind)
    for column in range(3):
        cuts = binned.cuts[binned.first[column] : binned.first[column + 1]]
        assert cuts.tolist() == naive.cuts_of_column(table[:, column], [1] * 5000, max_bins)
    tree = TreeGrower(binned, "squared_error", TreeLimits(), n_threads=1).on_values(
        rng.normal(size=(1, 5000)), None, None
    )
    for column in range(3):
        used = tree.threshold[tree.feature == column]
        assert len(set(used)) > 300
        assert set(used) <= set(binned.cuts[binned.first[column] : binned.first[column + 1]])


def test_up_to_255_values_need_no_more_bins() -> None:
    table = np.random.default_rng(8).integers(0, 255, (1000, 4)).astype(np.float64)
    few, many = (
        bin_rows(Rows(table, np.zeros(1000)), max_bins=most, n_threads=1) for most in (255, 65535)
    )
    assert isinstance(many, BinnedTable)
    assert np.array_equal(few.codes, many.codes) and np.array_equal(few.cuts, many.cuts)


# ---- what is refused ----


def test_damaged_cuts_are_refused() -> None:
    table = np.arange(8.0).reshape(4, 2)
    good = SortedTable(table, np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]))
    TreeGrower(good, "newton", TreeLimits(), n_threads=1)
    for cuts in ([2.0, 1.0, 3.0], [1.0, np.nan, 3.0], [1.0, 1.0, 3.0]):
        with pytest.raises(ValueError, match="strictly increasing"):
            TreeGrower(replace(good, cuts=np.array(cuts)), "newton", TreeLimits(), n_threads=1)
    for first in ([0, 2], [0, 3, 2], [0, 2, 4], [1, 2, 3]):
        with pytest.raises(ValueError, match="cuts"):
            TreeGrower(replace(good, first=np.array(first)), "newton", TreeLimits(), n_threads=1)
    with pytest.raises(ValueError, match="passed together"):
        TreeGrower(replace(good, first=None), "newton", TreeLimits(), n_threads=1)
