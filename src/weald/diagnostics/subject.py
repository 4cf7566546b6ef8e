"""The fitted model that is looked at: any estimator, with checked predictions of one output."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, is_classifier
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from weald.data.parts.parts import Parts
from weald.ensembles.boosted_trees.boosted_ranker import BoostedTreesRanker
from weald.ensembles.labels import class_numbers
from weald.ensembles.members.response_methods import ResponseMethod
from weald.theory.arguments import finite_target

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and its classes; None for a regressor.

    Predictions have the shape (rows, classes), or (rows, 1) for numbers.
    """

    model: Any
    classes: NDArray[Any] | None
    asked_by: str

    @classmethod
    def of(cls, model: Any, asked_by: str) -> "Subject":
        """Check that the model is fitted and has one output."""
        if isinstance(model, type) or not callable(getattr(model, "predict", None)):
            raise TypeError(
                f"{asked_by} takes a fitted model with a predict method, such as "
                f"RandomForestClassifier().fit(X, y); got {model!r}."
            )
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
        if isinstance(model, OutlierMixin):
            raise TypeError(
                f"{asked_by} compares predictions with a target; {type(model).__name__} finds "
                "anomalies without one. weald.explain.shap says what made rows anomalous."
            )
        classes = getattr(model, "classes_", None)
        if classes is None and _is_classifier(model):
            raise TypeError(
                f"{asked_by} needs the classes of a classifier; {type(model).__name__} has no "
                "attribute classes_."
            )
        if isinstance(classes, list) or (classes is not None and np.ndim(classes) != 1):
            raise ValueError(
                f"{asked_by} takes models with one output; {type(model).__name__} has several. "
                "Fit one model for each."
            )
        return cls(model, None if classes is None else np.asarray(classes), asked_by)

    @classmethod
    def judged(cls, model: Any, X: Any, asked_by: str) -> "Subject":
        """The same for functions that compare each prediction with a target, in memory."""
        if (other := _other_task_of(model)) is not None:
            raise TypeError(
                f"{asked_by} compares the prediction of each row with its target; "
                f"{type(model).__name__} {other} weald.explain explains its scores."
            )
        if isinstance(X, Parts):
            raise TypeError(
                f"{asked_by} takes a table in memory; X is a table in parts, from weald.parts. "
                "Pass some of the rows, such as one of the files, read by weald.read."
            )
        return cls.of(model, asked_by)

    @property
    def name(self) -> str:
        return type(self.model).__name__

    @property
    def has_probabilities(self) -> bool:
        return self.classes is not None and hasattr(self.model, "predict_proba")

    def predict(self, X: Any) -> Floats:
        """Class probabilities (of 0 and 1 without `predict_proba`), or numbers."""
        return predictions_of(self.model, X, self.classes, self.asked_by)

    def target(self, X: Any, y: Any, name: str = "y") -> NDArray[Any]:
        """The target of the rows of X: class indices, or finite numbers."""
        if y is None:
            raise ValueError(f"{self.asked_by} needs {name}: one target for each row.")
        given = np.asarray(y)
        if given.ndim == 2 and given.shape[1] > 1:
            raise ValueError(
                f"{self.asked_by} takes one output; {name} has the shape {given.shape}. Pass one "
                "column, and a model fitted on it."
            )
        target: NDArray[Any] = column_or_1d(y)
        check_consistent_length(X, target)
        if len(target) == 0:
            raise ValueError(f"{name} holds no rows.")
        if self.classes is None:
            return finite_target(target, of=name)
        codes = class_numbers(target, self.classes)
        unknown = np.flatnonzero(codes < 0)
        if unknown.size:
            row = int(unknown[0])
            raise ValueError(
                f"{name} holds the label {target.tolist()[row]!r} in row {row}, which is none "
                f"of the {len(self.classes)} classes of {self.name}. Pass the rows and labels of "
                "the fit, or others with the same classes."
            )
        return codes


def predictions_of(model: Any, X: Any, classes: NDArray[Any] | None, asked_by: str) -> Floats:
    """Predictions of a fitted model as floats of shape (rows, classes) or (rows, 1)."""
    if classes is not None and hasattr(model, "predict_proba"):
        return ResponseMethod("predict_proba", classes)(model, X)
    if classes is not None:
        index = ResponseMethod("predict", classes)(model, X)[:, 0]
        return np.eye(len(classes))[index.astype(np.intp)]
    predicted = ResponseMethod("predict")(model, X)
    if predicted.shape[1] != 1:
        raise ValueError(
            f"{asked_by} takes models with one output; {type(model).__name__} predicts "
            f"{predicted.shape[1]} numbers for each row."
        )
    return predicted


def one_hot(codes: NDArray[Any], n_classes: int) -> Floats:
    """Class indices as probabilities of 0 and 1."""
    return np.asarray(np.eye(n_classes)[codes])


def _is_classifier(model: Any) -> bool:
    try:
        return bool(is_classifier(model))
    except AttributeError:  # an object without scikit-learn's tags
        return False


def _other_task_of(model: Any) -> str | None:
    """What a model does whose predictions are no estimates of a target, and how to judge it."""
    if hasattr(model, "predict_survival_function"):
        return (
            "predicts censored times. Take its score(X, y), weald.survival.integrated_brier_score "
            "and weald.plot.survival_curves;"
        )
    if isinstance(model, BoostedTreesRanker):
        return "ranks the rows of queries. Take its score(X, y, qid=...) and weald.ranking;"
    return None
