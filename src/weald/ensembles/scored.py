"""Models whose answers are scores that a loss turns into predictions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from weald.ensembles.base import Floats, TreeModel
from weald.losses import BuiltinLoss, Loss


class ScoredModel(TreeModel):
    """A sum of members, and the loss that it was made for."""

    loss: Any
    _fitted_loss: Loss

    @property
    def oob_(self) -> Any:
        """There is no out-of-bag ledger of one booster; the error says why."""
        raise AttributeError(why_no_ledger(self))

    def _predictions(self, X: object) -> Floats:
        scores = self._scores(X)
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        """Scores of the shape (rows, scores) after each round."""
        raise NotImplementedError

    def _staged_predictions(self, X: object) -> Iterator[Floats]:
        """What the loss makes of the scores after each round."""
        for scores in self._staged_scores(X):
            yield replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    @property
    def _link(self) -> str:
        if isinstance(self._fitted_loss, BuiltinLoss):
            return self._fitted_loss.name
        raise TypeError(
            f"predictor() applies a built-in loss in the core; this {type(self).__name__} was "
            f"fitted with loss={self.loss!r}, whose link is Python. Use the model's own methods."
        )


class ScoredClassifier(ClassifierMixin):
    """What scores of classes answer.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    """

    loss: Any
    classes_: NDArray[Any]

    def decision_function(self, X: object) -> Floats:
        """Raw scores: one for two classes (of log_loss: the log odds), else one per class."""
        scores: Floats = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, in the order of `classes_`."""
        if len(getattr(self, "classes_", ())) == 1:
            return np.ones((len(self.decision_function(X)), 1))
        probabilities: Floats = self._predictions(X)
        return probabilities

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
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
        """Probabilities of the classes after each round.

        Yields
        ------
        array, shape (rows, classes)
        """
        yield from self._staged_predictions(X)

    def staged_predict(self, X: object) -> Iterator[NDArray[Any]]:
        """Classes after each round.

        Yields
        ------
        array, shape (rows,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self._labels(probabilities)

    def _labels(self, probabilities: Floats) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _learnt(self) -> dict[str, NDArray[Any]]:
        learnt: dict[str, NDArray[Any]] = super()._learnt()
        return {**learnt, "classes": self.classes_}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not (
            isinstance(self.loss, str) and self.loss == "exponential"
        )
        return tags


def why_no_ledger(model: Any) -> str:
    """Why one booster has no out-of-bag ledger."""
    drawn = getattr(model, "subsample", 1.0) < 1.0
    seen = (
        "a row that one round left out is seen by the next, and by every later one through the "
        "scores"
        if drawn
        else "every round saw every row"
    )
    offered = " (GradientBoosting notes oob_scores_ and oob_improvement_ of each round)"
    kind = "Classifier" if hasattr(model, "classes_") else "Regressor"
    return (
        f"Use BoostedTrees{kind}(n_bags=10): several boosters, each on a bootstrap sample, have "
        f"out-of-bag predictions. One booster has no out-of-bag ledger: {seen}"
        f"{offered if drawn else ''}."
    )
