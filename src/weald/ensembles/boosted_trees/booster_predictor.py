"""Low-latency predictors of bagged boosters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.predictor import (
    LevelsPredictor,
    NumberPredictor,
    Predictor,
    ScorePredictor,
)
from weald.trees import Forest

Floats = NDArray[np.float64]

_TINY, _BELOW_ONE = float(np.finfo(np.float64).tiny), float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, eq=False)
class _BagPredictor(Predictor):
    """Predicts the mean of several boosters.

    Attributes
    ----------
    parts : tuple of Forest
        The forest of each booster; `forest` joins them all.
    """

    parts: tuple[Forest, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.forest, self.loss, self.classes, self.n_jobs, self.parts)

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        if not loss:
            return super()._answer(X)
        total: Floats | None = None
        for part in self.parts:
            self._check(X)
            predictions = part.answer(X, loss=loss, n_threads=self._n_threads)
            total = predictions if total is None else total + predictions
        assert total is not None
        return total / len(self.parts)

    def _check(self, X: NDArray[Any]) -> None:
        """Raise for an invalid X; the joined forest accepts what its parts accept."""
        if type(X) is not np.ndarray or X.ndim not in (1, 2):
            super()._answer(X)
        error = self._input_error(X)
        if error is not None:
            raise error


@dataclass(frozen=True, eq=False)
class BagNumberPredictor(_BagPredictor, NumberPredictor):
    """Predicts the mean regression value."""


@dataclass(frozen=True, eq=False)
class BagLevelsPredictor(_BagPredictor, LevelsPredictor):
    """Predicts several mean values per row, such as quantiles."""


@dataclass(frozen=True, eq=False)
class BagClassPredictor(_BagPredictor, ScorePredictor):
    """Predicts classes, mean class probabilities and their logarithms."""

    def decision_function(self, X: NDArray[Any]) -> Any:
        """Same as the model's `decision_function`."""
        scores = log_shares(np.atleast_2d(self.predict_proba(X)))
        return scores if X.ndim == 2 else scores[0]


def bag_predictor_of(joined: Predictor, parts: list[Forest]) -> Predictor:
    """Predictor of bagged boosters, from that of their joined forest."""
    kind: type[_BagPredictor] = BagClassPredictor
    if joined.classes is None:
        several = isinstance(joined, LevelsPredictor)
        kind = BagLevelsPredictor if several else BagNumberPredictor
    return kind(joined.forest, joined.loss, joined.classes, joined.n_jobs, tuple(parts))


def log_shares(shares: Floats) -> Floats:
    """Log-probabilities; with two classes, the log odds of the second.

    >>> log_shares(np.array([[0.5, 0.5]])).tolist()
    [0.0]
    """
    inside = np.clip(shares, _TINY, _BELOW_ONE)
    if shares.shape[1] == 2:
        return np.asarray(np.log(inside[:, 1]) - np.log(inside[:, 0]))
    return np.asarray(np.log(inside))
