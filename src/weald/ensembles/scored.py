"""Models whose raw scores are turned into predictions by a loss."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from weald.data import checked_offset
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.regressing import Regressor, r_squared
from weald.ensembles.truncation import Truncatable
from weald.losses import BuiltinLoss, Loss, TargetLosses


class ScoredModel(Truncatable, TreeModel):
    """Additive model fitted with a loss."""

    loss: Any
    _fitted_loss: Loss

    @property
    def oob_(self) -> Any:
        """Raise AttributeError: a single booster has no out-of-bag predictions."""
        raise AttributeError(why_no_ledger(self))

    def _raw_scores(self, X: object, offset: object = None, n_rounds: int | None = None) -> Floats:
        """Scores of shape (rows, scores) of the first rounds (None: all), plus the offset."""
        model = self if n_rounds is None else self.truncate(n_rounds)
        return self._with_offset(model._scores(X), offset)

    def _with_offset(self, scores: Floats, offset: object) -> Floats:
        if offset is None:
            return scores
        of_exponents = self._fitted_loss.of_exponents
        return scores + checked_offset(offset, *scores.shape, of_exponents=of_exponents)

    def _predictions(self, X: object, offset: object = None, n_rounds: int | None = None) -> Floats:
        return self._linked(self._raw_scores(X, offset, n_rounds))

    def _linked(self, scores: Floats) -> Floats:
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        """Scores of shape (rows, scores) after each round."""
        raise NotImplementedError

    def _staged_predictions(self, X: object, offset: object = None) -> Iterator[Floats]:
        """Predictions after each round."""
        for scores in self._staged_scores(X):
            yield self._linked(self._with_offset(scores, offset))

    @property
    def _link(self) -> str:
        if isinstance(self._fitted_loss, TargetLosses):
            return ""
        if isinstance(self._fitted_loss, BuiltinLoss):
            return self._fitted_loss.name
        raise TypeError(
            f"predictor() supports built-in losses only; this {type(self).__name__} was fitted "
            f"with loss={self.loss!r}, whose link is Python code. Use the model's own methods."
        )


class ScoredRegressor(Regressor):
    """Regressor mixin: predictions from raw scores."""

    _predictions: Callable[..., Floats]
    _staged_predictions: Callable[..., Iterator[Floats]]

    def predict(self, X: object, *, offset: object = None, n_rounds: int | None = None) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        offset : array, shape (rows,), or None, default=None
            Raw scores to which those of the model are added, as in `fit`. None: zeros, which with
            a log link and logarithms of exposures in `fit` is a prediction per unit of exposure.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.
        """
        return self._in_shape(self._predictions(X, offset, n_rounds))

    def _in_shape(self, predictions: Floats) -> Floats:
        return predictions[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: object = None) -> float:
        """R squared: the share of the variance of y that the predictions explain.

        Parameters
        ----------
        X, offset
            As in `predict`.
        y : array, shape (rows,)
            True target values.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights.
        """
        return r_squared(y, self.predict(X, offset=offset), sample_weight)

    def staged_predict(self, X: object, *, offset: object = None) -> Iterator[Floats]:
        """Predict after each round; the last stage equals `predict`.

        Parameters
        ----------
        X, offset
            As in `predict`.

        Yields
        ------
        array, shape (rows,); for a list of quantiles (rows, quantiles)
        """
        for predictions in self._staged_predictions(X, offset):
            yield self._in_shape(predictions)


class ScoredClassifier(ClassifierMixin):
    """Classifier mixin: classes and probabilities from raw scores.

    Attributes
    ----------
    classes_ : array
        Class labels, sorted.
    """

    loss: Any
    classes_: NDArray[Any]

    def decision_function(
        self, X: object, *, offset: object = None, n_rounds: int | None = None
    ) -> Floats:
        """Raw scores: one for two classes (the log-odds with log_loss), else one per class.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        offset : array, shape (rows,) or (rows, classes), or None, default=None
            Raw scores to which those of the model are added, as in `fit`; None: zeros.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.
        """
        scores: Floats = self._raw_scores(X, offset, n_rounds)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(
        self, X: object, *, offset: object = None, n_rounds: int | None = None
    ) -> Floats:
        """Class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X, offset, n_rounds
            As in `decision_function`.
        """
        if len(getattr(self, "classes_", ())) == 1:
            scores = self.decision_function(X, offset=offset, n_rounds=n_rounds)
            return np.ones((len(scores), 1))
        probabilities: Floats = self._predictions(X, offset, n_rounds)
        return probabilities

    def predict(
        self, X: object, *, offset: object = None, n_rounds: int | None = None
    ) -> NDArray[Any]:
        """Most probable class of each row; ties go to the first.

        Parameters
        ----------
        X, offset, n_rounds
            As in `decision_function`.
        """
        return self._labels(self.predict_proba(X, offset=offset, n_rounds=n_rounds))

    def score(
        self, X: object, y: Any, sample_weight: object = None, *, offset: object = None
    ) -> float:
        """Accuracy: the share of rows whose predicted class is that of `y`.

        Parameters
        ----------
        X, offset
            As in `decision_function`.
        y : array, shape (rows,)
            True class labels.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights.
        """
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, offset=offset)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def staged_decision_function(self, X: object, *, offset: object = None) -> Iterator[Floats]:
        """Raw scores after each round.

        Parameters
        ----------
        X, offset
            As in `decision_function`.

        Yields
        ------
        array, shape (rows,) for two classes, else (rows, classes)
        """
        for scores in self._staged_scores(X):
            own = self._with_offset(scores, offset)
            yield own[:, 0] if own.shape[1] == 1 else own

    def staged_predict_proba(self, X: object, *, offset: object = None) -> Iterator[Floats]:
        """Class probabilities after each round.

        Parameters
        ----------
        X, offset
            As in `decision_function`.

        Yields
        ------
        array, shape (rows, classes)
        """
        yield from self._staged_predictions(X, offset)

    def staged_predict(self, X: object, *, offset: object = None) -> Iterator[NDArray[Any]]:
        """Predicted classes after each round.

        Parameters
        ----------
        X, offset
            As in `decision_function`.

        Yields
        ------
        array, shape (rows,)
        """
        for probabilities in self.staged_predict_proba(X, offset=offset):
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
