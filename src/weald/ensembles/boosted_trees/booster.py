"""One booster: its rounds, who judges them, and the trees that stay."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from weald.data import ColumnPlan
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.early_stopping import Judging
from weald.ensembles.boosted_trees.leaf_refit import refit_leaves
from weald.ensembles.boosted_trees.run import Observers, Run
from weald.ensembles.boosted_trees.trained_state import CURVES, TrainedState
from weald.ensembles.boosted_trees.vector_trees import VectorTrees
from weald.ensembles.rounds.loop import Learner, Training
from weald.ensembles.rounds.tree_learners import NewtonTrees, in_user_units
from weald.losses import Loss, leaning
from weald.trees import Forest, ForestBuilder, TreeGrower, TreeLimits

# The draws of columns are named by booster and tree: no booster has so many trees.
_MOST_TREES = 2**32

# From scores to the number that is to rise.
Score = Callable[[Floats], float]


@dataclass(frozen=True, eq=False)
class Booster:
    """What a fit leaves.

    Attributes
    ----------
    grown : TrainedState
        Every round that was made, in the units of the fit.
    forest : Forest
        The rounds that stay, in the user's units.
    curves : dict of str to array
        Likewise how each round was judged; empty without rows that judge.
    stopped_by : str
        What ended it.
    """

    grown: TrainedState
    forest: Forest
    curves: Mapping[str, Floats] = field(default_factory=dict)
    stopped_by: str = "n_estimators"


@dataclass(frozen=True, eq=False)
class BoosterConfig:
    """What all boosters of a fit are made by.

    Attributes
    ----------
    limits : TreeLimits
        What the grower keeps to; leaves that are learnt anew keep its penalties and directions.
    one_tree : bool
        Whether a round is one tree for all scores, instead of one for each.
    fraction : float
        Share of the rows that a round sees.
    patience : int or None
        Rounds without progress after which a booster ends, cut back to its best round; None: it
        makes all its rounds.
    scorer : callable
        From a training set and the trees so far to what judges scores; None: the loss does.
    """

    company: Observers
    loss: Loss
    grower: TreeGrower
    plan: ColumnPlan
    learning_rate: float
    limits: TreeLimits
    one_tree: bool
    fraction: float
    patience: int | None
    tol: float
    scorer: Callable[[Training, ForestBuilder], Score | None]
    n_threads: int

    def booster(
        self, training: Training, *, number: int = 0, earlier: TrainedState | None = None
    ) -> Booster:
        """Make all rounds, or those that an `earlier` fit has not made."""
        rows, loss = training.rows, self.loss
        if earlier is None:
            base = loss.base_scores(training.y, rows.weight, training.seen_copies)
        else:
            base = earlier.forest.base_score
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        forest = ForestBuilder(base, self.plan.n_columns)
        judging = Judging(
            training,
            loss,
            scores,
            patience=self.patience,
            tol=self.tol,
            score=None if training.held_out is None else self.scorer(training, forest),
        )
        if earlier is not None:
            earlier.add_to(forest)
            scores = earlier.scores(rows, self.n_threads)
            judging.go_on_from(earlier.curves)
        loss = leaning(loss, training.y, base, rows.weight, training.seen_copies)
        course = Run(self.company, training, loss, judging, forest)
        course.run(self._learner(forest, number), scores)
        return self._finished(course, training, judging)

    def _learner(self, forest: ForestBuilder, number: int) -> Learner:
        if self.one_tree:
            return VectorTrees(
                self.grower,
                forest,
                self.learning_rate,
                self.limits.l2,
                self.n_threads,
                first_member=number * _MOST_TREES,
            )
        return NewtonTrees(
            self.grower,
            forest,
            self.learning_rate,
            self.n_threads,
            first_member=number * _MOST_TREES,
            directions=self.limits.directions,
        )

    def _finished(self, course: Run, training: Training, judging: Judging) -> Booster:
        """Keep the best rounds, with leaves of all rows, in the user's units."""
        grown = course.grown()
        forest = grown.forest
        if self.patience is not None:
            forest = grown.first(judging.best_round, self.loss)
            if training.validation is None:
                forest = self._with_leaves_of_all_rows(forest, training)
        names = () if training.held_out is None else CURVES
        return Booster(
            grown,
            in_user_units(forest, training.rows, self.loss),
            {name: judging.in_user_units(name) for name in names},
            course.stopped_by,
        )

    def _with_leaves_of_all_rows(self, forest: Forest, training: Training) -> Forest:
        return refit_leaves(
            forest,
            training,
            self.loss,
            learning_rate=self.learning_rate,
            limits=self.limits,
            fraction=self.fraction,
            n_threads=self.n_threads,
        )
