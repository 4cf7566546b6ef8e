"""Accumulates out-of-bag predictions over the base estimators."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent
from weald.ensembles.out_of_bag.row_losses import loss_degree, names_of, row_losses

Floats = NDArray[np.float64]


class Tally:
    """Running mean and standard deviation of the predictions of each row.

    Uses Welford's algorithm, which avoids the cancellation of sums of squares.
    """

    def __init__(self, n_rows: int, width: int) -> None:
        self.n_out = np.zeros(n_rows, dtype=np.int32)
        self._weight = np.zeros(n_rows)
        self._plain = np.zeros((n_rows, width))  # unweighted mean of the predictions
        self._squares = np.zeros((n_rows, width))
        # Plain sums for the mean: sums of votes are integers, so that ties stay exact.
        self._sums = np.zeros((n_rows, width))

    def add(self, rows: Any, predictions: Floats, weight: float = 1.0) -> None:
        """Add the predictions of one base estimator for some rows, without duplicates."""
        self.n_out[rows] += 1
        gap = predictions - self._plain[rows]
        self._plain[rows] += gap / self.n_out[rows][:, np.newaxis]
        self._squares[rows] += gap * (predictions - self._plain[rows])
        self._weight[rows] += weight
        self._sums[rows] += weight * predictions

    @property
    def means(self) -> Floats:
        """Weighted mean prediction of each row; NaN where the total weight is zero."""
        weight = np.where(self._weight > 0, self._weight, np.nan)
        return np.asarray(self._sums / weight[:, np.newaxis])

    @property
    def spreads(self) -> Floats:
        """Standard deviation of each row's predictions about `means`; NaN if fewer than two."""
        n = self.n_out[:, np.newaxis].astype(np.float64)
        away = self._plain - self.means
        squares = self._squares + n * away * away
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.sqrt(squares / (n - 1))
        return np.where(n > 1, found, np.nan)


@dataclass(frozen=True, eq=False)
class Record:
    """Out-of-bag results of the rows of positive weight, in the order of their content.

    Attributes
    ----------
    target : array [rows]
        Numbers, or class indices.
    classes : array or None
        Class labels.
    predictions : float64 [rows, width]
        Out-of-bag predictions; NaN for rows that every base estimator drew.
    spreads : float64 [rows, width]
        Standard deviation of the predictions; NaN for rows with fewer than two.
    n_out : int32 [rows]
        Number of base estimators for which the row is out-of-bag.
    weight : float64 [rows] or None
        Row weights; None: all equal.
    steps : int64 [points]
        Numbers of base estimators at the points of `means` and `errors`.
    means, errors : dict of str to float64 [points]
        Mean loss for these numbers of base estimators, and its standard error.
    """

    target: NDArray[Any]
    classes: NDArray[Any] | None
    predictions: Floats
    spreads: Floats
    n_out: NDArray[np.int32]
    weight: Floats | None
    steps: NDArray[np.int64]
    means: dict[str, Floats]
    errors: dict[str, Floats]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which rows have an out-of-bag prediction; raises if none has."""
        scored = ~np.isnan(self.predictions[:, 0])
        if not scored.any():
            raise ValueError(
                "There are no out-of-bag predictions: every base estimator drew every "
                "row. Use more base estimators (n_estimators), or let each draw fewer rows "
                "(max_samples)."
            )
        return scored


def steps_of(n_members: int) -> NDArray[np.int64]:
    """Numbers of base estimators at the points of an error curve: 1 to 10, then about ten more.

    >>> steps_of(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
    """
    first = np.arange(1, min(n_members, 10) + 1)
    rest = np.linspace(10, n_members, 11)[1:] if n_members > 10 else np.empty(0)
    return np.unique(np.concatenate([first, np.rint(rest)]).astype(np.int64))


# A block of rows, and for each base estimator its out-of-bag rows and their predictions.
Block = tuple[slice, Iterable[tuple[NDArray[np.intp], Floats]]]


def recorded(
    blocks: Iterable[Block],
    target: NDArray[Any],
    classes: NDArray[Any] | None,
    weight: Floats | None,
    *,
    n_members: int,
    member_weights: Floats | None = None,
) -> Record:
    """Accumulate the predictions of all base estimators, and record the error curve.

    Numbers of extreme magnitude are scaled by a power of two, so that their squares stay within the
    range of floats.
    """
    exponent = 0 if classes is not None else extreme_exponent(target)
    own_target = np.ldexp(target, -exponent) if exponent else target
    n_rows, width = len(target), 1 if classes is None else len(classes)
    predictions, spreads = np.empty((n_rows, width)), np.empty((n_rows, width))
    n_out = np.zeros(n_rows, dtype=np.int32)
    weights = np.ones(n_members) if member_weights is None else member_weights
    curve = _Curve(n_members, classes)
    for rows, by_estimator in blocks:
        tally = Tally(rows.stop - rows.start, width)
        own = None if weight is None else weight[rows]
        for number, (some, predicted) in enumerate(by_estimator):
            predicted = np.ldexp(predicted, -exponent) if exponent else predicted
            tally.add(some, predicted, float(weights[number]))
            if number + 1 in curve:
                curve.note(number + 1, tally.means, own_target[rows], own)
        predictions[rows] = np.ldexp(tally.means, exponent)
        spreads[rows] = np.ldexp(tally.spreads, exponent)
        n_out[rows] = tally.n_out
    means, errors = curve.results(exponent)
    return Record(target, classes, predictions, spreads, n_out, weight, curve.steps, means, errors)


class _Curve:
    """Sums of losses at the points of the error curve, over all blocks."""

    def __init__(self, n_members: int, classes: NDArray[Any] | None) -> None:
        self.steps = steps_of(n_members)
        self._place = {int(step): i for i, step in enumerate(self.steps)}
        self._classes = classes
        # Sums of weight, weighted loss, weighted squared loss, squared weight.
        self._sums = {name: np.zeros((4, len(self.steps))) for name in names_of(classes)}

    def __contains__(self, n_members: int) -> bool:
        return n_members in self._place

    def note(
        self, n_members: int, predictions: Floats, target: NDArray[Any], weight: Floats | None
    ) -> None:
        scored = ~np.isnan(predictions[:, 0])
        mass = np.ones(len(predictions)) if weight is None else weight
        mass, place = mass[scored], self._place[n_members]
        for name, sums in self._sums.items():
            losses = row_losses(name, target[scored], predictions[scored], self._classes)
            terms = (mass, mass * losses, mass * losses * losses, mass * mass)
            sums[:, place] += [float(term.sum()) for term in terms]

    def results(self, exponent: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Mean losses and their standard errors, for targets in units of 2**exponent."""
        means, errors = {}, {}
        with np.errstate(invalid="ignore", divide="ignore"):
            for name, (mass, first, second, squares) in self._sums.items():
                means[name] = first / mass
                variance = np.maximum(second / mass - means[name] ** 2, 0.0)
                errors[name] = np.sqrt(variance * squares) / mass
                degree = loss_degree(name) * exponent
                with np.errstate(over="ignore"):
                    means[name] = np.ldexp(means[name], degree)
                    errors[name] = np.ldexp(errors[name], degree)
        return means, errors
