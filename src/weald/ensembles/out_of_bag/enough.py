"""How many members are enough: until more would not lower the out-of-bag error visibly."""

import numpy as np
from numpy.typing import NDArray

from weald.data import effective_rows
from weald.ensembles.exact_means import exact_means

Floats = NDArray[np.float64]

# Members are added in batches of this size, at most so many.
BATCH, MOST = 50, 1000

# The gain still to be had must be below this part of the error's own standard error.
_PART = 0.1


class Enough:
    """Watches the out-of-bag error e(B) of the first B members.

    The error of a mean of B members falls like a + b / B: a is that of infinitely many. It is
    fitted to all batches by least squares; enough is reached when e(B) - a is less than a tenth of
    the standard error of e(B). Means over rows are exact, so that only data and seed decide.
    """

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []

    def says(self, n_members: int, losses: Floats, weight: Floats | None) -> bool:
        """Note the losses of the rows after so many members; True: add no more."""
        if n_members >= MOST:
            return True
        if not len(losses):  # rows so few, or so heavy, that each is in every sample
            return n_members >= 2 * BATCH
        error = float(exact_means(losses, weight))
        variance = float(exact_means((losses - error) ** 2, weight))
        self._points.append((1.0 / n_members, error))
        if len(self._points) < 2:
            return False
        standard_error = float(np.sqrt(variance / effective_rows(weight, len(losses))))
        slope, n = self._slope(), len(self._points)
        limit = sum(e for _, e in self._points) / n - slope * sum(x for x, _ in self._points) / n
        return abs(error - limit) <= _PART * standard_error

    def _slope(self) -> float:
        n = len(self._points)
        middle = sum(x for x, _ in self._points) / n
        level = sum(e for _, e in self._points) / n
        above = sum((x - middle) * (e - level) for x, e in self._points)
        return above / sum((x - middle) ** 2 for x, _ in self._points)
