"""Bins of sparse tables in lists: those of the same table stored densely."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from weald import _native
from weald.data import ListedTable, Rows, SparseTable, bin_rows, bin_sparse_rows, sparse_binning
from weald.errors import ModelFormatError


def values(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Values to store: zeros, -0.0 and missing ones among them."""
    if kind == "counts":
        return 1.0 + rng.poisson(1.0, n)
    found = rng.normal(size=n)
    found[rng.random(n) < 0.1] = 0.0
    found[rng.random(n) < 0.1] = -0.0
    found[rng.random(n) < 0.1] = np.nan
    found[rng.random(n) < 0.02] = np.inf
    return found


def table_of(kind: str, dtype: Any, n_rows: int = 3_000) -> Any:
    """Columns of different density, of which one stores nothing and one every row."""
    rng = np.random.default_rng(3)
    density = [0.0, 0.01, 0.05, 0.3, 1.0, 0.001, *[0.02] * 12]
    columns = []
    for share in density:
        rows = np.flatnonzero(rng.random(n_rows) < share)
        own = values(rng, len(rows), kind).astype(dtype)
        columns.append(sparse.csc_matrix((own, rows, [0, len(rows)]), shape=(n_rows, 1)))
    return sparse.hstack(columns, format="csc", dtype=dtype)


@pytest.fixture(autouse=True)
def _any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_binning, "_MOST_STORED", 1.0)


def dense_codes(listed: ListedTable, column: int) -> np.ndarray:
    codes = np.full(listed.n_rows, listed.usual[column])
    own = slice(listed.begins[column], listed.begins[column + 1])
    codes[listed.rows[own]] = listed.codes[own]
    return codes


@pytest.mark.parametrize("kind", ["counts", "numbers"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_bins", [2, 7, 255])
@pytest.mark.parametrize("learns", ["all", "first", "some"])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_the_dense_table(
    kind: str, dtype: Any, max_bins: int, learns: str, weighted: bool
) -> None:
    table = table_of(kind, dtype)
    n = table.shape[0]
    rng = np.random.default_rng(4)
    weight = rng.integers(1, 9, n) / 4 if weighted else None
    learn_from = {"all": None, "first": np.arange(n) < n // 2, "some": rng.random(n) < 0.5}[learns]
    given = {"max_bins": max_bins, "learn_from": learn_from}
    binned = bin_rows(Rows(table.toarray(), np.zeros(n), weight=weight), n_threads=1, **given)
    for n_threads in (1, 2):
        rows = Rows(SparseTable(table), np.zeros(n), weight=weight)
        listed = bin_sparse_rows(rows, n_threads=n_threads, **given)
        assert np.array_equal(listed.cuts, binned.cuts)
        assert np.array_equal(listed.first, binned.first)
        for column in range(table.shape[1]):
            assert np.array_equal(dense_codes(listed, column), binned.codes_of(column))


def test_only_tables_that_are_sparse_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("counts", np.float32)
    rows = Rows(SparseTable(table), np.zeros(table.shape[0]))
    assert bin_sparse_rows(rows, max_bins=256, n_threads=1) is None
    dense = Rows(table.toarray(), rows.y)
    assert bin_sparse_rows(dense, max_bins=255, n_threads=1) is None
    monkeypatch.setattr(sparse_binning, "_MOST_STORED", 0.01)
    assert bin_sparse_rows(rows, max_bins=255, n_threads=1) is None


def test_unsorted_entries() -> None:
    table = table_of("counts", np.float64)
    n = table.shape[0]
    backwards = table.copy()
    for begin, end in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        backwards.indices[begin:end] = table.indices[begin:end][::-1]
        backwards.data[begin:end] = table.data[begin:end][::-1]
    backwards.has_sorted_indices = False
    before = backwards.indices.copy()
    listed = [
        bin_sparse_rows(Rows(SparseTable(one), np.zeros(n)), max_bins=255, n_threads=1)
        for one in (table, backwards)
    ]
    assert np.array_equal(listed[0].rows, listed[1].rows)
    assert np.array_equal(listed[0].codes, listed[1].codes)
    assert np.array_equal(backwards.indices, before)


def test_damaged_states_and_arguments() -> None:
    table = table_of("counts", np.float64)
    rows = Rows(SparseTable(table), np.zeros(table.shape[0]))
    listed = bin_sparse_rows(rows, max_bins=255, n_threads=1)
    state = dict(listed.__dict__)
    again = ListedTable.__new__(ListedTable)
    again.__setstate__(state)
    assert np.array_equal(again.codes, listed.codes)
    for name, value in {
        "first": listed.first[::-1].copy(),
        "begins": listed.begins[:-1],
        "usual": listed.usual[1:],
        "codes": listed.codes[:-1],
    }.items():
        with pytest.raises(ModelFormatError):
            again.__setstate__({**state, name: value})
    sound = {"n_rows": 9, "n_learn": 9, "mass": None, "max_bins": 4, "n_threads": 1}
    entries = np.ones(2), np.array([1, 2], np.uint32), np.array([0, 2])
    _native.bin_sparse(*entries, **sound)
    wrong: dict[str, list[Any]] = {
        "n_learn": [-1, 10],
        "max_bins": [1, 256],
        "mass": [np.ones(3, int)],
    }
    for name, given in wrong.items():
        for one in given:
            with pytest.raises(ValueError, match=name):
                _native.bin_sparse(*entries, **{**sound, name: one})
    for begins in ([0, 3], [1, 2], [0, 3, 2], [0]):
        with pytest.raises(ValueError, match="begins must contain the start"):
            _native.bin_sparse(*entries[:2], np.array(begins), **sound)
