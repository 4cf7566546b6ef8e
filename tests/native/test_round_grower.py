"""Trees that grow side by side are the trees that grow one after another."""

import numpy as np
import pytest

from native.test_sorted_engine import assert_equal
from weald.data import Rows, SortedTable, bin_rows
from weald.trees import TreeGrower, TreeLimits

LIMITS = TreeLimits(max_leaf_nodes=15, min_samples_leaf=3, min_gain=0.0)


# A small table is shared out by trees, a large one by rows where the trees do not come out even.
@pytest.mark.parametrize("shape", [(500, 4), (70_000, 30)])
@pytest.mark.parametrize("n_trees", [1, 3, 4])
@pytest.mark.parametrize("has_hessian", [True, False])
def test_same_trees(shape: tuple[int, int], n_trees: int, has_hessian: bool) -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=shape).astype(np.float32)
    gradients = rng.normal(size=(n_trees, shape[0])) + table[:, 0]
    hessians = rng.random((n_trees, shape[0])) if has_hessian else None
    copies = rng.integers(0, 3, shape[0])
    binned = bin_rows(Rows(table, np.zeros(shape[0])), max_bins=64, n_threads=1)
    alone = TreeGrower(binned, "newton", LIMITS, n_threads=1)
    together = [TreeGrower(binned, "newton", LIMITS, n_threads=n) for n in (1, 2, 3)]
    for grower in together:
        for k, tree in enumerate(grower.on_each(gradients, hessians, copies)):
            hessian = None if hessians is None else hessians[k]
            assert_equal(tree, alone.on_sums(gradients[k : k + 1], hessian, copies))


def test_wide_and_packed_cells_in_one_round() -> None:
    """A class with a heavy tail needs wide cells, the others are packed."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(3_000, 9)).astype(np.float32)
    gradients = rng.normal(size=(5, 3_000)) + table[:, 0]
    gradients[2] = np.exp(8 * gradients[2])
    binned = bin_rows(Rows(table, np.zeros(3_000)), max_bins=64, n_threads=1)
    alone = TreeGrower(binned, "newton", LIMITS, n_threads=1)
    for n_threads in (1, 2):
        grower = TreeGrower(binned, "newton", LIMITS, n_threads=n_threads)
        for _ in range(2):  # the second call first tries the scales of the first
            for k, tree in enumerate(grower.on_each(gradients, None, None)):
                assert_equal(tree, alone.on_sums(gradients[k : k + 1], None, None))


def test_sorted_tables_grow_one_tree_at_a_time() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(300, 3))
    gradients = rng.normal(size=(4, 300))
    grower = TreeGrower(SortedTable(table, None, None), "newton", LIMITS, n_threads=3)
    alone = TreeGrower(SortedTable(table, None, None), "newton", LIMITS, n_threads=1)
    for k, tree in enumerate(grower.on_each(gradients, None, None)):
        assert_equal(tree, alone.on_sums(gradients[k : k + 1], None, None))


def test_shapes_are_checked() -> None:
    table = np.zeros((10, 2))
    binned = bin_rows(Rows(table, np.zeros(10)), max_bins=64, n_threads=1)
    grower = TreeGrower(binned, "newton", LIMITS, n_threads=2)
    for gradients, hessians in [
        (np.zeros((2, 9)), None),
        (np.zeros((2, 10)), np.ones((3, 10))),
        (np.zeros((2, 10)), np.ones((2, 9))),
    ]:
        with pytest.raises(ValueError, match="shape"):
            grower.on_each(gradients, hessians, None)
    with pytest.raises(ValueError, match="copies"):
        grower.on_each(np.zeros((2, 10)), None, -np.ones(10, dtype=np.int64))
    with pytest.raises(ValueError, match="finite"):
        grower.on_each(np.full((2, 10), np.nan), None, None)
