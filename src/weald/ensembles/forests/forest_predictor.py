"""Low-latency predictors of models that average the predictions of their trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.predictor import (
    ClassPredictor,
    LabelPredictor,
    LevelsPredictor,
    NumberPredictor,
    Predictor,
)
from weald.trees import Forest, RotatedForest

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeanNumberPredictor(NumberPredictor):
    """Predicts the mean of the trees."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return mean_prediction(super()._answer(X, loss), self.forest)


@dataclass(frozen=True, eq=False)
class MeanClassPredictor(ClassPredictor):
    """Predicts classes and their mean probabilities."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return mean_prediction(super()._answer(X, loss), self.forest)


@dataclass(frozen=True, eq=False)
class MeanVectorPredictor(LevelsPredictor):
    """Predicts the mean of the trees for several outputs."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return mean_prediction(super()._answer(X, loss), self.forest)


@dataclass(frozen=True, eq=False)
class MeanLabelPredictor(LabelPredictor):
    """Predicts classes and their mean probabilities for several outputs."""

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        return mean_prediction(super()._answer(X, loss), self.forest)


def mean_prediction(sums: Floats, forest: Forest | RotatedForest) -> Floats:
    """Turn sums over the trees into means, in place, clipped to the range of the leaf values."""
    sums /= forest.n_trees
    return np.clip(sums, *forest.value_range, out=sums)


def mean_predictor_of(
    model: object, forest: Forest | RotatedForest, *, n_jobs: int | None
) -> Predictor:
    """The predictor with the prediction methods of a fitted forest."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        several = getattr(model, "n_outputs_", 1) > 1
        return (MeanVectorPredictor if several else MeanNumberPredictor)(forest, "", None, n_jobs)
    if isinstance(classes, list):
        return MeanLabelPredictor(forest, "", tuple(classes), n_jobs)
    return MeanClassPredictor(forest, "", classes, n_jobs)
