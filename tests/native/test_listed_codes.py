"""Tables in lists give the trees of the same tables in codes."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from native.instructions import run_with
from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import (
    BinnedTable,
    ListedTable,
    Rows,
    SparseTable,
    bin_rows,
    bin_sparse_rows,
    sparse_binning,
)
from weald.trees import GrownTree, TreeGrower, TreeLimits

N = 2_000


@pytest.fixture(autouse=True)
def _any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_binning, "_MOST_STORED", 1.0)


def table_of(kind: str, n_columns: int = 43) -> Any:
    """Counts, or numbers of both signs and missing ones; one column is empty, one is full."""
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((N, n_columns)) < 0.04, 1.0 + rng.poisson(1, (N, n_columns)), 0.0)
    if kind == "numbers":
        dense *= rng.normal(size=dense.shape)
        dense[(dense != 0) & (rng.random(dense.shape) < 0.2)] = np.nan
    dense[:, 3] = 0.0
    dense[:, 11] = rng.normal(size=N)
    return sparse.csc_matrix(dense)


def both(table: Any, bins: int = 255) -> tuple[BinnedTable, ListedTable]:
    binned = bin_rows(Rows(table.toarray(), np.zeros(N)), max_bins=bins, n_threads=1)
    listed = bin_sparse_rows(Rows(SparseTable(table), np.zeros(N)), max_bins=bins, n_threads=1)
    assert isinstance(binned, BinnedTable)
    assert listed is not None
    return binned, listed


def assert_same_trees(table: Any, limits: dict[str, Any], grow: Any, bins: int = 255) -> GrownTree:
    binned, listed = both(table, bins)
    criterion = limits.pop("criterion", "newton")
    expected = grow(TreeGrower(binned, criterion, TreeLimits(**limits), n_threads=1))
    for n_threads in (1, 3):
        grower = TreeGrower(listed, criterion, TreeLimits(**limits), n_threads=n_threads)
        for _ in range(2):  # buffers are used again
            assert_equal(grow(grower), expected)
    return expected


def sums_of(table: Any, seed: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    seen = np.nan_to_num(np.clip(table.toarray(), -3, 3), nan=0.7)
    return np.rint(3 * seen @ rng.normal(size=seen.shape[1]) + 3 * rng.normal(size=N))[np.newaxis]


@pytest.mark.parametrize("kind", ["counts", "numbers"])
@pytest.mark.parametrize("cells", ["packed", "wide"])
@pytest.mark.parametrize("bins", [2, 5, 255])
@pytest.mark.parametrize("copies", [None, np.arange(N) % 3])
def test_trees(kind: str, cells: str, bins: int, copies: np.ndarray | None) -> None:
    table = table_of(kind)
    limits = {"max_leaf_nodes": 60, "min_samples_leaf": 5, "cells": cells}
    sums = sums_of(table)
    tree = assert_same_trees(table, limits, lambda g: g.on_sums(sums, None, copies), bins)
    assert len(tree.value) > 20


@pytest.mark.parametrize("kind", ["counts", "numbers"])
@pytest.mark.parametrize("least", [1, 3, 40])
@pytest.mark.parametrize("copies", [None, np.arange(N) % 3])
def test_rows_of_splits_are_counted(kind: str, least: int, copies: np.ndarray | None) -> None:
    """With weights, sums of packed cells do not tell whether a child has enough rows; weights of
    next to nothing round to zero."""
    table = table_of(kind)
    rng = np.random.default_rng(7)
    weight = rng.choice([1e-9, 0.01, 1.0, 4.0], N, p=[0.05, 0.05, 0.7, 0.2])
    limits = {"max_leaf_nodes": 200, "min_samples_leaf": least, "cells": "packed"}
    sums = sums_of(table) * weight
    tree = assert_same_trees(table, limits, lambda g: g.on_sums(sums, weight, copies))
    assert len(tree.value) > 10


def test_rows_that_are_not_used_get_a_leaf() -> None:
    table = table_of("numbers")
    sums = sums_of(table)
    copies = (np.arange(N) % 4 > 0).astype(np.int64)
    limits = {"max_leaf_nodes": 40, "min_samples_leaf": 5}
    assert_same_trees(table, dict(limits), lambda g: g.on_sums(sums, None, copies, n_used=1_500))
    assert_same_trees(table, dict(limits), lambda g: g.on_sums(sums, None, None, n_used=1_500))


@pytest.mark.parametrize(
    "more",
    [
        {"growth": "depth_wise", "max_depth": 5},
        {"max_features": 5, "feature_sampling": "node", "seed": 3},
        {"directions": tuple(np.resize([1, 0, -1], 43).tolist())},
        {"min_child_weight": 30.0, "l1": 1.0, "l2": 2.0},
        {"groups": (tuple(range(20)), tuple(range(15, 43)))},
    ],
)
def test_limits(more: dict[str, Any]) -> None:
    table = table_of("numbers")
    sums = sums_of(table)
    limits = {"max_leaf_nodes": 30, "min_samples_leaf": 5, **more}
    assert_same_trees(table, limits, lambda g: g.on_sums(sums, None, None))


def test_several_channels_and_classes() -> None:
    """Cells of several integers."""
    table = table_of("numbers")
    sums = np.vstack([sums_of(table, seed)[0] for seed in range(4)])
    limits = {"max_leaf_nodes": 30, "min_samples_leaf": 5}
    weight = 1.0 + np.arange(N) % 2
    assert_same_trees(table, dict(limits), lambda g: g.on_sums(sums, weight, None))
    classes = (np.argsort(np.argsort(sums[0])) * 3 // N).astype(np.int32)
    copies = np.arange(N) % 3
    assert_same_trees(
        table,
        {**limits, "criterion": "gini"},
        lambda g: g.on_classes(classes, 3, weight, copies),
    )


def test_more_cells_than_two_bytes() -> None:
    rng = np.random.default_rng(8)
    dense = np.where(rng.random((N, 600)) < 0.1, rng.normal(size=(N, 600)), 0.0)
    table = sparse.csc_matrix(dense)
    sums = sums_of(table)
    assert_same_trees(table, {"max_leaf_nodes": 30}, lambda g: g.on_sums(sums, None, None))


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_each_instruction_set(instructions: str) -> None:
    run_with(
        instructions,
        """
import numpy as np
from native.test_listed_codes import assert_same_trees, sparse_binning, sums_of, table_of
sparse_binning._MOST_STORED = 1.0
table = table_of("numbers")
weight = 1.0 + np.arange(table.shape[0]) % 3
limits = {"max_leaf_nodes": 60, "min_samples_leaf": 20}
assert_same_trees(table, limits, lambda g: g.on_sums(sums_of(table), weight, None))
""",
    )


def test_wrong_arrays() -> None:
    table = table_of("counts")
    _, listed = both(table)
    arrays = {
        "rows": listed.rows,
        "codes": listed.codes,
        "begins": listed.begins,
        "usual": listed.usual,
        "n_rows": N,
        "n_bins": listed.n_bins,
        "cuts": listed.cuts,
        "first": listed.first,
    }

    def changed(name: str, at: int, value: int) -> dict[str, Any]:
        array = arrays[name].copy()
        array[at] = value
        return {name: array}

    params = TreeLimits(max_leaf_nodes=4).as_params("newton", 1)
    _native.Grower(**arrays, params=params)
    for wrong, message in (
        (changed("rows", 0, N), "rows must be within the table"),
        (changed("rows", 1, int(listed.rows[0])), "rows of a column must increase"),
        (changed("codes", 0, 200), "codes must not exceed"),
        (changed("usual", 0, 200), "codes must not exceed"),
        (changed("begins", 0, 1), "begins must contain"),
        (changed("begins", 2, -1), "begins must not decrease"),
        (changed("begins", 2, 10**9), "begins must not exceed"),
        (changed("begins", -1, 7), "begins must contain"),
        (changed("n_bins", 0, 0), "between 1 and 255 bins"),
        (changed("n_bins", 0, 256), "between 1 and 255 bins"),
        ({"rows": listed.rows[:-1]}, "begins must contain"),
        ({"codes": listed.codes[:-1]}, "the same length"),
        ({"usual": listed.usual[:-1]}, "one code per column"),
        ({"begins": listed.begins[:-1]}, "begins must contain"),
        ({"first": listed.first[:-1]}, "first must contain"),
        ({"n_rows": 0}, "between 1 and"),
        ({"n_rows": 100}, "rows must be within the table"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.Grower(**{**arrays, **wrong}, params=params)
    symmetric = TreeLimits(max_depth=3, growth="symmetric").as_params("newton", 1)
    with pytest.raises(ValueError, match="symmetric"):
        _native.Grower(**arrays, params=symmetric)
