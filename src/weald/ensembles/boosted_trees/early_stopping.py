"""How the rows that judge a fit judge it, round after round, and when they have seen enough."""

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

# The curve of the rows learnt from is that of about so many of them: it decides nothing.
SHOWN_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows of a fit, and what they count when they are judged."""

    index: NDArray[np.intp]
    y: Floats
    weight: Floats | None
    copies: NDArray[np.int64] | None

    def mean(self, loss: Loss, scores: Floats) -> float:
        return loss.mean(self.y, scores.take(self.index, axis=1), self.weight, self.copies)


def _part(
    training: Training, index: NDArray[np.intp], weight: Floats | None, copies: Copies
) -> _Part:
    return _Part(
        index,
        training.y[index],
        None if weight is None else weight[index],
        None if copies is None else copies[index],
    )


def _held(training: Training) -> _Part:
    assert training.held_out is not None
    index = np.flatnonzero(training.held_out & (training.validation_copies > 0))
    return _part(training, index, training.validation_weight, training.validation_copies)


def _keys(training: Training, n_threads: int) -> NDArray[np.uint64]:
    """The keys of the rows, also where none are drawn: copies have keys of their own."""
    if training.keys is not None:
        return training.keys
    ordered = ordered_rows(training.rows, n_threads=n_threads)
    keys = np.empty_like(ordered.keys)
    keys[ordered.index] = ordered.keys
    return keys


def _shown(training: Training, n_threads: int) -> _Part:
    """The rows learnt from, or of many those with the least keys."""
    rows, copies = training.rows, training.seen_copies
    index = np.arange(rows.n) if copies is None else np.flatnonzero(copies)
    if len(index) > SHOWN_ROWS:
        word = _keys(training, n_threads)[index, 0]
        few = word < np.uint64(SHOWN_ROWS * 2**64 // len(index))
        index = index[few if few.any() else word == word.min()]
    return _part(training, index, rows.weight, copies)


class EarlyStopping:
    """Notes the curves of a fit, before the first round and after each; says when to stop.

    Parameters
    ----------
    start : array, shape (scores, rows)
        The scores before the first round: a loss that follows the scores is judged as it was there.
    patience : int or None
        Rounds without progress after which a fit ends; None: it never does.
    tol : float
        How much better counts as better: of losses, as a share of the first.
    score : callable or None
        From scores to the number that is to rise; None: the loss is to fall.
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
        self._judge = loss.at(training.y, start, training.rows.weight, training.seen_copies)
        self._has_loss = getattr(loss, "has_loss", True)
        self.curves: dict[str, list[float]] = {name: [] for name in CURVES}
        self.best_round = 0
        self.note(start)

    def continue_from(self, curves: Curves) -> None:
        """Take the curves of the rounds that an earlier fit made."""
        self.curves = {name: list(values) for name, values in curves.items()}
        self.best_round = 0
        for number in range(1, len(self.curves["validation_score"])):
            self._remember_if_best(number)

    def before(self, stage: Stage) -> None:
        """A round changes nothing before it begins."""

    def after(self, stage: Stage) -> bool:
        """Note all that is judged after a round; True when it is no longer getting better."""
        self.note(stage.scores)
        return self.is_over

    def note(self, scores: Floats) -> None:
        """Judge scores, and remember whether they are the best so far."""
        curves = self.curves
        if self._training.held_out is None:
            return
        train = held = np.nan
        if self._has_loss:
            train = self._shown.mean(self._judge, scores)
            held = self._held.mean(self._judge, scores)
        curves["train_loss"].append(train)
        curves["validation_loss"].append(held)
        curves["validation_score"].append(-held if self._score is None else self._score(scores))
        self._remember_if_best(len(curves["validation_score"]) - 1)

    def _remember_if_best(self, number: int) -> None:
        scores = self.curves["validation_score"]
        margin = self._tol * abs(scores[0]) if self._score is None else self._tol
        if scores[number] > scores[self.best_round] + margin:
            self.best_round = number

    @cached_property
    def _held(self) -> _Part:
        return _held(self._training)

    @cached_property
    def _shown(self) -> _Part:
        return _shown(self._training, self._judge.n_threads)

    @property
    def is_over(self) -> bool:
        """Whether the last rounds brought nothing."""
        rounds = len(self.curves["validation_score"]) - 1
        return self._patience is not None and rounds - self.best_round >= self._patience

    def train_loss(self, scores: Floats) -> float:
        """The mean loss of the rows that are learnt from, in the units of the target."""
        loss = self._shown.mean(self._judge, scores) if self._has_loss else np.nan
        return float(self._scaled(np.array(loss)))

    def in_user_units(self, name: str) -> NDArray[Any]:
        """A curve in the units of the target."""
        values = np.array(self.curves[name])
        is_a_loss = name != "validation_score" or self._score is None
        return self._scaled(values) if is_a_loss else values

    def _scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        exponent = self._training.rows.target_exponent
        return times_power(values, unit_of_losses(self._judge, exponent))
