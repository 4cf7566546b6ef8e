"""Row weights of AdaBoost."""

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows

Floats = NDArray[np.float64]

# Lower limit of a row's share of the total weight, as in scikit-learn: 0 could never grow again.
_LEAST = 2.0**-52

# Weights are rounded to multiples of 1/_STEPS: sums stay below 2**53 and are exact in any order.
_STEPS = 2.0**52


class RowWeights:
    """Normalised row weights: summed over all copies of all rows they are 1.

    Attributes
    ----------
    each : float64 [rows]
        Weight of one copy of each row.
    copies : int64 [rows] or None
        Number of copies of each row; None: one.
    mass : float64 [rows]
        Integer-valued weight of all copies of a row: sums are exact.
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
        """Share of the chosen rows in the total weight."""
        return _native.mass_of(self.mass, chosen) / self._total

    def multiply_two(self, wrong: NDArray[np.bool_], if_right: float, if_wrong: float) -> None:
        """Multiply the weights of correct and misclassified rows by two factors and normalise."""
        share = self.share_of(wrong)
        total = if_right * (1.0 - share) + if_wrong * share
        self._reweight(wrong, if_right / total, if_wrong / total)

    def multiply(self, factors: Floats) -> float:
        """Multiply the weights by one factor per row and normalise; return the mean factor."""
        each = self.each * factors
        total = _native.exact_total(each, self.copies)
        self._set(each / total)
        return total

    def mean_of(self, values: Floats) -> float:
        """Weighted mean of one value per row."""
        total = _native.exact_total(self.each, self.copies)
        return _native.exact_total(self.each * values, self.copies) / total

    def of_rows(self) -> Floats:
        """Weight of each row, all its copies included."""
        return self.each.copy() if self.copies is None else self.each * self.copies
