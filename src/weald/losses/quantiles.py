"""Joint prediction of several quantiles without crossing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats


@dataclass(frozen=True)
class QuantileLosses(BuiltinLoss):
    """Pinball losses of several levels, with one score each.

    The scores are fitted independently. Predictions are the sorted scores: they do not cross, and
    sorting cannot increase the total loss (Chernozhukov, Fernández-Val and Galichon, 2010).

    Attributes
    ----------
    levels : tuple of float
        Strictly increasing quantile levels.
    each : tuple of BuiltinLoss
        Loss of each level, if it has more attributes than the level.
    """

    levels: tuple[float, ...] = ()
    each: tuple[BuiltinLoss, ...] = ()

    def of_score(self, k: int) -> BuiltinLoss:
        if self.each:
            return self.each[k]
        return BuiltinLoss("quantile", 1, self.n_threads, self.levels[k])

    def of_each(self, losses: Sequence[BuiltinLoss]) -> BuiltinLoss:
        return replace(self, each=tuple(losses))

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        return np.concatenate([one.base_scores(y, weight, copies) for one in self._each])

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        has_hessian = False
        for k, one in enumerate(self._each):
            own = slice(k, k + 1)
            has_hessian = one.gradients(y, scores[own], weight, gradient[own], hessian[own])
        return has_hessian

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss of the sorted predictions over rows and levels."""
        ordered = np.sort(scores, axis=0)
        losses = [
            one.mean(y, ordered[k : k + 1], weight, copies) for k, one in enumerate(self._each)
        ]
        return sum(losses) / len(losses)

    @property
    def _each(self) -> list[BuiltinLoss]:
        return [self.of_score(k) for k in range(self.n_scores)]


def quantile_losses(levels: Sequence[float] | NDArray[np.float64], n_threads: int) -> BuiltinLoss:
    """Return the joint loss of increasing levels.

    >>> quantile_losses([0.1, 0.9], 1).predictions(np.array([[3.0, 2.0]])).tolist()
    [[2.0, 3.0]]
    """
    each = tuple(float(level) for level in levels)
    return QuantileLosses("quantile", len(each), n_threads, levels=each)


def pinball_saved(
    loss: QuantileLosses, y: Floats, predictions: Floats, weight: Floats | None
) -> float:
    """D² score: the fraction of the loss of the optimal constants that is explained; at most 1.

    >>> loss = QuantileLosses("quantile", 2, 1, levels=(0.25, 0.75))
    >>> y = np.arange(8.0)
    >>> pinball_saved(loss, y, np.column_stack([y, y]), None)
    1.0
    """
    own = loss.mean(y, np.ascontiguousarray(predictions.T), weight, None)
    constants = [_native.quantile(y, level, weight, None) for level in loss.levels]
    best = loss.mean(y, np.repeat(np.array(constants)[:, np.newaxis], len(y), axis=1), weight, None)
    if best == 0.0:
        return 1.0 if own == 0.0 else 0.0
    return 1.0 - own / best
