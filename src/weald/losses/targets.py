"""Squared errors of several targets, each in units of its own spread."""

from dataclasses import dataclass

import numpy as np

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats


@dataclass(frozen=True)
class TargetLosses(BuiltinLoss):
    """The mean over several targets of the squared errors, with one score each.

    Targets are divided by their standard deviations before the fit, so that they count alike
    whatever their units; the trees of the model are in the units of the user.

    Attributes
    ----------
    scales : tuple of float
        What each target was divided by.
    """

    scales: tuple[float, ...] = ()

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        one = BuiltinLoss(self.name, 1, self.n_threads)
        return np.concatenate([one.base_scores(own, weight, copies) for own in self._columns(y)])

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        has_hessian = False
        one = BuiltinLoss(self.name, 1, self.n_threads)
        for k, target in enumerate(self._columns(y)):
            own = slice(k, k + 1)
            has_hessian = one.gradients(target, scores[own], weight, gradient[own], hessian[own])
        return has_hessian

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss over rows and targets."""
        one = BuiltinLoss(self.name, 1, self.n_threads)
        losses = [
            one.mean(target, scores[k : k + 1], weight, copies)
            for k, target in enumerate(self._columns(y))
        ]
        return sum(losses) / len(losses)

    def predictions(self, scores: Floats) -> Floats:
        return scores

    def in_units_of_targets(self, values: Floats) -> Floats:
        """Convert scores of shape (rows, targets) to the units of the user."""
        return np.asarray(values * np.array(self.scales))

    def _columns(self, y: Floats) -> list[Floats]:
        """The targets, which lie one after another."""
        return list(y.reshape(self.n_scores, -1))


def target_losses(y: Floats, weight: Floats | None, n_threads: int) -> TargetLosses:
    """The loss of targets of shape (rows, targets), with their standard deviations as scales.

    >>> loss = target_losses(np.array([[1.0, 5.0], [3.0, 5.0]]), None, 1)
    >>> loss.n_scores, loss.scales
    (2, (1.0, 5.0))
    """
    scales = tuple(_spread(np.ascontiguousarray(column), weight) for column in y.T)
    return TargetLosses("squared_error", y.shape[1], n_threads, scales=scales)


def _spread(y: Floats, weight: Floats | None) -> float:
    """Standard deviation, from exact sums; the size of a target that is constant."""
    mass = np.ones(len(y)) if weight is None else weight
    total = _native.exact_total(mass, None)
    centre = _native.base_scores("squared_error", 0.0, y, 1, weight, None)[0]
    variance = _native.exact_total(mass * (y - centre) ** 2, None) / total
    return float(np.sqrt(variance)) if variance > 0.0 else float(abs(y[0])) or 1.0
