"""A built-in loss: the core's formulas behind the few verbs boosting needs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from weald import _native

Floats = NDArray[np.float64]
Copies = NDArray[np.int64] | None


@cache
def _facts(name: str) -> dict[str, Any]:
    return _native.loss_facts(name)


@dataclass(frozen=True)
class BuiltinLoss:
    """A loss of the core by name; `weald._native.losses()` lists them.

    Scores have the shape (n_scores, rows) while a model is fitted. Weights enter the gradients;
    copies (repetitions) do not: the tree counts them.

    Attributes
    ----------
    name, n_scores, n_threads
        Which loss, how many scores a row has, and the threads that compute it.
    parameter : float
        The level of "quantile", the power of "tweedie", the width of "huber".
    level : float or None
        Of "huber": the share of rows whose residuals lie within the width, which `at` chooses.
    base, base_slope : float
        Of "quantile" and "absolute_error": where scores start, and the gradient of rows whose
        target and score both are that.
    """

    name: str
    n_scores: int
    n_threads: int
    parameter: float = 0.0
    level: float | None = None
    base: float = 0.0
    base_slope: float = 0.0

    @property
    def refines_leaves(self) -> bool:
        """Whether a leaf answers the best constant of its residuals, not a Newton step."""
        return bool(_facts(self.name)["refines_leaves"])

    @property
    def hessian_is_one(self) -> bool:
        """Whether a Newton step is the mean of the negative gradients."""
        return str(_facts(self.name)["hessian"]) != "own"

    @property
    def targets(self) -> str:
        """The targets it takes: numbers, not_negative, positive, classes or shares."""
        return str(_facts(self.name)["targets"])

    @property
    def is_of_logarithms(self) -> bool:
        """Whether scores are logarithms of predictions."""
        return self.targets in ("not_negative", "positive")

    @property
    def of_exponents(self) -> bool:
        """Whether predictions are functions of e to the score."""
        return self.targets != "numbers"

    @property
    def slopes(self) -> tuple[float, float] | None:
        """Of a loss with a kink at the target: its slopes above and, less the sign, below it."""
        return _native.loss_slopes(self.name, self.parameter)

    @property
    def degrees(self) -> tuple[float, float, float]:
        """Powers of the target's unit by which gradients, hessians and losses grow."""
        return _native.loss_degrees(self.name, self.parameter)

    @property
    def has_many_scores(self) -> bool:
        """Whether it is defined for a score per class."""
        return bool(_facts(self.name)["has_many_scores"])

    @property
    def is_reported_twice(self) -> bool:
        """Whether scikit-learn reports twice this loss, where there is one score."""
        return bool(_facts(self.name)["is_reported_twice"])

    def of_each(self, losses: Sequence["BuiltinLoss"]) -> "BuiltinLoss":
        """The loss whose scores have these, as `of_score` gives them."""
        (one,) = losses
        return one

    def of_score(self, k: int) -> "BuiltinLoss":
        """The loss of one score by itself, where scores have losses of their own."""
        return self

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """The constant scores of least loss."""
        loss = self
        if self.level is not None:
            median = _native.base_scores("absolute_error", 0.0, y, 1, weight, copies)
            loss = self.at(y, np.broadcast_to(median[:, np.newaxis], (1, len(y))), weight, copies)
        return _native.base_scores(self.name, loss.parameter, y, self.n_scores, weight, copies)

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        """The loss as it is at these scores: Huber's width follows the residuals."""
        if self.level is None:
            return self
        size = np.abs(y - scores[0])
        width = _native.quantile(size, self.level, weight, copies)
        if width == 0.0:
            # Most rows are met exactly. A width of all residuals leaves the squared error.
            width = float(size.max()) or 1.0
        return replace(self, parameter=width)

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Write both derivatives; False if the hessian is 1 everywhere and was left unwritten."""
        return _native.gradients(
            self.name,
            self.parameter,
            y,
            scores,
            weight,
            gradient,
            hessian,
            self.n_threads,
            self.base,
            self.base_slope,
        )

    def for_core(self) -> dict[str, Any]:
        """The loss of one score as the core is told of it, to find the derivatives itself."""
        return {
            "loss": self.name,
            "parameter": self.parameter,
            "base": self.base,
            "base_slope": self.base_slope,
        }

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """The mean loss over weights and copies."""
        return _native.mean_loss(
            self.name, self.parameter, y, scores, weight, copies, self.n_threads
        )

    def predictions(self, scores: Floats) -> Floats:
        """From scores of the shape (rows, n_scores) to numbers or probabilities."""
        return _native.predictions(self.name, scores, self.n_threads)

    def capped(self, steps: Floats, rate: float) -> Floats:
        """Newton steps that will be multiplied by `rate`, shortened where a loss could explode."""
        if not _facts(self.name)["caps_steps"]:
            return steps
        steps = np.array(steps)
        _native.cap_steps(self.name, self.parameter, rate, steps)
        return steps

    def leaf_constants(
        self,
        y: Floats,
        scores: Floats,
        weight: Floats | None,
        copies: Copies,
        leaf_of_row: NDArray[np.int32],
        n_leaves: int,
    ) -> Floats:
        """The best constant of the residuals in each leaf, for a loss that refines its leaves."""
        return _native.leaf_constants(
            self.name,
            self.parameter,
            y,
            scores,
            weight,
            copies,
            leaf_of_row,
            n_leaves,
            self.n_threads,
        )

    def leaf_steps(
        self,
        gradient: Floats,
        hessian: Floats,
        copies: Copies,
        leaf_of_row: NDArray[np.int32],
        n_leaves: int,
        rate: float,
        l2: float = 0.0,
    ) -> Floats:
        """Newton's step in each leaf, capped, from exact sums."""
        return _native.leaf_steps(
            self.name,
            self.parameter,
            rate,
            gradient,
            hessian,
            copies,
            leaf_of_row,
            n_leaves,
            self.n_threads,
            l2,
        )
