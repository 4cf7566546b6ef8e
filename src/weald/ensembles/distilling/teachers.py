"""The teacher of a distillation: any fitted model, with validated predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from weald.data import plan_of
from weald.ensembles.labels import class_numbers
from weald.ensembles.members.members import n_rows_of
from weald.ensembles.members.response_methods import ResponseMethod

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Teacher:
    """A fitted model and its sorted classes; None for a regressor."""

    model: Any
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, model: Any, X: Any) -> "Teacher":
        """Validate the model and get its classes, from its predictions of X if necessary."""
        name = type(model).__name__
        if isinstance(model, type) or not callable(getattr(model, "predict", None)):
            raise TypeError(
                f"distill requires a fitted model with a predict method. Got {model!r}."
            )
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
        if not (hasattr(model, "predict_proba") or hasattr(model, "classes_")):
            try:
                if not is_classifier(model):
                    return cls(model, None)
            except AttributeError:  # an object without scikit-learn's tags
                return cls(model, None)
        classes = getattr(model, "classes_", None)
        if classes is None:
            classes = np.unique(np.asarray(model.predict(X)))
        if isinstance(classes, list) or np.asarray(classes).ndim != 1:
            raise ValueError(f"distill requires a model with one output; {name} has several.")
        return cls(model, np.unique(np.asarray(classes)))

    @property
    def has_probabilities(self) -> bool:
        """Whether the model predicts class probabilities, not only labels."""
        return self.classes is not None and hasattr(self.model, "predict_proba")

    def predict(self, X: Any) -> Floats:
        """Class probabilities of shape (rows, classes), or numbers of shape (rows, 1)."""
        if self.classes is None:
            predicted = ResponseMethod("predict")(self.model, X)
            if predicted.shape[1] != 1:
                raise ValueError(
                    f"distill requires a model with one output; {type(self.model).__name__} has "
                    f"{predicted.shape[1]}."
                )
            return predicted
        if not self.has_probabilities:
            labels = np.asarray(self.model.predict(X))
            if labels.shape != (n_rows_of(X),):
                raise ValueError(
                    f"predict returned labels of shape {labels.shape} for {n_rows_of(X)} rows; "
                    "expected one label per row."
                )
            return self.one_hot(labels, "predict returned")
        predicted = ResponseMethod("predict_proba", self.classes)(self.model, X)
        if predicted.shape[1] != len(self.classes):
            raise ValueError(
                f"predict_proba returned {predicted.shape[1]} columns for {len(self.classes)} "
                "classes."
            )
        return predicted

    def one_hot(self, labels: NDArray[Any], source: str) -> Floats:
        """Labels as probabilities of 0 and 1; `source` is the subject of the error message."""
        assert self.classes is not None
        index = class_numbers(labels, self.classes)
        unknown = np.flatnonzero(index < 0)
        if unknown.size:
            raise ValueError(
                f"{source} the label {labels.tolist()[unknown[0]]!r} in row {unknown[0]}, which is "
                f"no class of {type(self.model).__name__}: {self.classes[:10].tolist()}."
            )
        return np.asarray(np.eye(len(self.classes))[index])

    @property
    def level_columns(self) -> NDArray[np.bool_] | None:
        """Which columns the model treats as categorical; None if unknown."""
        if not hasattr(self.model, "_columns"):
            return None
        columns = plan_of(self.model).columns
        return np.array([column.levels is not None for column in columns], dtype=bool)
