"""Rows that look mislabelled, or whose target is far from what similar rows have."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# A residual this many robust standard deviations from the median is in doubt.
_FAR = 8.0


@dataclass(frozen=True, eq=False)
class DoubtfulRows:
    """Rows whose target is in doubt, the most doubtful first.

    Attributes
    ----------
    rows : intp [rows]
        Positions in X.
    given, suggested : float64 [rows]
        Class indices, or numbers: the target as given, and as predicted by a model that has not
        seen the row.
    doubt : float64 [rows]
        Probability of the suggested class minus that of the given one, or the distance in robust
        standard deviations of the residuals.
    n : int
        Number of rows looked at.
    error, least_error : float
        Share of wrong predictions of the model that doubts, and of the quarter of the rows that it
        is surest of. Labels that are wrong at random put a floor under the latter; where classes
        overlap it is much lower than the former. NaN for numbers.
    """

    rows: Rows = field(repr=False)
    given: NDArray[np.generic] = field(repr=False)
    suggested: NDArray[np.generic] = field(repr=False)
    doubt: Floats = field(repr=False)
    n: int
    error: float = float("nan")
    least_error: float = float("nan")

    def __len__(self) -> int:
        return len(self.rows)


def mislabelled_rows(probabilities: Floats, codes: Rows, rows: Rows) -> DoubtfulRows:
    """Find rows by confident learning (Northcutt, Jiang and Chuang 2021).

    The threshold of a class is the mean probability that its own rows have of it. A row counts as
    of another class if its most probable class is another one and reaches that class's threshold.

    Parameters
    ----------
    probabilities : float64 [rows, classes]
        Class probabilities by models that were not fitted on the row.
    codes : intp [rows]
        Classes as given.
    rows : intp [rows]
        Positions of the rows in X.

    Examples
    --------
    >>> shares = np.array([[0.9, 0.1]] * 5 + [[0.2, 0.8]] * 5)
    >>> given = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    >>> found = mislabelled_rows(shares, given, np.arange(10))
    >>> found.rows.tolist(), found.suggested.tolist(), found.doubt.round(2).tolist()
    ([4], [0], [0.8])
    """
    n_classes = probabilities.shape[1]
    counts = np.bincount(codes, minlength=n_classes)
    own = probabilities[np.arange(len(codes)), codes]
    # A class without rows is never suggested.
    sums = np.bincount(codes, weights=own, minlength=n_classes)
    thresholds = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    best = probabilities.argmax(axis=1)
    share = probabilities[np.arange(len(codes)), best]
    found = np.flatnonzero((best != codes) & (share >= thresholds[best]) & (share > own))
    doubt = share[found] - own[found]
    order = np.argsort(-doubt, kind="stable")
    found = found[order]
    is_wrong = best != codes
    surest = np.argsort(-share, kind="stable")[: max(1, len(codes) // 4)]
    return DoubtfulRows(
        rows[found],
        codes[found],
        best[found],
        doubt[order],
        len(codes),
        float(is_wrong.mean()),
        float(is_wrong[surest].mean()),
    )


def far_rows(predictions: Floats, target: Floats, rows: Rows) -> DoubtfulRows:
    """Find rows whose residual is far outside the others.

    >>> y = np.append(np.arange(20.0) % 3, 99.0)
    >>> far_rows(np.ones(21), y, np.arange(21)).rows.tolist()
    [20]
    """
    residuals = target - predictions
    middle = float(np.median(residuals))
    spread = 1.4826 * float(np.median(np.abs(residuals - middle)))
    away = np.abs(residuals - middle) / spread if spread > 0 else np.zeros(len(target))
    found = np.flatnonzero(away > _FAR)
    order = np.argsort(-away[found], kind="stable")
    found = found[order]
    return DoubtfulRows(rows[found], target[found], predictions[found], away[found], len(target))
