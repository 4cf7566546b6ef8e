"""Combiners whose weights are not negative: a sum of numbers, a product of probabilities."""

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

# How strongly weights are drawn to zero: settles what the rows leave open, and no more.
_SHARE_OF_CURVATURE = 1e-6
_PENALTY = 1e-3
_MOST_STEPS, _MOST_HALVINGS = 100, 40
_LEAST_PROBABILITY = 1e-12


def summed(predictions: Floats, weights: Floats) -> Floats:
    """The sum of weighted answers, added member by member."""
    total = np.zeros(predictions.shape[1:])
    for prediction, weight in zip(predictions, weights, strict=True):
        total += weight * prediction
    return total


class NonNegativeSum:
    """A linear model of the members' numbers without intercept and without negative weights.

    Breiman's stacked regressions (1996): the weights of least squared error, none below zero, so
    that no member is used against another.

    Attributes
    ----------
    weights_ : array, shape (members,)
        The weights.
    """

    weights_: Floats

    def fit(self, predictions: Floats, y: Floats, weight: Floats | None) -> "NonNegativeSum":
        """Learn the weights from answers of the shape (members, rows, 1)."""
        numbers = predictions[:, :, 0]
        # A common power of two keeps squares within the range of floats and changes no weight.
        largest = max(float(np.abs(numbers).max()), float(np.abs(y).max()))
        scale = -int(np.frexp(largest)[1])
        numbers, target = np.ldexp(numbers, scale), np.ldexp(y, scale)
        gram = np.array([exact_means(numbers * one, weight) for one in numbers])
        moment = exact_means(numbers * target, weight)
        pull = _SHARE_OF_CURVATURE * max(float(np.diag(gram).max()), np.finfo(float).tiny)
        n_members = len(numbers)
        self.weights_ = nonnegative_minimum(gram + pull * np.eye(n_members), moment)
        return self

    def combine(self, predictions: Floats) -> Floats:
        """The weighted sum, of the shape (rows, 1)."""
        return summed(predictions, self.weights_)


class NonNegativeProduct:
    """A logistic model of the members' log probabilities without negative weights.

    The probability of a class is proportional to the product of the members' probabilities, each
    to the power of its weight; for two classes that is logistic regression on their log odds. The
    weights are those of least mean log loss plus half the sum of their squares times 0.001: the
    penalty keeps perfect members from weights without end, and gives those that say nothing none.

    Probabilities count as at least half of one row in those that were learnt from: a member that is
    sure beyond what so many rows can show would outweigh all others where it is wrong.

    Attributes
    ----------
    weights_ : array, shape (members,)
        The exponents.
    least_ : float
        The least probability that counts.
    """

    weights_: Floats
    least_: float

    def fit(
        self, predictions: Floats, y: NDArray[np.int64], weight: Floats | None
    ) -> "NonNegativeProduct":
        """Learn the exponents from probabilities of the shape (members, rows, classes)."""
        n_members, n_rows, _ = predictions.shape
        self.least_ = 0.5 / effective_rows(weight, n_rows)
        logs = self._logs(predictions)
        even = np.full(n_members, 1 / n_members)
        true = logs[:, np.arange(n_rows), y]

        def expand(weights: Floats) -> "_Local":
            shares = shares_of_logs(summed(logs, weights))
            losses = -_native.log(np.maximum(shares[np.arange(n_rows), y], np.finfo(float).tiny))
            expected = (logs * shares).sum(axis=2)
            slope = exact_means(expected - true, weight) + _PENALTY * weights
            curvature = np.array(
                [
                    exact_means((logs * one * shares).sum(axis=2) - expected * mean, weight)
                    for one, mean in zip(logs, expected, strict=True)
                ]
            )
            value = float(exact_means(losses, weight)) + _PENALTY / 2 * math.fsum(
                (weights * weights).tolist()
            )
            return _Local(value, slope, curvature + _PENALTY * np.eye(n_members))

        self.weights_ = _newton(expand, even)
        return self

    def combine(self, predictions: Floats) -> Floats:
        """Probabilities of the shape (rows, classes)."""
        return shares_of_logs(summed(self._logs(predictions), self.weights_))

    def _logs(self, predictions: Floats) -> Floats:
        return log_probabilities(np.maximum(predictions, self.least_))


def mixture_weights(predictions: Floats, y: NDArray[np.int64], weight: Floats | None) -> Floats:
    """The weights of a mean of probabilities: not negative, summing to one, of least log loss.

    Parameters
    ----------
    answers : array, shape (members, rows, classes)
        Probabilities, of rows that the members have not seen.
    y : array of class numbers, shape (rows,)
        The classes.
    weight : array, shape (rows,), or None
        Weights of the rows.

    Notes
    -----
    Members that say the same share their weight equally. Probabilities below 1e-12 count as 1e-12.
    """
    n_members, n_rows, _ = predictions.shape
    predicted = np.maximum(predictions[:, np.arange(n_rows), y], _LEAST_PROBABILITY)
    even = np.full(n_members, 1 / n_members)

    # Adding the sum of the weights to the mean log loss makes them sum to one at the minimum.
    def expand(weights: Floats) -> "_Local":
        mixed = np.maximum(summed(predicted, weights), _LEAST_PROBABILITY)
        ratio = predicted / mixed
        value = float(exact_means(-_native.log(mixed), weight)) + math.fsum(weights.tolist())
        slope = 1.0 - exact_means(ratio, weight)
        curvature = np.array([exact_means(ratio * one, weight) for one in ratio])
        pull = _SHARE_OF_CURVATURE * float(np.diag(curvature).max())
        return _Local(value, slope + pull * weights, curvature + pull * np.eye(n_members))

    found = _newton(expand, even)
    return np.asarray(found / math.fsum(found.tolist()))


# ---- minimising ----


@dataclass(frozen=True)
class _Local:
    """A function near a point: its value, slope and curvature."""

    value: float
    slope: Floats
    curvature: Floats


def _newton(expand: Callable[[Floats], _Local], start: Floats) -> Floats:
    """Minimise a convex function over numbers not below zero: Newton's steps, halved if need be."""
    x, here = start, expand(start)
    for _ in range(_MOST_STEPS):
        bend = np.array([math.fsum((row * x).tolist()) for row in here.curvature])
        goal = nonnegative_minimum(here.curvature, bend - here.slope)
        if float(np.abs(goal - x).max()) <= 1e-10:
            break
        step, there = goal, expand(goal)
        for _ in range(_MOST_HALVINGS):
            if there.value < here.value:
                break
            step = (x + step) / 2
            there = expand(step)
        if not there.value < here.value:
            break
        x, here = step, there
    return x
