"""Losses of single rows, by name or by any function."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import listing
from weald.returned import numbers_returned

Floats = NDArray[np.float64]
RowLoss = str | Callable[[NDArray[Any], NDArray[Any]], Any]

CLASS_LOSSES = ("zero_one", "log_loss", "brier")
NUMBER_LOSSES = ("squared_error", "absolute_error")


def names_of(classes: NDArray[Any] | None) -> tuple[str, ...]:
    """Names of the available losses; the first is the default."""
    return NUMBER_LOSSES if classes is None else CLASS_LOSSES


def loss_degree(loss: RowLoss | None) -> int:
    """Degree of a regression loss in the unit of the target; None means the default loss."""
    if callable(loss):
        return 0
    return {"squared_error": 2, "absolute_error": 1}.get(loss or NUMBER_LOSSES[0], 0)


def row_losses(
    loss: RowLoss | None,
    target: NDArray[Any],
    predictions: Floats,
    classes: NDArray[Any] | None,
    *,
    probabilities: bool = False,
) -> Floats:
    """One loss per row.

    Parameters
    ----------
    target
        Numbers, or class indices.
    predictions
        Predictions of shape (rows, 1), or class probabilities of shape (rows, classes).
    probabilities
        Whether a callable loss receives class probabilities instead of labels.
    """
    if callable(loss):
        return _by_function(loss, target, predictions, classes, probabilities)
    name = names_of(classes)[0] if loss is None else loss
    if not isinstance(name, str) or name not in names_of(classes):
        raise ValueError(
            f"The loss must be one of {listing(names_of(classes))}, a function of (y, predictions) "
            f"that returns one number per row, or None. Got {loss!r} instead."
        )
    if classes is None:
        gap: Floats = target - predictions[:, 0]
        losses: Floats = np.square(gap) if name == "squared_error" else np.abs(gap)
        return losses
    own = target.astype(np.intp)
    if name == "zero_one":
        return np.asarray(np.argmax(predictions, axis=1) != own, dtype=np.float64)
    if name == "log_loss":
        true_class = predictions[np.arange(len(own)), own]
        # Clipped as in scikit-learn: the loss of a probability of 0 would be infinite.
        return np.asarray(-np.log(np.clip(true_class, np.finfo(np.float64).eps, 1.0)))
    gaps = predictions.copy()
    gaps[np.arange(len(own)), own] -= 1.0
    return np.asarray((gaps * gaps).sum(axis=1))


def _by_function(
    loss: Callable[[NDArray[Any], NDArray[Any]], Any],
    target: NDArray[Any],
    predictions: Floats,
    classes: NDArray[Any] | None,
    probabilities: bool,
) -> Floats:
    predicted: NDArray[Any] = predictions
    if classes is None:
        predicted = predictions[:, 0]
    else:
        target = classes[target.astype(np.intp)]
        if not probabilities:
            predicted = classes[np.argmax(predictions, axis=1)]
    name = getattr(loss, "__name__", loss)
    losses = numbers_returned(loss(target, predicted), f"The loss {name!r}")
    if losses.shape != target.shape or not np.isfinite(losses).all():
        raise ValueError(
            f"The loss {name!r} must return one finite number per row: for {len(target)} rows it "
            f"returned an array of shape {losses.shape}"
            + (" with NaN or infinities." if losses.shape == target.shape else ".")
        )
    return losses
