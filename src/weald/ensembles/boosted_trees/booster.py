"""The training run of one booster: its rounds, early stopping, and the trees that are kept."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.auto_settings import BoosterSettings
from weald.ensembles.boosted_trees.checkpoint import Checkpoint
from weald.ensembles.boosted_trees.early_stopping import EarlyStopping, LiveHistory
from weald.ensembles.boosted_trees.fold_boosters import FoldBoosters, FoldScores
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.boosted_trees.leaf_refit import LeafRefit, RefittedTrees
from weald.ensembles.boosted_trees.trained_state import TrainedState, averaged, trees_of_booster
from weald.ensembles.boosted_trees.vector_trees import VectorTrees
from weald.ensembles.rounds.callbacks import call_back
from weald.ensembles.rounds.history import History
from weald.ensembles.rounds.loop import Learner, Training, Watcher, Watchers, boost
from weald.ensembles.rounds.progress_bar import Bar
from weald.ensembles.rounds.scoring import (
    FittedTable,
    HeldOutSet,
    held_out_sets,
    metrics_of,
    watched_metric,
)
from weald.ensembles.rounds.starting_scores import fitted_base, starting_scores
from weald.ensembles.rounds.tree_learners import NewtonTrees, in_user_units
from weald.ensembles.statistics_columns import OwnersColumns
from weald.ensembles.warm import OffsetMark
from weald.losses import Loss, leaning
from weald.trees import Forest, ForestBuilder, TreeGrower, TreeLimits

# Column sampling is keyed by booster and tree: no booster has so many trees.
_MAX_TREES = 2**32


@dataclass(frozen=True, eq=False)
class Booster:
    """The result of a training run.

    Attributes
    ----------
    state : TrainedState
        Every round that was trained, in the units of the fit.
    forest : Forest
        The rounds that are kept, in the user's units.
    history : History
        Losses and scores after each round.
    stopped_by : str
        What ended the run.
    """

    state: TrainedState
    forest: Forest
    history: History
    stopped_by: str = "n_estimators"


@dataclass(frozen=True, eq=False)
class Boosters:
    """What each booster is trained on.

    Attributes
    ----------
    trainings : sequence of Training
        The rows of each booster.
    growers : sequence of TreeGrower
        Grows trees on the binned rows of each booster.
    limits : TreeLimits
        Limits of the trees; refitted leaves keep their penalties and monotonic constraints.
    columns : OwnersColumns or None
        The columns of each booster, if they have target statistics.
    """

    trainings: Sequence[Training]
    growers: Sequence[TreeGrower]
    limits: TreeLimits
    columns: OwnersColumns | None

    def n_columns(self, plan: ColumnPlan) -> int:
        """Number of columns that a booster sees."""
        return plan.n_columns if self.columns is None else self.columns.n_columns

    def in_plan(self, forest: Forest, loss: Loss) -> Forest:
        """The forest of all boosters on the columns of the plan."""
        if self.columns is None:
            return forest
        round_ = np.arange(forest.n_trees) // forest.trees_a_round(loss.n_scores)
        return self.columns.in_plan(forest, round_ % len(self.trainings))

    def in_booster(self, state: TrainedState) -> TrainedState:
        """A state with its forest on the columns that a booster sees."""
        if self.columns is None:
            return state
        return replace(state, forest=self.columns.of_owner(state.forest))


class BoostingRun:
    """Trains a booster, or several on folds of the rows, from the start or from an earlier state.

    Parameters
    ----------
    model : BoostedTreesClassifier or BoostedTreesRegressor
        Its column plan, its scorer and its callbacks are used; it is not changed.
    settings : BoosterSettings
        Number of rounds, learning rate and the like.
    boosters : Boosters
        The rows and columns of each booster.
    training : Training
        The rows of all boosters, and those held out for validation.
    folds : BoosterFolds or None
        Which rows each of several boosters leaves out; None: there is one booster.
    watchers : sequence of Watcher
        What else may end the run, such as a time limit.
    inputs : dict
        X, y and metadata of the fit, as scikit-learn's callbacks receive them.
    kept : bool array
        Mask of the rows of that X that have a weight.
    checkpoint : Checkpoint or None
        Saves the state of the run every now and then.
    earlier : TrainedState or None
        The state of an earlier run to continue.
    offsets : OffsetMark or None
        Which offsets the rows have; None: no offsets.
    """

    def __init__(
        self,
        model: Any,
        settings: BoosterSettings,
        loss: Loss,
        boosters: Boosters,
        training: Training,
        *,
        folds: BoosterFolds | None,
        watchers: Sequence[Watcher],
        inputs: Mapping[str, Any],
        kept: NDArray[np.bool_],
        checkpoint: Checkpoint | None = None,
        earlier: TrainedState | None = None,
        offsets: OffsetMark | None = None,
    ) -> None:
        self._model, self._settings, self._loss = model, settings, loss
        self._boosters, self._limits = boosters, boosters.limits
        self._training, self._folds = training, folds
        self._watchers, self._inputs, self._checkpoint = watchers, inputs, checkpoint
        self._offsets, self._fitted = offsets, FittedTable(inputs["X"], kept)
        rows, copies = training.rows, training.train_copies
        if earlier is not None:
            earlier = boosters.in_booster(earlier)
        base = fitted_base(loss, training) if earlier is None else earlier.forest.base_score
        self._run_loss = loss
        if rows.offset is None:
            # With subgradients at kinks as the initial scores, which are equal, require.
            self._run_loss = leaning(loss, training.y, base, rows.weight, copies)
        self._forest = ForestBuilder(base, boosters.n_columns(model._plan))
        start = starting_scores(loss, rows, base)
        self._scores = start.copy()
        self._fold_scores = None if folds is None else FoldScores(start, folds)
        self._booster_scores = [self._scores]
        if self._fold_scores is not None:
            self._booster_scores = list(self._fold_scores.of_boosters)
        self._early_stopping = self._curves(start)
        if earlier is not None:
            earlier.add_to(self._forest)
            for k, scores in enumerate(self._booster_scores):
                own = boosters.trainings[k].rows
                scores[:] = earlier.scores(k, own, loss, model._n_threads)
            earlier.check_curves(
                self._early_stopping.curves, "checkpoint" if checkpoint else "warm_start=True"
            )
            self._early_stopping.continue_from(earlier.curves)
        self._refits = self._made_refits(earlier)
        self._learner = self._made_learner()

    def _curves(self, start: Floats) -> EarlyStopping:
        """Early stopping by the validation rows; with folds by all rows."""
        training, folds = self._training, self._folds
        judges_all_rows = folds is not None and training.validation is None
        if folds is not None and judges_all_rows:
            scored = np.zeros(training.rows.n, dtype=bool)
            scored[: folds.n] = True
            training = replace(training, held_out=scored)
        model = self._model
        metrics = {
            name: partial(self._scorer, name, scoring)
            for name, scoring in metrics_of(model).items()
        }
        return EarlyStopping(
            training,
            self._loss,
            start,
            patience=self._settings.patience(
                model, has_little_noise=judges_all_rows and self._loss.is_smooth
            ),
            tol=float(model.tol),
            sets=held_out_sets(training, self._fitted),
            metrics=metrics,
            watched=watched_metric(model),
            fitted=self._training,
            fitted_scores=self._fold_scores,
        )

    def _scorer(self, name: str, scoring: Any, held_out: HeldOutSet) -> Callable[[Floats], float]:
        """The scorer of a validation set by one of the metrics."""
        is_watched = name == watched_metric(self._model)
        called = f"scoring={self._model.scoring!r}" if is_watched else f"metrics[{name!r}]"
        forest = self._weighted_forest
        scorer: Callable[[Floats], float] = self._model._held_out_scorer(
            self._model, scoring, held_out, self._loss, forest, called=called
        )
        return scorer

    def booster(self) -> Booster:
        """Train all rounds; keep the best ones, with leaf values estimated on all rows."""
        stopped_by = self._train()
        state, training = self.state(), self._training
        forest = state.forest
        if self._settings.early_stopping:
            forest = state.first(self._early_stopping.best_round, self._loss)
        if self._refits:
            forest = self._refitted(forest)
        rows, n_boosters = training.rows, self._n_boosters
        return Booster(
            state,
            in_user_units(averaged(forest, n_boosters), rows, self._loss),
            self._early_stopping.history(),
            stopped_by,
        )

    def _train(self) -> str:
        """Run the rounds and say what ended them."""
        if self._early_stopping.is_over:
            return self._early_stopping.reason
        rounds = range(self._n_rounds, self._settings.n_estimators)
        stopped_by = "n_estimators"

        def run(callbacks: Sequence[Watcher]) -> None:
            nonlocal stopped_by
            with ExitStack() as stack:
                observers = self._observers(rounds, stack)
                if callbacks:
                    observers.append(LiveHistory(self._model, self._early_stopping))
                watcher = Watchers([*observers, *callbacks])
                boost(
                    self._training,
                    self._run_loss,
                    self._scores,
                    self._learner,
                    rounds=rounds,
                    fraction=self._settings.subsample if self._folds is None else 1.0,
                    watcher=watcher,
                )
            if watcher.ended_by is not None:
                stopped_by = watcher.ended_by.reason

        call_back(self._model, rounds, self._inputs, self._attributes_after, run)
        return stopped_by

    def _observers(self, rounds: range, stack: ExitStack) -> list[Watcher]:
        """Early stopping, time limit, checkpoint and progress bar."""
        observers: list[Watcher] = [self._early_stopping, *self._watchers]
        if self._checkpoint is not None:
            observers.append(stack.enter_context(self._checkpoint.watch(self.state)))
        if self._model.verbose and len(rounds):
            bar = Bar(rounds.start, rounds.stop, self._early_stopping.figures)
            observers.append(stack.enter_context(bar))
        return observers

    def _made_learner(self) -> Learner:
        """What trains the trees of a round: of the booster, or of all boosters in turn."""
        if self._fold_scores is None:
            return self._learner_of(0)
        trainings = self._boosters.trainings
        learners = [self._learner_of(k) for k in range(len(trainings))]
        return FoldBoosters(
            trainings,
            learners,
            self._fold_scores,
            self._run_loss,
            self._settings.subsample,
        )

    def _made_refits(self, earlier: TrainedState | None) -> list[LeafRefit]:
        """The refits of the boosters' leaves on all rows, if rows are held out of the fit."""
        settings, forest = self._settings, None if earlier is None else earlier.forest
        if self._training.validation is not None or not (settings.early_stopping or self._folds):
            return []
        refits = []
        for k, training in enumerate(self._boosters.trainings):
            refit = LeafRefit(
                training,
                self._loss,
                learning_rate=float(settings.learning_rate),
                limits=self._limits,
                fraction=settings.subsample,
                n_threads=self._model._n_threads,
                # Of many rows, the leaves of all waiting rounds would take much memory.
                waits=settings.n_iter_no_change if self._folds and settings.early_stopping else 0,
            )
            if forest is not None:
                trees = trees_of_booster(forest, k, self._n_boosters, self._loss)
                refit.add_forest(forest.picked(trees))
            refits.append(refit)
        return refits

    def _learner_of(self, booster: int) -> Learner:
        learner = self._trees_of(booster)
        return RefittedTrees(learner, self._refits[booster]) if self._refits else learner

    def _trees_of(self, booster: int) -> NewtonTrees | VectorTrees:
        first_tree = booster * _MAX_TREES
        rate, n_threads = float(self._settings.learning_rate), self._model._n_threads
        if self._settings.multi_class == "vector_leaves" and self._loss.n_scores > 1:
            return VectorTrees(
                self._boosters.growers[booster],
                self._forest,
                rate,
                self._limits.l2,
                n_threads,
                first_member=first_tree,
            )
        return NewtonTrees(
            self._boosters.growers[booster],
            self._forest,
            rate,
            n_threads,
            first_member=first_tree,
            directions=self._limits.directions,
        )

    def _refitted(self, forest: Forest) -> Forest:
        """The same trees with leaf values estimated on all rows, left-out ones included."""
        value, weight = forest.value.copy(), forest.weight.copy()
        for k, refit in enumerate(self._refits):
            trees = trees_of_booster(forest, k, self._n_boosters, self._loss)
            refitted = refit.refitted(forest.picked(trees))
            value[forest.leaves_of(trees)] = refitted.value
            weight[forest.nodes_of(trees)] = refitted.weight
        return replace(forest, value=value, weight=weight, base_score=refitted.base_score)

    @property
    def _n_boosters(self) -> int:
        return len(self._booster_scores)

    @property
    def _n_rounds(self) -> int:
        return self._forest.rounds(self._loss.n_scores) // self._n_boosters

    def _weighted_forest(self) -> Forest:
        """The trees so far as a model, in the user's units."""
        forest = self._boosters.in_plan(self._forest.build(), self._loss)
        forest = averaged(forest, self._n_boosters)
        return in_user_units(forest, self._training.rows, self._loss)

    def state(self, rounds: int | None = None) -> TrainedState:
        """The state after all rounds so far, or after the first of them."""
        rows, loss = self._training.rows, self._loss
        rounds = self._n_rounds if rounds is None else rounds
        curves = self._early_stopping.curves
        forest = self._boosters.in_plan(self._forest.build(), loss)
        a_round = self._n_boosters * forest.trees_a_round(loss.n_scores)
        return TrainedState(
            forest.part(0, rounds * a_round),
            rows.target_exponent,
            rows.weight_unit,
            self._training.seed,
            {name: values[: rounds + 1] for name, values in curves.items()},
            self._model._plan,
            getattr(self._model, "classes_", None),
            self._n_boosters,
            self._offsets,
        )

    def _attributes_after(self, rounds: int) -> Mapping[str, Any]:
        """The fitted attributes of a model of so many rounds, for callbacks."""
        state = self.state(rounds)
        forest = averaged(state.forest, self._n_boosters)
        forest = in_user_units(forest, self._training.rows, self._loss)
        return {
            "_state": state,
            "_n_boosters": self._n_boosters,
            "_folds": self._folds,
            "_record": None,
            "_fitted_loss": self._run_loss.without_rows(),
            "n_estimators_": rounds,
            "forest_": forest,
            "history_": self._early_stopping.history(rounds),
        }
