"""Training state of boosted trees, from which warm starts and checkpoints continue."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan, Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.starting_scores import starting_scores
from weald.ensembles.rounds.tree_learners import moved, trees_of
from weald.ensembles.staging import moves, of_rows
from weald.ensembles.warm import OffsetMark, check_offsets, check_statistics, check_warm_start
from weald.errors import listing
from weald.losses import Loss
from weald.trees import Forest, ForestBuilder


def trees_of_booster(forest: Forest, booster: int, n_boosters: int, loss: Loss) -> NDArray[np.intp]:
    """Indices of the trees of one of several boosters, whose rounds are interleaved."""
    size = forest.trees_a_round(loss.n_scores)
    rounds = forest.n_trees // (size * n_boosters)
    return np.arange(forest.n_trees).reshape(rounds, n_boosters, size)[:, booster].ravel()


def averaged(forest: Forest, n_boosters: int) -> Forest:
    """The forest whose scores are the mean of those of its boosters."""
    if n_boosters == 1:
        return forest
    return replace(forest, tree_weight=np.full(forest.n_trees, 1.0 / n_boosters))


@dataclass(frozen=True, eq=False)
class TrainedState:
    """All trees and curves of a fit, before early stopping truncates them and refits the leaves.

    Continuing from it yields the same model as a single fit of all rounds.

    Attributes
    ----------
    forest : Forest
        The trees of all rounds, in the units of the fit.
    target_exponent : int
        Targets were divided by 2**target_exponent.
    weight_unit : float
        Weights were divided by it.
    seed : int
        Seed of row and column sampling.
    curves : dict of str to sequence of float
        Losses and scores by the names of `History`, before the first and after each round.
    plan : ColumnPlan
        How columns were read.
    classes : array or None
        Class labels; None for regression.
    n_boosters : int
        Number of boosters trained together; a round holds the trees of one after another.
    offsets : OffsetMark or None
        Which offsets the rows had; None: no offsets.
    """

    forest: Forest
    target_exponent: int
    weight_unit: float
    seed: int
    curves: Mapping[str, Sequence[float]]
    plan: ColumnPlan
    classes: NDArray[Any] | None
    n_boosters: int = 1
    offsets: OffsetMark | None = None

    def in_units_of(self, rows: Rows, loss: Loss) -> "TrainedState":
        """Convert to the scaling of targets and weights of other rows."""
        forest = moved(self.forest, self.target_exponent - rows.target_exponent, loss)
        forest = forest.scaled(0, self.weight_unit / rows.weight_unit)
        return replace(
            self,
            forest=forest,
            target_exponent=rows.target_exponent,
            weight_unit=rows.weight_unit,
        )

    def scores(self, booster: int, rows: Rows, loss: Loss, n_threads: int) -> Floats:
        """Raw predictions of a booster, of shape (scores, rows), bit for bit those of the loop."""
        forest = self.forest.picked(trees_of_booster(self.forest, booster, self.n_boosters, loss))
        if rows.offset is None:
            scores = of_rows(rows.table, partial(forest.predict, n_threads=n_threads))
            return np.ascontiguousarray(scores.T)
        scores = starting_scores(loss, rows, forest.base_score)
        for output, move in zip(forest.output, moves(forest, rows.table, n_threads), strict=True):
            scores[slice(None) if output < 0 else output] += move.T
        return scores

    def add_to(self, builder: ForestBuilder) -> None:
        """Add the trees to a builder."""
        for tree, output in zip(trees_of(self.forest), self.forest.output.tolist(), strict=True):
            builder.add(tree, output=output)

    def rounds(self, loss: Loss) -> int:
        """Number of rounds."""
        return self.forest.n_trees // self._trees_a_round(loss)

    def first(self, rounds: int, loss: Loss) -> Forest:
        """Trees of the first `rounds` rounds."""
        return self.forest.part(0, rounds * self._trees_a_round(loss))

    def truncated(self, rounds: int, loss: Loss) -> "TrainedState":
        """The state after the first `rounds` rounds."""
        curves = {name: values[: rounds + 1] for name, values in self.curves.items()}
        return replace(self, forest=self.first(rounds, loss), curves=curves)

    def _trees_a_round(self, loss: Loss) -> int:
        return self.n_boosters * self.forest.trees_a_round(loss.n_scores)

    def check(
        self,
        model: Any,
        loss: Loss,
        plan: ColumnPlan,
        *,
        n_estimators: int,
        n_boosters: int,
        offsets: OffsetMark | None,
    ) -> None:
        """Raise for a fit with other columns, classes or offsets, or with fewer rounds."""
        classes = getattr(model, "classes_", None)
        same = classes is None or (
            self.classes is not None and np.array_equal(classes, self.classes)
        )
        check_warm_start(
            n_estimators=n_estimators,
            rounds=self.rounds(loss) if same else 0,
            is_alike=same and len(self.forest.base_score) == loss.n_scores,
            plans=(self.plan, plan),
        )
        check_offsets(self.offsets, offsets)
        if n_boosters != self.n_boosters:
            raise ValueError(
                f"warm_start=True with {n_boosters} boosters (n_bags), but the previous fit had "
                f"{self.n_boosters}. Set n_bags={self.n_boosters if self.n_boosters > 1 else None} "
                "to continue it, or warm_start=False to fit all boosters anew."
            )

    def check_statistics(self, plan: ColumnPlan) -> None:
        """Raise if target statistics are not those of the earlier fit."""
        check_statistics(self.plan, plan)

    def check_curves(self, names: Iterable[str], what: str) -> None:
        """Raise if a curve that is to be continued was not recorded; `what` continues it."""
        lacking = [name for name in names if name not in self.curves]
        if lacking:
            raise ValueError(
                f"{what} continues a fit that did not record {listing(lacking)}, but "
                f"{listing(self.curves)}. Pass validation sets of the same names and the same "
                "metrics, or none of them, or fit from the start."
            )
