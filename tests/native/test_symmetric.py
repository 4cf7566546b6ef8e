"""Symmetric growth: one split for all nodes of a level, against the naive twin; invariants."""

import dataclasses

import numpy as np
import pytest

from native import naive
from native.learning import learn, random_limits, with_more
from native.naive_levels import LevelTwin
from native.tables import random_table
from native.test_tree_twin import codes_of_splits
from weald import _native
from weald.data import Rows, SortedTable, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits


def compare(
    criterion: str, seed: int, n: int, n_columns: int, cells: str = "wide", kind: str = ""
) -> int:
    rng = np.random.default_rng([seed, n, n_columns, 4])
    table = random_table(rng, n, n_columns)
    max_bins = int(rng.choice([2, 4, 8]))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
    cuts = [naive.cuts_of_column(column, [1] * n, max_bins) for column in table.T]
    codes = [naive.codes_of_column(x, c) for x, c in zip(table.T, cuts, strict=True)]
    limits = dataclasses.replace(
        random_limits(rng, criterion, cells),
        growth="symmetric",
        max_depth=None if rng.random() < 0.3 else int(rng.integers(1, 5)),
        max_leaf_nodes=None if rng.random() < 0.5 else int(rng.integers(2, 20)),
    )
    limits = with_more(limits, kind, rng, n_columns)
    grower = TreeGrower(binned, criterion, limits, n_threads=1 + seed % 3)
    tree, lesson = learn(criterion, grower, rng, n, cells, limits)
    guide = naive.Guide(tree.feature, codes_of_splits(tree, cuts), tree.missing_left, tree.right)
    names = [field.name for field in dataclasses.fields(naive.Limits)]
    twin = LevelTwin(
        codes,
        [len(c) + 1 for c in cuts],
        lesson,
        criterion,
        naive.Limits(**{name: getattr(limits, name) for name in names}),
        guide,
    ).grow()
    nodes, last = twin.in_order(), codes_of_splits(tree, cuts)
    assert len(nodes) == len(tree.feature)
    for i, node in enumerate(nodes):
        assert tree.weight[i] == pytest.approx(float(node.cell.weight), rel=1e-12)
        if node.split is None:
            assert tree.feature[i] == -1
            assert set(np.flatnonzero(tree.leaf_of_row == tree.right[i])) >= set(node.rows)
            continue
        assert (tree.feature[i], last[i]) == (node.split.column, node.split.code)
        assert node.split.missing_left in (None, bool(tree.missing_left[i]))
        assert tree.right[i] == nodes.index(node.right, i)
    return len(nodes)


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_equals_the_naive_twin(criterion: str, n_columns: int) -> None:
    sizes = [compare(criterion, seed, n=7 + 4 * seed, n_columns=n_columns) for seed in range(9)]
    assert max(sizes) > 5


@pytest.mark.parametrize("cells", ["packed", "automatic"])
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_packed_cells(cells: str, n_columns: int) -> None:
    sizes = [compare("newton", seed, 7 + 5 * seed, n_columns, cells) for seed in range(12)]
    assert max(sizes) > 5


# ---- invariants ----


def task(n: int = 3000, missing: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 100, (n, 9)).astype(np.float64)
    target = table[:, 0] * table[:, 1] + 40 * table[:, 2] + rng.integers(0, 900, n)
    table[rng.random(table.shape) < missing] = np.nan
    return table, target[np.newaxis]


def grow(
    table,
    values,
    limits: TreeLimits,
    n_threads: int = 1,
    copies=None,
    criterion: str = "squared_error",
) -> GrownTree:
    """By the newton criterion with hessians between 1/8 and 1, which depend on the first column."""
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=1)
    grower = TreeGrower(binned, criterion, limits, n_threads=n_threads)
    if criterion == "newton":
        return grower.on_sums(values, 1 / (1 + np.nan_to_num(table[:, 0]) % 8), copies)
    return grower.on_values(values, None, copies)


def depths(tree: GrownTree) -> np.ndarray:
    depth = np.zeros(len(tree.feature), dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[node + 1] = depth[tree.right[node]] = depth[node] + 1
    return depth


def assert_equal(a: GrownTree, b: GrownTree) -> None:
    for field in dataclasses.fields(GrownTree):
        assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


FIVE = TreeLimits(growth="symmetric", max_depth=5, min_gain=0.0)


def test_all_nodes_of_a_level_share_one_split() -> None:
    table, values = task()
    tree = grow(table, values, dataclasses.replace(FIVE, min_samples_leaf=20))
    depth = depths(tree)
    assert len(tree.value) > 16
    asked = [set() for _ in range(5)]
    for node in np.flatnonzero(tree.feature >= 0):
        question = (tree.feature[node], tree.threshold[node], tree.missing_left[node])
        asked[depth[node]].add(question)
    # Nodes left out of a level get the next level's split at a lower depth.
    assert len(set.union(*asked)) == 5
    assert len(asked[0]) == 1


def test_one_level_is_the_best_split() -> None:
    table, values = task()
    for least in (1, 400, 1200):
        limits = TreeLimits(max_depth=1, min_samples_leaf=least, min_gain=0.0)
        symmetric = dataclasses.replace(limits, growth="symmetric")
        assert_equal(grow(table, values, symmetric), grow(table, values, limits))


@pytest.mark.parametrize("most", [2, 3, 4, 31, 32, 33, 10**6])
def test_max_leaf_nodes_alone(most: int) -> None:
    table, values = task()
    tree = grow(table, values, TreeLimits(growth="symmetric", max_leaf_nodes=most))
    assert len(tree.value) <= most
    assert len(tree.value) > min(most, 2000) // 2


def test_max_depth_alone() -> None:
    table, values = task(missing=0.0)
    for most in (1, 2, 5):
        tree = grow(table, values, TreeLimits(growth="symmetric", max_depth=most))
        assert depths(tree).max() == most


def test_without_limits_leaves_are_pure() -> None:
    rng = np.random.default_rng(2)
    table = rng.permuted(np.tile(np.arange(60.0), (2, 1)), axis=1).T
    values = rng.normal(size=(1, 60))
    tree = grow(table, values, TreeLimits(growth="symmetric"))
    assert np.array_equal(tree.value[tree.leaf_of_row, 0], values[0])


def test_min_samples_leaf_counts_copies() -> None:
    table, values = task()
    copies = np.random.default_rng(3).integers(0, 4, len(table))
    limits = dataclasses.replace(FIVE, min_samples_leaf=37)
    tree = grow(table, values, limits, copies=copies)
    assert np.bincount(tree.leaf_of_row, weights=copies).min() >= 37
    repeated = grow(np.repeat(table, copies, axis=0), np.repeat(values, copies, axis=1), limits)
    for name in ("feature", "right", "missing_left", "weight", "gain", "value"):
        assert np.array_equal(getattr(tree, name), getattr(repeated, name)), name


@pytest.mark.parametrize("criterion", ["squared_error", "newton"])
@pytest.mark.parametrize("least", [1, 300])
def test_same_for_any_number_of_threads_and_order_of_rows(criterion: str, least: int) -> None:
    table, values = task(20_000)
    limits = dataclasses.replace(FIVE, min_samples_leaf=least)
    alone = grow(table, values, limits, criterion=criterion)
    assert np.bincount(alone.leaf_of_row).min() >= least
    for n_threads in (2, 5):
        assert_equal(grow(table, values, limits, n_threads, criterion=criterion), alone)
    order = np.random.default_rng(4).permutation(len(table))
    shuffled = grow(table[order], values[:, order], limits, criterion=criterion)
    assert np.array_equal(shuffled.leaf_of_row, alone.leaf_of_row[order])
    assert np.array_equal(shuffled.value, alone.value)


def test_more_histograms_than_are_kept() -> None:
    """Copies of the columns, which are never used, leave no memory for a level's histograms."""
    rng = np.random.default_rng(6)
    table = rng.integers(0, 250, (250, 60)).astype(np.float64)
    classes = rng.integers(0, 30, 250).astype(np.int32)
    limits = TreeLimits(growth="symmetric", max_depth=6)
    trees = []
    for n_copies in (1, 8):
        binned = bin_rows(Rows(np.tile(table, n_copies), classes), max_bins=255, n_threads=1)
        grower = TreeGrower(binned, "gini", limits, n_threads=2)
        trees.append(grower.on_classes(classes, 30, None, None))
    assert len(trees[0].value) > 20
    for name in ("feature", "threshold", "right", "leaf_of_row", "value"):
        assert np.array_equal(getattr(trees[0], name), getattr(trees[1], name)), name


@pytest.mark.parametrize("cells", ["packed", "blocks", "wide"])
def test_same_tree_with_and_without_bundles(cells: str) -> None:
    """Rows that are not used make the table large enough for columns to be bundled."""
    rng = np.random.default_rng(7)
    n, n_used = 20_000, 8_000
    kinds = rng.integers(0, 40, n)
    numbers = rng.integers(0, 90, (n, 5))
    table = np.column_stack([kinds[:, np.newaxis] == np.arange(40), numbers]).astype(np.float64)
    table[rng.random(n) < 0.1, :40] = np.nan
    gradient = (kinds % 7 - numbers[:, 0] // 30 * (numbers[:, 1] > 40.0))[np.newaxis]
    limits = dataclasses.replace(FIVE, min_samples_leaf=30, cells=cells)
    bundled = grow(table, gradient, limits, 2, (np.arange(n) < n_used) * 1, "newton")
    alone = grow(table[:n_used], gradient[:, :n_used], limits, criterion="newton")
    assert len(alone.value) > 10
    assert set(alone.feature) & set(range(40))
    for name in ("feature", "threshold", "missing_left", "right", "value"):
        assert np.array_equal(getattr(alone, name), getattr(bundled, name)), name


def test_order_and_scale_of_columns() -> None:
    table, values = task()
    before = grow(table, values, FIVE)
    order = np.random.default_rng(5).permutation(9)
    after = grow(table[:, order] * 2.0**40, values, FIVE)
    assert np.array_equal(after.leaf_of_row, before.leaf_of_row)
    inner = before.feature >= 0
    assert np.array_equal(order[after.feature[inner]], before.feature[inner])
    assert np.array_equal(after.threshold[inner], before.threshold[inner] * 2.0**40)
    extra = np.column_stack([np.full(len(table), 3.0), table, table[:, 0]])
    wider = grow(extra, values, FIVE)
    assert np.array_equal(wider.leaf_of_row, before.leaf_of_row)


def test_is_not_for_sorted_tables() -> None:
    table, _ = task(50)
    with pytest.raises(ValueError, match="symmetric growth is for codes"):
        TreeGrower(SortedTable(table, None, None), "newton", FIVE, n_threads=1)
