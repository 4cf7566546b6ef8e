"""What a fit of gradient boosting made: what a warm start goes on from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.tree_learners import moved
from weald.losses import Loss, times_power, unit_of_losses
from weald.trees import Forest


@dataclass(frozen=True, eq=False)
class TrainedDescent:
    """The trees, steps and held-out losses of all rounds, in the units of the fit.

    The model is kept in the user's units. Back from these, the logarithm of a base score would be
    another number, and what is smaller than the normal floats would have lost bits.
    """

    forest: Forest  # without trees if the members are no trees of ours
    step_sizes: Floats
    validation: tuple[float, ...]
    target_exponent: int
    weight_unit: float

    @classmethod
    def of(
        cls, rows: Rows, forest: Forest, step_sizes: Floats, validation: Sequence[float]
    ) -> "TrainedDescent":
        return cls(forest, step_sizes, tuple(validation), rows.target_exponent, rows.weight_unit)

    def in_units_of(self, rows: Rows, loss: Loss) -> "TrainedDescent":
        """The same for rows whose targets and weights were divided by other numbers."""
        step = self.target_exponent - rows.target_exponent
        forest = self.forest.scaled(0, self.weight_unit / rows.weight_unit)
        sizes, validation = self.step_sizes, self.validation
        if step:
            if forest.n_trees == 0 and not loss.is_of_logarithms:
                sizes = np.ldexp(sizes, step)  # the answers of other members have no unit
            forest = moved(forest, step, loss)
            validation = tuple(times_power(validation, unit_of_losses(loss, step)).tolist())
        return TrainedDescent.of(rows, forest, sizes, validation)
