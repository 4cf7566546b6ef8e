"""Ranks: only the order in which a member puts the rows counts."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores, checked_weights


class RankTable:
    """Reference scores of one member, sorted once, that ranks are taken among.

    Only how many are below a score can be asked: no row can be told from it. A reference score of
    weight w counts as w of them.

    Parameters
    ----------
    reference : array of numbers
        The scores.
    weight : array of the same length, or None
        Their weights; None: 1 each.

    Attributes
    ----------
    scores : array
        The different reference scores, rising.
    below : array
        The share of the reference below each of them; one more entry, 1, stands for all.
    """

    def __init__(self, reference: ArrayLike, weight: ArrayLike | None = None) -> None:
        given = np.asarray(reference, dtype=np.float64).ravel()
        if given.size == 0 or np.isnan(given).any():
            raise ValueError("Ranks need at least one reference score, and none that is NaN.")
        counted = np.ones(given.size) if weight is None else np.asarray(weight, dtype=np.float64)
        # Equal scores by rising weight: the sums do not depend on the order given.
        order = np.lexsort((counted, given))
        self.scores, first = np.unique(given[order], return_index=True)
        up_to = np.append(0.0, np.cumsum(counted[order]))
        self.below = np.append(up_to[first], up_to[-1]) / up_to[-1]

    def __call__(self, scores: ArrayLike) -> Floats:
        """Share of the reference below each score, what equals it counted half."""
        values = np.asarray(scores, dtype=np.float64)
        left = self.below[np.searchsorted(self.scores, values, side="left")]
        right = self.below[np.searchsorted(self.scores, values, side="right")]
        return np.asarray((left + right) / 2)


def ranks_among(scores: ArrayLike, reference: ArrayLike, weight: ArrayLike | None = None) -> Floats:
    """Share of the reference scores below each score, those equal to it counted half.

    Parameters
    ----------
    scores : array of numbers
        What is ranked.
    reference : array of numbers
        What it is ranked among.
    weight : array of the length of `reference`, or None
        How often each reference score counts; None: once.

    Examples
    --------
    >>> ranks_among([0.1, 0.2, 0.9], reference=[0.2, 0.3, 0.2, 0.8]).tolist()
    [0.0, 0.25, 1.0]
    """
    return RankTable(reference, weight)(scores)


def rank_mean(
    scores: ArrayLike, reference: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Floats:
    """The mean over the members of the ranks of their scores, each among its reference scores.

    A strictly rising map of a member's scores and of its reference changes nothing, so members on
    different scales can be combined.

    Parameters
    ----------
    scores : array, shape (members, rows)
        Scores, the higher the more.
    reference : array, shape (members, reference rows), or None
        The scores that ranks are taken among. None: those of the same rows; then an answer
        depends on the other rows asked about, which is right for one closed list only.
    weights : array, shape (members,), or None
        How much each member counts; None: all the same.

    Examples
    --------
    >>> rank_mean([[0.1, 0.2, 0.4], [7.0, 90.0, 8.0]]).round(3).tolist()
    [0.167, 0.667, 0.667]
    """
    answers = checked_scores(scores)
    among = answers if reference is None else np.asarray(reference, dtype=np.float64)
    if len(among) != len(answers):
        raise ValueError(
            f"There must be reference scores of every member: {len(answers)}. Got {len(among)}."
        )
    counted = np.ones(len(answers)) if weights is None else checked_weights(weights, len(answers))
    total = np.zeros(answers.shape[1:])
    for answer, known, weight in zip(answers, among, counted, strict=True):
        total += weight * ranks_among(answer, known)
    return np.asarray(total / counted.sum())
