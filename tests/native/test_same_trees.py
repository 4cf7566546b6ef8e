"""Every engine and every layout of cells give the same trees for the same bins."""

import dataclasses

import numpy as np

from native.test_sorted_engine import assert_equal
from weald.data import BinnedTable, Rows, SortedTable, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits


def grown(
    table: BinnedTable | SortedTable, limits: TreeLimits, cells: str, rows: tuple, n_threads: int
) -> GrownTree:
    limits = dataclasses.replace(limits, cells=cells)
    tree = TreeGrower(table, "newton", limits, n_threads=n_threads).on_sums(*rows)
    return dataclasses.replace(tree, leaf_of_row=tree.leaf_of_row.copy())


def test_many_bins_beside_few_where_no_split_is_sure() -> None:
    """Few rows have all of the weight, so that rows are counted in every node."""
    rng = np.random.default_rng(3)
    n = 9_000
    table = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n)])
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=2_000, n_threads=1)
    assert isinstance(binned, BinnedTable) and len(binned.wide) == 1
    limits = TreeLimits(max_leaf_nodes=31, min_samples_leaf=20, min_gain=0.0)
    for _ in range(20):
        rows = rng.normal(size=(1, n)), np.where(np.arange(n) % 500, 1e-3, 1.0), None
        assert_equal(
            grown(binned, limits, "packed", rows, 1), grown(binned, limits, "wide", rows, 1)
        )
