"""Early stopping: training and validation curves, and when to stop."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from weald.advice import advise
from weald.cached import cached_property
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.curves import Patience, StoppingCurves
from weald.ensembles.boosted_trees.fold_boosters import FoldScores
from weald.ensembles.boosted_trees.loss_sample import rows_of_train_loss
from weald.ensembles.rounds.history import TRAIN_LOSS
from weald.ensembles.rounds.loop import Copies, Stage, Training
from weald.ensembles.rounds.scoring import LOSS, HeldOutSet
from weald.losses import Loss, NotFiniteError

Score = Callable[[Floats], float]

# scikit-learn warns of an undefined metric in every round.
_QUIET = partial(warnings.catch_warnings, action="ignore", category=UndefinedMetricWarning)

# The training loss, which is only reported, is computed on a subsample of about this many rows.
TRAIN_LOSS_ROWS = 5_000


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


class EarlyStopping(StoppingCurves):
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
    """

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
        self._fitted = training if fitted is None else fitted
        self._fitted_scores = fitted_scores
        loss_at_start = loss.at(training.y, start, training.rows.weight, self._fitted.train_copies)
        self._values: dict[str, Score] = {}  # functions of the raw scores, by the names of curves
        has_loss = getattr(loss, "has_loss", True)
        self._add(TRAIN_LOSS, self._mean_of_fitted if has_loss else _unknown)
        losses = {TRAIN_LOSS}
        for one in sets:
            name = _name(one, LOSS)
            self._add(name, _mean_of_set(one, loss_at_start) if has_loss else _unknown)
            losses.add(name)
            for metric, scorer_of in (metrics or {}).items():
                self._add(_name(one, metric), scorer_of(one))
        super().__init__(
            loss_at_start,
            training.rows.target_exponent,
            {name: name in losses for name in self._values},
            watched=_name(sets[0], watched) if sets else None,
            patience=patience,
            tol=tol,
        )
        self._without_value: set[str] = set()  # curves of which a warning told so
        self.record(start)

    def _add(self, name: str, value: Score) -> None:
        if name in self._values:
            raise ValueError(
                f"Two curves have the name {name!r}, that of the validation set followed by that "
                "of the metric. Choose other names."
            )
        self._values[name] = value

    def before(self, stage: Stage) -> None:
        """Do nothing: losses are computed after a round."""

    def after(self, stage: Stage) -> bool:
        """Record the curves after a round; True if the fit is to stop."""
        self.record(stage.scores)
        return self.is_over

    def record(self, scores: Floats) -> None:
        """Append losses and scores to the curves, and update the best round."""
        self.append(
            {name: self._recorded(name, value, scores) for name, value in self._values.items()}
        )

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
