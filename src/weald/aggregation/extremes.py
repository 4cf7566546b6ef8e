"""Minimum, maximum and median of predictions."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores


def minimum(scores: ArrayLike) -> Floats:
    """Minimum over the estimators.

    For probabilities, this favours the class that no estimator considers improbable. The result
    does not sum to 1; normalise it with `shares`.

    Examples
    --------
    >>> minimum([[0.9, 0.2], [0.6, 0.3]]).tolist()
    [0.6, 0.2]
    """
    return np.asarray(checked_scores(scores).min(axis=0))


def maximum(scores: ArrayLike) -> Floats:
    """Maximum over the estimators; for probabilities, one confident estimator decides.

    Examples
    --------
    >>> maximum([[0.9, 0.2], [0.6, 0.3]]).tolist()
    [0.9, 0.3]
    """
    return np.asarray(checked_scores(scores).max(axis=0))


def median(scores: ArrayLike) -> Floats:
    """Median over the estimators; for an even number, the mean of the two middle values.

    Robust: fewer than half of the estimators cannot move it beyond the predictions of the others.

    Examples
    --------
    >>> median([[1.0, 2.0], [3.0, 6.0], [99.0, 4.0]]).tolist()
    [3.0, 4.0]
    """
    return np.asarray(np.median(checked_scores(scores), axis=0))
