"""Loss curves of gradient boosting: in-bag, out-of-bag and validation loss of each round."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.rounds.history import OOB_LOSS, TRAIN_LOSS, VALIDATION_LOSS, History
from weald.ensembles.rounds.loop import Copies, Stage, Training
from weald.log import report
from weald.losses import BuiltinLoss, Loss, NotFiniteError, times_power, unit_of_losses

# User function called after each round with its index, the estimator and a dict of local variables.
Monitor: TypeAlias = Callable[[int, Any, dict[str, Any]], Any]


class Progress:
    """Records the loss curves and stops early when the validation loss no longer improves.

    Parameters
    ----------
    training : Training
        Training and validation rows.
    loss : Loss
        The loss, with the parameters it has at the initial scores.
    has_oob : bool
        Whether rounds are fitted on subsamples, which leaves rows out of bag.
    patience : int or None
        Number of rounds that the validation loss is compared with; None: no early stopping.
    tol : float
        Minimum decrease of the validation loss that counts as an improvement.
    reporter : Reporter or None
        Prints a line after each round.
    """

    reason = "early_stopping"

    def __init__(
        self,
        training: Training,
        loss: Loss,
        *,
        has_oob: bool,
        patience: int | None,
        tol: float,
        reporter: "Reporter | None",
    ) -> None:
        self._training = training
        self._loss = loss
        self._has_oob = has_oob
        self._patience = patience
        self._unit = unit_of_losses(loss, training.rows.target_exponent)
        self._tol = float(times_power(tol, -self._unit))
        self._reporter = reporter
        self._oob_before = np.nan
        self.train: list[float] = []
        self.oob: list[float] = []
        self.oob_improvement: list[float] = []
        # Of the latest rounds, in the units of the fit, in which it cannot overflow.
        self.validation: list[float] = []
        self._train_at_start = self._validation_at_start = np.nan

    def begin(self, scores: Floats) -> None:
        """Record the losses at the scores before the first round."""
        training = self._training
        self._train_at_start = self._mean_loss(scores, training.train_copies)
        if self._patience is not None:
            scaled = self._scaled_loss(scores, training.validation_copies)
            self._validation_at_start = float(times_power(scaled, self._unit))

    def before(self, stage: Stage) -> None:
        """Compute the loss of the rows that are out of bag in this round."""
        if self._has_oob:
            self._oob_before = self._mean_loss(stage.scores, self._oob_copies(stage))

    def after(self, stage: Stage) -> bool:
        """Record all losses; True if early stopping ends the fit."""
        self.train.append(self._mean_loss(stage.scores, stage.copies))
        if self._has_oob:
            self.oob.append(self._mean_loss(stage.scores, self._oob_copies(stage)))
            self.oob_improvement.append(self._oob_before - self.oob[-1])
        if self._reporter is not None:
            self._reporter.report(stage.number, self)
        if self._patience is None:
            return False
        self.validation.append(self._scaled_loss(stage.scores, self._training.validation_copies))
        return self.is_flat

    @property
    def is_flat(self) -> bool:
        """Whether the last round improved on none of the `patience` rounds before it."""
        if self._patience is None or len(self.validation) <= self._patience:
            return False
        *earlier, last = self.validation[-self._patience - 1 :]
        return not any(last + self._tol < loss for loss in earlier)

    def history(self) -> History:
        """The curves of all rounds in the user's units."""
        curves = {TRAIN_LOSS: [self._train_at_start, *self.train]}
        if self._has_oob:
            curves[OOB_LOSS] = [np.nan, *self.oob]
        if self._patience is not None:
            known = times_power(np.array(self.validation), self._unit).tolist()
            unknown = [np.nan] * (len(self.train) - len(known))  # of an earlier fit
            curves[VALIDATION_LOSS] = [self._validation_at_start, *unknown, *known]
        arrays = {name: np.array(values) for name, values in curves.items()}
        return History(arrays, None if self._patience is None else VALIDATION_LOSS)

    def _oob_copies(self, stage: Stage) -> Any:
        return None if stage.copies is None else self._training.not_drawn(stage.copies)

    def _mean_loss(self, scores: Floats, copies: Copies) -> float:
        """Mean loss in the user's units; NaN without rows, or if a user's loss has no value."""
        try:
            return float(times_power(self._scaled_loss(scores, copies), self._unit))
        except NotFiniteError:  # it decides nothing
            return np.nan

    def _scaled_loss(self, scores: Floats, copies: Copies) -> float:
        """Mean loss in the units of the fit."""
        loss, rows = self._loss, self._training.rows
        if not isinstance(loss, BuiltinLoss) and not loss.has_loss:
            return np.nan
        if copies is not None and not copies.any():
            return np.nan
        mean = loss.mean(self._training.y, scores, rows.weight, copies)
        return (2.0 if loss.is_reported_twice and loss.n_scores == 1 else 1.0) * mean


class Reporter:
    """Prints a table of training progress.

    With verbose=1 the interval between lines grows tenfold every ten lines; above 1, each round is
    printed.
    """

    def __init__(self, verbose: int, first: int, n_estimators: int, has_oob: bool) -> None:
        self._every = 1
        self._verbose = verbose
        self._first = first
        self._n_estimators = n_estimators
        self._has_oob = has_oob
        self._begin = time.perf_counter()
        titles = ["Train Loss", *(["OOB Improve"] if has_oob else []), "Remaining Time"]
        report(f"{'Iter':>10s} " + " ".join(f"{title:>16s}" for title in titles))

    def report(self, number: int, progress: Progress) -> None:
        """Print the line of a round, if it is due."""
        done = number + 1 - self._first
        if done % self._every:
            return
        remaining = (self._n_estimators - number - 1) * (time.perf_counter() - self._begin) / done
        figures = [f"{progress.train[-1]:>16.4f}"]
        if self._has_oob:
            figures.append(f"{progress.oob_improvement[-1]:>16.4f}")
        clock = f"{remaining / 60:.2f}m" if remaining > 60 else f"{remaining:.2f}s"
        report(f"{number + 1:>10d} " + " ".join(figures) + f" {clock:>16s}")
        if self._verbose == 1 and done >= self._every * 10:
            self._every *= 10


def refuse_monitor(monitor: object) -> None:
    """Raise if the monitor is not callable, before the first round."""
    if monitor is not None and not callable(monitor):
        raise TypeError(
            f"monitor must be a callable(i, self, locals) or None; got {type(monitor).__name__}."
        )


class Monitored:
    """Calls a user's monitor after each round, with the estimator as fitted so far.

    `keep` stores the rounds so far in the estimator, which can then predict.
    """

    reason = "monitor"

    def __init__(
        self, inner: Progress, monitor: Monitor, estimator: Any, keep: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._monitor = monitor
        self._estimator = estimator
        self._keep = keep

    def before(self, stage: Stage) -> None:
        self._inner.before(stage)

    def after(self, stage: Stage) -> bool:
        """Check for early stopping and call the monitor, in any case, as scikit-learn does."""
        stops = self._inner.after(stage)
        self._keep()
        rows = stage.training.rows
        local_variables = {
            "i": stage.number,
            "self": self._estimator,
            "X": rows.table,
            "y": stage.training.y,
            "raw_predictions": stage.scores.T,
            "sample_weight": rows.weight,
            "monitor": self._monitor,
        }
        return bool(self._monitor(stage.number, self._estimator, local_variables)) or stops
