"""Greedy ensemble selection (Caruana, Niculescu-Mizil, Crew and Ksikes 2004)."""

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.combining.nonnegative import summed
from weald.ensembles.exact_means import exact_means
from weald.resampling import draw_some

Floats = NDArray[np.float64]

_LEAST_PROBABILITY = 1e-12

# So many members are always chosen among.
_FEW = 8


class GreedySelection:
    """A mean of members, chosen one after another, with repetition, to lower a loss.

    Each step adds the member that makes the mean of those chosen so far best; the steps after the
    best one are dropped. Guards against overfitting few rows: a bag chooses among a random half of
    the members only, so that one lucky member cannot take all, and the weights are the mean over
    the bags; ties go to a member that is chosen already.

    Parameters
    ----------
    loss : {"log_loss", "squared_error"}
        What the steps lower: of classes, or of numbers.
    n_steps : int, default=40
        Most members chosen in a bag, counting repetitions.
    n_bags : int, default=20
        Number of bags.
    share : float, default=0.5
        Share of the members that a bag chooses among, rounded up, but at least eight of them: so
        few cannot overfit much. 1.0 is the plain algorithm.
    seed : int, default=0
        Keys the draws of members.

    Attributes
    ----------
    weights_ : array, shape (members,)
        Weights of the members; they sum to one.
    """

    weights_: Floats

    def __init__(
        self,
        loss: str,
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
        """Choose from answers of the shape (members, rows, columns) to rows not seen."""
        said, target = self._relevant(answers, y)
        n_members = len(said)
        n_drawn = min(n_members, max(_FEW, int(np.ceil(self.share * n_members))))
        # All members in every bag leave nothing to draw.
        n_bags = 1 if n_drawn == n_members else self.n_bags
        total = np.zeros(n_members)
        for bag in range(n_bags):
            library = draw_some(n_members, n_drawn, seed=self.seed, member=bag)
            total[library] += self._chosen(said[library], target, weight)
        self.weights_ = total / n_bags
        return self

    def combine(self, answers: Floats) -> Floats:
        """The weighted mean of the answers."""
        return summed(answers, self.weights_)

    def _relevant(self, answers: Floats, y: NDArray[np.float64]) -> tuple[Floats, Floats]:
        """The part of the answers that the loss looks at, of the shape (members, rows)."""
        if self.loss == "log_loss":
            rows = np.arange(answers.shape[1])
            return answers[:, rows, y.astype(np.intp)], np.zeros(len(y))
        # Divided by a power of two: no square leaves the range of floats, no choice changes.
        largest = max(float(np.abs(answers).max()), float(np.abs(y).max()))
        scale = -int(np.frexp(largest)[1])
        return np.ldexp(answers[:, :, 0], scale), np.ldexp(y, scale)

    def _losses(self, means: Floats, target: Floats, weight: Floats | None) -> Floats:
        if self.loss == "log_loss":
            likely = np.maximum(means, _LEAST_PROBABILITY)
            terms = -_native.log(likely.ravel()).reshape(likely.shape)
        else:
            terms = (means - target) ** 2
        return exact_means(terms, weight)

    def _chosen(self, said: Floats, target: Floats, weight: Floats | None) -> Floats:
        """Weights after the best step of one bag."""
        counts = np.zeros(len(said))
        running = np.zeros(said.shape[1])
        best, best_counts = np.inf, counts
        for step in range(1, self.n_steps + 1):
            losses = self._losses((running + said) / step, target, weight)
            least = losses.min()
            ties = np.flatnonzero(losses <= least)
            pick = int(ties[np.argmax(counts[ties])])
            counts[pick] += 1
            running = running + said[pick]
            if losses[pick] < best:
                best, best_counts = float(losses[pick]), counts.copy()
        return np.asarray(best_counts / best_counts.sum())
