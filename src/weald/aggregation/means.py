"""Means of answers, and scores turned into shares."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores, checked_weights


def mean(scores: ArrayLike) -> Floats:
    """The mean over the members: of numbers or of probabilities.

    A shift or a factor common to all answers is that of the mean; means of probabilities sum to 1.

    Examples
    --------
    >>> mean([[1.0, 2.0], [3.0, 6.0]]).tolist()
    [2.0, 4.0]
    """
    answers = checked_scores(scores)
    return weighted_mean(answers, np.ones(len(answers)))


def weighted_mean(scores: ArrayLike, weights: ArrayLike) -> Floats:
    """The mean in which each member counts by its weight.

    A common factor of all weights changes nothing; a member of weight zero is as if absent.

    Examples
    --------
    >>> weighted_mean([[1.0, 2.0], [3.0, 6.0]], [3, 1]).tolist()
    [1.5, 3.0]
    """
    answers = checked_scores(scores)
    counted = checked_weights(weights, len(answers))
    # Added member by member: NumPy's own order of addition depends on the number of rows.
    total = np.zeros(answers.shape[1:])
    for answer, weight in zip(answers, counted, strict=True):
        total += weight * answer
    return np.asarray(total / counted.sum())


def shares(scores: ArrayLike) -> Floats:
    """Scores of classes, none negative, divided by their sum over the last axis.

    Where all scores are zero, the classes get equal shares.

    Examples
    --------
    >>> shares([[1.0, 3.0], [0.0, 0.0]]).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    values = np.asarray(scores, dtype=np.float64)
    total = values.sum(axis=-1, keepdims=True)
    even = np.full_like(values, 1 / values.shape[-1])
    return np.asarray(np.divide(values, total, out=even, where=total > 0))
