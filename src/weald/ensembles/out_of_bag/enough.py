"""Stopping rule of n_estimators="auto": the out-of-bag error has converged."""

import numpy as np
from numpy.typing import NDArray

from weald.data import effective_rows
from weald.ensembles.exact_means import exact_means

Floats = NDArray[np.float64]

# Base estimators are added in batches of this size, up to this maximum.
BATCH, MOST = 50, 1000

# Stop if the remaining improvement is below this fraction of the standard error of the error.
_TOLERANCE = 0.1


class Enough:
    """Monitors the out-of-bag error e(B) of the first B base estimators.

    The error of a mean of B base estimators decreases like a + b / B, where a is the error of
    infinitely many. This curve is fitted to all batches by least squares; growing stops when
    |e(B) - a| is at most a tenth of the standard error of e(B). Means over rows are exact, so that
    the result depends on nothing but data and seed.
    """

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []

    def says(self, n_members: int, losses: Floats, weight: Floats | None) -> bool:
        """Record the row losses after `n_members` base estimators; True: stop."""
        if n_members >= MOST:
            return True
        if not len(losses):  # every row is in every sample: too few rows, or too heavy ones
            return n_members >= 2 * BATCH
        error = float(exact_means(losses, weight))
        variance = float(exact_means((losses - error) ** 2, weight))
        self._points.append((1.0 / n_members, error))
        if len(self._points) < 2:
            return False
        standard_error = float(np.sqrt(variance / effective_rows(weight, len(losses))))
        slope, n = self._slope(), len(self._points)
        limit = sum(e for _, e in self._points) / n - slope * sum(x for x, _ in self._points) / n
        return abs(error - limit) <= _TOLERANCE * standard_error

    def _slope(self) -> float:
        n = len(self._points)
        mean_x = sum(x for x, _ in self._points) / n
        mean_e = sum(e for _, e in self._points) / n
        covariance = sum((x - mean_x) * (e - mean_e) for x, e in self._points)
        return covariance / sum((x - mean_x) ** 2 for x, _ in self._points)
