"""The training run of one booster: its rounds, early stopping, and the trees that are kept."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.checkpoint import Checkpoint
from weald.ensembles.boosted_trees.early_stopping import EarlyStopping
from weald.ensembles.boosted_trees.leaf_refit import refit_leaves
from weald.ensembles.boosted_trees.trained_state import CURVES, TrainedState
from weald.ensembles.boosted_trees.vector_trees import VectorTrees
from weald.ensembles.rounds.callbacks import call_back
from weald.ensembles.rounds.loop import Learner, Stage, Training, Watcher, Watchers, boost
from weald.ensembles.rounds.progress_bar import Bar
from weald.ensembles.rounds.tree_learners import NewtonTrees, in_user_units
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
    curves : dict of str to array
        Loss and score after each round; empty without validation rows.
    stopped_by : str
        What ended the run.
    """

    state: TrainedState
    forest: Forest
    curves: Mapping[str, Floats] = field(default_factory=dict)
    stopped_by: str = "n_estimators"


class BoostingRun:
    """Trains one booster on one training set, from the start or from an earlier state.

    Parameters
    ----------
    model : BoostedTreesClassifier or BoostedTreesRegressor
        Its parameters, its column plan and its callbacks are used; it is not changed.
    grower : TreeGrower
        Grows trees on the binned rows; shared by the boosters of a bag.
    limits : TreeLimits
        Limits of the trees; refitted leaves keep their penalties and monotonic constraints.
    patience : int or None
        Rounds without improvement after which the run stops and is cut back to its best round;
        None: it runs for `n_estimators` rounds.
    watchers : sequence of Watcher
        What else may end the run, such as a time limit.
    inputs : dict
        X, y and metadata of the fit, as scikit-learn's callbacks receive them.
    checkpoint : Checkpoint or None
        Saves the state of the run every now and then.
    number : int
        The index of the booster in its bag.
    earlier : TrainedState or None
        The state of an earlier run to continue.
    """

    def __init__(
        self,
        model: Any,
        loss: Loss,
        grower: TreeGrower,
        limits: TreeLimits,
        training: Training,
        *,
        patience: int | None,
        watchers: Sequence[Watcher],
        inputs: Mapping[str, Any],
        checkpoint: Checkpoint | None = None,
        number: int = 0,
        earlier: TrainedState | None = None,
    ) -> None:
        self._model, self._loss, self._grower, self._limits = model, loss, grower, limits
        self._training, self._number = training, number
        self._watchers, self._inputs, self._checkpoint = watchers, inputs, checkpoint
        self._stops_early = patience is not None
        rows = training.rows
        if earlier is None:
            base = loss.base_scores(training.y, rows.weight, training.train_copies)
        else:
            base = earlier.forest.base_score
        self._forest = ForestBuilder(base, model._plan.n_columns)
        self._scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        self._early_stopping = EarlyStopping(
            training,
            loss,
            self._scores,
            patience=patience,
            tol=float(model.tol),
            score=None
            if training.held_out is None
            else model._scorer(loss, training, self._forest),
        )
        if earlier is not None:
            earlier.add_to(self._forest)
            self._scores = earlier.scores(rows, model._n_threads)
            self._early_stopping.continue_from(earlier.curves)
        # With subgradients at kinks as the initial scores require.
        copies = training.train_copies
        self._run_loss = leaning(loss, training.y, base, rows.weight, copies)

    def booster(self) -> Booster:
        """Train all rounds; keep the best ones, with leaf values estimated on all rows."""
        stopped_by = self._train()
        state, training = self.state(), self._training
        forest = state.forest
        if self._stops_early:
            forest = state.first(self._early_stopping.best_round, self._loss)
            if training.validation is None:
                forest = self._refitted(forest)
        names = () if training.held_out is None else CURVES
        return Booster(
            state,
            in_user_units(forest, training.rows, self._loss),
            {name: self._early_stopping.in_user_units(name) for name in names},
            stopped_by,
        )

    def _train(self) -> str:
        """Run the rounds and say what ended them."""
        if self._early_stopping.is_over:
            return self._early_stopping.reason
        rounds = range(self._n_rounds, self._model.n_estimators)
        stopped_by = "n_estimators"

        def run(callbacks: Sequence[Watcher]) -> None:
            nonlocal stopped_by
            with ExitStack() as stack:
                watcher = Watchers([*self._observers(rounds, stack), *callbacks])
                boost(
                    self._training,
                    self._run_loss,
                    self._scores,
                    self._learner(),
                    rounds=rounds,
                    fraction=self._model.subsample,
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
            bar = Bar(rounds.start, rounds.stop, self._figures)
            observers.append(stack.enter_context(bar))
        return observers

    def _learner(self) -> Learner:
        model, first_tree = self._model, self._number * _MAX_TREES
        rate, n_threads = float(model.learning_rate), model._n_threads
        if model._trees_a_round(self._loss) < self._loss.n_scores:
            return VectorTrees(
                self._grower,
                self._forest,
                rate,
                self._limits.l2,
                n_threads,
                first_member=first_tree,
            )
        return NewtonTrees(
            self._grower,
            self._forest,
            rate,
            n_threads,
            first_member=first_tree,
            directions=self._limits.directions,
        )

    def _refitted(self, forest: Forest) -> Forest:
        """The same trees with leaf values estimated on all rows, held-out ones included."""
        return refit_leaves(
            forest,
            self._training,
            self._loss,
            learning_rate=float(self._model.learning_rate),
            limits=self._limits,
            fraction=self._model.subsample,
            n_threads=self._model._n_threads,
        )

    @property
    def _n_rounds(self) -> int:
        return self._forest.rounds(self._loss.n_scores)

    def state(self, rounds: int | None = None) -> TrainedState:
        """The state after all rounds so far, or after the first of them."""
        rows, loss = self._training.rows, self._loss
        rounds = self._n_rounds if rounds is None else rounds
        curves = self._early_stopping.curves
        forest = self._forest.build()
        return TrainedState(
            forest.part(0, rounds * forest.trees_a_round(loss.n_scores)),
            rows.target_exponent,
            rows.weight_unit,
            self._training.seed,
            {name: values[: rounds + 1] for name, values in curves.items()},
            self._model._plan,
            getattr(self._model, "classes_", None),
        )

    def _attributes_after(self, rounds: int) -> Mapping[str, Any]:
        """The fitted attributes of a model of so many rounds, for callbacks."""
        state = self.state(rounds)
        return {
            "_states": [state],
            "_parts": [],
            "_record": None,
            "_fitted_loss": self._run_loss,
            "n_estimators_": rounds,
            "forest_": in_user_units(state.forest, self._training.rows, self._loss),
        }

    def _figures(self, stage: Stage) -> str:
        """Losses after a round, for the progress bar."""
        curves = self._early_stopping
        if self._training.held_out is None:
            loss = curves.train_loss(stage.scores)
            return "" if np.isnan(loss) else f", loss {loss:.5g}"
        train, validation = (
            curves.in_user_units(name)[-1] for name in ("train_loss", "validation_loss")
        )
        if np.isnan(validation):
            return f", {curves.curves['validation_score'][-1]:.5g} scored"
        return f", loss {train:.5g}, validation {validation:.5g}"
