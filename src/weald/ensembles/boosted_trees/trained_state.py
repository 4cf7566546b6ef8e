"""All that a fit of boosted trees grew: what a warm start or a checkpoint goes on from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan, Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.tree_learners import moved, trees_of
from weald.ensembles.staging import dense_pieces
from weald.ensembles.warm import check_warm_start
from weald.losses import Loss
from weald.trees import Forest, ForestBuilder

# What is noted of every round if there are rows to judge by.
CURVES = ("train_loss", "validation_loss", "validation_score")


@dataclass(frozen=True, eq=False)
class TrainedState:
    """Every tree of every round, in the units of the fit, with the curves of what was judged.

    A model that stopped early is cut back and its leaves are estimated anew; this is what it was
    before, so that more rounds, or the same fit in parts, end where one fit ends.
    """

    forest: Forest
    target_exponent: int
    weight_unit: float
    seed: int
    curves: Mapping[str, Sequence[float]]
    plan: ColumnPlan
    classes: NDArray[Any] | None

    def in_units_of(self, rows: Rows, loss: Loss) -> "TrainedState":
        """The same for rows whose targets and weights were divided by other numbers."""
        forest = moved(self.forest, self.target_exponent - rows.target_exponent, loss)
        forest = forest.scaled(0, self.weight_unit / rows.weight_unit)
        return replace(
            self,
            forest=forest,
            target_exponent=rows.target_exponent,
            weight_unit=rows.weight_unit,
        )

    def scores(self, rows: Rows, n_threads: int) -> Floats:
        """What all trees say of rows, of the shape (scores, rows): the same sums in order."""
        pieces = [
            self.forest.predict(piece, n_threads=n_threads) for piece in dense_pieces(rows.table)
        ]
        return np.ascontiguousarray(np.concatenate(pieces).T)

    def add_to(self, builder: ForestBuilder) -> None:
        """Hand the trees to a builder that goes on."""
        for tree, output in zip(trees_of(self.forest), self.forest.output.tolist(), strict=True):
            builder.add(tree, output=output)

    def rounds(self, loss: Loss) -> int:
        """How many rounds were made."""
        return self.forest.n_trees // self.forest.trees_a_round(loss.n_scores)

    def first(self, rounds: int, loss: Loss) -> Forest:
        """The trees of the first rounds."""
        return self.forest.part(0, rounds * self.forest.trees_a_round(loss.n_scores))

    def check(self, model: Any, loss: Loss, plan: ColumnPlan, *, is_judged: bool) -> None:
        """Refuse to go on with other columns, classes or fewer rounds."""
        classes = getattr(model, "classes_", None)
        same = classes is None or (
            self.classes is not None and np.array_equal(classes, self.classes)
        )
        check_warm_start(
            n_estimators=model.n_estimators,
            rounds=self.rounds(loss) if same else 0,
            is_alike=same and len(self.forest.base_score) == loss.n_scores,
            plans=(self.plan, plan),
        )
        if is_judged and len(self.curves["validation_score"]) != self.rounds(loss) + 1:
            raise ValueError(
                "warm_start goes on from a fit without rows to judge by, so that there is no curve "
                "to go on with. Give that fit X_val or early_stopping too, or set "
                "warm_start=False to begin anew."
            )
