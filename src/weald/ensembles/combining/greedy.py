"""Greedy ensemble selection (Caruana, Niculescu-Mizil, Crew and Ksikes 2004)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.combining.nonnegative import summed
from weald.ensembles.exact_means import exact_means
from weald.resampling import draw_some

Floats = NDArray[np.float64]

_MIN_PROBABILITY = 1e-12

# Minimum number of base estimators that a bag selects from.
_MIN_DRAWN = 8


class GreedySelection:
    """Greedy ensemble selection: a mean of base estimators, selected with replacement.

    Each step adds the base estimator that minimises the loss of the mean of those selected so far;
    the steps after the best one are discarded. To reduce overfitting, the selection is bagged: each
    bag selects from a random subset of the base estimators, and the weights are averaged over the
    bags. Ties go to a base estimator that is selected already.

    Parameters
    ----------
    loss : {"log_loss", "squared_error"} or callable
        Loss function to minimise: for classification or regression, or a function of predictions of
        shape (rows, columns), the target and the weights (or None) that returns a number.
    n_steps : int, default=40
        Maximum number of selections in a bag.
    n_bags : int, default=20
        Number of bags.
    share : float, default=0.5
        Fraction of the base estimators that a bag selects from, rounded up; at least eight. 1.0:
        no bagging.
    seed : int, default=0
        Seed of the random subsets.

    Attributes
    ----------
    weights_ : array, shape (estimators,)
        Weights of the base estimators; their sum is 1.
    """

    weights_: Floats

    def __init__(
        self,
        loss: str | Callable[[Floats, Floats, Floats | None], float],
        *,
        n_steps: int = 40,
        n_bags: int = 20,
        share: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.loss = loss
        self.n_steps = n_steps
        self.n_bags = n_bags
        self.share = share
        self.seed = seed

    def fit(
        self, answers: Floats, y: NDArray[np.float64], weight: Floats | None
    ) -> "GreedySelection":
        """Select from predictions `answers` of shape (estimators, rows, columns).

        The base estimators must not have been fitted on these rows.
        """
        predicted, target = self._loss_inputs(answers, y)
        n_estimators = len(predicted)
        n_drawn = min(n_estimators, max(_MIN_DRAWN, int(np.ceil(self.share * n_estimators))))
        # With all base estimators in each bag, all bags are equal.
        n_bags = 1 if n_drawn == n_estimators else self.n_bags
        total = np.zeros(n_estimators)
        for bag in range(n_bags):
            library = draw_some(n_estimators, n_drawn, seed=self.seed, member=bag)
            total[library] += self._selected_weights(predicted[library], target, weight)
        self.weights_ = total / n_bags
        return self

    def combine(self, answers: Floats) -> Floats:
        """Weighted mean of the predictions `answers`."""
        return summed(answers, self.weights_)

    def _loss_inputs(self, answers: Floats, y: NDArray[np.float64]) -> tuple[Floats, Floats]:
        """Predictions of shape (estimators, rows) and targets, as used by the loss.

        With a function as loss, they are unchanged.
        """
        if callable(self.loss):
            return answers, y
        if self.loss == "log_loss":
            rows = np.arange(answers.shape[1])
            return answers[:, rows, y.astype(np.intp)], np.zeros(len(y))
        # Scaling by a power of two avoids overflow of squares and does not change the selection.
        largest = max(float(np.abs(answers).max()), float(np.abs(y).max()))
        scale = -int(np.frexp(largest)[1])
        return np.ldexp(answers[:, :, 0], scale), np.ldexp(y, scale)

    def _losses(self, means: Floats, target: Floats, weight: Floats | None) -> Floats:
        if callable(self.loss):
            return np.array([self.loss(mean, target, weight) for mean in means])
        if self.loss == "log_loss":
            clipped = np.maximum(means, _MIN_PROBABILITY)
            terms = -_native.log(clipped.ravel()).reshape(clipped.shape)
        else:
            terms = (means - target) ** 2
        return exact_means(terms, weight)

    def _selected_weights(self, predicted: Floats, target: Floats, weight: Floats | None) -> Floats:
        """Weights of one bag after its best step."""
        counts = np.zeros(len(predicted))
        running = np.zeros(predicted.shape[1:])
        best, best_counts = np.inf, counts
        for step in range(1, self.n_steps + 1):
            losses = self._losses((running + predicted) / step, target, weight)
            least = losses.min()
            ties = np.flatnonzero(losses <= least)
            pick = int(ties[np.argmax(counts[ties])])
            counts[pick] += 1
            running = running + predicted[pick]
            if losses[pick] < best:
                best, best_counts = float(losses[pick]), counts.copy()
        return np.asarray(best_counts / best_counts.sum())
