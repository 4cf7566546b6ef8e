"""Answers to rows that members left out, added up member after member."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent
from weald.ensembles.out_of_bag.row_losses import loss_degree, names_of, row_losses

Floats = NDArray[np.float64]


class Tally:
    """Mean and spread of the answers that each row has had so far.

    One pass, one answer at a time; the spread without the cancellation of sums of squares
    (Welford).
    """

    def __init__(self, n_rows: int, width: int) -> None:
        self.n_out = np.zeros(n_rows, dtype=np.int32)
        self._weight = np.zeros(n_rows)
        self._plain = np.zeros((n_rows, width))  # mean of the answers, all alike
        self._squares = np.zeros((n_rows, width))
        # Plain sums for the mean: votes are whole numbers, whose ties must stay ties.
        self._sums = np.zeros((n_rows, width))

    def add(self, rows: Any, answers: Floats, weight: float = 1.0) -> None:
        """Add what one member says of some rows, each named once."""
        self.n_out[rows] += 1
        gap = answers - self._plain[rows]
        self._plain[rows] += gap / self.n_out[rows][:, np.newaxis]
        self._squares[rows] += gap * (answers - self._plain[rows])
        self._weight[rows] += weight
        self._sums[rows] += weight * answers

    @property
    def means(self) -> Floats:
        """The combined answer of each row; NaN where there was none of any weight."""
        weight = np.where(self._weight > 0, self._weight, np.nan)
        return np.asarray(self._sums / weight[:, np.newaxis])

    @property
    def spreads(self) -> Floats:
        """Standard deviation of a row's answers about the combined one; NaN if fewer than two."""
        n = self.n_out[:, np.newaxis].astype(np.float64)
        away = self._plain - self.means
        squares = self._squares + n * away * away
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.sqrt(squares / (n - 1))
        return np.where(n > 1, found, np.nan)


@dataclass(frozen=True, eq=False)
class Record:
    """What the ledger keeps of the rows that have a weight, in the order of their content.

    Attributes
    ----------
    target : array [rows]
        Numbers, or class numbers.
    classes : array or None
        Class labels.
    answers : float64 [rows, width]
        Combined out-of-bag answers; NaN where every member saw the row.
    spreads : float64 [rows, width]
        Standard deviation of the answers; NaN where fewer than two were given.
    n_out : int32 [rows]
        Members that did not see the row.
    weight : float64 [rows] or None
        What a row weighs; None: all the same.
    steps : int64 [points]
        Numbers of members that `means` and `errors` are of.
    means, errors : dict of str to float64 [points]
        Mean loss after so many members, and its standard error.
    """

    target: NDArray[Any]
    classes: NDArray[Any] | None
    answers: Floats
    spreads: Floats
    n_out: NDArray[np.int32]
    weight: Floats | None
    steps: NDArray[np.int64]
    means: dict[str, Floats]
    errors: dict[str, Floats]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which rows have an out-of-bag answer; an error if none has."""
        scored = ~np.isnan(self.answers[:, 0])
        if not scored.any():
            raise ValueError(
                "There is no out-of-bag prediction to judge by: every base estimator drew every "
                "row. Use more base estimators (n_estimators), or let each draw fewer rows "
                "(max_samples)."
            )
        return scored


def steps_of(n_members: int) -> NDArray[np.int64]:
    """After which members a curve has its points: each of the first ten, then about ten more.

    >>> steps_of(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
    """
    first = np.arange(1, min(n_members, 10) + 1)
    rest = np.linspace(10, n_members, 11)[1:] if n_members > 10 else np.empty(0)
    return np.unique(np.concatenate([first, np.rint(rest)]).astype(np.int64))


# One block of rows at a time: for each member the rows (of the block) that it did not see, and its
# answers to them.
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
    """Add up the answers of all members, and note the losses on the way.

    Extreme numbers are worked with in units of a power of two, so that their squares stay within
    the range of floats.
    """
    exponent = 0 if classes is not None else extreme_exponent(target)
    own_target = np.ldexp(target, -exponent) if exponent else target
    n_rows, width = len(target), 1 if classes is None else len(classes)
    answers, spreads = np.empty((n_rows, width)), np.empty((n_rows, width))
    n_out = np.zeros(n_rows, dtype=np.int32)
    by_weight = np.ones(n_members) if member_weights is None else member_weights
    curve = _Curve(n_members, classes)
    for rows, members in blocks:
        tally = Tally(rows.stop - rows.start, width)
        own = None if weight is None else weight[rows]
        for number, (some, said) in enumerate(members):
            said = np.ldexp(said, -exponent) if exponent else said
            tally.add(some, said, float(by_weight[number]))
            if number + 1 in curve:
                curve.note(number + 1, tally.means, own_target[rows], own)
        answers[rows] = np.ldexp(tally.means, exponent)
        spreads[rows] = np.ldexp(tally.spreads, exponent)
        n_out[rows] = tally.n_out
    means, errors = curve.results(exponent)
    return Record(target, classes, answers, spreads, n_out, weight, curve.steps, means, errors)


class _Curve:
    """Sums of losses after some numbers of members, over all blocks."""

    def __init__(self, n_members: int, classes: NDArray[Any] | None) -> None:
        self.steps = steps_of(n_members)
        self._place = {int(step): i for i, step in enumerate(self.steps)}
        self._classes = classes
        # Weight, loss, loss squared, weight squared.
        self._sums = {name: np.zeros((4, len(self.steps))) for name in names_of(classes)}

    def __contains__(self, n_members: int) -> bool:
        return n_members in self._place

    def note(
        self, n_members: int, answers: Floats, target: NDArray[Any], weight: Floats | None
    ) -> None:
        scored = ~np.isnan(answers[:, 0])
        mass = np.ones(len(answers)) if weight is None else weight
        mass, place = mass[scored], self._place[n_members]
        for name, sums in self._sums.items():
            losses = row_losses(name, target[scored], answers[scored], self._classes)
            terms = (mass, mass * losses, mass * losses * losses, mass * mass)
            sums[:, place] += [float(term.sum()) for term in terms]

    def results(self, exponent: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Mean losses and their standard errors, of numbers in units of two to an exponent."""
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
