"""Fits of more than 2**31 values, and of more than 2**31 stored ones, in full.

They take gigabytes and minutes: set WEALD_BIG=1 to run them. The quick ones, on memory that is not
there, are in test_shape_and_size.py.
"""

import os

import numpy as np
import pytest
import scipy.sparse

import weald

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEALD_BIG"), reason="takes 14 GiB and minutes; set WEALD_BIG=1"
)

N_ROWS, N_COLUMNS = 66_000, 33_000


def fitted(X: object, y: np.ndarray) -> bool:
    """Whether one tree finds the last column, which is the target."""
    model = weald.BoostedTreesRegressor(
        quality="fast", n_estimators=1, learning_rate=1.0, max_leaf_nodes=2
    )
    model.fit(X, y)
    asked = np.flatnonzero(model.feature_importances_)
    return asked.tolist() == [N_COLUMNS - 1] and np.allclose(model.predict(X[-500:]), y[-500:])


def test_values() -> None:
    X = np.zeros((N_ROWS, N_COLUMNS), dtype=np.float32, order="F")
    X[-300:, -1] = 1.0
    assert X.size > 2**31
    assert fitted(X, X[:, -1].astype(np.float64))


def test_stored_values() -> None:
    """Ones everywhere but in the last column; places of 32 bits, pointers of 64 save memory."""
    y = np.zeros(N_ROWS)
    y[-300:] = 1.0
    n_full = N_ROWS * (N_COLUMNS - 1)
    matrix = scipy.sparse.csc_array((N_ROWS, N_COLUMNS), dtype=np.float32)
    matrix.indices = np.resize(np.arange(N_ROWS, dtype=np.int32), n_full + 300)
    matrix.indices[n_full:] = np.arange(N_ROWS - 300, N_ROWS)
    matrix.data = np.broadcast_to(np.float32(1), n_full + 300)
    matrix.indptr = np.append(np.arange(N_COLUMNS) * N_ROWS, n_full + 300)
    assert matrix.nnz > 2**31
    model = weald.BoostedTreesRegressor(
        quality="fast", n_estimators=1, learning_rate=1.0, max_leaf_nodes=2
    )
    model.fit(matrix, y)
    assert np.flatnonzero(model.feature_importances_).tolist() == [N_COLUMNS - 1]
