"""Rank averaging, which uses only the order of each estimator's scores."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores, checked_weights


class RankTable:
    """Empirical distribution of one estimator's reference scores.

    Does not reveal individual rows. A reference score of weight w counts as w of them.

    Parameters
    ----------
    reference : array of numbers
        Reference scores.
    weight : array of the same length, or None
        Their weights; None means 1 each.

    Attributes
    ----------
    scores : array
        Distinct reference scores, sorted.
    below : array
        Fraction of the reference below each of them, and a final 1.
    """

    def __init__(self, reference: ArrayLike, weight: ArrayLike | None = None) -> None:
        given = np.asarray(reference, dtype=np.float64).ravel()
        if given.size == 0 or np.isnan(given).any():
            raise ValueError("Ranks need at least one reference score, and no NaN.")
        counted = np.ones(given.size) if weight is None else np.asarray(weight, dtype=np.float64)
        # Sort ties by weight, so that rounding does not depend on the input order.
        order = np.lexsort((counted, given))
        self.scores, first = np.unique(given[order], return_index=True)
        up_to = np.append(0.0, np.cumsum(counted[order]))
        self.below = np.append(up_to[first], up_to[-1]) / up_to[-1]

    def __call__(self, scores: ArrayLike) -> Floats:
        """Return the fraction of the reference below each score, ties counted half."""
        values = np.asarray(scores, dtype=np.float64)
        left = self.below[np.searchsorted(self.scores, values, side="left")]
        right = self.below[np.searchsorted(self.scores, values, side="right")]
        return np.asarray((left + right) / 2)


def ranks_among(scores: ArrayLike, reference: ArrayLike, weight: ArrayLike | None = None) -> Floats:
    """Fraction of the reference scores below each score, ties counted half.

    Parameters
    ----------
    scores : array of numbers
        Scores to rank.
    reference : array of numbers
        Reference scores.
    weight : array of the length of `reference`, or None
        Weights of the reference scores; None means 1 each.

    Examples
    --------
    >>> ranks_among([0.1, 0.2, 0.9], reference=[0.2, 0.3, 0.2, 0.8]).tolist()
    [0.0, 0.25, 1.0]
    """
    return RankTable(reference, weight)(scores)


def rank_mean(
    scores: ArrayLike, reference: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Floats:
    """Mean over the estimators of the ranks of their scores among their reference scores.

    Invariant to strictly increasing transformations of an estimator's scores, so that estimators
    with different scales can be combined.

    Parameters
    ----------
    scores : array, shape (estimators, rows)
        Scores.
    reference : array, shape (estimators, reference rows), or None
        Reference scores. None means `scores` itself; then the result for a row depends on the other
        rows.
    weights : array, shape (estimators,), or None
        Weight of each estimator; None means equal weights.

    Examples
    --------
    >>> rank_mean([[0.1, 0.2, 0.4], [7.0, 90.0, 8.0]]).round(3).tolist()
    [0.167, 0.667, 0.667]
    """
    predictions = checked_scores(scores)
    among = predictions if reference is None else np.asarray(reference, dtype=np.float64)
    if len(among) != len(predictions):
        raise ValueError(
            f"There must be reference scores of all {len(predictions)} estimators. Got "
            f"{len(among)}."
        )
    counted = (
        np.ones(len(predictions)) if weights is None else checked_weights(weights, len(predictions))
    )
    total = np.zeros(predictions.shape[1:])
    for prediction, known, weight in zip(predictions, among, counted, strict=True):
        total += weight * ranks_among(prediction, known)
    return np.asarray(total / counted.sum())
