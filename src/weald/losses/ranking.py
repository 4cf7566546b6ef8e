"""Losses of rankings: their gradients need all rows of a query together."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.roots import NotFiniteError

RANKINGS = ("ndcg", "map", "pairwise", "xendcg")

# The gain 2**label - 1 of larger labels would hide all others.
_LARGEST_LABEL = 30

# Bruch (2021) draws the shares of XE-NDCG anew in each round, with gains 2**label - u of a random u
# between 0 and 1. This is their mean: without it, rows of label 0 would share nothing at all, and
# rankings are worse (docs/guide/ranking.md).
_SHIFT = 0.5

# As many places as all rows of any query.
ALL_PLACES = 2**62


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The rows of queries, in turn, and how relevant they are.

    Attributes
    ----------
    first : int64 [queries + 1]
        The rows of query q are first[q] to first[q + 1] - 1.
    gains : float64 [rows]
        What the labels of the rows are worth.
    unit : float64 [queries]
        What the terms of each query are multiplied by; 0: all its rows are equally relevant.
    pair_unit : float64 [queries] or None
        What the pairs of each query are multiplied by in the pairwise loss that is added to "ndcg"
        and "map"; None: none is added.
    """

    first: NDArray[np.int64]
    gains: Floats
    unit: Floats
    pair_unit: Floats | None = None

    def means(self, values: Floats) -> Floats:
        """Mean of the values of each query's rows, added in the order of the rows."""
        sizes = np.diff(self.first)
        query = np.repeat(np.arange(len(sizes)), sizes)
        return np.bincount(query, weights=values, minlength=len(sizes)) / sizes


@dataclass(frozen=True)
class RankingLoss(BuiltinLoss):
    """A loss of the rows of a query together; its scores are predictions, as of squared error.

    Before a fit, `of_queries` sets the queries of its rows, which must be adjacent.

    Attributes
    ----------
    ranking : str
        One of `RANKINGS`.
    truncation : int
        "ndcg" and "map" count the exchange of two rows if one of them is among the first so many.
    label_gain : tuple of float or None
        What each label is worth; None: 2**label - 1.
    pairwise_weight : float
        Weight of the pairwise loss that is added to "ndcg" and "map".
    rows : QueryRows or None
        The rows of the fit.
    copies : array or None
        Number of copies of each row in training: 0 for all rows of a query, or for none.
    """

    ranking: str = "ndcg"
    truncation: int = 30
    label_gain: tuple[float, ...] | None = None
    pairwise_weight: float = 0.0
    rows: QueryRows | None = None
    copies: Copies = None

    is_row_wise: ClassVar[bool] = False

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """Whether the mean loss changes smoothly with the scores."""
        return self.ranking in ("pairwise", "xendcg")

    @classmethod
    def made(
        cls,
        ranking: str,
        truncation: int,
        label_gain: tuple[float, ...] | None,
        n_threads: int,
        *,
        pairwise_weight: float = 0.0,
    ) -> Self:
        """Return the loss, without rows."""
        # The core sees gradients only; for predictions and leaf values, the loss is as this one.
        return cls(
            "squared_error",
            1,
            n_threads,
            ranking=ranking,
            truncation=truncation,
            label_gain=label_gain,
            pairwise_weight=pairwise_weight,
        )

    def gains(self, y: Floats, name: str = "y") -> Floats:
        """Return what the labels are worth to this loss."""
        return gains_of(y, self.ranking, self.label_gain, name)

    def of_queries(self, sizes: NDArray[np.int64], y: Floats) -> Self:
        """Return the loss of rows in queries of these sizes, in turn."""
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return self._with_rows(first, self.gains(y))

    def _with_rows(self, first: NDArray[np.int64], gains: Floats) -> Self:
        unit, pair_unit = self._units(self.ranking, first, gains), None
        if self.ranking in ("ndcg", "map") and self.pairwise_weight > 0:
            pair_unit = self.pairwise_weight * self._units("pairwise", first, gains)
        return replace(self, rows=QueryRows(first, gains, unit, pair_unit))

    def _units(self, ranking: str, first: NDArray[np.int64], gains: Floats) -> Floats:
        unit = np.empty(len(first) - 1)
        _native.query_units(ranking, first, gains, self.truncation, unit, self.n_threads)
        return unit

    def of_rows(self, index: NDArray[np.intp]) -> Self:
        assert self.rows is not None
        query = np.searchsorted(self.rows.first, index, side="right")
        ends = np.append(np.flatnonzero(np.diff(query)) + 1, len(query))
        first = np.concatenate([[0], ends]).astype(np.int64)
        return replace(self, copies=None)._with_rows(first, self.rows.gains[index])

    def without_rows(self) -> Self:
        """Return the loss as it was before `of_queries`."""
        return replace(self, rows=None, copies=None)

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """Return zero: a constant does not change the order of rows."""
        return np.zeros(1)

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        """Return the loss of training rows only."""
        return self if copies is self.copies else replace(self, copies=copies)

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        rows = self.rows
        assert rows is not None
        _native.query_gradients(
            self.ranking,
            rows.first,
            rows.gains,
            rows.unit,
            rows.pair_unit,
            scores[0],
            weight,
            self.copies,
            self.truncation,
            gradient[0],
            hessian[0],
            self.n_threads,
        )
        return True

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss of the queries; those whose rows are equally relevant are left out.

        The weight of a query is the mean of the weights of its rows.
        """
        assert self.rows is not None
        values = self._losses(np.ascontiguousarray(scores[0]))
        known = (self.rows.unit > 0.0).astype(np.int64)
        if not known.any():
            raise NotFiniteError(
                "the loss of these rows is not known: no query has rows of different labels."
            )
        values = np.where(known, values, 0.0)
        mass = np.ones(len(values)) if weight is None else self.rows.means(weight)
        return _native.exact_total(values * mass, known) / _native.exact_total(mass, known)

    def _losses(self, scores: Floats) -> Floats:
        """The loss of each query: for "ndcg" and "map", what is lacking to the best measure."""
        rows = self.rows
        assert rows is not None
        if self.ranking in ("ndcg", "map"):
            k = self.truncation if self.ranking == "ndcg" else ALL_PLACES
            return 1.0 - measures(self.ranking, rows.first, rows.gains, scores, k, self.n_threads)
        values = np.empty(len(rows.unit))
        _native.query_losses(
            self.ranking, rows.first, rows.gains, rows.unit, scores, values, self.n_threads
        )
        return values


def measures(
    name: str, first: NDArray[np.int64], gains: Floats, scores: Floats, k: int, n_threads: int
) -> Floats:
    """Return NDCG, average precision or reciprocal rank ("ndcg", "map", "mrr") of each query.

    NaN for queries of which no row is relevant.
    """
    values = np.empty(len(first) - 1)
    _native.query_measures(name, first, gains, scores, k, values, n_threads)
    return values


def gains_of(
    y: Floats, measure: str, label_gain: tuple[float, ...] | None, name: str = "y"
) -> Floats:
    """Return what labels are worth, or raise ValueError if they are no grades of relevance.

    >>> gains_of(np.array([0.0, 1.0, 4.0]), "ndcg", None).tolist()
    [0.0, 1.0, 15.0]
    >>> gains_of(np.array([0.0, 2.0]), "ndcg", (0.0, 1.0))
    Traceback (most recent call last):
    ValueError: y holds the label 2 in row 1, but label_gain has 2 entries, for the labels 0 to 1...
    """
    if measure == "pairwise":
        return y
    bad = np.flatnonzero(~(y >= 0))
    if bad.size:
        raise ValueError(
            f"{name} holds {y[bad[0]]:g} in row {bad[0]}; labels are grades of relevance, from 0 "
            "(not relevant) on. Shift them, or use loss='pairwise', which only compares them."
        )
    if measure in ("map", "mrr"):
        return (y > 0).astype(np.float64)
    bad = np.flatnonzero(y != np.floor(y))
    if bad.size:
        raise ValueError(
            f"{name} holds {y[bad[0]]:g} in row {bad[0]}; labels are whole grades of relevance, "
            "whose gains label_gain names. Round them, or use loss='pairwise', which only compares "
            "them."
        )
    largest = _LARGEST_LABEL if label_gain is None else len(label_gain) - 1
    bad = np.flatnonzero(y > largest)
    if bad.size:
        why = (
            f"the gain 2**label - 1 is for labels up to {largest}"
            if label_gain is None
            else f"label_gain has {len(label_gain)} entries, for the labels 0 to {largest}"
        )
        raise ValueError(
            f"{name} holds the label {y[bad[0]]:g} in row {bad[0]}, but {why}. Pass a label_gain "
            "with an entry for every label."
        )
    labels = y.astype(np.int64)
    gains = np.ldexp(1.0, labels) - 1.0
    if label_gain is not None:
        gains = np.array(label_gain, dtype=np.float64)[labels]
    return gains + _SHIFT if measure == "xendcg" else gains


@dataclass(frozen=True)
class Gains:
    """Constraint on `label_gain`: numbers from 0 on that do not decrease."""

    expected: str = "a list of at least two numbers from 0 on that do not decrease"

    def admits(self, value: object) -> bool:
        return checked_gains(value) is not None


def checked_gains(value: Any) -> tuple[float, ...] | None:
    """Return the gains of the labels as numbers; None if they are none.

    >>> checked_gains([0, 1, 3]), checked_gains([1, 0]), checked_gains("01")
    ((0.0, 1.0, 3.0), None, None)
    """
    if not isinstance(value, (list, tuple, range, np.ndarray)):
        return None
    try:
        gains = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if gains.ndim != 1 or len(gains) < 2 or not np.isfinite(gains).all():
        return None
    if gains[0] < 0 or (np.diff(gains) < 0).any():
        return None
    return tuple(gains.tolist())
