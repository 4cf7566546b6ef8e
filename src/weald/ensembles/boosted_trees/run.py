"""The course of a fit of boosted trees: its rounds, who watches them, what they have grown."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from weald.data import ValidationRows
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.checkpoint import Checkpoint
from weald.ensembles.boosted_trees.early_stopping import Judging
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.rounds.callbacks import call_back
from weald.ensembles.rounds.loop import Learner, Stage, Training, Watcher, Watchers, boost
from weald.ensembles.rounds.progress_bar import Bar
from weald.ensembles.rounds.tree_learners import in_user_units
from weald.losses import Loss
from weald.trees import ForestBuilder


@dataclass(frozen=True, eq=False)
class FitInput:
    """What the user gave to a fit."""

    X: Any
    y: Any
    sample_weight: Any
    validation: ValidationRows | None

    def for_callbacks(self) -> dict[str, Any]:
        """The same as scikit-learn's callbacks are told of it."""
        weight = self.sample_weight
        metadata = {} if weight is None else {"sample_weight": weight}
        return {"X": self.X, "y": self.y, "metadata": metadata}


@dataclass(frozen=True, eq=False)
class Observers:
    """Who follows the rounds of a fit beside those who judge them."""

    model: Any
    given: FitInput
    limits: Sequence[Watcher]
    checkpoint: Checkpoint | None


class Run:
    """Makes the rounds of a fit from where it stands; knows what was grown after any of them."""

    def __init__(
        self,
        company: Observers,
        training: Training,
        loss: Loss,
        judging: Judging,
        forest: ForestBuilder,
    ) -> None:
        self._company = company
        self._model = company.model
        self._training = training
        self._loss = loss
        self._judging = judging
        self._forest = forest
        self.stopped_by = "n_estimators"

    @property
    def made(self) -> int:
        """How many rounds there are."""
        return self._forest.rounds(self._loss.n_scores)

    def run(self, learner: Learner, scores: Floats) -> None:
        """Make rounds until one of those who watch has enough, or all are made."""
        rounds = range(self.made, self._model.n_estimators)
        if self._judging.has_seen_enough:
            rounds = range(self.made, self.made)
            self.stopped_by = "early_stopping"

        def make(called: Sequence[Watcher]) -> None:
            with ExitStack() as stack:
                watchers: list[Watcher] = [self._judging, *self._company.limits, *called]
                if (checkpoint := self._company.checkpoint) is not None:
                    watchers.append(stack.enter_context(checkpoint.watch(self.grown)))
                if self._model.verbose and len(rounds):
                    bar = Bar(rounds.start, rounds.stop, self._figures)
                    watchers.append(stack.enter_context(bar))
                watcher = Watchers(watchers)
                boost(
                    self._training,
                    self._loss,
                    scores,
                    learner,
                    rounds=rounds,
                    fraction=self._model.subsample,
                    watcher=watcher,
                )
                if watcher.ended_by is not None:
                    self.stopped_by = watcher.ended_by.reason

        given = self._company.given.for_callbacks()
        call_back(self._model, rounds, given, self._fitted, make)

    def grown(self, rounds: int | None = None) -> TrainedState:
        """All that was grown, or what was after so many rounds."""
        rows = self._training.rows
        rounds = self.made if rounds is None else rounds
        curves = {name: values[: rounds + 1] for name, values in self._judging.curves.items()}
        forest = self._forest.build()
        return TrainedState(
            forest.part(0, rounds * forest.trees_a_round(self._loss.n_scores)),
            rows.target_exponent,
            rows.weight_unit,
            self._training.seed,
            curves,
            self._model._plan,
            getattr(self._model, "classes_", None),
        )

    def _fitted(self, rounds: int) -> Mapping[str, Any]:
        """The attributes of a model that has so many rounds."""
        grown = self.grown(rounds)
        return {
            "_grown": [grown],
            "_parts": [],
            "_record": None,
            "_fitted_loss": self._loss,
            "n_estimators_": rounds,
            "forest_": in_user_units(grown.forest, self._training.rows, self._loss),
        }

    def _figures(self, stage: Stage) -> str:
        """The losses after a round, for a progress bar."""
        judging = self._judging
        if self._training.held_out is None:
            loss = judging.train_loss(stage.scores)
            return "" if loss != loss else f", loss {loss:.5g}"
        train, held = (
            judging.in_user_units(name)[-1] for name in ("train_loss", "validation_loss")
        )
        score = f", {judging.curves['validation_score'][-1]:.5g} scored" if held != held else ""
        return score or f", loss {train:.5g}, validation {held:.5g}"
