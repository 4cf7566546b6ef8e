"""Losses of right-censored survival times: Cox's partial likelihood, accelerated failure time.

The target of a row is a positive number, negative if the row was censored: for `CoxLoss` the place
of its time among all times, 1, 2, ..., for `AftLoss` the time itself.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.roots import best_step, root_of

# Estimates of location and scale in turn: at most so many, until the logarithm of the scale moves
# by less; the scale itself is within e^±this of 1 unit of log time.
_TURNS, _NEAR, _FAR_SCALE = 50, 1e-6, 16.0

_LOG_LOG_2 = -0.36651292058166435


@dataclass(frozen=True)
class _SurvivalLoss:
    """What the losses of survival times have in common: one score, Newton steps, no link."""

    n_threads: int

    n_scores: ClassVar[int] = 1
    refines_leaves: ClassVar[bool] = False
    hessian_is_one: ClassVar[bool] = False
    targets: ClassVar[str] = "survival"
    has_log_link: ClassVar[bool] = False
    of_exponents: ClassVar[bool] = True
    has_loss: ClassVar[bool] = True
    is_reported_twice: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = True
    degrees: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)

    def of_rows(self, index: NDArray[np.intp]) -> Self:
        """Return the loss of some of the rows."""
        return self

    def without_rows(self) -> Self:
        """Return the loss as it is: only copies of it, made by `at`, hold data of rows."""
        return self

    def predictions(self, scores: Floats) -> Floats:
        """Scores as they are."""
        return scores

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
        """Return the capped Newton step of each leaf."""
        plain = BuiltinLoss("squared_error", 1, self.n_threads)
        steps = plain.leaf_steps(gradient, hessian, copies, leaf_of_row, n_leaves, rate, l2)
        return self.capped(steps, rate)

    def capped(self, steps: Floats, rate: float) -> Floats:
        """Clip Newton steps, to be multiplied by `rate`, that are too long for the loss."""
        raise NotImplementedError


@dataclass(frozen=True)
class CoxLoss(_SurvivalLoss):
    """Cox's negative log partial likelihood; the score is the log hazard ratio.

    With Breslow's treatment of ties a row of weight 2 equals the row repeated; Efron's ("efron") is
    closer to the likelihood of times in a random order. Risk sets are those of the rows for which
    `at` was called last, so that rows held out do not matter.
    """

    ties: str = "breslow"

    # Number of copies of each row in the risk sets, by `at`.
    copies: Any = field(default=None, compare=False, repr=False)

    name: ClassVar[str] = "cox"

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """Zero: a constant changes no hazard ratio."""
        return np.zeros(1)

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        """The loss with the risk sets of these rows."""
        return replace(self, copies=copies)

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Compute gradient and hessian, weighted."""
        _native.cox_gradients(
            self.ties, y, scores[0], weight, self.copies, gradient[0], hessian[0], self.n_threads
        )
        return True

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss of these rows, whose risk sets consist of these rows only."""
        return _native.cox_mean_loss(self.ties, y, scores[0], weight, copies, self.n_threads)

    def baseline_hazard(
        self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies
    ) -> Floats:
        """Cumulative hazard of a row of score 0 at each place of a time."""
        return _native.baseline_hazard(self.ties, y, scores[0], weight, copies, self.n_threads)

    def capped(self, steps: Floats, rate: float) -> Floats:
        # Given the baseline hazard, the likelihood is that of Poisson counts.
        return BuiltinLoss("poisson", 1, self.n_threads).capped(steps, rate)


@dataclass(frozen=True)
class AftLoss(_SurvivalLoss):
    """Accelerated failure time: log time = score + scale * error.

    Attributes
    ----------
    distribution : {"normal", "logistic", "extreme"}
        Distribution of the errors.
    scale : float
        Standard deviation of normal errors; the scale parameter of the others.
    """

    distribution: str = "normal"
    scale: float = 1.0

    name: ClassVar[str] = "aft"
    has_log_link: ClassVar[bool] = True

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """The location of the times, all rows alike."""
        start = np.full((1, len(y)), float(np.median(_native.log(np.abs(y)))))
        ones = np.ones_like(start)
        return start[:, 0] + best_step(self, y, start, ones, weight, copies)

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        return self

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Compute gradient and hessian, weighted."""
        _native.aft_gradients(
            self.distribution,
            self.scale,
            y,
            scores[0],
            weight,
            gradient[0],
            hessian[0],
            self.n_threads,
        )
        return True

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean negative log-likelihood of the times."""
        return _native.aft_mean_loss(
            self.distribution, self.scale, y, scores[0], weight, copies, self.n_threads
        )

    def capped(self, steps: Floats, rate: float) -> Floats:
        if self.distribution != "extreme":
            return steps
        # In units of the scale, leaves are those of a gamma loss.
        gamma = BuiltinLoss("gamma", 1, self.n_threads)
        return gamma.capped(np.asarray(steps) / self.scale, rate) * self.scale

    def log_survival(self, z: Floats) -> Floats:
        """Logarithm of the chance that an error exceeds z, for an array of any shape."""
        flat = np.ascontiguousarray(z, dtype=np.float64).reshape(-1)
        return _native.aft_log_survival(self.distribution, flat, self.n_threads).reshape(z.shape)

    def with_best_scale(
        self, y: Floats, scores: Floats | None, weight: Floats | None, copies: Copies
    ) -> "AftLoss":
        """The loss with the scale of largest likelihood, given scores or (None) a constant score.

        If all errors are 0, the scale is tiny.
        """
        if scores is not None:
            return self._with_scale(y, scores, weight, copies)
        loss: AftLoss = self
        for _ in range(_TURNS):
            base = loss.base_scores(y, weight, copies)
            start = np.repeat(base[:, np.newaxis], len(y), axis=1)
            better = loss._with_scale(y, start, weight, copies)
            is_near = abs(better.scale - loss.scale) <= _NEAR * loss.scale
            loss = better
            if is_near:
                break
        return loss

    def _with_scale(
        self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies
    ) -> "AftLoss":
        gradient, hessian = np.empty_like(scores), np.empty_like(scores)
        residual = _native.log(np.abs(y)) - scores[0]
        events = (y > 0.0) * (1.0 if weight is None else weight)

        def loss_at(log_scale: float) -> "AftLoss":
            return replace(self, scale=float(_native.exp(np.array([log_scale]))[0]))

        def slope(log_scale: float) -> float:
            # The derivative of the mean loss by the logarithm of the scale.
            loss_at(log_scale).gradients(y, scores, weight, gradient, hessian)
            terms = events + residual * gradient[0]
            return _native.exact_total(terms, copies)

        return loss_at(root_of(slope, most=_FAR_SCALE))


def median_error(loss: AftLoss) -> float:
    """Median of the errors: 0 for symmetric distributions.

    >>> median_error(AftLoss(1, "normal")), round(median_error(AftLoss(1, "extreme")), 6)
    (0.0, -0.366513)
    """
    return _LOG_LOG_2 if loss.distribution == "extreme" else 0.0


def exp(x: Floats) -> Floats:
    """e^x with the same bits on every machine, for an array of any shape."""
    flat = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    return np.asarray(_native.exp(flat).reshape(np.shape(x)))
