"""Products of probabilities: sums of logarithms."""

import numpy as np
from numpy.typing import ArrayLike

from weald import _native
from weald.aggregation.arrays import Floats, checked_scores, checked_weights

# A member that says zero would rule a class out for all others: nobody is that sure.
LEAST_PROBABILITY = 1e-12


def log_probabilities(probabilities: ArrayLike) -> Floats:
    """Logarithms of probabilities, none taken as less than 1e-12."""
    values = np.asarray(probabilities, dtype=np.float64)
    return _native.log(np.maximum(values, LEAST_PROBABILITY).ravel()).reshape(values.shape)


def shares_of_logs(logs: Floats) -> Floats:
    """Turn logarithms of scores into shares that sum to 1 over the last axis."""
    raised = logs - logs.max(axis=-1, keepdims=True)
    scores = _native.exp(raised.ravel()).reshape(raised.shape)
    return np.asarray(scores / scores.sum(axis=-1, keepdims=True))


def product(probabilities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The product of the members' probabilities, divided by its sum over the classes.

    What independent members with equal priors know together. Weights are exponents. Probabilities
    below 1e-12 count as 1e-12.

    Parameters
    ----------
    probabilities : array, shape (members, rows, classes)
        Probabilities of the classes.
    weights : array, shape (members,), or None
        Exponents; None: 1 each.

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
    """The geometric mean of the members' probabilities, divided by its sum over the classes.

    It names the same class as `product`, less loudly: members that say the same are answered with
    what they said. A common factor of all weights changes nothing.

    Parameters
    ----------
    probabilities : array, shape (members, rows, classes)
        Probabilities of the classes.
    weights : array, shape (members,), or None
        How much each member counts; None: all the same.

    Examples
    --------
    >>> geometric_mean([[[0.5, 0.5]], [[0.8, 0.2]]]).round(4).tolist()
    [[0.6667, 0.3333]]
    """
    n_members = len(checked_scores(probabilities))
    counted = np.ones(n_members) if weights is None else checked_weights(weights, n_members)
    return product(probabilities, counted / counted.sum())
