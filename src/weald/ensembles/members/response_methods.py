"""Prediction methods of base estimators, with validated and reordered results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of
from weald.returned import numbers_returned, probabilities_returned, refuse_not_finite

Floats = NDArray[np.float64]

# Methods that "auto" chooses from, the preferred one first.
METHODS = ("predict_proba", "decision_function", "predict")


def method_of(name: str, estimator: Any, wanted: str) -> str:
    """Name of the prediction method: `wanted`, or for "auto" the first that is available."""
    candidates = METHODS if wanted == "auto" else (wanted,)
    for method in candidates:
        if hasattr(estimator, method):
            return method
    raise ValueError(
        f"Underlying estimator {name!r} ({type(estimator).__name__}) does not implement the method "
        f"{' or '.join(candidates)}."
    )


@dataclass(frozen=True)
class ResponseMethod:
    """A prediction method of base estimators, which validates its results.

    Called with a fitted estimator and a table, it returns floats of shape (rows, columns): one
    column per class, in the order of `classes`, or a single column for regression, for labels (as
    class indices) and for the decision function of two classes.

    Attributes
    ----------
    method : str
        "predict_proba", "decision_function" or "predict".
    classes : array or None
        Class labels as used by the base estimators; None for regression.
    width : int or None
        Required number of columns; None: any.
    params : mapping
        Further arguments of the method.
    """

    method: str
    classes: NDArray[Any] | None = None
    width: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any) -> Floats:
        predicted = getattr(estimator, self.method)(X, **self.params)
        return self.checked(predicted, estimator, n_rows_of(X))

    def checked(self, predicted: Any, estimator: Any, n_rows: int) -> Floats:
        """Validate predictions and return them as floats of shape (rows, columns)."""
        if self.method != "predict" or np.ma.isMaskedArray(predicted):
            predicted = numbers_returned(predicted, self.method)  # labels need not be numbers
        predicted = np.asarray(predicted)
        _check_rows(predicted, n_rows, self.method)
        # Regressors in a stack of classifiers have no classes.
        if self.classes is not None and hasattr(estimator, "classes_"):
            predicted = self.in_order(predicted, np.asarray(estimator.classes_))
        predictions = numbers_returned(predicted, self.method)
        predictions = predictions[:, np.newaxis] if predictions.ndim == 1 else predictions
        self._check_width(predictions.shape[1])
        refuse_not_finite(predictions, self.method)
        if self.method == "predict_proba":
            predictions = probabilities_returned(predictions, self.method)
        return predictions

    @property
    def n_labels(self) -> tuple[int, ...]:
        """Number of classes of each column of predicted labels; empty for other predictions."""
        is_label = self.method == "predict" and self.classes is not None
        return (len(self.classes),) if is_label else ()  # type: ignore[arg-type]

    def table(self, predictions: Floats) -> Floats:
        """The columns for the next layer: of two class probabilities only that of the second."""
        is_double = self.method == "predict_proba" and predictions.shape[1] == 2
        return predictions[:, 1:] if is_double else predictions

    def _check_width(self, width: int) -> None:
        of_classes = self.method == "predict_proba" and self.classes is not None
        expected = len(self.classes) if of_classes else self.width  # type: ignore[arg-type]
        if expected is not None and width != expected:
            what = f"for {expected} classes" if of_classes else f"instead of {expected}"
            raise ValueError(f"{self.method} returned {width} columns {what}.")

    def in_order(self, predicted: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
        """Reorder the columns of an estimator's classes, `known`, to the order of `classes`."""
        assert self.classes is not None
        if self.method == "predict":
            return _class_indices(predicted, self.classes)
        position = _class_indices(known, self.classes)
        if self.method == "predict_proba" and predicted.ndim == 1:
            raise ValueError(f"predict_proba returned 1 column for {len(known)} classes.")
        if predicted.ndim == 1 and len(self.classes) > 2:
            # The estimator was fitted on two of the classes only.
            predicted = np.stack([-predicted, predicted], axis=1)
        is_decision = self.method == "decision_function"
        if is_decision and (predicted.ndim == 1 or (predicted.shape[1] == 1 and len(known) == 2)):
            # Positive values are for the second class, also if only one class was seen.
            return predicted if len(known) == 2 or position[0] == 1 else -predicted
        if predicted.shape[1] != len(known):
            raise ValueError(
                f"{self.method} returned {predicted.shape[1]} columns for {len(known)} classes."
            )
        if len(known) == len(self.classes):
            return predicted
        # Classes without training rows get probability 0, or the lowest score of the row.
        missing = 0.0 if self.method == "predict_proba" else predicted.min(axis=1, keepdims=True)
        full = np.empty((len(predicted), len(self.classes)))
        full[:] = missing
        full[:, position] = predicted
        return full


def _class_indices(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Index of each label in the sorted classes."""
    try:
        position = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unknown = np.flatnonzero(classes[position] != labels)
    except TypeError:  # not comparable
        position, unknown = np.zeros(0, dtype=np.intp), np.arange(len(labels))
    if unknown.size:
        raise ValueError(
            f"Class {labels[unknown[0]]!r} is none of the classes of y: "
            f"{', '.join(map(str, classes[:10]))}. Was the estimator fitted on other labels?"
        )
    return position


def _check_rows(predicted: NDArray[Any], n_rows: int, method: str) -> None:
    if predicted.ndim not in (1, 2) or len(predicted) != n_rows:
        raise ValueError(
            f"{method} returned an array of shape {predicted.shape} for {n_rows} rows; expected "
            f"({n_rows},) or ({n_rows}, columns)."
        )
