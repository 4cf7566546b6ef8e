"""The search: models of the portfolio in order, and the best ensemble of those so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.aggregation.spread import deviation
from weald.ensembles.auto.clock import Clock
from weald.ensembles.auto.leaderboard import LeaderboardRow
from weald.ensembles.auto.portfolio import Entry
from weald.ensembles.auto.progress import Progress
from weald.ensembles.auto.selection import Selector
from weald.ensembles.auto.training import OutOfTime, Task, Trained, train

Floats = NDArray[np.float64]

# Boosting is not started if less than this share of the time of an earlier booster is left; the
# time of one that its limit stopped is needed whole.
_LEAST_SHARE_OF_BOOSTER = 0.3


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A weighted mean of the models trained so far.

    Attributes
    ----------
    weights : array
        The weights of the models.
    power : float
        The power of its probabilities that calibrates them.
    predictions : array, shape (rows, columns)
        Its predictions for the scored rows.
    score : float
        Their score.
    """

    weights: Floats
    power: float
    predictions: Floats
    score: float


_NOTHING = Ensemble(np.zeros(0), 1.0, np.zeros((0, 0)), -math.inf)


@dataclass(eq=False)
class Search:
    """Trains models until the time or the portfolio ends, and keeps the best ensemble.

    Attributes
    ----------
    trained : list of Trained
        All models that have predictions for unseen rows.
    scores : list of float
        The score of each of them.
    best : Ensemble
        The best ensemble so far.
    failed : dict of str to exception
        Models that failed.
    skipped : dict of str to str
        Models that were not trained, and why.
    stopped_by : str
        "portfolio", "max_models", "time_limit" or "interrupt".
    """

    task: Task
    selector: Selector
    clock: Clock
    trained: list[Trained] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best: Ensemble = _NOTHING
    failed: dict[str, Exception] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    stopped_by: str = "portfolio"
    _needed_by_boosters: float = 0.0

    def run(self, entries: Sequence[Entry], most_models: int | None, progress: Progress) -> None:
        """Try the models in order."""
        for number, entry in enumerate(entries):
            if most_models is not None and len(self.trained) >= most_models:
                self._end(entries[number:], "max_models", "max_models")
                return
            progress.begins(entry.name, self.score)
            try:
                self._try(entry)
            except KeyboardInterrupt:
                if not self.trained:
                    raise
                self._end(entries[number:], "interrupt", "interrupted")
                return
            except OutOfTime as reason:
                self.skipped[entry.name] = f"no time ({reason})"
                self.stopped_by = "time_limit"
            except Exception as error:
                self.failed[entry.name] = error
            progress.ends(entry.name, self.score)

    def _end(self, rest: Sequence[Entry], stopped_by: str, reason: str) -> None:
        self.stopped_by = stopped_by
        self.skipped |= {entry.name: reason for entry in rest}

    def _try(self, entry: Entry) -> None:
        is_booster = hasattr(entry.estimator, "time_limit")
        needed = self._needed_by_boosters if is_booster else 0.0
        if self.clock.is_limited and (self.clock.is_over or self.clock.left <= needed):
            raise OutOfTime(
                "none left" if self.clock.is_over else f"needs more than {needed:.1f} s"
            )
        trained = train(entry, self.task, self.clock, is_first=not self.trained)
        score = self.selector.score(trained.predictions)
        if math.isnan(score):
            raise ValueError(f"its {self.selector.metric.name} is not a number")
        if is_booster:
            was_stopped = getattr(trained.member.model, "stopped_by_", None) == "time_limit"
            share = 1.0 if was_stopped else _LEAST_SHARE_OF_BOOSTER
            self._needed_by_boosters = max(self._needed_by_boosters, share * trained.seconds)
        self._add(trained, score)

    def _add(self, trained: Trained, score: float) -> None:
        """Take the model into the ensemble if that improves its score."""
        predictions = [one.predictions for one in (*self.trained, trained)]
        alone = np.zeros(len(predictions))
        alone[-1] = 1.0
        options = [alone]
        if self.trained:
            options.append(self.selector.weights(predictions))
        found = [Ensemble(one, *self.selector.calibrated(predictions, one)) for one in options]
        best = max(found, key=lambda one: one.score)
        # Last, so that an interrupt leaves the ensemble of the models so far.
        if best.score > self.score or not self.trained:
            self.best = best
        else:
            self.best = replace(self.best, weights=np.append(self.best.weights, 0.0))
        self.trained.append(trained)
        self.scores.append(score)

    # ---- results ----

    @property
    def score(self) -> float:
        """Score of the best ensemble so far."""
        return self.best.score

    def rows(self, entries: Sequence[Entry], predict_seconds: dict[str, float]) -> list[Any]:
        """The rows of the leaderboard, the best first."""
        found = []
        for one, score, weight in zip(self.trained, self.scores, self.best.weights, strict=True):
            name = one.member.name
            spread = self.spread(one.predictions)
            seconds = predict_seconds.get(name, math.nan)
            found.append(LeaderboardRow(name, score, spread, float(weight), one.seconds, seconds))
        found.sort(key=lambda row: -row.score)
        for entry in entries:
            if entry.name in self.failed:
                error = self.failed[entry.name]
                status = f"failed: {type(error).__name__}: {error}".splitlines()[0]
                found.append(LeaderboardRow(entry.name, status=status))
            elif entry.name in self.skipped:
                found.append(LeaderboardRow(entry.name, status=self.skipped[entry.name]))
        return found

    def spread(self, predictions: Floats) -> float:
        """Standard deviation of the scores of the folds."""
        scored, metric, scores = self.task.scored, self.selector.metric, []
        if len(self.task.splits) < 2:
            return math.nan
        for _, rows in self.task.splits:
            weight = None if scored.weight is None else scored.weight[rows]
            try:
                scores.append(
                    metric.score(scored.table[rows], scored.y[rows], predictions[rows], weight)
                )
            except ValueError:  # such as a fold with one class only
                return math.nan
        of_folds = np.array(scores)
        return float(deviation(of_folds, of_folds.mean()))
