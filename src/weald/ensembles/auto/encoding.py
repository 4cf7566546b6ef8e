"""Numeric columns for linear models, neighbours and neural networks."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

Floats = NDArray[np.float64]

# Categories beyond the most frequent ones share no column: they are all zeros.
_MOST_LEVELS = 30

# Scaled values are squeezed to between plus and minus this, so that outliers have little influence.
_BOUND = 3.0


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Scale numbers, replace missing ones, and one-hot encode categories.

    Numbers are centred at their median, divided by their interquartile range (or the standard
    deviation, if that is 0) and squeezed smoothly to between -3 and 3; a missing one becomes 0, and
    a column with missing values is followed by their indicator. Constant columns are dropped.

    Parameters
    ----------
    categories : sequence of int
        Columns with the indices of categories; NaN for missing ones.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [np.nan, np.nan]])
    >>> ColumnEncoder(categories=[1]).fit_transform(X).round(1).tolist()
    [[-1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
    """

    columns_: list[int]
    centres_: Floats
    scales_: Floats
    incomplete_: list[int]
    levels_: dict[int, Floats]

    def __init__(self, categories: Any = ()) -> None:
        self.categories = categories

    def fit(self, X: Floats, y: Any = None) -> Self:
        """Find medians, scales and the most frequent categories."""
        categories = [int(column) for column in self.categories]
        self.levels_ = {column: _frequent(X[:, column]) for column in categories}
        self.columns_, self.incomplete_, centres, scales = [], [], [], []
        for column in range(X.shape[1]):
            if column in self.levels_:
                continue
            values = X[:, column].astype(np.float64)
            known = values[np.isfinite(values)]
            if 0 < len(known) < len(values):
                self.incomplete_.append(column)
            centre, scale = _centre_and_scale(known)
            if scale > 0:
                self.columns_.append(column)
                centres.append(centre)
                scales.append(scale)
        self.centres_, self.scales_ = np.array(centres), np.array(scales)
        return self

    def transform(self, X: Floats) -> Floats:
        """The encoded columns; at least one, of zeros if there are none."""
        numbers = X[:, self.columns_].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = _BOUND * np.tanh((numbers - self.centres_) / self.scales_ / _BOUND)
        parts = [np.where(np.isnan(scaled), 0.0, scaled)]
        parts.append((~np.isfinite(X[:, self.incomplete_])).astype(np.float64))
        for column, levels in self.levels_.items():
            parts.append((X[:, [column]] == levels).astype(np.float64))
        encoded = np.hstack(parts)
        return encoded if encoded.shape[1] else np.zeros((len(X), 1))


def _frequent(codes: Floats) -> Floats:
    """The most frequent categories, ties by index."""
    found, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    chosen = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    return np.sort(found[chosen]).astype(np.float64)


def _centre_and_scale(known: Floats) -> tuple[float, float]:
    if len(known) == 0:
        return 0.0, 0.0
    low, centre, high = (float(q) for q in np.quantile(known, [0.25, 0.5, 0.75]))
    with np.errstate(over="ignore", invalid="ignore"):
        scale = high - low
        if not scale > 0:
            scale = float(known.std())
    return centre, scale if np.isfinite(scale) else 0.0
