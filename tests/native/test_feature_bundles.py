"""Columns of few values are counted together: the trees are those of columns counted one by one."""

import numpy as np
import pytest

from native.test_sorted_engine import assert_equal, sorted_as
from weald.data import Rows, bin_rows
from weald.trees import TreeGrower, TreeLimits

N = 24_000  # of fewer rows bundles do not pay
LIMITS = {"max_leaf_nodes": 40, "min_samples_leaf": 5, "min_gain": 0.0}


def one_hot(kinds: np.ndarray, n: int) -> np.ndarray:
    return (kinds[:, np.newaxis] == np.arange(n)).astype(np.float32)


def table_of(kind: str) -> np.ndarray:
    """Tables with columns that go together, and some that do not."""
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(N, 3)).astype(np.float32)
    soils = one_hot(rng.integers(0, 40, N), 40)
    flags = rng.integers(0, 2, (N, 12)).astype(np.float32)
    if kind == "one of forty":
        return np.column_stack([numbers[:, :1], soils, numbers[:, 1:]])
    if kind == "flags":
        return np.column_stack([flags, numbers])
    if kind == "missing":
        soils[rng.random(N) < 0.1] = np.nan  # a whole block is missing
        flags[rng.random(flags.shape) < 0.2] = np.nan
        return np.column_stack([soils[:, ::-1], numbers, flags])
    many = rng.integers(0, 30, (N, 10)).astype(np.float32)  # pairs have 900 states: no bundles
    return np.column_stack([many, flags])


def target_of(table: np.ndarray) -> np.ndarray:
    """Whole numbers: they are rounded to themselves, in packed cells and in wide ones."""
    rng = np.random.default_rng(8)
    sums = np.nan_to_num(table[:, :20], nan=0.7) @ rng.normal(size=min(20, table.shape[1]))
    return np.rint(np.clip(sums + rng.normal(size=N), -3, 3))[np.newaxis]


@pytest.mark.parametrize("kind", ["one of forty", "flags", "missing", "too many"])
@pytest.mark.parametrize("copies", [None, np.arange(N) % 3])
@pytest.mark.parametrize("cells", ["packed", "blocks", "wide"])
def test_same_tree_as_column_by_column(kind: str, copies: np.ndarray | None, cells: str) -> None:
    table = table_of(kind)
    gradient = target_of(table)
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=255, n_threads=1)
    one_by_one = TreeGrower(
        sorted_as(binned, table), "newton", TreeLimits(**LIMITS, cells="wide"), n_threads=1
    )
    expected = one_by_one.on_sums(gradient, None, copies)
    assert len(expected.value) > 10
    for n_threads in (1, 3):
        limits = TreeLimits(**LIMITS, cells=cells)
        grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
        assert_equal(grower.on_sums(gradient, None, copies), expected)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes(criterion: str) -> None:
    table = table_of("missing")
    classes = (target_of(table)[0] + 3).astype(np.int32)
    limits = TreeLimits(max_leaf_nodes=40, min_samples_leaf=5)
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=255, n_threads=1)
    trees = [
        TreeGrower(which, criterion, limits, n_threads=2).on_classes(classes, 7, None, None)
        for which in (binned, sorted_as(binned, table))
    ]
    assert_equal(*trees)
