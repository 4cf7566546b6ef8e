"""Means of predictions, and normalisation of scores."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores, checked_weights


def mean(scores: ArrayLike) -> Floats:
    """Mean over the estimators, of numbers or probabilities.

    Examples
    --------
    >>> mean([[1.0, 2.0], [3.0, 6.0]]).tolist()
    [2.0, 4.0]
    """
    predictions = checked_scores(scores)
    return weighted_mean(predictions, np.ones(len(predictions)))


def weighted_mean(scores: ArrayLike, weights: ArrayLike) -> Floats:
    """Weighted mean over the estimators; weights need not sum to 1.

    Examples
    --------
    >>> weighted_mean([[1.0, 2.0], [3.0, 6.0]], [3, 1]).tolist()
    [1.5, 3.0]
    """
    predictions = checked_scores(scores)
    counted = checked_weights(weights, len(predictions))
    # Sum estimator by estimator: NumPy's summation order depends on the number of rows.
    total = np.zeros(predictions.shape[1:])
    for prediction, weight in zip(predictions, counted, strict=True):
        total += weight * prediction
    return np.asarray(total / counted.sum())


def shares(scores: ArrayLike) -> Floats:
    """Normalise non-negative scores to sum to 1 over the last axis.

    If all scores are zero, the result is uniform.

    Examples
    --------
    >>> shares([[1.0, 3.0], [0.0, 0.0]]).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    values = np.asarray(scores, dtype=np.float64)
    total = values.sum(axis=-1, keepdims=True)
    even = np.full_like(values, 1 / values.shape[-1])
    return np.asarray(np.divide(values, total, out=even, where=total > 0))
