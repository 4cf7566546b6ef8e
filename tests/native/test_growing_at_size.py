"""Trees on tables large enough for several threads, parts and recounts: always the same tree."""

import dataclasses

import numpy as np
import pytest

from weald import _native
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits


def assert_equal(a: GrownTree, b: GrownTree) -> None:
    for field in dataclasses.fields(GrownTree):
        assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


def grow(criterion: str, table, limits: TreeLimits, n_threads: int, copies=None) -> GrownTree:
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=n_threads)
    grower = TreeGrower(binned, criterion, limits, n_threads=n_threads)
    target = table[:, 0] * table[:, -1] + (table[:, 1] > 0)
    if criterion == "newton":
        return grower.on_sums(target[np.newaxis], None, copies)
    if criterion in ("squared_error", "poisson"):
        target = np.abs(target) if criterion == "poisson" else target
        return grower.on_values(target[np.newaxis], None, copies)
    classes = np.digitize(target, [-0.5, 0.5, 1.0]).astype(np.int32)
    return grower.on_classes(classes, 4, None, copies)


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("cells", ["automatic", "wide"])
def test_same_tree_for_any_number_of_threads(criterion: str, cells: str) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(70_000, 9))
    table[rng.random(table.shape) < 0.05] = np.nan
    table[:, 0], table[:, 1] = rng.normal(size=(2, 70_000))
    table[:, -1] = rng.integers(0, 50, 70_000)
    limits = TreeLimits(max_leaf_nodes=8, min_samples_leaf=3, min_gain=0.0, cells=cells)
    copies = rng.integers(0, 3, 70_000)
    alone = grow(criterion, table, limits, 1, copies)
    assert len(alone.value) == 8
    for n_threads in (2, 5):
        assert_equal(grow(criterion, table, limits, n_threads, copies), alone)


@pytest.mark.parametrize("criterion", ["newton", "gini"])
def test_many_columns(criterion: str) -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(500, 130))
    limits = TreeLimits(max_leaf_nodes=6)
    alone = grow(criterion, table, limits, 1)
    # Unused columns in front move the used ones to other places of their group and tile.
    for shift in (1, 7, 63):
        moved = np.column_stack([table[:, :2], np.zeros((500, shift)), table[:, 2:]])
        other = grow(criterion, moved, limits, 3)
        column = np.where(other.feature >= 2, other.feature - shift, other.feature)
        assert np.array_equal(column, alone.feature)
        assert np.array_equal(other.threshold, alone.threshold)
        assert np.array_equal(other.value, alone.value)


def test_more_histograms_than_are_kept() -> None:
    """Best-first growth on many columns and classes recounts what it could not keep; without a
    limit on leaves growth is depth first and keeps few. Fully grown, the trees are the same."""
    rng = np.random.default_rng(2)
    table = rng.integers(0, 250, (250, 400)).astype(np.float64)
    classes = rng.integers(0, 30, 250).astype(np.int32)
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=1)
    trees = [
        TreeGrower(binned, "gini", TreeLimits(max_leaf_nodes=most), n_threads=1).on_classes(
            classes, 30, None, None
        )
        for most in (None, 10_000)
    ]
    assert_equal(*trees)


def test_a_deep_chain_needs_no_stack() -> None:
    n = 250
    table = np.arange(float(n))[:, np.newaxis]
    values = 4.0 ** np.arange(n)[np.newaxis] * 2.0**-500
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=1)
    tree = TreeGrower(binned, "squared_error", TreeLimits(), n_threads=1).on_values(
        values, None, None
    )
    assert len(tree.value) == n
    # Each split separates the largest value, as long as the others are not zero as doubles.
    depth = np.zeros(len(tree.feature), dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[node + 1] = depth[tree.right[node]] = depth[node] + 1
    assert depth.max() > 20


def test_a_grower_is_used_again_and_again() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(300, 5))
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=1)
    targets = rng.normal(size=(5, 1, 300))
    used = TreeGrower(binned, "newton", TreeLimits(max_leaf_nodes=7), n_threads=2)
    for target in targets:
        fresh = TreeGrower(binned, "newton", TreeLimits(max_leaf_nodes=7), n_threads=2)
        assert_equal(used.on_sums(target, None, None), fresh.on_sums(target, None, None))


def test_unsampled_rows_still_fall_into_a_leaf() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(300, 3))
    table[rng.random(table.shape) < 0.2] = np.nan
    binned = bin_rows(Rows(table, table[:, 0]), max_bins=255, n_threads=1)
    copies = rng.integers(0, 2, 300)
    tree = TreeGrower(binned, "newton", TreeLimits(max_leaf_nodes=9), n_threads=1).on_sums(
        rng.normal(size=(1, 300)), None, copies
    )
    for row in range(300):
        at = 0
        while tree.feature[at] >= 0:
            x = table[row, tree.feature[at]]
            goes_left = bool(tree.missing_left[at]) if np.isnan(x) else x <= tree.threshold[at]
            at = at + 1 if goes_left else tree.right[at]
        assert tree.leaf_of_row[row] == tree.right[at]
