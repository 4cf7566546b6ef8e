"""Soft targets: class probabilities instead of labels."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from weald.data import Rows, number_rows

# Tolerance of the sum of the probabilities of a row.
_NEAR = 1e-6


def is_table_of_shares(y: Any) -> bool:
    """Whether y is a 2-D array with a column per class."""
    shape = np.shape(y)
    return len(shape) == 2 and shape[1] > 1


def share_rows(
    estimator: object, X: object, y: object, sample_weight: object
) -> tuple[Rows, NDArray[Any]]:
    """Rows whose target is an array of class probabilities, and the class indices."""
    shares = check_array(y, dtype=np.float64, input_name="y")
    bad = np.flatnonzero((shares < 0).any(axis=1) | ~(np.abs(shares.sum(axis=1) - 1.0) <= _NEAR))
    if bad.size:
        raise ValueError(
            f"Rows of y must be probabilities, non-negative and adding up to 1; row {bad[0]} is "
            f"{shares[bad[0]].tolist()[:10]}. Divide each row by its sum."
        )
    # number_rows needs a 1-D target; row indices identify the rows that it keeps.
    index = np.arange(len(shares), dtype=np.float64)
    rows = number_rows(estimator, X, index, sample_weight)
    own = shares[rows.target.astype(np.intp)]
    return replace(rows, y=own), np.arange(shares.shape[1])


def as_shares(rows: Rows, n_classes: int) -> Rows:
    """Targets as probabilities: of the second of two classes, or of all classes as columns."""
    target = rows.target
    if target.ndim == 2:
        return rows if n_classes > 2 else replace(rows, y=np.ascontiguousarray(target[:, 1]))
    if n_classes <= 2:
        return rows
    return replace(rows, y=np.eye(n_classes)[target.astype(np.intp)])
