"""Mean targets and losses of the rows of a part, as extremes and sums that merge."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.row_draws import DrawnRows
from weald.ensembles.rounds.loop import Copies


class RowMean(NamedTuple):
    """A mean over rows, in two steps: extremes, then sums at the scale of those of all parts."""

    values: Floats
    weight: Floats | None
    copies: Copies

    def extremes(self) -> Floats:
        """Four numbers, which merge by maxima."""
        return _native.mean_extremes(self.values, self.weight, self.copies)

    def sums(self, most: Floats) -> NDArray[np.int64]:
        """Integers, which are summed."""
        return _native.mean_sums(self.values, self.weight, self.copies, most)


class RowLosses(DrawnRows):
    """Means over rows: of the target, and of the losses of the rows that are held out."""

    _scores: Floats
    _held_losses: RowMean | None

    # ---- the mean target, or the share of each class, from which base scores follow ----

    def extremes_of_target(self, of_all: bool) -> Answer:
        """The extremes of the targets, of all rows or of those that are not held out."""
        return (np.concatenate([mean.extremes() for mean in self._target_means(of_all)]),)

    def sums_of_target(self, of_all: bool, most: Floats) -> Answer:
        """The sums of the targets at the scale of these extremes."""
        means, scales = self._target_means(of_all), most.reshape(-1, 4)
        return (np.concatenate([mean.sums(own) for mean, own in zip(means, scales, strict=True)]),)

    def _target_means(self, of_all: bool) -> list[RowMean]:
        copies = self._times if of_all else self._train_copies()
        n_scores = self._loss.n_scores
        each = [self._y] if n_scores == 1 else [(self._y == k) * 1.0 for k in range(n_scores)]
        return [RowMean(values, self._weight, copies) for values in each]

    # ---- the losses of the rows that are held out ----

    def _extremes_of_losses(self) -> Floats:
        """Compute the losses of the rows that are held out; empty if no part holds out rows."""
        if self._held_out is None:
            return np.empty(0)
        rows = np.flatnonzero(self._held_out)
        losses = _native.losses_of_rows(
            self._loss.name,
            self._loss.parameter,
            self._y[rows],
            np.ascontiguousarray(self._scores[:, rows]),
            self._loss.n_threads,
        )
        self._held_losses = RowMean(
            losses,
            None if self._weight is None else self._weight[rows],
            None if self._times is None else self._times[rows],
        )
        return self._held_losses.extremes()

    def _sums_of_losses(self, most: Floats) -> NDArray[np.int64]:
        if self._held_losses is None:
            return np.empty(0, dtype=np.int64)
        return self._held_losses.sums(most)
