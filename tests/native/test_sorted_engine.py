"""Rows kept sorted by every column give the trees that histograms give, and the exact ones."""

import dataclasses

import numpy as np
import pytest

from native.learning import learn, random_limits
from native.tables import random_table
from weald import _native
from weald.data import BinnedTable, Rows, SortedTable, bin_rows
from weald.trees import GrownTree, TreeGrower


def assert_equal(a: GrownTree, b: GrownTree) -> None:
    for field in dataclasses.fields(GrownTree):
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
