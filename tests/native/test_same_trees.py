"""Every engine, every layout of cells and parts give the same trees for the same bins."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from native.instructions import run_with
from native.learning import random_limits, with_more
from native.test_parts import grown_on_parts, random_table
from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import BinnedTable, Rows, SortedTable, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

KINDS = ("", "directions", "groups", "l1", "prune", "all")


def as_values(binned: BinnedTable) -> SortedTable:
    """Codes as values, and categories by their numbers: the same bins for sorted rows."""
    n_bins = binned.n_bins
    table = np.column_stack([binned.codes_of(c) for c in range(len(n_bins))]).astype(np.float64)
    for c, codes in binned.wide.items():
        table[:, c] = codes
    table[table == 0] = np.nan
    n_levels = np.zeros(len(n_bins), dtype=np.int32)
    cuts = [np.arange(1, n) + 0.5 for n in n_bins]
    for c in range(len(n_bins)):
        if binned.is_category is not None and binned.is_category[c]:
            table[:, c] -= 1
            n_levels[c] = binned.wide[c].max() if c in binned.wide else n_bins[c]
            cuts[c] = np.arange(0)
    first = np.cumsum([0, *map(len, cuts)]).astype(np.int64)
    return SortedTable(table, np.concatenate(cuts), first, n_levels if n_levels.any() else None)


def random_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Gradients that packed cells suit, without ties of gains; hessians or none; copies or none."""
    gradient = rng.normal(size=(1, n))
    hessian = [None, rng.random(n) + 0.01, rng.integers(1, 9, n) / 8]
    copies = None
    if rng.random() < 0.3:
        copies = rng.integers(0, 3, n)
        copies[0] = 1
    return gradient, hessian[rng.integers(3)], copies


def grown(
    table: BinnedTable | SortedTable, limits: TreeLimits, cells: str, rows: tuple, n_threads: int
) -> GrownTree:
    limits = dataclasses.replace(limits, cells=cells)
    tree = TreeGrower(table, "newton", limits, n_threads=n_threads).on_sums(*rows)
    return dataclasses.replace(tree, leaf_of_row=tree.leaf_of_row.copy())


def compare(seed: int, kind: str) -> int:
    """Compares trees of one random table; returns how many splits these have."""
    rng = np.random.default_rng([seed, len(kind), 11])
    n = int(rng.integers(5, 900))
    binned = random_table(rng, n)
    is_category = binned.is_category
    ordered = None if is_category is None else 1 - is_category.astype(np.int64)
    limits = random_limits(rng, "newton", "wide")
    if limits.min_gain < 0.0:  # many splits gain nothing, up to rounding
        limits = dataclasses.replace(limits, min_gain=0.0)
    limits = with_more(limits, kind, rng, len(binned.n_bins), ordered)
    rows = random_rows(rng, n)
    trees = [grown(binned, limits, cells, rows, 1) for cells in ("wide", "packed", "automatic")]
    trees.append(grown(binned, limits, "packed", rows, 2))
    sorted_rows = grown(as_values(binned), limits, "wide", rows, 1)
    for tree in trees[1:]:
        assert_equal(tree, trees[0])
    for name in ("feature", "right", "missing_left", "weight", "gain", "value", "leaf_of_row"):
        assert np.array_equal(getattr(sorted_rows, name), getattr(trees[0], name)), name
    gradient, hessian, copies = rows
    if copies is None:
        points = [0, *np.sort(rng.choice(np.arange(1, n), 2, replace=False)).tolist(), n]
        arrays, leaf = grown_on_parts(binned, points, gradient[0], hessian, limits)
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, getattr(trees[0], name), err_msg=name)
        np.testing.assert_array_equal(leaf, trees[0].leaf_of_row)
    return len(trees[0].value) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_same_trees(kind: str) -> None:
    assert sum(compare(seed, kind) for seed in range(40)) > 50


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


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    run_with(
        instructions,
        "from native.test_same_trees import compare\n"
        "for seed in range(40, 55): compare(seed, 'directions'); compare(seed, 'all')",
    )
