"""Models whose raw scores are turned into predictions by a loss."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from weald.ensembles.base import Floats, TreeModel
from weald.losses import BuiltinLoss, Loss


class ScoredModel(TreeModel):
    """Additive model fitted with a loss."""

    loss: Any
    _fitted_loss: Loss

    @property
    def oob_(self) -> Any:
        """Raise AttributeError: a single booster has no out-of-bag predictions."""
        raise AttributeError(why_no_ledger(self))

    def _predictions(self, X: object) -> Floats:
        scores = self._scores(X)
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        """Scores of shape (rows, scores) after each round."""
        raise NotImplementedError

    def _staged_predictions(self, X: object) -> Iterator[Floats]:
        """Predictions after each round."""
        for scores in self._staged_scores(X):
            yield replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    @property
    def _link(self) -> str:
        if isinstance(self._fitted_loss, BuiltinLoss):
            return self._fitted_loss.name
        raise TypeError(
            f"predictor() supports built-in losses only; this {type(self).__name__} was fitted "
            f"with loss={self.loss!r}, whose link is Python code. Use the model's own methods."
        )


class ScoredClassifier(ClassifierMixin):
    """Classifier mixin: classes and probabilities from raw scores.

    Attributes
    ----------
    classes_ : array
        Class labels, sorted.
    """

    loss: Any
    classes_: NDArray[Any]

    def decision_function(self, X: object) -> Floats:
        """Raw scores: one for two classes (the log-odds with log_loss), else one per class."""
        scores: Floats = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> Floats:
        """Class probabilities, in the order of `classes_`."""
        if len(getattr(self, "classes_", ())) == 1:
            return np.ones((len(self.decision_function(X)), 1))
        probabilities: Floats = self._predictions(X)
        return probabilities

    def predict(self, X: object) -> NDArray[Any]:
        """Most probable class of each row; ties go to the first."""
        return self._labels(self.predict_proba(X))

    def staged_decision_function(self, X: object) -> Iterator[Floats]:
        """Raw scores after each round.

        Yields
        ------
        array, shape (rows,) for two classes, else (rows, classes)
        """
        for scores in self._staged_scores(X):
            yield scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_predict_proba(self, X: object) -> Iterator[Floats]:
        """Class probabilities after each round.

        Yields
        ------
        array, shape (rows, classes)
        """
        yield from self._staged_predictions(X)

    def staged_predict(self, X: object) -> Iterator[NDArray[Any]]:
        """Predicted classes after each round.

        Yields
        ------
        array, shape (rows,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self._labels(probabilities)

    def _labels(self, probabilities: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        learnt: dict[str, NDArray[Any]] = super()._fingerprint_arrays()
        return {**learnt, "classes": self.classes_}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not (
            isinstance(self.loss, str) and self.loss == "exponential"
        )
        return tags


def why_no_ledger(model: Any) -> str:
    """Error message of `oob_` of a single booster."""
    drawn = getattr(model, "subsample_", getattr(model, "subsample", 1.0)) < 1.0
    seen = (
        "a row that one round left out is seen by the next, and by every later one through the "
        "scores"
        if drawn
        else "every round saw every row"
    )
    offered = " (GradientBoosting records oob_scores_ and oob_improvement_ of each round)"
    kind = "Classifier" if hasattr(model, "classes_") else "Regressor"
    return (
        f"Use BoostedTrees{kind}(n_bags=5): several boosters, of which each leaves out a fold of "
        f"the rows, have out-of-bag predictions. One booster has no out-of-bag ledger: {seen}"
        f"{offered if drawn else ''}."
    )
