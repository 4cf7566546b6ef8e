"""Rows sent by the core lie where the tree sends them: in blocks of all sizes, by any set."""

import numpy as np
import pytest

from native.instructions import run_with
from weald import _native
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

# Around the sixteen rows of a vector, the codes read at once, and the rows of a block.
SIZES = [*range(2, 70), 511, 512, 513, 527, 529, 1024, 2047, 2048, 2049, 5000, 16_390, 24_577]


def walked(tree: GrownTree, X: np.ndarray) -> np.ndarray:
    """The leaf of each row, one node after another; leaves are numbered as they come."""
    is_leaf = tree.feature < 0
    number = np.cumsum(is_leaf) - 1
    leaf = np.empty(len(X), dtype=np.int32)

    def walk(node: int, rows: np.ndarray) -> None:
        if is_leaf[node]:
            leaf[rows] = number[node]
            return
        x = X[rows, tree.feature[node]]
        with np.errstate(invalid="ignore"):
            left = np.where(np.isnan(x), tree.missing_left[node] != 0, x <= tree.threshold[node])
        walk(node + 1, rows[left])
        walk(int(tree.right[node]), rows[~left])

    walk(0, np.arange(len(X)))
    return leaf


def compare(n: int, n_threads: int = 1) -> int:
    """Of one random table: the rows' leaves; returns how many the tree has."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    X[:, 1] = rng.integers(0, 5, n)
    X[rng.random((n, 3)) < 0.1] = np.nan
    limits = TreeLimits(max_leaf_nodes=12, min_samples_leaf=1, min_gain=0.0, cells="packed")
    binned = bin_rows(Rows(X, np.zeros(n)), max_bins=255, n_threads=1)
    grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
    tree = grower.on_sums(rng.normal(size=(1, n)), rng.random(n) + 0.1, None)
    np.testing.assert_array_equal(tree.leaf_of_row, walked(tree, X))
    return int(tree.leaf_of_row.max()) + 1


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_rows_lie_where_the_tree_sends_them(n_threads: int) -> None:
    assert sum(compare(n, n_threads) for n in SIZES) > 5 * len(SIZES)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_by_all_instructions(instructions: str) -> None:
    run_with(
        instructions, "from native.test_partition import SIZES, compare\nfor n in SIZES: compare(n)"
    )
