"""Early stopping: training and validation curves, and when to stop."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.cached import cached_property
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.trained_state import CURVES
from weald.ensembles.rounds.loop import Copies, Stage, Training
from weald.losses import Loss, times_power, unit_of_losses
from weald.resampling import ordered_rows

Curves = Mapping[str, Sequence[float]]

# The training loss, which is only reported, is computed on a subsample of about this many rows.
TRAIN_LOSS_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class _Subset:
    """Some rows of a fit, on which the mean loss is computed."""

    index: NDArray[np.intp]
    y: Floats
    weight: Floats | None
    copies: NDArray[np.int64] | None

    def mean(self, loss: Loss, scores: Floats) -> float:
        return loss.mean(self.y, scores.take(self.index, axis=1), self.weight, self.copies)


def _subset(
    training: Training, index: NDArray[np.intp], weight: Floats | None, copies: Copies
) -> _Subset:
    return _Subset(
        index,
        training.y[index],
        None if weight is None else weight[index],
        None if copies is None else copies[index],
    )


def _validation_rows(training: Training) -> _Subset:
    assert training.held_out is not None
    index = np.flatnonzero(training.held_out & (training.validation_copies > 0))
    return _subset(training, index, training.validation_weight, training.validation_copies)


def _keys(training: Training, n_threads: int) -> NDArray[np.uint64]:
    """Content hashes of the rows, computed if the fit has none; duplicates have distinct ones."""
    if training.keys is not None:
        return training.keys
    ordered = ordered_rows(training.rows, n_threads=n_threads)
    keys = np.empty_like(ordered.keys)
    keys[ordered.index] = ordered.keys
    return keys


def _training_rows(training: Training, n_threads: int) -> _Subset:
    """The training rows; if there are many, those with the smallest hashes."""
    rows, copies = training.rows, training.train_copies
    index = np.arange(rows.n) if copies is None else np.flatnonzero(copies)
    if len(index) > TRAIN_LOSS_ROWS:
        word = _keys(training, n_threads)[index, 0]
        chosen = word < np.uint64(TRAIN_LOSS_ROWS * 2**64 // len(index))
        index = index[chosen if chosen.any() else word == word.min()]
    return _subset(training, index, rows.weight, copies)


class EarlyStopping:
    """Records training and validation curves and stops the fit when they no longer improve.

    Parameters
    ----------
    training : Training
        Training and validation rows; without validation rows nothing is recorded.
    loss : Loss
        The loss of the fit; parameters that depend on the scores stay as they are at `start`.
    start : array, shape (scores, rows)
        The scores before the first round.
    patience : int or None
        Number of rounds without improvement after which the fit stops; None: it never does.
    tol : float
        Minimum improvement: relative to the initial loss, or absolute if `score` is given.
    score : callable or None
        Maps raw scores to a validation score to maximise; None: minus the validation loss.

    Attributes
    ----------
    curves : dict of str to list of float
        Training loss, validation loss and validation score, initially and after each round.
    best_round : int
        The number of rounds with the best validation score.
    """

    reason = "early_stopping"

    def __init__(
        self,
        training: Training,
        loss: Loss,
        start: Floats,
        *,
        patience: int | None,
        tol: float,
        score: Callable[[Floats], float] | None = None,
    ) -> None:
        self._training = training
        self._patience = patience
        self._tol = tol
        self._score = score
        self._loss = loss.at(training.y, start, training.rows.weight, training.train_copies)
        self._has_loss = getattr(loss, "has_loss", True)
        self.curves: dict[str, list[float]] = {name: [] for name in CURVES}
        self.best_round = 0
        self.record(start)

    def continue_from(self, curves: Curves) -> None:
        """Continue the curves of an earlier fit."""
        self.curves = {name: list(values) for name, values in curves.items()}
        self.best_round = 0
        for number in range(1, len(self.curves["validation_score"])):
            self._update_best(number)

    def before(self, stage: Stage) -> None:
        """Do nothing: losses are computed after a round."""

    def after(self, stage: Stage) -> bool:
        """Record the curves after a round; True if the fit is to stop."""
        self.record(stage.scores)
        return self.is_over

    def record(self, scores: Floats) -> None:
        """Append losses and validation score to the curves, and update the best round."""
        curves = self.curves
        if self._training.held_out is None:
            return
        train = validation = np.nan
        if self._has_loss:
            train = self._training_rows.mean(self._loss, scores)
            validation = self._validation_rows.mean(self._loss, scores)
        curves["train_loss"].append(train)
        curves["validation_loss"].append(validation)
        score = -validation if self._score is None else self._score(scores)
        curves["validation_score"].append(score)
        self._update_best(len(curves["validation_score"]) - 1)

    def _update_best(self, number: int) -> None:
        scores = self.curves["validation_score"]
        margin = self._tol * abs(scores[0]) if self._score is None else self._tol
        if scores[number] > scores[self.best_round] + margin:
            self.best_round = number

    @cached_property
    def _validation_rows(self) -> _Subset:
        return _validation_rows(self._training)

    @cached_property
    def _training_rows(self) -> _Subset:
        return _training_rows(self._training, self._loss.n_threads)

    @property
    def is_over(self) -> bool:
        """Whether the last `patience` rounds brought no improvement."""
        rounds = len(self.curves["validation_score"]) - 1
        return self._patience is not None and rounds - self.best_round >= self._patience

    def train_loss(self, scores: Floats) -> float:
        """Mean loss of the training rows, in the user's units."""
        loss = self._training_rows.mean(self._loss, scores) if self._has_loss else np.nan
        return float(self._scaled(np.array(loss)))

    def in_user_units(self, name: str) -> NDArray[Any]:
        """A curve in the user's units."""
        values = np.array(self.curves[name])
        is_a_loss = name != "validation_score" or self._score is None
        return self._scaled(values) if is_a_loss else values

    def _scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        exponent = self._training.rows.target_exponent
        return times_power(values, unit_of_losses(self._loss, exponent))
