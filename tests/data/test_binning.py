"""Bins of rows: weights as mass, rows that may not choose the cuts, and thresholds."""

import numpy as np
import pytest

from native import naive
from native.tables import random_table
from weald.data import BinnedTable, Rows, bin_rows


def binned(table, *, max_bins=255, learn_from=None, copies=None, weight=None) -> BinnedTable:
    rows = Rows(np.asarray(table, dtype=np.float64), np.zeros(len(table)), copies, weight)
    return bin_rows(rows, max_bins=max_bins, n_threads=1, learn_from=learn_from)


def cuts_of(table: BinnedTable, column: int = 0) -> list[float]:
    return table.cuts[table.first[column] : table.first[column + 1]].tolist()


@pytest.mark.parametrize("n_columns", [1, 8, 9, 64, 65, 130])
def test_codes_of_every_column(n_columns: int) -> None:
    table = random_table(np.random.default_rng(n_columns), 30, n_columns)
    got = binned(table, max_bins=16)
    assert got.n_bins.tolist() == [len(cuts_of(got, c)) + 1 for c in range(n_columns)]
    for column in range(n_columns):
        cuts = naive.cuts_of_column(table[:, column], [1] * 30, 16)
        assert cuts_of(got, column) == cuts
        assert got.codes_of(column).tolist() == naive.codes_of_column(table[:, column], cuts)


def test_copies_are_mass() -> None:
    rng = np.random.default_rng(0)
    table, copies = rng.normal(size=(100, 3)), rng.integers(1, 5, 100)
    again = np.repeat(table, copies, axis=0)
    assert np.array_equal(
        binned(table, copies=copies, max_bins=7).cuts, binned(again, max_bins=7).cuts
    )


def test_weights_are_mass_by_their_ratios() -> None:
    rng = np.random.default_rng(1)
    table, weight = rng.normal(size=(100, 3)), rng.integers(1, 50, 100) / 8
    cuts = binned(table, weight=weight, max_bins=7).cuts
    for factor in (0.125, 2.0**-1000, 2.0**900):
        assert np.array_equal(binned(table, weight=weight * factor, max_bins=7).cuts, cuts)


def test_rows_of_any_weight_are_binned() -> None:
    table = [[1.0], [2.0], [3.0]]
    assert cuts_of(binned(table, weight=np.array([1.0, 1e-300, 1.0]))) == [1.5, 2.5]


@pytest.mark.parametrize("counts", ["none", "copies", "weight"])
def test_only_some_rows_choose_the_cuts(counts: str) -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(size=(100, 2))
    learn_from = np.arange(100) < 60
    of_all: dict[str, np.ndarray] = {}
    if counts == "copies":
        of_all = {"copies": rng.integers(1, 4, 100)}
    elif counts == "weight":
        of_all = {"weight": rng.integers(1, 9, 100) / 8}
        of_all["weight"][:2] = of_all["weight"][-2:] = 1.0
    of_some = {name: values[:60] for name, values in of_all.items()}
    got = binned(table, max_bins=9, learn_from=learn_from, **of_all)
    assert np.array_equal(got.cuts, binned(table[:60], max_bins=9, **of_some).cuts)
    assert got.n_rows == 100
    assert got.codes_of(0).tolist() == naive.codes_of_column(table[:, 0], cuts_of(got))


def test_thresholds_are_the_cuts_and_infinity_after_the_last_bin() -> None:
    table = binned([[1.0, 5.0], [2.0, 5.0], [3.0, np.nan]])
    column = np.array([0, 0, 0, 1], dtype=np.int32)
    code = np.array([1, 2, 3, 1], dtype=np.uint8)
    assert table.threshold(column, code).tolist() == [1.5, 2.5, np.inf, np.inf]


def test_no_values_at_all() -> None:
    table = binned(np.full((3, 2), np.nan))
    assert table.cuts.size == 0
    assert table.n_bins.tolist() == [1, 1]
    assert table.codes_of(1).tolist() == [0, 0, 0]
