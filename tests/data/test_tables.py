"""Tables of users as float arrays: checked, in native order, sparse ones in pieces."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from weald.data import dense_blocks, table_for_predict
from weald.data.tables import table_for_fit


def test_floats_are_taken_without_a_copy() -> None:
    for kind in (np.float32, np.float64):
        for order in "CF":
            X = np.zeros((5, 3), dtype=kind, order=order)
            table, _ = table_for_fit(BaseEstimator(), X, np.zeros(5), y_numeric=True)
            assert np.shares_memory(table, X)


def test_everything_else_becomes_float64() -> None:
    for X in (np.zeros((2, 2), dtype=int), [[True, False]] * 2, np.zeros((2, 2), np.float16)):
        table, _ = table_for_fit(BaseEstimator(), X, np.zeros(2), y_numeric=True)
        assert table.dtype == np.float64


def test_bytes_are_brought_into_native_order() -> None:
    X = np.arange(6.0).reshape(3, 2).astype(">f8")
    table, _ = table_for_fit(BaseEstimator(), X, np.zeros(3), y_numeric=True)
    assert table.dtype.isnative and np.array_equal(table, X)
    (block,) = dense_blocks(X)
    assert block.dtype.isnative and np.array_equal(block, X)


def test_missing_and_infinite_values_are_welcome() -> None:
    X = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    table, _ = table_for_fit(BaseEstimator(), X, np.zeros(2), y_numeric=True)
    assert np.array_equal(table, X, equal_nan=True)


def test_columns_are_remembered_and_checked() -> None:
    model = BaseEstimator()
    table_for_fit(model, np.zeros((2, 3)), np.zeros(2), y_numeric=True)
    assert model.n_features_in_ == 3
    assert table_for_predict(model, np.zeros((4, 3))).shape == (4, 3)
    with pytest.raises(ValueError, match="X has 2 features, but BaseEstimator is expecting 3"):
        table_for_predict(model, np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((3, 2)), np.arange(3)),
        (np.zeros((3, 2), dtype=np.float32), np.array([True, False, True])),
        (np.full((3, 2), np.nan), np.arange(3.0)),
        (np.zeros((3, 2)), np.arange(6.0)[::2]),
        (np.zeros((3, 2)), np.arange(3, dtype=object)),
        (np.zeros((3, 2)), np.array([0.0, np.nan, 1.0])),
        (np.zeros((3, 2)), np.array([0.0, 1.0, -np.inf])),
        (np.zeros((3, 2)), np.zeros(3, dtype=complex)),
        (np.zeros((3, 2)), np.arange(4)),
        (np.zeros((3, 2)), np.zeros(())),
        (np.zeros((3, 0)), np.arange(3)),
        (np.zeros((0, 2)), np.arange(0)),
        (np.zeros(3), np.arange(3)),
    ],
)
def test_arrays_fare_as_in_scikit_learns_checks(X: np.ndarray, y: np.ndarray) -> None:
    """With and without these checks."""

    def outcome(check: Any) -> Any:
        model = BaseEstimator()
        model.feature_names_in_ = np.array(["of", "before"], dtype=object)
        try:
            table, target = check(model)
        except ValueError as error:
            return " ".join(str(error).split()[:4]).rstrip(":.")  # our messages are longer
        layout = table.dtype, target.dtype, target.flags.c_contiguous
        assert model.n_features_in_ == X.shape[1]
        return layout, table.tolist(), target.tolist(), sorted({*vars(model)} - {"_columns"})

    rules = {"dtype": [np.float64, np.float32], "ensure_all_finite": False, "y_numeric": True}
    theirs = outcome(lambda model: validate_data(model, X, y, **rules))
    assert str(outcome(lambda model: table_for_fit(model, X, y, y_numeric=True))) == str(theirs)


@pytest.mark.parametrize("layout", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_sparse_tables_are_made_dense_a_few_columns_or_rows_at_a_time(layout: str) -> None:
    dense = np.array([[0.0, 2.0], [np.nan, 0.0], [0.0, 0.0]])
    sparse = getattr(scipy.sparse, layout)(dense)
    model = BaseEstimator()
    table, _ = table_for_fit(model, sparse, np.zeros(3), y_numeric=True)
    assert table.shape == dense.shape
    (batch,) = table.batches()
    assert batch[0] == 0 and np.array_equal(batch[1], dense, equal_nan=True)
    blocks = list(dense_blocks(table_for_predict(model, sparse)))
    assert np.array_equal(np.concatenate(blocks), dense, equal_nan=True)


def test_repeated_entries_and_stored_zeros_of_sparse_tables() -> None:
    rows, columns, values = [0, 0, 1, 2], [1, 1, 0, 1], [1.5, 0.5, 0.0, -1.0]
    sparse = scipy.sparse.coo_array((values, (rows, columns)), shape=(3, 2))
    table, _ = table_for_fit(BaseEstimator(), sparse, np.zeros(3), y_numeric=True)
    ((_, batch),) = table.batches()
    assert batch.tolist() == [[0.0, 2.0], [0.0, 0.0], [0.0, -1.0]]


def test_large_sparse_tables_come_in_pieces() -> None:
    n_columns = 2**20
    sparse = scipy.sparse.csr_array(([1.0, 2.0], ([0, 9], [5, 7])), shape=(10, n_columns))
    blocks = list(dense_blocks(sparse))
    assert [block.shape for block in blocks] == [(4, n_columns), (4, n_columns), (2, n_columns)]
    assert blocks[0][0, 5] == 1.0 and blocks[2][1, 7] == 2.0
