"""Disagreement between estimators."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores
from weald.aggregation.means import mean


def disagreement(scores: ArrayLike, combined: ArrayLike | None = None) -> Floats:
    """Standard deviation of the estimators' predictions about the ensemble's.

    sqrt(1 / (K - 1) * sum over the K estimators of (prediction - combined)**2). A measure of
    uncertainty that does not include errors common to all estimators.

    Parameters
    ----------
    scores : array, shape (estimators, rows) or (estimators, rows, classes)
        Predictions of at least two estimators.
    combined : array of the shape of one estimator's predictions, or None
        Predictions of the ensemble; None means the mean.

    Examples
    --------
    >>> disagreement([[1.0, 2.0], [3.0, 2.0]]).round(4).tolist()
    [1.4142, 0.0]
    """
    predictions = checked_scores(scores)
    if len(predictions) < 2:
        raise ValueError("disagreement needs the predictions of at least two estimators; got one.")
    centre = mean(predictions) if combined is None else np.asarray(combined, dtype=np.float64)
    return deviation(predictions, centre)


def deviation(predictions: Floats, centre: Floats) -> Floats:
    """Standard deviation over the first axis about a given centre, without overflow.

    >>> deviation(np.array([[1e200], [3e200]]), np.array([2e200])).tolist()
    [1.414213562373095e+200]
    """
    largest = max(float(np.abs(prediction - centre).max(initial=0.0)) for prediction in predictions)
    exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    squares = np.zeros(np.shape(centre))
    for prediction in predictions:
        squares += np.ldexp(prediction - centre, -exponent) ** 2
    return np.asarray(np.ldexp(np.sqrt(squares / (len(predictions) - 1)), exponent))
