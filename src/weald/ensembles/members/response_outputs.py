"""Prediction methods of base estimators that were fitted on several outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.response_methods import Floats, ResponseMethod


@dataclass(frozen=True)
class OutputsResponse(ResponseMethod):
    """A prediction method of classifiers of several outputs, which validates its results.

    Called with a fitted estimator and a table, it returns the columns of all outputs side by side:
    class indices, values of the decision function, or class probabilities, of which those of the
    first of two classes are left out.

    Attributes
    ----------
    outputs : sequence of arrays
        Class labels of each output, as used by the base estimators.
    """

    outputs: Sequence[NDArray[Any]] = ()

    def checked(self, predicted: Any, estimator: Any, n_rows: int) -> Floats:
        """Validate predictions and return them as floats of shape (rows, columns)."""
        parts = self.of_outputs(predicted, estimator, n_rows)
        if self.method == "predict_proba":
            parts = [part[:, 1:] if part.shape[1] == 2 else part for part in parts]
        return np.hstack(parts)

    def of_outputs(self, predicted: Any, estimator: Any, n_rows: int) -> list[Floats]:
        """Validate the predictions of each output, of shape (rows, columns)."""
        known = _known_classes(estimator, self.outputs)
        return [
            ResponseMethod(self.method, own).checked(part, _OfOneOutput(seen), n_rows)
            for part, own, seen in zip(self._split(predicted), self.outputs, known, strict=True)
        ]

    def _split(self, predicted: Any) -> list[Any]:
        """Predictions by output: estimators return a list, or an array with a column for each."""
        n_outputs = len(self.outputs)
        if isinstance(predicted, (list, tuple)) and len(predicted) == n_outputs:
            return list(predicted)
        array = np.asarray(predicted)
        if array.ndim != 2 or array.shape[1] != n_outputs:
            raise ValueError(
                f"{self.method} returned an array of shape {array.shape} for {n_outputs} outputs; "
                "expected one column per output, or a list with one array per output."
            )
        if self.method != "predict_proba":
            return list(array.T)
        if any(len(own) != 2 for own in self.outputs):
            raise ValueError(
                "predict_proba returned one column per output, but an output has "
                f"{max(map(len, self.outputs))} classes: expected a list of arrays."
            )
        return [np.stack([1.0 - column, column], axis=1) for column in array.T]

    @property
    def n_labels(self) -> tuple[int, ...]:
        """Number of classes of each column of predicted labels; empty for other predictions."""
        return tuple(map(len, self.outputs)) if self.method == "predict" else ()

    def table(self, predictions: Floats) -> Floats:
        """The columns for the next layer: all of them."""
        return predictions


def numbers_of(classes: Any) -> Any:
    """The indices of the classes, or a list with those of each output."""
    if isinstance(classes, list):
        return [np.arange(len(own)) for own in classes]
    return np.arange(len(classes))


def response_of(method: str, classes: Any | None) -> ResponseMethod:
    """A prediction method of classifiers of one output, or of several (a list of classes)."""
    if isinstance(classes, list):
        return OutputsResponse(method, outputs=tuple(classes))
    return ResponseMethod(method, classes)


@dataclass(frozen=True)
class _OfOneOutput:
    """Stands for an estimator of one output in checks."""

    classes_: NDArray[Any]


def _known_classes(estimator: Any, outputs: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """The classes that an estimator saw of each output; all, if it does not say."""
    own = getattr(estimator, "classes_", None)
    if isinstance(own, list) and len(own) == len(outputs) and all(np.ndim(one) == 1 for one in own):
        return [np.asarray(one) for one in own]
    return outputs
