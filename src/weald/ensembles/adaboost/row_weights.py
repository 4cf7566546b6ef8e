"""What each row weighs from round to round of AdaBoost."""

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows

Floats = NDArray[np.float64]

# No row falls below this share of all weight, as in scikit-learn: it could never come back.
_LEAST = 2.0**-52

# Weights as whole numbers of this step: their sums stay below 2**53 and are exact in any order.
_STEPS = 2.0**52


class RowWeights:
    """One number per copy of a row; over all copies they add up to 1.

    Attributes
    ----------
    each : float64 [rows]
        The weight of one copy of each row.
    copies : int64 [rows] or None
        How often each row counts; None: once.
    mass : float64 [rows]
        What all copies of a row weigh, as whole numbers: every sum of them is exact.
    """

    each: Floats
    mass: Floats

    def __init__(self, rows: Rows) -> None:
        self.copies = rows.copies
        start = np.ones(rows.n) if rows.weight is None else rows.weight
        self._set(start / _native.exact_total(start, rows.copies))

    def _set(self, each: Floats) -> None:
        self.each, self.mass = each, np.empty_like(each)
        self._reweight(np.zeros(len(each), dtype=bool), 1.0, 1.0)

    def _reweight(self, wrong: NDArray[np.bool_], if_right: float, if_wrong: float) -> None:
        _native.reweight(
            self.each, self.mass, wrong, self.copies, if_right, if_wrong, _LEAST, _STEPS
        )
        self._total = float(self.mass.sum())

    def share_of(self, chosen: NDArray[np.bool_]) -> float:
        """What the chosen rows weigh together."""
        return _native.mass_of(self.mass, chosen) / self._total

    def multiply_two(self, wrong: NDArray[np.bool_], if_right: float, if_wrong: float) -> None:
        """Multiply the weights of right and of wrong rows, and make them add up to 1 again."""
        share = self.share_of(wrong)
        total = if_right * (1.0 - share) + if_wrong * share
        self._reweight(wrong, if_right / total, if_wrong / total)

    def multiply(self, factors: Floats) -> None:
        """Multiply each weight by a factor of its own, and make them add up to 1 again."""
        each = self.each * factors
        self._set(each / _native.exact_total(each, self.copies))

    def mean_of(self, values: Floats) -> float:
        """The weighted mean of a number per row."""
        total = _native.exact_total(self.each, self.copies)
        return _native.exact_total(self.each * values, self.copies) / total

    def of_rows(self) -> Floats:
        """What each row weighs, with all its copies."""
        return self.each.copy() if self.copies is None else self.each * self.copies
