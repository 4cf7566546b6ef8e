"""State of a gradient boosting fit that a warm start continues."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.tree_learners import moved
from weald.ensembles.warm import OffsetMark
from weald.losses import Loss, times_power, unit_of_losses
from weald.trees import Forest


@dataclass(frozen=True, eq=False)
class TrainedDescent:
    """Trees, step sizes and validation losses of all rounds, in the units of the fit.

    The model itself is in the user's units. Converting it back would not be exact: logarithms of
    base scores would be rounded differently, and subnormal numbers would have lost bits.
    """

    forest: Forest  # without trees if the base estimators are foreign
    step_sizes: Floats
    validation: tuple[float, ...]  # of the latest rounds: all if each had a validation loss
    target_exponent: int
    weight_unit: float
    offsets: OffsetMark | None = None  # which offsets the rows had

    @classmethod
    def of(
        cls,
        rows: Rows,
        forest: Forest,
        step_sizes: Floats,
        validation: Sequence[float],
        offsets: OffsetMark | None,
    ) -> "TrainedDescent":
        units = rows.target_exponent, rows.weight_unit
        return cls(forest, step_sizes, tuple(validation), *units, offsets)

    def truncated(self, n_rounds: int, n_members: int) -> "TrainedDescent":
        """The state after the first rounds, which consist of `n_members` base estimators."""
        forest = self.forest.part(0, n_members) if self.forest.n_trees else self.forest
        sizes, dropped = self.step_sizes[:n_members], len(self.step_sizes) - n_members
        last = len(self.validation) - dropped * n_rounds // n_members
        validation = self.validation[: max(last, 0)]
        return replace(self, forest=forest, step_sizes=sizes, validation=validation)

    def in_units_of(self, rows: Rows, loss: Loss) -> "TrainedDescent":
        """Convert to the units of `rows`, whose targets and weights may be scaled differently."""
        step = self.target_exponent - rows.target_exponent
        forest = self.forest.scaled(0, self.weight_unit / rows.weight_unit)
        sizes, validation = self.step_sizes, self.validation
        if step:
            if forest.n_trees == 0 and not loss.has_log_link:
                sizes = np.ldexp(sizes, step)  # predictions of foreign estimators are not scaled
            forest = moved(forest, step, loss)
            validation = tuple(times_power(validation, unit_of_losses(loss, step)).tolist())
        return TrainedDescent.of(rows, forest, sizes, validation, self.offsets)
