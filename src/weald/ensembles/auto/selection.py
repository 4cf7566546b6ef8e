"""Selection of the members and their weights, on predictions for unseen rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import effective_rows
from weald.ensembles.auto.metric import Metric, row_losses
from weald.ensembles.auto.training import Task
from weald.ensembles.combining.greedy import GreedySelection
from weald.ensembles.combining.nonnegative import summed
from weald.ensembles.exact_means import exact_means
from weald.resampling import hold_out_rows

Floats = NDArray[np.float64]

# The selection scores many means of predictions: on at most so many rows, fewer for scorers.
_MOST_ROWS, _MOST_ROWS_OF_SCORER = 10_000, 3_000

# Exponents that temperature scaling tries: below 1 probabilities become less extreme.
_POWERS = tuple(2.0 ** (step / 8) for step in range(-12, 13))
_FEWEST_CALIBRATED = 100
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Selector:
    """Greedy selection for a metric.

    Attributes
    ----------
    task : Task
        The scored rows.
    rows : intp [some rows]
        The rows that weights and temperature are selected on.
    fold : intp [rows]
        The fold of each row; all 0 with a validation set.
    """

    task: Task
    metric: Metric
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]

    @classmethod
    def of(cls, training: Task, metric: Metric) -> "Selector":
        task = training.scored
        fold = np.zeros(task.n, dtype=np.intp)
        for number, (_, scored) in enumerate(training.splits):
            fold[scored] = number
        most = _MOST_ROWS if metric.loss else _MOST_ROWS_OF_SCORER
        rows = np.arange(task.n)
        if task.n > most:
            strata = None if task.classes is None else task.y.astype(np.int64)
            share = most / task.n
            drawn = hold_out_rows(
                task.table, task.y, None, strata, share, weight=task.weight, seed=task.seed
            )
            rows = np.flatnonzero(drawn)
        return cls(task, metric, rows, fold)

    def score(self, predicted: Floats) -> float:
        """The score of predictions of all scored rows."""
        return self.metric.score(self.task.table, self.task.y, predicted, self.task.weight)

    def calibrated(self, predictions: list[Floats], weights: Floats) -> tuple[float, Floats, float]:
        """The power that calibrates the mean of the predictions, that mean, and its score."""
        mean, power = mean_of(predictions, weights), 1.0
        if self.task.classes is not None:
            rows, weight = self.rows, self.task.weight
            own = None if weight is None else weight[rows]
            fold = self.fold[rows]
            power = calibrating_power(mean[rows], self.task.y[rows], own, fold)
        mean = powered(mean, power)
        return power, mean, self.score(mean)

    def weights(self, predictions: list[Floats]) -> Floats:
        """Weights of models, by greedy selection with replacement; their sum is 1."""
        stacked = np.stack([one[self.rows] for one in predictions])
        y = self.task.y[self.rows].astype(np.float64)
        weight = None if self.task.weight is None else self.task.weight[self.rows]
        greedy = self._greedy(self.task.table[self.rows])
        return greedy.fit(stacked, y, weight).weights_

    def _greedy(self, X: Any) -> GreedySelection:
        if self.metric.loss is not None:
            return GreedySelection(self.metric.loss, n_steps=30, n_bags=10, seed=self.task.seed)

        def loss(predicted: Floats, y: Floats, weight: Floats | None) -> float:
            return -self.metric.score(X, y, predicted, weight)

        return GreedySelection(loss, n_steps=15, n_bags=5, seed=self.task.seed)


def mean_of(predictions: list[Floats], weights: Floats) -> Floats:
    """Weighted mean of the predictions of models of positive weight."""
    used = np.flatnonzero(weights)
    if len(used) == 1:
        return predictions[int(used[0])]
    return summed(np.stack([predictions[k] for k in used]), weights[used])


# ---- calibration ----


def powered(probabilities: Floats, power: float) -> Floats:
    """Probabilities to a power, divided by their sum: temperature scaling of log-probabilities."""
    if power == 1.0:
        return probabilities
    logs = np.asarray(_native.log(np.maximum(probabilities, _TINY).ravel()))
    logs = power * logs.reshape(probabilities.shape)
    logs -= logs.max(axis=1, keepdims=True)
    raised = np.asarray(_native.exp(logs.ravel())).reshape(logs.shape)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def calibrating_power(
    predicted: Floats, y: NDArray[Any], weight: Floats | None, fold: NDArray[np.intp]
) -> float:
    """The power that minimises the log loss, or 1.0 unless a power chosen on other rows is better.

    The power of each fold is chosen on the other folds; the log loss must improve by more than its
    standard error.
    """
    if len(y) < _FEWEST_CALIBRATED or (fold == fold[0]).all():
        return 1.0
    losses = np.stack([row_losses("log_loss", y, powered(predicted, p)) for p in _POWERS])
    plain = losses[_POWERS.index(1.0)]
    gain = np.zeros(len(y))
    for number in np.unique(fold):
        own, others = fold == number, fold != number
        best = _best_power(losses[:, others], None if weight is None else weight[others])
        gain[own] = plain[own] - losses[best, own]
    mean = float(exact_means(gain, weight))
    square = float(exact_means((gain - mean) ** 2, weight))
    if not mean > float(np.sqrt(square / effective_rows(weight, len(y)))):
        return 1.0
    return float(_POWERS[_best_power(losses, weight)])


def _best_power(losses: Floats, weight: Floats | None) -> int:
    return int(np.argmin(exact_means(losses, weight)))
