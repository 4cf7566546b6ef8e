"""Built-in losses, implemented in the core."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

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

    During a fit, scores have the shape (n_scores, rows). Gradients are multiplied by weights, but
    not by copies (repetitions of rows), which the tree grower counts.

    Attributes
    ----------
    name, n_scores, n_threads
        Name of the loss, number of scores per row, and number of threads.
    parameter : float
        Level of "quantile", power of "tweedie", threshold of "huber".
    level : float or None
        For "huber": the fraction of rows whose residuals are below the threshold set by `at`.
    base, base_slope : float
        For "quantile" and "absolute_error": the initial score, and the gradient of rows whose
        target and score both equal it.
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
        """Whether leaf values are the optimal constants of the residuals, not Newton steps."""
        return bool(_facts(self.name)["refines_leaves"])

    @property
    def hessian_is_one(self) -> bool:
        """Whether the hessian is 1, so that a Newton step is the mean negative gradient."""
        return str(_facts(self.name)["hessian"]) != "own"

    @property
    def targets(self) -> str:
        """Accepted targets: numbers, not_negative, positive, classes or shares."""
        return str(_facts(self.name)["targets"])

    @property
    def has_log_link(self) -> bool:
        """Whether scores are logarithms of predictions."""
        return self.targets in ("not_negative", "positive")

    @property
    def of_exponents(self) -> bool:
        """Whether predictions are functions of exp(score)."""
        return self.targets != "numbers"

    @property
    def slopes(self) -> tuple[float, float] | None:
        """For a loss with a kink: absolute slopes for scores above and below the target."""
        return _native.loss_slopes(self.name, self.parameter)

    @property
    def degrees(self) -> tuple[float, float, float]:
        """Exponents by which gradients, hessians and losses scale with the unit of the target."""
        return _native.loss_degrees(self.name, self.parameter)

    @property
    def has_many_scores(self) -> bool:
        """Whether it supports one score per class."""
        return bool(_facts(self.name)["has_many_scores"])

    @property
    def is_reported_twice(self) -> bool:
        """Whether scikit-learn reports this loss multiplied by 2 if there is one score."""
        return bool(_facts(self.name)["is_reported_twice"])

    def of_each(self, losses: Sequence["BuiltinLoss"]) -> "BuiltinLoss":
        """Return the loss composed of one loss per score; the inverse of `of_score`."""
        (one,) = losses
        return one

    # Whether the derivatives of a row depend on its own target and scores only.
    is_row_wise: ClassVar[bool] = True

    # Whether the mean loss changes smoothly with the scores; steps are noisier from round to round.
    is_smooth: ClassVar[bool] = True

    def of_rows(self, index: NDArray[np.intp]) -> Self:
        """Return the loss of some of the rows."""
        return self

    def without_rows(self) -> Self:
        """Return the loss without what it holds of the rows of a fit."""
        return self

    def of_score(self, k: int) -> "BuiltinLoss":
        """Return the loss of score k, for losses that are separate per score."""
        return self

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """Return the constant scores that minimise the loss."""
        loss = self
        if self.level is not None:
            median = _native.base_scores("absolute_error", 0.0, y, 1, weight, copies)
            loss = self.at(y, np.broadcast_to(median[:, np.newaxis], (1, len(y))), weight, copies)
        return _native.base_scores(self.name, loss.parameter, y, self.n_scores, weight, copies)

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        """Return the loss at these scores: Huber's threshold depends on the residuals."""
        if self.level is None:
            return self
        size = np.abs(y - scores[0])
        width = _native.quantile(size, self.level, weight, copies)
        if width == 0.0:
            # Most residuals are 0. A threshold above all residuals is the squared error.
            width = float(size.max()) or 1.0
        return replace(self, parameter=width)

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Compute gradient and hessian; False if the hessian is 1 and was not written."""
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
        """Return the arguments with which the core computes the derivatives of one score."""
        return {
            "loss": self.name,
            "parameter": self.parameter,
            "base": self.base,
            "base_slope": self.base_slope,
        }

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss, weighted by weights and copies."""
        return _native.mean_loss(
            self.name, self.parameter, y, scores, weight, copies, self.n_threads
        )

    def predictions(self, scores: Floats) -> Floats:
        """Convert scores of shape (rows, n_scores) to predictions or probabilities."""
        return _native.predictions(self.name, scores, self.n_threads)

    def capped(self, steps: Floats, rate: float) -> Floats:
        """Clip Newton steps, to be multiplied by `rate`, for losses that could overflow."""
        if not _facts(self.name)["caps_steps"]:
            return steps
        steps = np.array(steps)
        _native.cap_steps(self.name, self.parameter, rate, steps.reshape(-1))
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
        """Return the optimal constant of the residuals per leaf, if `refines_leaves`."""
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
        """Return the clipped Newton step of each leaf, from exact sums."""
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
