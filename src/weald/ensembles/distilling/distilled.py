"""Result of distillation: the student, its fidelity, and where it differs from the teacher."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent
from weald.ensembles.distilling.rule_list import RuleList
from weald.ensembles.distilling.students import size_of
from weald.number_text import number_text
from weald.trees import conditions_of_leaf

Floats = NDArray[np.float64]

_Z = 1.959963984540054  # 0.975 quantile of the normal distribution


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95 % confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Bounds of the confidence interval.
    n : int
        Number of rows.
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
    """Fraction of True, with Wilson's interval.

    >>> print(share_estimate(np.array([True] * 9 + [False])))
    0.9000 (0.5958 to 0.9821, 10 rows)
    """
    n, p = len(is_right), float(is_right.mean())
    divisor = 1 + _Z**2 / n
    centre = (p + _Z**2 / (2 * n)) / divisor
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / divisor
    return Estimate(p, max(0.0, centre - half), min(1.0, centre + half), n)


def r2_estimate(target: Floats, predicted: Floats) -> Estimate:
    """R², with an interval from its linearised standard error.

    >>> estimate = r2_estimate(np.arange(100.0), np.arange(100.0) + 1)
    >>> estimate.low < estimate.value < estimate.high < 1
    True
    """
    n = len(target)
    # Scaling by a power of two avoids overflow of squares and does not change R².
    exponent = extreme_exponent(target)
    target, predicted = np.ldexp(target, -exponent), np.ldexp(predicted, -exponent)
    error, square = (target - predicted) ** 2, (target - target.mean()) ** 2
    if not square.mean() > 0:
        value = 1.0 if not error.any() else -math.inf
        return Estimate(value, value, value, n)
    ratio = float(error.mean() / square.mean())
    influence = (error - ratio * square) / square.mean()
    half = _Z * float(influence.std()) / math.sqrt(n)
    return Estimate(1 - ratio, 1 - ratio - half, min(1.0, 1 - ratio + half), n)


@dataclass(frozen=True)
class Point:
    """Fidelity and accuracy of a student of one size.

    Attributes
    ----------
    size : int
        Number of leaves or rules.
    fidelity : Estimate
        Agreement with the teacher: fraction of equal labels, or R² of its predictions.
    accuracy : Estimate or None
        Accuracy or R² on the true targets, if they are known.
    """

    size: int
    fidelity: Estimate
    accuracy: Estimate | None


@dataclass(frozen=True)
class Region:
    """A leaf or rule of the student, and how far it differs from the teacher there.

    Attributes
    ----------
    condition : str
        Conditions of the leaf or rule.
    rows : int
        Number of validation rows in it.
    disagreement : float
        Fraction of them with different labels, or root mean squared difference.
    """

    condition: str
    rows: int
    disagreement: float

    def __str__(self) -> str:
        return f"{number_text(self.disagreement)} of {self.rows} rows: {self.condition}"


@dataclass(frozen=True, eq=False)
class Measurement:
    """Validation rows, with the predictions of the teacher and the true targets.

    All predictions are class probabilities of shape (rows, classes), or numbers of shape (rows, 1);
    true classes are one-hot encoded.
    """

    X: Any
    teacher: Floats
    classes: NDArray[Any] | None
    truth: Floats | None

    def agreement(self, predicted: Floats, target: Floats) -> Estimate:
        """Fraction of equal labels, or R²."""
        if self.classes is None:
            return r2_estimate(target[:, 0], predicted[:, 0])
        return share_estimate(predicted.argmax(axis=1) == target.argmax(axis=1))

    def fidelity(self, predicted: Floats) -> Estimate:
        return self.agreement(predicted, self.teacher)

    def accuracy(self, predicted: Floats) -> Estimate | None:
        return None if self.truth is None else self.agreement(predicted, self.truth)

    def predict(self, student: Any) -> Floats:
        """Predictions of a student for the validation rows."""
        if self.classes is None:
            return np.asarray(student.predict(self.X), dtype=np.float64)[:, np.newaxis]
        return np.asarray(student.predict_proba(self.X), dtype=np.float64)

    def point(self, student: Any) -> Point:
        predicted = self.predict(student)
        return Point(size_of(student), self.fidelity(predicted), self.accuracy(predicted))


@dataclass(frozen=True, eq=False)
class Distilled:
    """An interpretable model (the student) fitted to an ensemble (the teacher), with its fidelity.

    Attributes
    ----------
    model : estimator
        The student.
    fidelity : Estimate
        Agreement of student and teacher on the validation rows: fraction of equal labels, or R² of
        the teacher's predictions.
    gap : float
        Mean absolute difference of the class probabilities, or root mean squared difference of the
        predictions, on the same rows.
    teacher_accuracy, student_accuracy : Estimate or None
        Accuracy or R² on the true targets of these rows, if they were given.
    unseen_by_teacher : bool
        Whether the validation rows are `X_val`. Otherwise they were held out from the student only,
        and the teacher may have been fitted on them.
    n_synthetic : int
        Number of synthetic rows that the student was fitted on, in addition to those of X.
    """

    model: Any
    fidelity: Estimate
    gap: float
    teacher_accuracy: Estimate | None
    student_accuracy: Estimate | None
    unseen_by_teacher: bool
    n_synthetic: int
    _measurement: Measurement = field(repr=False)
    _fit_student: Callable[[int], Any] = field(repr=False)

    def text(self) -> str:
        """The student as text."""
        text: str = self.model.text()
        return text

    def __str__(self) -> str:
        is_class = self._measurement.classes is not None
        unit = "rules" if isinstance(self.model, RuleList) else "leaves"
        what = "agreement with" if is_class else "R² of the predictions of"
        rows = "validation rows" if self.unseen_by_teacher else "rows held out from the student"
        lines = [
            f"{type(self.model).__name__}, {size_of(self.model)} {unit}, fitted on X and "
            f"{self.n_synthetic} synthetic rows",
            f"{what} the teacher on {rows}: {self.fidelity}",
        ]
        if self.student_accuracy is not None:
            name = "accuracy" if is_class else "R²"
            lines.append(f"{name} of the teacher: {self.teacher_accuracy}")
            lines.append(f"{name} of the student: {self.student_accuracy}")
        return "\n".join(lines)

    def curve(self, sizes: Sequence[int] = (2, 4, 8, 16, 32, 64, 128)) -> list[Point]:
        """Fidelity as a function of size: fit students of other sizes on the same rows.

        Parameters
        ----------
        sizes : sequence of int
            Maximum number of leaves or rules of each student.

        Returns
        -------
        list of Point
            In the order of `sizes`.
        """
        sizes = list(sizes)
        if not sizes or any(not isinstance(s, (int, np.integer)) or s < 2 for s in sizes):
            raise ValueError(f"sizes must be integers of at least 2. Got {sizes!r}.")
        return [self._measurement.point(self._fit_student(int(size))) for size in sizes]

    def worst(self, n: int = 10) -> NDArray[np.intp]:
        """Indices of the validation rows on which teacher and student differ most, worst first.

        Indices into `X_val`; if that was not given, into the rows of X that were held out
        (``X[held_back]``).
        """
        order = np.argsort(-self._differences(), kind="stable")
        return np.asarray(order[:n])

    @property
    def held_back(self) -> NDArray[np.intp] | None:
        """Indices of the rows of X that were held out; None if `X_val` was given."""
        rows: NDArray[np.intp] | None = getattr(self._fit_student, "held_back", None)
        return rows

    def regions(self, n: int = 5) -> list[Region]:
        """Leaves or rules of the student with the largest disagreement, worst first.

        Ordered by their contribution to the total disagreement. Rows that reach several leaves of
        an option tree count in each.
        """
        places = self._places()
        is_class = self._measurement.classes is not None
        gaps = self._differences() if not is_class else self._are_different().astype(float)
        found = []
        for place in np.unique(places[places >= 0]):
            here = (places == place).any(axis=1)
            mean = float(gaps[here].mean() if is_class else np.sqrt((gaps[here] ** 2).mean()))
            added = float((gaps[here] if is_class else gaps[here] ** 2).sum())
            found.append(
                (added, -int(place), Region(self._condition(int(place)), int(here.sum()), mean))
            )
        found.sort(key=lambda one: one[:2], reverse=True)
        return [region for _, _, region in found[:n]]

    def _places(self) -> NDArray[np.intp]:
        """Indices of the leaves, or of the rule, of each row."""
        if isinstance(self.model, RuleList):
            return self.model.rule_of(self._measurement.X)[:, np.newaxis]
        return np.asarray(self.model._leaves(self._measurement.X), dtype=np.intp)

    def _condition(self, place: int) -> str:
        model = self.model
        if isinstance(model, RuleList):
            return model.conditions(place)
        names = model._plan.names(model._column_names())
        found = conditions_of_leaf(model.forest_, 0, place, names, model._plan.levels)
        return " and ".join(found) or "all rows"

    def _are_different(self) -> NDArray[np.bool_]:
        predicted = self._measurement.predict(self.model)
        return np.asarray(predicted.argmax(axis=1) != self._measurement.teacher.argmax(axis=1))

    def _differences(self) -> Floats:
        """Total variation distance of the class probabilities, or absolute difference."""
        measurement = self._measurement
        gaps = np.abs(measurement.predict(self.model) - measurement.teacher).sum(axis=1)
        return np.asarray(gaps if measurement.classes is None else gaps / 2)
