"""What comes of distilling: the student, how faithful it is, where it is not."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent
from weald.ensembles.distilling.rule_list import RuleList
from weald.ensembles.distilling.students import size_of
from weald.trees import conditions_of_leaf

Floats = NDArray[np.float64]

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


@dataclass(frozen=True)
class Estimate:
    """A figure from some rows, with an interval that covers the truth 95 times in 100.

    Attributes
    ----------
    value : float
        The figure.
    low, high : float
        The interval.
    n : int
        From how many rows.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f}, {self.n} rows)"

    def __float__(self) -> float:
        return self.value


def share_estimate(is_right: NDArray[np.bool_]) -> Estimate:
    """The share of rows, with Wilson's interval.

    >>> print(share_estimate(np.array([True] * 9 + [False])))
    0.9000 (0.5958 to 0.9821, 10 rows)
    """
    n, p = len(is_right), float(is_right.mean())
    below = 1 + _Z**2 / n
    middle = (p + _Z**2 / (2 * n)) / below
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / below
    return Estimate(p, max(0.0, middle - half), min(1.0, middle + half), n)


def r2_estimate(wanted: Floats, predicted: Floats) -> Estimate:
    """1 minus the squared error over the variance, with the interval of its linearised error.

    >>> estimate = r2_estimate(np.arange(100.0), np.arange(100.0) + 1)
    >>> estimate.low < estimate.value < estimate.high < 1
    True
    """
    n = len(wanted)
    # It does not depend on the unit, in which squares stay within the range of floats.
    exponent = extreme_exponent(wanted)
    wanted, predicted = np.ldexp(wanted, -exponent), np.ldexp(predicted, -exponent)
    error, spread = (wanted - predicted) ** 2, (wanted - wanted.mean()) ** 2
    if not spread.mean() > 0:
        value = 1.0 if not error.any() else -math.inf
        return Estimate(value, value, value, n)
    ratio = float(error.mean() / spread.mean())
    influence = (error - ratio * spread) / spread.mean()
    half = _Z * float(influence.std()) / math.sqrt(n)
    return Estimate(1 - ratio, 1 - ratio - half, min(1.0, 1 - ratio + half), n)


@dataclass(frozen=True)
class Point:
    """A student of one size: what it is worth.

    Attributes
    ----------
    size : int
        How many answers it has: leaves or rules.
    fidelity : Estimate
        How often it agrees with the teacher, or R² of the teacher's numbers.
    accuracy : Estimate or None
        The same against the true targets, if they are known.
    """

    size: int
    fidelity: Estimate
    accuracy: Estimate | None


@dataclass(frozen=True)
class Region:
    """Rows that the student answers alike, and how it differs from the teacher there.

    Attributes
    ----------
    condition : str
        What the rows have in common, in words.
    rows : int
        How many rows of the measurement lie there.
    disagreement : float
        The share of them on which labels differ, or the root of the mean squared difference.
    """

    condition: str
    rows: int
    disagreement: float

    def __str__(self) -> str:
        return f"{self.disagreement:.4g} of {self.rows} rows: {self.condition}"


@dataclass(frozen=True, eq=False)
class Measurement:
    """The rows that fidelity is measured on, what the teacher says of them, and the truth."""

    X: Any
    predictions: Floats
    classes: NDArray[Any] | None
    truth: Floats | None  # in the form of the answers

    def agreement(self, predictions: Floats, wanted: Floats) -> Estimate:
        """How often labels agree, or R² of numbers."""
        if self.classes is None:
            return r2_estimate(wanted[:, 0], predictions[:, 0])
        return share_estimate(predictions.argmax(axis=1) == wanted.argmax(axis=1))

    def fidelity(self, predicted: Floats) -> Estimate:
        return self.agreement(predicted, self.predictions)

    def accuracy(self, predicted: Floats) -> Estimate | None:
        return None if self.truth is None else self.agreement(predicted, self.truth)

    def asked(self, student: Any) -> Floats:
        """What a student says, in the form of the answers."""
        if self.classes is None:
            return np.asarray(student.predict(self.X), dtype=np.float64)[:, np.newaxis]
        return np.asarray(student.predict_proba(self.X), dtype=np.float64)

    def point(self, student: Any) -> Point:
        predicted = self.asked(student)
        return Point(size_of(student), self.fidelity(predicted), self.accuracy(predicted))


@dataclass(frozen=True, eq=False)
class Distilled:
    """One readable model that answers like an ensemble, and a measurement of how well it does.

    Attributes
    ----------
    model : estimator
        The student.
    fidelity : Estimate
        On rows that the student did not see: the share on which its label is the teacher's, or R²
        of the teacher's numbers.
    gap : float
        The mean absolute difference of the probabilities, or the root of the mean squared
        difference of numbers, on the same rows.
    teacher_accuracy, student_accuracy : Estimate or None
        Accuracy, or R², against the true targets of these rows, if they were given.
    unseen_by_teacher : bool
        Whether the rows of the measurement were passed as such (`X_val`). Otherwise they were held
        back from the student only: the teacher may have learnt from them.
    n_synthetic : int
        New rows that the student learnt from, beside those of X.
    """

    model: Any
    fidelity: Estimate
    gap: float
    teacher_accuracy: Estimate | None
    student_accuracy: Estimate | None
    unseen_by_teacher: bool
    n_synthetic: int
    _measured: Measurement = field(repr=False)
    _teach: Callable[[int], Any] = field(repr=False)

    def text(self) -> str:
        """The student as text."""
        text: str = self.model.text()
        return text

    def __str__(self) -> str:
        what = "agreement" if self._measured.classes is not None else "R² of the teacher's numbers"
        seen = "neither saw" if self.unseen_by_teacher else "the student did not see"
        lines = [
            f"{type(self.model).__name__}, {size_of(self.model)} answers, from "
            f"{self.n_synthetic} new rows",
            f"{what} on rows that {seen}: {self.fidelity}",
        ]
        if self.student_accuracy is not None:
            lines.append(f"against the truth: teacher {self.teacher_accuracy}")
            lines.append(f"                   student {self.student_accuracy}")
        return "\n".join(lines)

    def curve(self, sizes: Sequence[int] = (2, 4, 8, 16, 32, 64, 128)) -> list[Point]:
        """Fidelity against size: students of other sizes, on the same rows.

        Parameters
        ----------
        sizes : sequence of int
            Most leaves or rules of each student.

        Returns
        -------
        list of Point
            In the order of `sizes`.
        """
        sizes = list(sizes)
        if not sizes or any(not isinstance(s, (int, np.integer)) or s < 2 for s in sizes):
            raise ValueError(f"sizes must be whole numbers of at least 2. Got {sizes!r}.")
        return [self._measured.point(self._teach(int(size))) for size in sizes]

    def worst(self, n: int = 10) -> NDArray[np.intp]:
        """The rows of the measurement on which teacher and student differ most, worst first.

        They are numbers of rows of `X_val`; where that was not given, of those of X that were held
        back (`held_back` tells which these are).
        """
        order = np.argsort(-self._differences(), kind="stable")
        return np.asarray(order[:n])

    @property
    def held_back(self) -> NDArray[np.intp] | None:
        """The rows of X that were held back for the measurement; None if `X_val` was given."""
        rows: NDArray[np.intp] | None = getattr(self._teach, "held_back", None)
        return rows

    def regions(self, n: int = 5) -> list[Region]:
        """Where they disagree most: rows that the student answers alike, worst first.

        Ordered by what they add to the disagreement of all rows. Rows that reach several leaves of
        an option tree count in each.
        """
        places = self._places()
        is_class = self._measured.classes is not None
        off = self._differences() if not is_class else self._are_different().astype(float)
        found = []
        for place in np.unique(places[places >= 0]):
            here = (places == place).any(axis=1)
            mean = float(off[here].mean()) if is_class else float(np.sqrt((off[here] ** 2).mean()))
            added = float((off[here] if is_class else off[here] ** 2).sum())
            found.append(
                (added, -int(place), Region(self._condition(int(place)), int(here.sum()), mean))
            )
        found.sort(key=lambda one: one[:2], reverse=True)
        return [region for _, _, region in found[:n]]

    def _places(self) -> NDArray[np.intp]:
        """The leaves, or the rule, of each row."""
        if isinstance(self.model, RuleList):
            return self.model.rule_of(self._measured.X)[:, np.newaxis]
        return np.asarray(self.model.apply(self._measured.X), dtype=np.intp)

    def _condition(self, place: int) -> str:
        model = self.model
        if isinstance(model, RuleList):
            return model.conditions(place)
        names = model._plan.names(model._column_names())
        found = conditions_of_leaf(model.forest_, 0, place, names, model._plan.levels)
        return " and ".join(found) or "all rows"

    def _are_different(self) -> NDArray[np.bool_]:
        predicted = self._measured.asked(self.model)
        return np.asarray(predicted.argmax(axis=1) != self._measured.predictions.argmax(axis=1))

    def _differences(self) -> Floats:
        """Half the sum of the differences of probabilities, or the difference of numbers."""
        off = np.abs(self._measured.asked(self.model) - self._measured.predictions).sum(axis=1)
        return np.asarray(off if self._measured.classes is None else off / 2)
