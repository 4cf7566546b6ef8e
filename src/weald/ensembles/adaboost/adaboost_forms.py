"""Variants of AdaBoost: vote and row-weight factors as functions of the weighted error.

All variants give the same normalised row weights and the same votes up to a common factor. They
differ in the scale of the votes, and SAMME in the error it accepts with more than two classes.
"""

import math
from dataclasses import dataclass

import numpy as np

from weald import _native

FORMS = ("half-log", "log", "m1", "samme")

# A perfect base estimator would have an infinite vote; it gets the vote of this error.
_PERFECT = 1e-10

# Errors this close to the limit count as equal to it, so that rounding does not matter.
_NEAR = 2.0**-40

# Factors beyond exp(_STEEP) are normalised by the larger one to avoid overflow.
_STEEP = 300.0


@dataclass(frozen=True)
class Form:
    """A variant of AdaBoost.

    >>> form = Form("log", n_classes=2)
    >>> [round(form.vote(error), 3) for error in (0.1, 0.4)]
    [2.197, 0.405]
    """

    name: str
    n_classes: int
    learning_rate: float = 1.0

    @property
    def limit(self) -> float:
        """Error of a base estimator that is no better than chance."""
        return 1.0 - 1.0 / self.n_classes if self.name == "samme" else 0.5

    def is_chance(self, error: float) -> bool:
        """Whether the error equals that of chance."""
        return abs(error - self.limit) <= _NEAR

    def is_worse(self, error: float) -> bool:
        """Whether the error is worse than chance."""
        return error > self.limit + _NEAR

    def vote(self, error: float) -> float:
        """Vote of a base estimator; negative if it is worse than chance."""
        if self.name == "samme" and error in (0.0, 1.0):
            return 1.0 - 2.0 * error
        error = min(max(error, _PERFECT), 1.0 - _PERFECT) if error in (0.0, 1.0) else error
        log_odds = _log((1.0 - error) / error)
        if self.name == "samme":
            log_odds += _log(self.n_classes - 1.0)
        return self.learning_rate * log_odds * (0.5 if self.name == "half-log" else 1.0)

    def factors(self, error: float, vote: float) -> tuple[float, float]:
        """Factors of the weights of correct and misclassified rows, before normalisation."""
        steepness = self.on_half_scale(vote) * 2.0
        if abs(steepness) > _STEEP:
            return (_exp(-steepness), 1.0) if steepness > 0 else (1.0, _exp(steepness))
        if self.name == "half-log":
            return _exp(-vote), _exp(vote)
        if self.name == "m1":
            return (error / (1.0 - error) if self.learning_rate == 1.0 else _exp(-vote)), 1.0
        return 1.0, _exp(vote)

    def on_half_scale(self, vote: float) -> float:
        """Convert a vote to the scale of "half-log"."""
        return vote if self.name == "half-log" else vote / 2.0

    def bound_factor(self, error: float, vote: float) -> float:
        """Factor of a base estimator in the bound of the training error.

        With learning_rate=1 and two classes it is 2 √(error (1 - error)).
        """
        return _mean_exponential(error, self.on_half_scale(vote), 0.5)

    def loss_factor(self, error: float, vote: float) -> float:
        """Factor of a base estimator in the mean exponential loss that the form minimises."""
        share = 1.0 / self.n_classes if self.name == "samme" and self.n_classes > 2 else 0.5
        return _mean_exponential(error, self.on_half_scale(vote), share)


def _mean_exponential(error: float, half: float, share: float) -> float:
    """Mean of exp(-2 half (1 - share)) for correct and exp(2 half share) for misclassified rows."""
    if abs(half) > _STEEP:
        return math.inf
    return (1.0 - error) * _exp(-2.0 * half * (1.0 - share)) + error * _exp(2.0 * half * share)


def _log(x: float) -> float:
    return float(_native.log(np.array([x]))[0])


def _exp(x: float) -> float:
    return float(_native.exp(np.array([x]))[0])
