"""How the rows that judge a fit judge it, round after round, and when they have seen enough."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.base import Floats
from weald.ensembles.boosting import Stage, Training
from weald.ensembles.progress import DEGREE
from weald.losses import Loss

Curves = Mapping[str, Sequence[float]]

# What is noted of every round.
CURVES = ("train_loss", "validation_loss", "validation_score")


class Judging:
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

    def go_on_from(self, curves: Curves) -> None:
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
        return self.has_seen_enough

    def note(self, scores: Floats) -> None:
        """Judge scores, and remember whether they are the best so far."""
        training, curves = self._training, self.curves
        if training.held_out is None:
            return
        y, weight = training.y, training.rows.weight
        train = held = np.nan
        if self._has_loss:
            train = self._judge.mean(y, scores, weight, training.seen_copies)
            held = self._judge.mean(y, scores, training.held_weight, training.held_copies)
        curves["train_loss"].append(train)
        curves["validation_loss"].append(held)
        curves["validation_score"].append(-held if self._score is None else self._score(scores))
        self._remember_if_best(len(curves["validation_score"]) - 1)

    def _remember_if_best(self, number: int) -> None:
        scores = self.curves["validation_score"]
        margin = self._tol * abs(scores[0]) if self._score is None else self._tol
        if scores[number] > scores[self.best_round] + margin:
            self.best_round = number

    @property
    def has_seen_enough(self) -> bool:
        """Whether the last rounds brought nothing."""
        rounds = len(self.curves["validation_score"]) - 1
        return self._patience is not None and rounds - self.best_round >= self._patience

    def train_loss(self, scores: Floats) -> float:
        """The mean loss of the rows that are learnt from."""
        training = self._training
        if not self._has_loss:
            return float("nan")
        return self._judge.mean(training.y, scores, training.rows.weight, training.seen_copies)

    def in_user_units(self, name: str) -> NDArray[Any]:
        """A curve in the units of the target."""
        values = np.array(self.curves[name])
        if name == "validation_score" and self._score is not None:
            return values
        with np.errstate(over="ignore"):
            exponent = self._training.rows.target_exponent
            return np.asarray(np.ldexp(values, DEGREE.get(self._judge.name, 0) * exponent))
