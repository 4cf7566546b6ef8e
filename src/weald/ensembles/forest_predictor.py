"""The fast path for services, for models that answer the mean of their trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.predictor import ClassPredictor, NumberPredictor, Predictor
from weald.trees import Forest

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeanNumberPredictor(NumberPredictor):
    """Answers mean numbers."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return super()._answer(X, loss) / self.forest.n_trees


@dataclass(frozen=True, eq=False)
class MeanClassPredictor(ClassPredictor):
    """Answers classes and their mean probabilities."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return super()._answer(X, loss) / self.forest.n_trees


def mean_predictor_of(model: object, forest: Forest, *, n_jobs: int | None) -> Predictor:
    """The kind of predictor that has the methods of a fitted forest."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return MeanNumberPredictor(forest, "", None, n_jobs)
    return MeanClassPredictor(forest, "", classes, n_jobs)
