"""Products and geometric means of probabilities."""

import numpy as np
from numpy.typing import ArrayLike

from weald import _native
from weald.aggregation.arrays import Floats, checked_scores, checked_weights

# Lower bound of probabilities, so that no single estimator can veto a class.
LEAST_PROBABILITY = 1e-12


def log_probabilities(probabilities: ArrayLike) -> Floats:
    """Logarithms of probabilities, clipped below at 1e-12."""
    values = np.asarray(probabilities, dtype=np.float64)
    return _native.log(np.maximum(values, LEAST_PROBABILITY).ravel()).reshape(values.shape)


def shares_of_logs(logs: Floats) -> Floats:
    """Softmax over the last axis."""
    raised = logs - logs.max(axis=-1, keepdims=True)
    scores = _native.exp(raised.ravel()).reshape(raised.shape)
    return np.asarray(scores / scores.sum(axis=-1, keepdims=True))


def product(probabilities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Product of the estimators' probabilities, normalised over the classes.

    Optimal for independent estimators and equal priors. Probabilities below 1e-12 count as 1e-12.

    Parameters
    ----------
    probabilities : array, shape (estimators, rows, classes)
        Class probabilities.
    weights : array, shape (estimators,), or None
        Exponents; None means 1 each.

    Examples
    --------
    >>> product([[[0.5, 0.5]], [[0.8, 0.2]], [[0.8, 0.2]]]).round(4).tolist()
    [[0.9412, 0.0588]]
    """
    logs = log_probabilities(checked_scores(probabilities))
    exponents = np.ones(len(logs)) if weights is None else checked_weights(weights, len(logs))
    total = np.zeros(logs.shape[1:])
    for log, exponent in zip(logs, exponents, strict=True):
        total += exponent * log
    return shares_of_logs(total)


def geometric_mean(probabilities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Geometric mean of the estimators' probabilities, normalised over the classes.

    Predicts the same class as `product` with less extreme probabilities.

    Parameters
    ----------
    probabilities : array, shape (estimators, rows, classes)
        Class probabilities.
    weights : array, shape (estimators,), or None
        Weight of each estimator; None means equal weights. Weights need not sum to 1.

    Examples
    --------
    >>> geometric_mean([[[0.5, 0.5]], [[0.8, 0.2]]]).round(4).tolist()
    [[0.6667, 0.3333]]
    """
    n_estimators = len(checked_scores(probabilities))
    counted = np.ones(n_estimators) if weights is None else checked_weights(weights, n_estimators)
    return product(probabilities, counted / counted.sum())
