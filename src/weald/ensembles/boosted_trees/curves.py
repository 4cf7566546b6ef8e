"""The curves of a fit, round by round: the best round, and when to stop."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.rounds.loop import Numbered
from weald.losses import Loss, times_power, unit_of_losses

# A patience that grows is longer by the best round divided by this.
_SHARE_OF_BEST = 5

# Number of curves of which the progress bar shows the latest value.
_SHOWN = 4


class Patience(NamedTuple):
    """Number of rounds without improvement after which a fit stops.

    A fifth of the best round more than `least`, but at most `most`: a curve that has improved for
    long improves slowly. `least` = `most`: always the same number.
    """

    most: int
    least: int

    def after(self, best_round: int) -> int:
        """The number of rounds to wait for after the best one."""
        return min(self.most, self.least + best_round // _SHARE_OF_BEST)


class StoppingCurves:
    """Losses and scores before the first and after each round, one of which tells when to stop.

    Parameters
    ----------
    loss : Loss
        The loss of the fit.
    target_exponent : int
        Targets were divided by 2**target_exponent.
    is_loss : dict of str to bool
        The names of the curves, and whether each is a loss; others are scores to maximise.
    watched : str or None
        The curve that is to improve; None: there is no validation set.
    patience : Patience or None
        Number of rounds without improvement after which the fit stops; None: it never does.
    tol : float
        Minimum improvement: relative to the initial loss if that is watched, otherwise absolute.

    Attributes
    ----------
    curves : dict of str to list of float
        Losses and scores by name, initially and after each round, in the units of the fit.
    best_round : int
        The number of rounds with the best value of the curve that is watched.
    """

    reason = "early_stopping"

    def __init__(
        self,
        loss: Loss,
        target_exponent: int,
        is_loss: Mapping[str, bool],
        *,
        watched: str | None,
        patience: Patience | None,
        tol: float,
    ) -> None:
        self._loss, self._exponent = loss, target_exponent
        self._is_loss = is_loss
        self.watched, self._patience, self._tol = watched, patience, tol
        self.curves: dict[str, list[float]] = {name: [] for name in is_loss}
        self.best_round = 0

    def append(self, values: Mapping[str, float]) -> None:
        """Append the values after a round to the curves, and update the best round."""
        for name, value in values.items():
            self.curves[name].append(value)
        self._update_best(self.n_rounds)

    def continue_from(self, curves: Mapping[str, Sequence[float]]) -> None:
        """Continue the curves of an earlier fit."""
        self.curves = {name: list(curves[name]) for name in self.curves}
        self.best_round = 0
        for number in range(1, self.n_rounds + 1):
            self._update_best(number)

    @property
    def n_rounds(self) -> int:
        """Number of rounds that were recorded."""
        return len(self.curves[TRAIN_LOSS]) - 1

    def _update_best(self, number: int) -> None:
        if self.watched is None:
            return
        values = self.curves[self.watched]
        if self._is_loss[self.watched]:
            is_better = values[number] < values[self.best_round] - self._tol * abs(values[0])
        else:
            is_better = values[number] > values[self.best_round] + self._tol
        if is_better:
            self.best_round = number

    @property
    def is_over(self) -> bool:
        """Whether the last rounds, as many as `patience` says, brought no improvement."""
        if self._patience is None:
            return False
        return self.n_rounds - self.best_round >= self._patience.after(self.best_round)

    def history(self, n_rounds: int | None = None) -> History:
        """The curves of the first rounds (None: all) in the user's units."""
        end = None if n_rounds is None else n_rounds + 1
        return History(
            {name: self._in_user_units(name, values[:end]) for name, values in self.curves.items()},
            self.watched,
        )

    def latest(self) -> dict[str, float]:
        """The last value of each curve in the user's units."""
        return {
            name: float(self._in_user_units(name, values[-1:])[0])
            for name, values in self.curves.items()
        }

    def figures(self, stage: Numbered) -> str:
        """The latest losses and scores, for the progress bar."""
        latest = list(self.latest().items())
        return "".join(f", {name} {value:.5g}" for name, value in latest[:_SHOWN])

    def _in_user_units(self, name: str, values: Sequence[float]) -> Floats:
        numbers = np.array(values, dtype=np.float64)
        if not self._is_loss[name]:
            return numbers
        return times_power(numbers, unit_of_losses(self._loss, self._exponent))
