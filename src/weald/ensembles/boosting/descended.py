"""What a fit of gradient boosting made: what a warm start goes on from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.boosting.progress import loss_exponent
from weald.ensembles.boosting.tree_learners import moved
from weald.losses import Loss
from weald.trees import Forest


@dataclass(frozen=True, eq=False)
class Descended:
    """The trees, steps and held-out losses of all rounds, in the units of the fit.

    The model is kept in the user's units. Back from these, the logarithm of a base score would be
    another number, and what is smaller than the normal floats would have lost bits.
    """

    forest: Forest  # without trees if the members are no trees of ours
    step_sizes: Floats
    validation: tuple[float, ...]
    target_exponent: int
    weight_exponent: int

    @classmethod
    def of(
        cls, rows: Rows, forest: Forest, step_sizes: Floats, validation: Sequence[float]
    ) -> "Descended":
        return cls(
            forest, step_sizes, tuple(validation), rows.target_exponent, rows.weight_exponent
        )

    def in_units_of(self, rows: Rows, loss: Loss) -> "Descended":
        """The same for rows whose targets and weights were divided by other powers of two."""
        step = self.target_exponent - rows.target_exponent
        weight_step = self.weight_exponent - rows.weight_exponent
        forest, sizes, validation = self.forest, self.step_sizes, self.validation
        if weight_step:
            with np.errstate(over="ignore"):
                forest = replace(forest, weight=np.ldexp(forest.weight, weight_step))
        if step:
            if forest.n_trees == 0 and not loss.is_of_logarithms:
                sizes = np.ldexp(sizes, step)  # the answers of other members have no unit
            forest = moved(forest, step, loss)
            with np.errstate(over="ignore"):
                losses = np.ldexp(np.array(validation), loss_exponent(loss, step))
            validation = tuple(losses.tolist())
        return Descended.of(rows, forest, sizes, validation)
