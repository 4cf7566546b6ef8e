"""The fast path for services, for models that answer the mean of several boosters."""

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
    """`forest` is that of all boosters, `parts` are those of each."""

    parts: tuple[Forest, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.forest, self.loss, self.classes, self.n_jobs, self.parts)

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        if not loss:
            return super()._answer(X)
        total: Floats | None = None
        for part in self.parts:
            # The forest of all takes what its parts take, and says what is wrong.
            self._check(X)
            said = part.answer(X, loss=loss, n_threads=self._n_threads)
            total = said if total is None else total + said
        assert total is not None
        return total / len(self.parts)

    def _check(self, X: NDArray[Any]) -> None:
        if type(X) is not np.ndarray or X.ndim not in (1, 2):
            super()._answer(X)
        wrong = self._what_is_wrong_with(X)
        if wrong is not None:
            raise wrong


@dataclass(frozen=True, eq=False)
class BagNumberPredictor(_BagPredictor, NumberPredictor):
    """Answers mean numbers."""


@dataclass(frozen=True, eq=False)
class BagLevelsPredictor(_BagPredictor, LevelsPredictor):
    """Answers several mean numbers a row."""


@dataclass(frozen=True, eq=False)
class BagClassPredictor(_BagPredictor, ScorePredictor):
    """Answers classes, their mean probabilities and the logarithms of these."""

    def decision_function(self, X: NDArray[Any]) -> Any:
        """Answer as the model's `decision_function`."""
        scores = log_shares(np.atleast_2d(self.predict_proba(X)))
        return scores if X.ndim == 2 else scores[0]


def bag_predictor_of(alone: Predictor, parts: list[Forest]) -> Predictor:
    """A predictor of the mean, from that of all boosters as one."""
    kind: type[_BagPredictor] = BagClassPredictor
    if alone.classes is None:
        several = isinstance(alone, LevelsPredictor)
        kind = BagLevelsPredictor if several else BagNumberPredictor
    return kind(alone.forest, alone.loss, alone.classes, alone.n_jobs, tuple(parts))


def log_shares(shares: Floats) -> Floats:
    """Logarithms of probabilities; of two classes the log odds of the second.

    >>> log_shares(np.array([[0.5, 0.5]])).tolist()
    [0.0]
    """
    inside = np.clip(shares, _TINY, _BELOW_ONE)
    if shares.shape[1] == 2:
        return np.asarray(np.log(inside[:, 1]) - np.log(inside[:, 0]))
    return np.asarray(np.log(inside))
