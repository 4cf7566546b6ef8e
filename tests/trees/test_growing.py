"""Growing one tree: limits, thresholds, what comes back, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

N = 200


def table_of(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permuted(np.tile(np.arange(float(N)), (3, 1)), axis=1).T


def grow(limits: TreeLimits, *, weight=None, copies=None) -> GrownTree:
    table = table_of()
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=255, n_threads=1)
    values = (np.sin(table[:, 0] / 20) + np.cos(table[:, 1] / 9))[np.newaxis]
    return TreeGrower(binned, "squared_error", limits, n_threads=1).on_values(
        values, weight, copies
    )


def depths(tree: GrownTree) -> np.ndarray:
    depth = np.zeros(len(tree.feature), dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[node + 1] = depth[tree.right[node]] = depth[node] + 1
    return depth


def test_without_limits_leaves_are_pure() -> None:
    assert len(grow(TreeLimits()).value) == N


@pytest.mark.parametrize("growth", ["best_first", "depth_wise"])
@pytest.mark.parametrize("most", [2, 3, 10, 199, 200, 2**60])
def test_max_leaf_nodes(growth: str, most: int) -> None:
    tree = grow(TreeLimits(growth=growth, max_leaf_nodes=most))
    assert len(tree.value) == min(most, N)


@pytest.mark.parametrize("most", [1, 2, 5, 2**60])
def test_max_depth(most: int) -> None:
    tree = grow(TreeLimits(max_depth=most))
    assert depths(tree).max() == min(most, depths(grow(TreeLimits())).max())
    assert len(tree.value) <= 2 ** min(most, 10)


def test_depth_wise_fills_level_by_level() -> None:
    tree = grow(TreeLimits(growth="depth_wise", max_leaf_nodes=16))
    is_leaf, depth = tree.feature < 0, depths(tree)
    # Only what cannot be split ends above the last level.
    assert (tree.weight[is_leaf & (depth < depth.max() - 1)] == 1).all()
    uneven = grow(TreeLimits(growth="best_first", max_leaf_nodes=16))
    assert uneven.gain.sum() >= tree.gain.sum()


@pytest.mark.parametrize("least", [1, 7, 50, 100])
def test_min_samples_leaf(least: int) -> None:
    tree = grow(TreeLimits(min_samples_leaf=least))
    assert np.bincount(tree.leaf_of_row).min() >= least
    assert len(tree.value) > 1


def test_min_samples_leaf_beyond_half_of_the_rows() -> None:
    for least in (101, 10**6, 2**70):
        assert len(grow(TreeLimits(min_samples_leaf=least)).value) == 1


def test_min_samples_split() -> None:
    tree = grow(TreeLimits(min_samples_split=30))
    inner = tree.feature >= 0
    assert tree.weight[inner].min() >= 30
    assert len(grow(TreeLimits(min_samples_split=N + 1)).value) == 1
    assert len(grow(TreeLimits(min_samples_split=2**70)).value) == 1


def test_min_samples_count_copies_and_not_weights() -> None:
    copies = np.full(N, 3)
    tree = grow(TreeLimits(min_samples_leaf=6), copies=copies)
    assert np.bincount(tree.leaf_of_row).min() == 2
    light = grow(TreeLimits(min_samples_leaf=6), weight=np.full(N, 0.01))
    assert np.bincount(light.leaf_of_row).min() >= 6


def test_min_child_weight_counts_weights() -> None:
    weight = np.random.default_rng(1).integers(1, 9, N) / 8
    tree = grow(TreeLimits(min_child_weight=4.0), weight=weight)
    assert np.bincount(tree.leaf_of_row, weights=weight).min() >= 4.0
    assert tree.weight[tree.feature < 0].min() >= 4.0


def test_weights_of_nodes_add_up() -> None:
    weight = np.random.default_rng(1).exponential(size=N)
    tree = grow(TreeLimits(max_leaf_nodes=20), weight=weight)
    assert tree.weight[0] == pytest.approx(weight.sum(), rel=1e-14)
    for node in np.flatnonzero(tree.feature >= 0):
        children = tree.weight[node + 1] + tree.weight[tree.right[node]]
        assert tree.weight[node] == pytest.approx(children, rel=1e-14)


def test_leaf_values_are_added_to_scores() -> None:
    tree = grow(TreeLimits(max_leaf_nodes=5))
    scores = np.arange(float(N))
    tree.add_to(scores, n_threads=1)
    assert np.array_equal(scores, np.arange(float(N)) + tree.value[tree.leaf_of_row, 0])


def test_thresholds_send_the_training_rows_where_they_were() -> None:
    tree, table = grow(TreeLimits(max_leaf_nodes=40)), table_of()
    for row in range(N):
        at = 0
        while tree.feature[at] >= 0:
            is_left = table[row, tree.feature[at]] <= tree.threshold[at]
            at = at + 1 if is_left else tree.right[at]
        assert tree.right[at] == tree.leaf_of_row[row]


def test_several_outputs_share_one_tree() -> None:
    table = table_of()
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=255, n_threads=1)
    values = np.stack([table[:, 0] > 100, table[:, 1] > 50]).astype(np.float64)
    tree = TreeGrower(binned, "squared_error", TreeLimits(), n_threads=1).on_values(
        values, None, None
    )
    assert tree.value.shape == (4, 2)
    assert np.array_equal(tree.value[tree.leaf_of_row], values.T)


def test_leaves_through_splits_that_gain_nothing() -> None:
    """Exclusive or: no first split helps, but two together do."""
    table = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    binned = bin_rows(Rows(table, np.zeros(4)), max_bins=255, n_threads=1)
    values = np.array([[0.0, 1.0, 1.0, 0.0]])
    tree = TreeGrower(binned, "squared_error", TreeLimits(), n_threads=1).on_values(
        values, None, None
    )
    assert np.array_equal(tree.value[tree.leaf_of_row, 0], values[0])
    stump = TreeGrower(binned, "squared_error", TreeLimits(min_gain=0.0), n_threads=1).on_values(
        values, None, None
    )
    assert len(stump.value) == 1


def test_wrong_shapes_are_refused() -> None:
    binned = bin_rows(Rows(table_of(), np.zeros(N)), max_bins=255, n_threads=1)
    newton = TreeGrower(binned, "newton", TreeLimits(), n_threads=1)
    gini = TreeGrower(binned, "gini", TreeLimits(), n_threads=1)
    with pytest.raises(ValueError, match="sums must have the shape"):
        newton.on_sums(np.zeros((1, N + 1)), None, None)
    with pytest.raises(ValueError, match="the newton criterion requires sums"):
        newton.on_classes(np.zeros(N, dtype=np.int32), 3, None, None)
    with pytest.raises(ValueError, match="weight must have one entry per row"):
        newton.on_sums(np.zeros((1, N)), np.ones(3), None)
    with pytest.raises(ValueError, match="copies must have one entry per row"):
        newton.on_sums(np.zeros((1, N)), None, np.ones(3, dtype=np.int64))
    for wrong in (-1, 3, 2**31 - 1):
        classes = np.zeros(N, dtype=np.int32)
        classes[7] = wrong
        with pytest.raises(ValueError, match="classes must be in"):
            gini.on_classes(classes, 3, None, None)


def test_codes_outside_their_bins_are_refused() -> None:
    """A table whose cuts do not belong to its codes would count outside the histogram."""
    binned = bin_rows(Rows(table_of(), np.zeros(N)), max_bins=255, n_threads=1)
    fewer = replace(binned, cuts=binned.cuts[:3], first=np.array([0, 1, 2, 3]))
    with pytest.raises(ValueError, match="codes must not exceed the bins of their column"):
        TreeGrower(fewer, "newton", TreeLimits(), n_threads=1)
    with pytest.raises(ValueError, match="codes"):
        TreeGrower(replace(binned, codes=binned.codes[:-1]), "newton", TreeLimits(), n_threads=1)
