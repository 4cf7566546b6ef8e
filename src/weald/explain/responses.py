"""Predictions of any fitted model as one array."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.explain.additive import PREDICTION, PROBABILITY, RAW
from weald.returned import numbers_returned

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Response:
    """The predictions of a model that are explained.

    Attributes
    ----------
    predict : callable
        From a table to an array of shape (rows, outputs).
    scale : str
        What is predicted.
    outputs : tuple of str
        Names of the outputs.
    """

    predict: Callable[[Any], Floats]
    scale: str
    outputs: tuple[str, ...]


def response_of(model: Any, X: Any, *, raw: bool = False) -> Response:
    """Probabilities, else scores, else labels of a classifier; numbers of a regressor.

    Parameters
    ----------
    model : estimator
        The fitted model.
    X : table
        Some rows, from which the number of outputs is known.
    raw : bool, default=False
        Whether to take the scores of a classifier instead of its probabilities.
    """
    classes = getattr(model, "classes_", None)
    if raw and not hasattr(model, "decision_function"):
        raise ValueError(
            f"{type(model).__name__} has no raw scores (decision_function). Use "
            "output='prediction'."
        )
    if hasattr(model, "predict_proba") and not raw:
        predict, scale = _joined(model.predict_proba), PROBABILITY
    elif classes is not None and hasattr(model, "decision_function"):
        predict, scale = _joined(model.decision_function), f"{RAW} (decision_function)"
    elif classes is not None:
        predict, scale = _one_hot(model, np.asarray(classes)), "predicted class (0 or 1)"
    else:
        predict, scale = _joined(model.predict), PREDICTION
    n_outputs = predict(X).shape[1]
    return Response(predict, scale, _names(classes, n_outputs))


def _joined(method: Callable[[Any], Any]) -> Callable[[Any], Floats]:
    def predict(X: Any) -> Floats:
        predicted = method(X)
        if isinstance(predicted, list):  # one array per output
            predicted = np.hstack([np.asarray(part) for part in predicted])
        numbers = numbers_returned(predicted, getattr(method, "__name__", "predict"))
        return numbers.reshape(len(numbers), -1)

    return predict


def _one_hot(model: Any, classes: NDArray[Any]) -> Callable[[Any], Floats]:
    def predict(X: Any) -> Floats:
        labels = np.asarray(model.predict(X))[:, np.newaxis]
        return np.asarray(labels == classes, dtype=np.float64)

    return predict


def _names(classes: Any, n_outputs: int) -> tuple[str, ...]:
    if isinstance(classes, list):
        names = [f"output {j}: {label}" for j, own in enumerate(classes) for label in own]
    elif classes is None:
        names = [""] if n_outputs == 1 else [f"output {j}" for j in range(n_outputs)]
    else:
        names = [str(label) for label in np.asarray(classes)]
    if len(names) == n_outputs:
        return tuple(names)
    return tuple(names[-1:]) if n_outputs == 1 else tuple(str(k) for k in range(n_outputs))
