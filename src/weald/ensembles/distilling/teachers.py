"""A fitted model of anybody's that others learn from: what it says, as numbers."""

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
    """A fitted model, and its classes if it has any (None: it answers numbers)."""

    model: Any
    classes: NDArray[Any] | None

    @classmethod
    def of(cls, model: Any, X: Any) -> "Teacher":
        """Check that the model can be asked, and learn its classes, from X if it does not say."""
        name = type(model).__name__
        if isinstance(model, type) or not callable(getattr(model, "predict", None)):
            raise TypeError(f"distill needs a fitted model with a method predict. Got {model!r}.")
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
            raise ValueError(
                f"{name} answers several targets at once; distill a model of one target."
            )
        return cls(model, np.unique(np.asarray(classes)))

    @property
    def says_shares(self) -> bool:
        """Whether it tells probabilities; otherwise its labels count as certain."""
        return self.classes is not None and hasattr(self.model, "predict_proba")

    def predictions(self, X: Any) -> Floats:
        """Probabilities of the shape (rows, classes), or numbers of the shape (rows, 1)."""
        if self.classes is None:
            predicted = ResponseMethod("predict")(self.model, X)
            if predicted.shape[1] != 1:
                raise ValueError(
                    f"{type(self.model).__name__} answers {predicted.shape[1]} numbers a row; distill a "
                    "model of one target."
                )
            return predicted
        if not self.says_shares:
            labels = np.asarray(self.model.predict(X))
            if labels.shape != (n_rows_of(X),):
                raise ValueError(
                    f"predict gave labels of the shape {labels.shape} for {n_rows_of(X)} rows; "
                    "expected one label a row."
                )
            return self.as_shares(labels, "predict gave")
        predicted = ResponseMethod("predict_proba", self.classes)(self.model, X)
        if predicted.shape[1] != len(self.classes):
            raise ValueError(
                f"predict_proba gave {predicted.shape[1]} columns for {len(self.classes)} classes."
            )
        return predicted

    def as_shares(self, labels: NDArray[Any], who: str) -> Floats:
        """Labels as probabilities of 0 and 1."""
        assert self.classes is not None
        number = class_numbers(labels, self.classes)
        unknown = np.flatnonzero(number < 0)
        if unknown.size:
            raise ValueError(
                f"{who} the label {labels.tolist()[unknown[0]]!r} in row {unknown[0]}, which is no "
                f"class of {type(self.model).__name__}: {self.classes[:10].tolist()}."
            )
        return np.asarray(np.eye(len(self.classes))[number])

    @property
    def level_columns(self) -> NDArray[np.bool_] | None:
        """Columns that the model takes as categories whatever their type; None: it does not say."""
        if not hasattr(self.model, "_columns"):
            return None
        columns = plan_of(self.model).columns
        return np.array([one.levels is not None for one in columns], dtype=bool)
