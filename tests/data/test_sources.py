"""Columns a few at a time: views where they lie evenly, copies elsewhere, levels by themselves."""

import numpy as np
import pytest
import scipy.sparse

from weald.data import Rows, bin_rows
from weald.data.sources import ColumnTable, SparseTable, as_one_array, side_by_side, view_as_one


def test_columns_of_one_array_are_a_view_of_it() -> None:
    for order in "CF":
        for kind in (np.float32, np.float64):
            whole = np.asarray(np.random.default_rng(0).random((9, 5)), dtype=kind, order=order)
            joined = view_as_one([whole[:, i] for i in range(5)])
            assert joined is not None and np.shares_memory(joined, whole)
            assert np.array_equal(joined, whole) and not joined.flags.writeable
            assert np.array_equal(view_as_one([whole[:, i] for i in (3, 2, 1)]), whole[:, 3:0:-1])
            assert np.array_equal(view_as_one([whole[:, 2]]), whole[:, 2:3])


def test_columns_that_lie_otherwise_are_copied() -> None:
    whole = np.random.default_rng(0).random((9, 5))
    uneven = [whole[:, i] for i in (0, 1, 3)]
    others = [
        uneven,
        [whole[:, 0].copy(), whole[:, 1].copy()],
        [whole[:, 0], whole[:, 1].astype(np.float32)],
        [whole[:, 0].astype(">f8"), whole[:, 1].astype(">f8")],
        [np.arange(9), np.arange(9) % 2 == 0],
    ]
    for columns in others:
        assert view_as_one(columns) is None
        assert np.array_equal(side_by_side(columns), np.column_stack(columns))
    assert side_by_side([np.arange(9, dtype=np.int8), np.ones(9, bool)]).dtype == np.float32
    assert side_by_side([np.arange(9, dtype=np.int32)]).dtype == np.float64


def test_batches_keep_numbers_and_levels_apart() -> None:
    columns = tuple(np.arange(4.0) for _ in range(40))
    n_levels = np.array([0] * 20 + [4] * 3 + [0] + [4] * 16)
    table = ColumnTable(columns, n_levels)
    batches = [(first, columns.shape[1]) for first, columns in table.batches()]
    assert sum(width for _, width in batches) == 40
    for first, width in batches:
        assert len(set((n_levels[first : first + width] > 0).tolist())) == 1
    assert as_one_array(table).shape == (4, 40)
    assert table[np.array([2, 0])].columns[0].tolist() == [2.0, 0.0]


@pytest.mark.parametrize("n_columns", [1, 15, 16, 17, 63, 64, 65, 130])
def test_bins_of_columns_are_those_of_the_array(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    whole = np.where(rng.random((50, n_columns)) < 0.5, 0.0, rng.integers(0, 9, (50, n_columns)))
    y = np.zeros(50)
    expected = bin_rows(Rows(whole, y), max_bins=5, n_threads=2)
    apart = ColumnTable(tuple(c.copy() for c in whole.T), np.zeros(n_columns, dtype=np.int64))
    sparse = SparseTable(scipy.sparse.csc_array(whole))
    for table in (apart, sparse):
        binned = bin_rows(Rows(table, y), max_bins=5, n_threads=2)
        assert np.array_equal(binned.cuts, expected.cuts)
        assert np.array_equal(binned.first, expected.first)
        for column in range(n_columns):
            assert np.array_equal(binned.codes_of(column), expected.codes_of(column))
        assert np.array_equal(Rows(table, y).hashes(2), Rows(whole, y).hashes(1))


def test_codes_of_levels() -> None:
    places = np.array([0, 2, np.nan, 1], dtype=np.float32)
    many = np.array([0, 299, np.nan, 255], dtype=np.float32)
    table = ColumnTable((np.arange(4.0), places, many), np.array([0, 4, 300]))
    binned = bin_rows(Rows(table, np.zeros(4)), max_bins=2, n_threads=1)
    assert binned.is_category.tolist() == [0, 1, 1]
    assert binned.codes_of(1).tolist() == [1, 3, 0, 2] and binned.n_bins.tolist() == [2, 4, 1]
    assert binned.codes_of(2).tolist() == [0, 0, 0, 0]
    assert list(binned.wide) == [2] and binned.wide[2].tolist() == [1, 300, 0, 256]
