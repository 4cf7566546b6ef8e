"""Combiners with non-negative weights, for regression and for class probabilities."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.aggregation.products import log_probabilities, shares_of_logs
from weald.data import effective_rows
from weald.ensembles.combining.quadratic import nonnegative_minimum
from weald.ensembles.exact_means import exact_means

Floats = NDArray[np.float64]

# Ridge penalty relative to the largest curvature: makes the solution unique.
_RIDGE = 1e-6
_PENALTY = 1e-3
_MAX_STEPS, _MAX_HALVINGS = 100, 40
_MIN_PROBABILITY = 1e-12


def summed(predictions: Floats, weights: Floats) -> Floats:
    """Weighted sum of predictions, added in a fixed order."""
    total = np.zeros(predictions.shape[1:])
    for prediction, weight in zip(predictions, weights, strict=True):
        total += weight * prediction
    return total


class NonNegativeSum:
    """Non-negative least squares on the predictions of the base estimators, without intercept.

    Stacked regressions (Breiman 1996).

    Attributes
    ----------
    weights_ : array, shape (estimators,)
        Weights of the base estimators.
    """

    weights_: Floats

    def fit(self, predictions: Floats, y: Floats, weight: Floats | None) -> "NonNegativeSum":
        """Fit the weights on predictions of shape (estimators, rows, 1)."""
        numbers = predictions[:, :, 0]
        # Scaling by a power of two avoids overflow of squares and does not change the weights.
        largest = max(float(np.abs(numbers).max()), float(np.abs(y).max()))
        scale = -int(np.frexp(largest)[1])
        numbers, target = np.ldexp(numbers, scale), np.ldexp(y, scale)
        gram = np.array([exact_means(numbers * one, weight) for one in numbers])
        moment = exact_means(numbers * target, weight)
        ridge = _RIDGE * max(float(np.diag(gram).max()), np.finfo(float).tiny)
        n_estimators = len(numbers)
        self.weights_ = nonnegative_minimum(gram + ridge * np.eye(n_estimators), moment)
        return self

    def combine(self, predictions: Floats) -> Floats:
        """Weighted sum of the predictions, of shape (rows, 1)."""
        return summed(predictions, self.weights_)


class NonNegativeProduct:
    """Logistic regression on the log probabilities of the base estimators, without intercept.

    The probability of a class is proportional to the product of the base estimators' probabilities,
    each to the power of its weight; for two classes this is logistic regression on the log odds.
    The non-negative weights minimise the mean log loss plus 0.0005 times the sum of their squares;
    this penalty keeps the weights of perfect base estimators finite.

    Probabilities are clipped to at least 0.5 / n for n training rows: overconfident base estimators
    would otherwise dominate the others where they are wrong.

    Attributes
    ----------
    weights_ : array, shape (estimators,)
        Exponents of the base estimators' probabilities.
    least_ : float
        Lower bound to which probabilities are clipped.
    """

    weights_: Floats
    least_: float

    def fit(
        self, predictions: Floats, y: NDArray[np.int64], weight: Floats | None
    ) -> "NonNegativeProduct":
        """Fit the weights on probabilities of shape (estimators, rows, classes)."""
        n_estimators, n_rows, _ = predictions.shape
        self.least_ = 0.5 / effective_rows(weight, n_rows)
        logs = self._logs(predictions)
        even = np.full(n_estimators, 1 / n_estimators)
        true = logs[:, np.arange(n_rows), y]

        def expand(weights: Floats) -> "_Expansion":
            shares = shares_of_logs(summed(logs, weights))
            losses = -_native.log(np.maximum(shares[np.arange(n_rows), y], np.finfo(float).tiny))
            expected = (logs * shares).sum(axis=2)
            gradient = exact_means(expected - true, weight) + _PENALTY * weights
            hessian = np.array(
                [
                    exact_means((logs * one * shares).sum(axis=2) - expected * mean, weight)
                    for one, mean in zip(logs, expected, strict=True)
                ]
            )
            value = float(exact_means(losses, weight)) + _PENALTY / 2 * math.fsum(
                (weights * weights).tolist()
            )
            return _Expansion(value, gradient, hessian + _PENALTY * np.eye(n_estimators))

        self.weights_ = _newton(expand, even)
        return self

    def combine(self, predictions: Floats) -> Floats:
        """Class probabilities, of shape (rows, classes)."""
        return shares_of_logs(summed(self._logs(predictions), self.weights_))

    def _logs(self, predictions: Floats) -> Floats:
        return log_probabilities(np.maximum(predictions, self.least_))


def mixture_weights(predictions: Floats, y: NDArray[np.int64], weight: Floats | None) -> Floats:
    """Non-negative weights with sum 1 that minimise the log loss of the mean probabilities.

    Parameters
    ----------
    predictions : array, shape (estimators, rows, classes)
        Class probabilities of rows that the base estimators were not fitted on.
    y : array of int, shape (rows,)
        Class indices.
    weight : array, shape (rows,), or None
        Row weights.

    Notes
    -----
    Base estimators with equal predictions have equal weights. Probabilities are clipped to at least
    1e-12.
    """
    n_estimators, n_rows, _ = predictions.shape
    true_class = np.maximum(predictions[:, np.arange(n_rows), y], _MIN_PROBABILITY)
    even = np.full(n_estimators, 1 / n_estimators)

    # With the sum of the weights added to the mean log loss, that sum is 1 at the minimum.
    def expand(weights: Floats) -> "_Expansion":
        mixed = np.maximum(summed(true_class, weights), _MIN_PROBABILITY)
        ratio = true_class / mixed
        value = float(exact_means(-_native.log(mixed), weight)) + math.fsum(weights.tolist())
        gradient = 1.0 - exact_means(ratio, weight)
        hessian = np.array([exact_means(ratio * one, weight) for one in ratio])
        ridge = _RIDGE * float(np.diag(hessian).max())
        return _Expansion(value, gradient + ridge * weights, hessian + ridge * np.eye(n_estimators))

    found = _newton(expand, even)
    return np.asarray(found / math.fsum(found.tolist()))


# ---- optimisation ----


@dataclass(frozen=True)
class _Expansion:
    """Value, gradient and Hessian of a function at a point."""

    value: float
    gradient: Floats
    hessian: Floats


def _newton(expand: Callable[[Floats], _Expansion], start: Floats) -> Floats:
    """Minimise a convex function over x >= 0 by Newton's method with step halving."""
    x, here = start, expand(start)
    for _ in range(_MAX_STEPS):
        product = np.array([math.fsum((row * x).tolist()) for row in here.hessian])
        goal = nonnegative_minimum(here.hessian, product - here.gradient)
        if float(np.abs(goal - x).max()) <= 1e-10:
            break
        step, there = goal, expand(goal)
        for _ in range(_MAX_HALVINGS):
            if there.value < here.value:
                break
            step = (x + step) / 2
            there = expand(step)
        if not there.value < here.value:
            break
        x, here = step, there
    return x
