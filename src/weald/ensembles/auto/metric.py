"""Scores of predictions by the `metric` parameter."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from weald import _native
from weald.ensembles.exact_means import exact_means
from weald.ensembles.rounds.scorer_names import instead_of, is_scorer_name
from weald.returned import number_returned

Floats = NDArray[np.float64]

_MIN_PROBABILITY = 1e-12

# Metrics whose order of models is that of a mean of losses of the rows.
_LOSS_OF = {
    "neg_log_loss": "log_loss",
    "neg_mean_squared_error": "squared_error",
    "neg_root_mean_squared_error": "squared_error",
    "r2": "squared_error",
}


@dataclass(frozen=True)
class MetricLimit:
    """Validation of the `metric` parameter."""

    @property
    def expected(self) -> str:
        return "'auto', the name of a scorer (sklearn.metrics.get_scorer_names()), a callable"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            return value == "auto" or is_scorer_name(value)
        return callable(value) and not isinstance(value, type)

    def advice(self, value: object) -> str:
        return instead_of([value])


@dataclass(frozen=True, eq=False)
class Metric:
    """A score of predictions to maximise.

    Attributes
    ----------
    name : str
        Name of the scorer.
    scorer : callable or None
        ``scorer(estimator, X, y)``; None: computed from the loss.
    loss : str or None
        Loss of a row whose mean has the same order of models, if there is one.
    classes : array or None
        Class labels; None for regression.
    exponent : int
        Targets and predictions are in units of 2**exponent.
    is_named : bool
        Whether `name` is that of a scorer of scikit-learn, not of a function of the user.
    """

    name: str
    scorer: Any
    loss: str | None
    classes: NDArray[Any] | None
    exponent: int = 0
    is_named: bool = True

    @classmethod
    def of(cls, metric: Any, classes: NDArray[Any] | None, exponent: int = 0) -> "Metric":
        """The metric that a parameter names."""
        if isinstance(metric, str) and metric == "auto":
            metric = "neg_root_mean_squared_error" if classes is None else "neg_log_loss"
        if not isinstance(metric, str):
            name = getattr(metric, "__name__", type(metric).__name__)
            return cls(name, metric, None, classes, exponent, is_named=False)
        if metric in ("neg_log_loss", "neg_root_mean_squared_error"):
            fits = (metric == "neg_log_loss") == (classes is not None)
            if fits:
                return cls(metric, None, _LOSS_OF[metric], classes, exponent)
        from sklearn.metrics import get_scorer

        fits = (_LOSS_OF.get(metric) == "log_loss") == (classes is not None)
        loss = _LOSS_OF.get(metric) if fits else None
        return cls(metric, get_scorer(metric), loss, classes, exponent)

    def check(self, X: Any, y: NDArray[Any], weight: Floats | None) -> None:
        """Raise ValueError if constant predictions of this target have no score.

        So a metric of another task is named before any model is trained.
        """
        if self.scorer is None:
            return
        n_classes = 0 if self.classes is None else len(self.classes)
        targets = np.eye(n_classes)[y] if n_classes else y[:, np.newaxis]
        mean = np.atleast_1d(exact_means(targets.T, weight))
        try:
            self._scorer_value(X, y, np.tile(mean, (len(y), 1)), weight)
        except Exception as error:
            # Functions of the user may be undefined for constants, such as a correlation.
            if not isinstance(error, TypeError) and not is_scorer_name(self.name):
                return
            raise ValueError(
                f"metric={self.name!r} cannot score predictions of this target; choose another, or "
                f"change the target or the weights. It raised {type(error).__name__}: {error}"
            ) from error

    def score(self, X: Any, y: NDArray[Any], predicted: Floats, weight: Floats | None) -> float:
        """The score of predictions of shape (rows, columns); larger is better."""
        if self.scorer is None:
            mean = float(exact_means(row_losses(self.loss, y, predicted), weight))
            return -mean if self.loss == "log_loss" else -float(np.ldexp(mean**0.5, self.exponent))
        if self.is_named and self.name == "roc_auc" and predicted.shape[1] == 2:
            return area_under_curve(y == 1, predicted[:, 1], weight)
        value = self._scorer_value(X, y, predicted, weight)
        return number_returned(value, f"metric={self.name!r}")

    def _scorer_value(
        self, X: Any, y: NDArray[Any], predicted: Floats, weight: Floats | None
    ) -> Any:
        if self.classes is None:
            labels, predicted = np.ldexp(y, self.exponent), np.ldexp(predicted, self.exponent)
        else:
            labels = self.classes[y.astype(np.intp)]
        given = {} if weight is None else {"sample_weight": weight}
        stand_in = _stand_in(predicted, self.classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes that are never predicted, and so on
            return self.scorer(stand_in, X, labels, **given)


def row_losses(loss: str | None, y: NDArray[Any], predicted: Floats) -> Floats:
    """Log loss or squared error of each row."""
    if loss == "log_loss":
        true_class = predicted[np.arange(len(y)), y.astype(np.intp)]
        return -np.asarray(_native.log(np.maximum(true_class, _MIN_PROBABILITY)))
    with np.errstate(over="ignore"):
        return np.asarray((predicted[:, 0] - y) ** 2)


def area_under_curve(is_positive: NDArray[np.bool_], score: Floats, weight: Floats | None) -> float:
    """Area under the ROC curve; NaN if there are rows of one class only.

    Ten times as fast as scikit-learn's, which matters as the selection scores thousands of means.
    """
    order = np.argsort(score, kind="stable")
    weights = np.ones(len(order)) if weight is None else weight[order]
    begins = np.flatnonzero(np.diff(score[order], prepend=-np.inf) > 0)  # of equal scores
    positive = np.add.reduceat(weights * is_positive[order], begins)
    negative = np.add.reduceat(weights * ~is_positive[order], begins)
    pairs = positive.sum() * negative.sum()
    ordered = positive @ (np.cumsum(negative) - negative / 2)
    return float(ordered / pairs) if pairs > 0 else math.nan


class _Predictions(BaseEstimator):
    """An estimator that predicts what is already known."""

    def __init__(self, predicted: Any = None) -> None:
        self.predicted = predicted

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _ClassPredictions(ClassifierMixin, _Predictions):
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(self.predicted)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predicted.argmax(axis=1)])


class _NumberPredictions(RegressorMixin, _Predictions):
    def predict(self, X: Any) -> Floats:
        return np.asarray(self.predicted[:, 0])


def _stand_in(predicted: Floats, classes: NDArray[Any] | None) -> Any:
    if classes is None:
        return _NumberPredictions(predicted)
    stand_in = _ClassPredictions(predicted)
    stand_in.classes_ = classes
    return stand_in
