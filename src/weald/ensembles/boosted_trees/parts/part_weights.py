"""Sample and class weights of rows in parts: decided over all parts, applied in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent, unit_exponent
from weald.data.binning import MASS_BITS
from weald.data.rows import MOST_COPIES
from weald.ensembles.base import Floats

_HALF = 26  # digits of weights are summed in halves of so many bits


class Weighted(NamedTuple):
    """Targets and sample weights of some rows."""

    y: Any
    weight: Any


class WeightFacts(NamedTuple):
    """The positive weights of some rows: extremes, and their exact sum in units of 2**unit."""

    least: float
    largest: float
    unit: int
    total: int

    @classmethod
    def of(cls, weight: Floats) -> "WeightFacts | None":
        """The facts of positive weights; None if there are none.

        >>> WeightFacts.of(np.array([0.5, 1.5, 4.0]))
        WeightFacts(least=0.5, largest=4.0, unit=-1, total=12)
        """
        if len(weight) == 0:
            return None
        mantissa, exponent = np.frexp(weight)
        digits = np.ldexp(mantissa, 53).astype(np.int64)
        unit, total = unit_exponent(weight), 0
        for e in np.unique(exponent).tolist():
            own = digits[exponent == e]
            high, low = int((own >> _HALF).sum()), int((own & (2**_HALF - 1)).sum())
            shift, whole = e - 53 - unit, (high << _HALF) + low
            total += whole << shift if shift >= 0 else whole >> -shift
        return cls(float(weight.min()), float(weight.max()), unit, total)

    def plus(self, other: "WeightFacts") -> "WeightFacts":
        """The facts of the rows of both."""
        unit = min(self.unit, other.unit)
        total = sum(one.total << (one.unit - unit) for one in (self, other))
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        return WeightFacts(least, largest, unit, total)


def together(facts: Sequence[WeightFacts | None]) -> WeightFacts | None:
    """The facts of all rows; None if there are no rows."""
    total = None
    for one in facts:
        if one is not None:
            total = one if total is None else total.plus(one)
    return total


def are_equal(facts: Sequence[WeightFacts | None] | None) -> bool:
    """Whether all rows have the same weight, or none (None)."""
    all_rows = None if facts is None else together(facts)
    return all_rows is None or all_rows.least == all_rows.largest


def total_weights(facts: Sequence[WeightFacts | None]) -> Floats:
    """The total weight of each class, rounded once, in units in which none is extreme.

    >>> total_weights([WeightFacts.of(np.array([1.0, 0.5])), None]).tolist()
    [1.5, 0.0]
    """
    exponent = extreme_exponent(np.array([0.0 if one is None else one.largest for one in facts]))
    return np.array(
        [
            0.0 if one is None else float(one.total * Fraction(2) ** (one.unit - exponent))
            for one in facts
        ]
    )


class PartWeights(NamedTuple):
    """The weights of the rows of a part.

    Attributes
    ----------
    kept : bool array or None
        The rows that have a weight, of which the other arrays are; None: all.
    given : array or None
        Sample weights, by which equal rows are numbered; None: all are equal.
    weight : array or None
        Factors of gradients and losses, class weights included.
    times : int64 array or None
        How often each row counts, if its weight is that of repeated rows.
    mass : int64 array or None
        How often each row counts where bins are found.
    """

    kept: NDArray[np.bool_] | None = None
    given: Floats | None = None
    weight: Floats | None = None
    times: NDArray[np.int64] | None = None
    mass: NDArray[np.int64] | None = None


NO_WEIGHTS = PartWeights()


@dataclass(frozen=True, eq=False)
class WeightRule:
    """What the parts do with weights, as `Rows` and `weighted_by_class` do in one table.

    Attributes
    ----------
    has_weights : bool
        Whether sample weights differ.
    exponent : int
        Sample weights are divided by 2**exponent.
    unit : int or None
        Sample weights are multiples of 2**unit whose sum is small enough; None: they are not.
    largest : float
        Largest sample weight.
    repeats : bool
        Whether rows count as often as these multiples say, and have no other sample weight.
    kept_classes : bool array or None
        Classes of positive class weight; None: all.
    of_class : array or None
        Class weights, or their common factor's quotients; None: no class weights.
    both : int
        Products of class and sample weights are divided by 2**both.
    weight_unit : float
        The common factor of all weights.
    """

    has_weights: bool = False
    exponent: int = 0
    unit: int | None = None
    largest: float = 1.0
    repeats: bool = False
    kept_classes: NDArray[np.bool_] | None = None
    of_class: Floats | None = None
    both: int = 0
    weight_unit: float = 1.0

    @classmethod
    def agreed(
        cls,
        facts: Sequence[WeightFacts | None] | None,
        class_weight: Floats | None,
        *,
        may_repeat: bool,
    ) -> "WeightRule":
        """The rule for weights of these facts.

        Parameters
        ----------
        facts
            Sample weights of the rows of each class; of a regression, of all rows. None: none.
        class_weight
            Class weights.
        may_repeat
            Whether weights that are whole numbers make rows count more than once.
        """
        kept = None if class_weight is None or (class_weight > 0).all() else class_weight > 0
        rule = cls(kept_classes=kept)
        if facts is not None:
            rule = rule._of_samples(facts, may_repeat=may_repeat)
        if class_weight is None or (class_weight == 1.0).all():
            return rule
        return rule._of_classes(facts, class_weight)

    def _of_samples(self, facts: Sequence[WeightFacts | None], *, may_repeat: bool) -> "WeightRule":
        all_rows, mask = together(facts), self.kept_classes
        rest = together([one for k, one in enumerate(facts) if mask is None or mask[k]])
        assert all_rows is not None and rest is not None
        if all_rows.least == all_rows.largest:
            return WeightRule(kept_classes=mask, weight_unit=all_rows.least)
        extreme = extreme_exponent(np.array([all_rows.largest]))
        exponent = extreme - 1 if extreme else 0
        unit = rest.unit if rest.total <= MOST_COPIES else None
        repeats = may_repeat and unit is not None
        weight_unit = 2.0**exponent
        if repeats and unit is not None:
            weight_unit *= 2.0 ** (unit - exponent)
        return WeightRule(
            True, exponent, unit, rest.largest, repeats, mask, weight_unit=weight_unit
        )

    def _of_classes(
        self, facts: Sequence[WeightFacts | None] | None, class_weight: Floats
    ) -> "WeightRule":
        extreme = extreme_exponent(class_weight)
        own = extreme - 1 if extreme else 0
        of_class = np.ldexp(class_weight, -own)
        largest = of_class
        if self.has_weights and not self.repeats and facts is not None:
            of_rows = [0.0 if one is None else one.largest for one in facts]
            largest = of_class * np.ldexp(of_rows, -self.exponent)
        extreme = extreme_exponent(largest)
        both = extreme - 1 if extreme else 0
        # As in weighted_by_class.
        unit = min(max(self.weight_unit * 2.0**own * 2.0**both, 2.0**-1000), 2.0**1000)
        return WeightRule(
            self.has_weights,
            self.exponent,
            self.unit,
            self.largest,
            self.repeats,
            self.kept_classes,
            of_class,
            both,
            unit,
        )

    @property
    def has_factors(self) -> bool:
        """Whether gradients have factors."""
        return self.of_class is not None or (self.has_weights and not self.repeats)

    def of_rows(self, sample_weight: Floats | None, target: Floats) -> PartWeights:
        """The weights of the rows of a part, of which `target` may be class numbers."""
        kept = np.ones(len(target), dtype=bool) if sample_weight is None else sample_weight > 0
        if self.kept_classes is not None:
            kept &= self.kept_classes[target.astype(np.intp)]
        target = target[kept]
        weight = given = times = mass = None
        if self.has_weights and sample_weight is not None:
            given = sample_weight[kept]
            mass = self._mass(given)
            if self.repeats:
                times = mass
            else:
                weight = np.ldexp(given, -self.exponent)
        if self.of_class is not None:
            factor = self.of_class[target.astype(np.intp)]
            weight = np.ldexp(factor if weight is None else factor * weight, -self.both)
        return PartWeights(None if kept.all() else kept, given, weight, times, mass)

    def _mass(self, given: Floats) -> NDArray[np.int64]:
        """As `mass_of` does."""
        if self.unit is not None:
            return np.ldexp(given, -self.unit).astype(np.int64)
        scaled = np.ldexp(given, MASS_BITS - np.frexp(self.largest)[1])
        mass: NDArray[np.int64] = np.maximum(1, np.rint(scaled)).astype(np.int64)
        return mass
