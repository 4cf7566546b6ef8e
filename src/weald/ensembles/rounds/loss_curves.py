"""What gradient boosting notes of each round: losses in bag, out of bag and held out."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Copies, Stage, Training
from weald.log import report
from weald.losses import BuiltinLoss, Loss, times_power, unit_of_losses

# What a user's function is asked after each round: its number, the estimator, what the loop holds.
Monitor: TypeAlias = Callable[[int, Any, dict[str, Any]], Any]


class Progress:
    """The losses of all rounds, and the reason to stop: those of `n_iter_no_change` rounds."""

    reason = "early_stopping"

    def __init__(
        self,
        training: Training,
        judge: Loss,
        *,
        has_oob: bool,
        patience: int | None,
        tol: float,
        reporter: "Reporter | None",
    ) -> None:
        self._training = training
        self._judge = judge
        self._has_oob = has_oob
        self._patience = patience
        self._unit = unit_of_losses(judge, training.rows.target_exponent)
        self._tol = float(times_power(tol, -self._unit))
        self._reporter = reporter
        self._before = np.nan
        self.train: list[float] = []
        self.oob: list[float] = []
        self.oob_improvement: list[float] = []
        self.validation: list[float] = []  # in the units of the fit, where none is infinite

    def before(self, stage: Stage) -> None:
        """Judge the rows that this round will not see."""
        if self._has_oob:
            self._before = self._loss(stage.scores, self._left_out(stage))

    def after(self, stage: Stage) -> bool:
        """Note all losses; True when none of the last rounds was worse than this one."""
        self.train.append(self._loss(stage.scores, stage.copies))
        if self._has_oob:
            self.oob.append(self._loss(stage.scores, self._left_out(stage)))
            self.oob_improvement.append(self._before - self.oob[-1])
        if self._reporter is not None:
            self._reporter.report(stage.number, self)
        if self._patience is None:
            return False
        self.validation.append(self._own_loss(stage.scores, self._training.held_copies))
        return self.is_flat

    @property
    def is_flat(self) -> bool:
        """Whether none of the last `patience` rounds was worse than the one after them."""
        if self._patience is None or len(self.validation) <= self._patience:
            return False
        *earlier, now = self.validation[-self._patience - 1 :]
        return not any(now + self._tol < one for one in earlier)

    def _left_out(self, stage: Stage) -> Any:
        return None if stage.copies is None else self._training.not_drawn(stage.copies)

    def _loss(self, scores: Floats, copies: Copies) -> float:
        """The mean loss of rows in the user's units; NaN where there are no rows or no loss."""
        return float(times_power(self._own_loss(scores, copies), self._unit))

    def _own_loss(self, scores: Floats, copies: Copies) -> float:
        judge, rows = self._judge, self._training.rows
        if not isinstance(judge, BuiltinLoss) and not judge.has_loss:
            return np.nan
        if copies is not None and not copies.any():
            return np.nan
        mean = judge.mean(self._training.y, scores, rows.weight, copies)
        return (2.0 if judge.is_reported_twice and judge.n_scores == 1 else 1.0) * mean


class Reporter:
    """Prints a line for some rounds (verbose=1: the first ten, then every tenth ...) or all."""

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
        done = number + 1 - self._first
        if done % self._every:
            return
        left = (self._n_estimators - number - 1) * (time.perf_counter() - self._begin) / done
        figures = [f"{progress.train[-1]:>16.4f}"]
        if self._has_oob:
            figures.append(f"{progress.oob_improvement[-1]:>16.4f}")
        clock = f"{left / 60:.2f}m" if left > 60 else f"{left:.2f}s"
        report(f"{number + 1:>10d} " + " ".join(figures) + f" {clock:>16s}")
        if self._verbose == 1 and done >= self._every * 10:
            self._every *= 10


def refuse_monitor(monitor: object) -> None:
    """A monitor that cannot be called is an error before the first round."""
    if monitor is not None and not callable(monitor):
        raise TypeError(
            f"monitor must be a callable(i, self, locals) or None; got {type(monitor).__name__}."
        )


class Monitored:
    """Shows a user's function the estimator after each round, as if the fit had ended there."""

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
        """Ask both; the function is asked in any case, as in scikit-learn."""
        stops = self._inner.after(stage)
        self._keep()
        rows = stage.training.rows
        held = {
            "i": stage.number,
            "self": self._estimator,
            "X": rows.table,
            "y": stage.training.y,
            "raw_predictions": stage.scores.T,
            "sample_weight": rows.weight,
            "monitor": self._monitor,
        }
        return bool(self._monitor(stage.number, self._estimator, held)) or stops
