"""Early stopping: training and validation curves, and when to stop."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from weald.advice import advise
from weald.cached import cached_property
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.fold_boosters import FoldScores
from weald.ensembles.boosted_trees.loss_sample import rows_of_train_loss
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.rounds.loop import Copies, Stage, Training
from weald.ensembles.rounds.scoring import LOSS, HeldOutSet
from weald.losses import Loss, NotFiniteError, times_power, unit_of_losses

Curves = Mapping[str, Sequence[float]]
Score = Callable[[Floats], float]

# scikit-learn warns of an undefined metric in every round.
_QUIET = partial(warnings.catch_warnings, action="ignore", category=UndefinedMetricWarning)

# A patience that grows is longer by the best round divided by this.
_SHARE_OF_BEST = 5

# The training loss, which is only reported, is computed on a subsample of about this many rows.
TRAIN_LOSS_ROWS = 5_000


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


@dataclass(frozen=True, eq=False)
class _Subset:
    """Some rows of a fit, on which the mean loss is computed."""

    loss: Loss
    index: NDArray[np.intp]
    y: Floats
    weight: Floats | None
    copies: NDArray[np.int64] | None

    def mean(self, scores: Floats) -> float:
        return self.loss.mean(self.y, scores.take(self.index, axis=1), self.weight, self.copies)


@dataclass(frozen=True, eq=False)
class _FittedSubset:
    """Some rows of a fit of several boosters, predicted by a booster that is trained on them."""

    rows: _Subset
    scores: FoldScores
    places: NDArray[np.intp]

    def mean(self, scores: Floats) -> float:
        rows, own = self.rows, self.scores.of_boosters.take(self.places)
        return rows.loss.mean(rows.y, own, rows.weight, rows.copies)


def _subset(
    training: Training, loss: Loss, index: NDArray[np.intp], weight: Floats | None, copies: Copies
) -> _Subset:
    return _Subset(
        loss.of_rows(index),
        index,
        training.y_of(index),
        None if weight is None else weight[index],
        None if copies is None else copies[index],
    )


def _mean_of_set(held_out: HeldOutSet, loss: Loss) -> Score:
    """The function that maps raw scores to the mean loss of a validation set."""
    training = held_out.training
    index = held_out.index[training.validation_copies[held_out.index] > 0]
    weight, copies = training.validation_weight, training.validation_copies
    return _subset(training, loss, index, weight, copies).mean


class EarlyStopping:
    """Records training and validation curves and stops the fit when one no longer improves.

    Parameters
    ----------
    training : Training
        Training and validation rows.
    loss : Loss
        The loss of the fit; parameters that depend on the scores stay as they are at `start`.
    start : array, shape (scores, rows)
        The scores before the first round.
    patience : Patience or None
        Number of rounds without improvement after which the fit stops; None: it never does.
    tol : float
        Minimum improvement: relative to the initial loss if that is watched, otherwise absolute.
    sets : sequence of HeldOutSet
        The validation sets.
    metrics : dict of str to callable
        Further metrics: functions that return the scorer of a validation set.
    watched : str
        The metric of the first set to stop by: the loss, to minimise, or one of `metrics`, to
        maximise.
    fitted : Training or None
        The rows of the training loss; None: those of `training` that are not held out.
    fitted_scores : FoldScores or None
        Raw predictions of each booster, for the training loss; None: those of the rounds.

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
        training: Training,
        loss: Loss,
        start: Floats,
        *,
        patience: Patience | None,
        tol: float,
        sets: Sequence[HeldOutSet] = (),
        metrics: Mapping[str, Callable[[HeldOutSet], Score]] | None = None,
        watched: str = LOSS,
        fitted: Training | None = None,
        fitted_scores: FoldScores | None = None,
    ) -> None:
        self._training = training
        self._patience = patience
        self._tol = tol
        self._fitted = training if fitted is None else fitted
        self._fitted_scores = fitted_scores
        weight, copies = training.rows.weight, self._fitted.train_copies
        self._loss = loss.at(training.y, start, weight, copies)
        self._values: dict[str, Score] = {}  # functions of the raw scores, by the names of curves
        self._losses: set[str] = set()  # names of those that are losses
        has_loss = getattr(loss, "has_loss", True)
        self._add_loss(TRAIN_LOSS, self._mean_of_fitted if has_loss else _unknown)
        for one in sets:
            mean = _mean_of_set(one, self._loss) if has_loss else _unknown
            self._add_loss(_name(one, LOSS), mean)
            for metric, scorer_of in (metrics or {}).items():
                self._add(_name(one, metric), scorer_of(one))
        self.watched = _name(sets[0], watched) if sets else None
        self.curves: dict[str, list[float]] = {name: [] for name in self._values}
        self.best_round = 0
        self._without_value: set[str] = set()  # curves of which a warning told so
        self.record(start)

    def _add_loss(self, name: str, value: Score) -> None:
        self._add(name, value)
        self._losses.add(name)

    def _add(self, name: str, value: Score) -> None:
        if name in self._values:
            raise ValueError(
                f"Two curves have the name {name!r}, that of the validation set followed by that "
                "of the metric. Choose other names."
            )
        self._values[name] = value

    def continue_from(self, curves: Curves) -> None:
        """Continue the curves of an earlier fit."""
        self.curves = {name: list(curves[name]) for name in self.curves}
        self.best_round = 0
        for number in range(1, self.n_rounds + 1):
            self._update_best(number)

    def before(self, stage: Stage) -> None:
        """Do nothing: losses are computed after a round."""

    def after(self, stage: Stage) -> bool:
        """Record the curves after a round; True if the fit is to stop."""
        self.record(stage.scores)
        return self.is_over

    def record(self, scores: Floats) -> None:
        """Append losses and scores to the curves, and update the best round."""
        for name, value in self._values.items():
            self.curves[name].append(self._recorded(name, value, scores))
        self._update_best(self.n_rounds)

    def _recorded(self, name: str, value: Score, scores: Floats) -> float:
        """A loss or score after a round; one that decides nothing may have no value: NaN."""
        number = len(self.curves[name])
        when = f"after round {number}" if number else "before the first round"
        try:
            with _QUIET() if name in self._without_value else nullcontext():
                return value(scores)
        except (ValueError, ArithmeticError) as error:
            has_no_value = isinstance(error, NotFiniteError)
            if name == self.watched and self._patience is not None:
                if not has_no_value:
                    raise
                raise NotFiniteError(
                    f"{error} This is {name!r} {when}, which early stopping follows. Choose "
                    "another scoring; what only metrics names may have no value."
                ) from error
            if number == 0 and not has_no_value:
                raise  # a wrong call, not an unlucky round
            if name not in self._without_value:
                self._without_value.add(name)
                advise(f"{name!r} of history_ is NaN {when}, and wherever this recurs: {error}")
            return np.nan

    @property
    def n_rounds(self) -> int:
        """Number of rounds that were recorded."""
        return len(self.curves[TRAIN_LOSS]) - 1

    def _update_best(self, number: int) -> None:
        if self.watched is None:
            return
        values = self.curves[self.watched]
        if self.watched in self._losses:
            is_better = values[number] < values[self.best_round] - self._tol * abs(values[0])
        else:
            is_better = values[number] > values[self.best_round] + self._tol
        if is_better:
            self.best_round = number

    @cached_property
    def _training_rows(self) -> _Subset | _FittedSubset:
        training, loss = self._fitted, self._loss
        index = rows_of_train_loss(
            training,
            TRAIN_LOSS_ROWS,
            loss.n_threads,
            are_classes=loss.of_exponents and not loss.has_log_link,
        )
        rows = _subset(training, loss, index, training.rows.weight, training.train_copies)
        fitted = self._fitted_scores
        return rows if fitted is None else _FittedSubset(rows, fitted, fitted.fitted_places(index))

    def _mean_of_fitted(self, scores: Floats) -> float:
        try:
            with np.errstate(all="ignore"):
                return self._training_rows.mean(scores)
        except NotFiniteError:  # a user's loss; it decides nothing
            return np.nan

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

    def _in_user_units(self, name: str, values: Sequence[float]) -> Floats:
        numbers = np.array(values, dtype=np.float64)
        if name not in self._losses:
            return numbers
        exponent = self._training.rows.target_exponent
        return times_power(numbers, unit_of_losses(self._loss, exponent))


class LiveHistory:
    """Sets `history_` of the model that is being fitted, for callbacks."""

    reason = "never"

    def __init__(self, model: Any, curves: EarlyStopping) -> None:
        self._model, self._curves = model, curves
        model.history_ = curves.history()

    def before(self, stage: Stage) -> None:
        """Do nothing: the curves are recorded after a round."""

    def after(self, stage: Stage) -> bool:
        """Update `history_`."""
        self._model.history_ = self._curves.history()
        return False


def _unknown(scores: Floats) -> float:
    """The loss of rows by a user's loss that only has derivatives."""
    return np.nan


def _name(held_out: HeldOutSet, metric: str) -> str:
    """Name of a curve of a validation set."""
    return f"{held_out.name} {metric}"
