"""Per-row losses of a model's predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from weald.errors import listing
from weald.returned import numbers_returned, probabilities_returned
from weald.theory.arguments import Floats, finite_target

Loss = str | Callable[[NDArray[Any], NDArray[Any]], Any]
LOSSES = ("zero_one", "log_loss", "squared_error", "absolute_error")

# Maximum number of (target, prediction) pairs passed to a loss at once.
_PAIRS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Scorer:
    """Computes predictions of models and their per-row losses for one target.

    `classes` and `codes` (the encoded target) are set for "log_loss" only.
    """

    target: NDArray[Any]
    loss: Loss
    classes: NDArray[Any] | None = None
    codes: NDArray[np.intp] | None = None

    @property
    def loss_name(self) -> str:
        return self.loss if isinstance(self.loss, str) else getattr(self.loss, "__name__", "loss")

    def predict(self, model: Any, X: Any) -> NDArray[Any]:
        """Return labels, numbers or, for "log_loss", probabilities of `classes`."""
        if self.classes is None:
            predictions = model.predict(X)
            if self.loss != "zero_one" and not callable(self.loss):
                predictions = numbers_returned(predictions, f"predict of {type(model).__name__}")
            predictions = np.asarray(predictions)
        else:
            name = f"predict_proba of {type(model).__name__}"
            shares = probabilities_returned(numbers_returned(model.predict_proba(X), name), name)
            predictions = aligned(shares, model.classes_, self.classes)
        return self.checked(predictions, of=f"The predictions of {type(model).__name__}")

    def checked(self, predictions: NDArray[Any], *, of: str) -> NDArray[Any]:
        """Raise ValueError for predictions of the wrong shape or that are not finite."""
        width = () if self.classes is None else (len(self.classes),)
        if predictions.ndim == 2 and predictions.shape[1] == 1 and not width:
            predictions = predictions[:, 0]
        if predictions.shape[1:] != width:
            expected = ", ".join(["rows", *map(str, width)])
            raise ValueError(
                f"{of} must have the shape ({expected}) for the loss {self.loss_name!r}; they have "
                f"{predictions.shape}."
            )
        if predictions.dtype.kind == "f" and not np.isfinite(predictions).all():
            bad = int(np.argwhere(~np.isfinite(predictions))[0][0])
            raise ValueError(
                f"{of} must be finite: row {bad} of the rows to predict has {predictions[bad]}."
            )
        return predictions

    def losses(self, predictions: NDArray[Any], rows: Any = slice(None)) -> Floats:
        """Return the loss of each prediction; `rows` are the target rows they belong to."""
        if self.codes is not None:
            return _log_losses(self.codes[rows], predictions)
        return self._pairwise_losses(self.target[rows], predictions)

    def mean_over_pairs(self, predictions: NDArray[Any]) -> float:
        """Mean loss over all pairs (y_i, prediction_j): the error if y were independent of x."""
        if self.codes is not None:
            shares = np.bincount(self.codes, minlength=predictions.shape[1]) / len(self.codes)
            return float(shares @ -np.log(_clipped(predictions)).mean(axis=0))
        if self.loss == "zero_one":
            return 1.0 - _share_of_equal_pairs(self.target, predictions)
        if self.loss == "squared_error":
            gap = self.target.mean() - predictions.mean()
            return float(self.target.var() + predictions.var() + gap**2)
        n, total = len(predictions), 0.0
        step = max(1, _PAIRS_AT_ONCE // n)
        for begin in range(0, len(self.target), step):
            part = self.target[begin : begin + step]
            pairs = self._pairwise_losses(np.repeat(part, n), np.tile(predictions, len(part)))
            total += float(pairs.sum())
        return total / (n * len(self.target))

    def _pairwise_losses(self, target: NDArray[Any], predictions: NDArray[Any]) -> Floats:
        if self.loss == "zero_one":
            return np.asarray(target != predictions, dtype=np.float64)
        if self.loss == "squared_error":
            return np.asarray((target - predictions) ** 2, dtype=np.float64)
        if self.loss == "absolute_error":
            return np.asarray(np.abs(target - predictions), dtype=np.float64)
        assert callable(self.loss)
        losses = numbers_returned(self.loss(target, predictions), f"The loss {self.loss_name!r}")
        if losses.shape != target.shape or not np.isfinite(losses).all():
            raise ValueError(
                f"The loss {self.loss_name!r} must return one finite number per row: for "
                f"{len(target)} rows it returned the shape {losses.shape}"
                + (" with NaN or infinities." if losses.shape == target.shape else ".")
            )
        return losses


def scorer_for(function: str, y: NDArray[Any], loss: Any, estimator: Any = None) -> Scorer:
    """Make a scorer, checking target and loss; None selects the default loss of the estimator."""
    if loss is None:
        loss = "zero_one" if estimator is not None and is_classifier(estimator) else "squared_error"
    if callable(loss):
        return Scorer(y, loss)
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(
            f"The 'loss' parameter of {function} must be one of {listing(LOSSES)}, a function of "
            f"(y, predictions) that returns one number per row, or None. Got {loss!r} instead."
        )
    if loss in ("squared_error", "absolute_error"):
        return Scorer(finite_target(y), loss)
    check_classification_targets(y)
    if loss == "zero_one":
        return Scorer(y, loss)
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"The loss 'log_loss' needs probabilities, and {type(estimator).__name__} has no "
            "'predict_proba'. Use loss='zero_one'."
        )
    classes, codes = np.unique(y, return_inverse=True)
    return Scorer(y, loss, classes, codes)


def aligned(probabilities: Any, model_classes: Any, classes: NDArray[Any]) -> Floats:
    """Reorder columns of probabilities to `classes`; classes unknown to the model get 0."""
    given = np.asarray(probabilities, dtype=np.float64)
    labels = np.asarray(model_classes)
    columns = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not np.array_equal(classes[columns], labels):
        raise ValueError(
            f"A model predicts classes that are not in y: it has the classes {listing(labels)}, y "
            f"has {listing(classes)}."
        )
    full = np.zeros((len(given), len(classes)))
    full[:, columns] = given
    return full


def _log_losses(codes: NDArray[np.intp], probabilities: NDArray[Any]) -> Floats:
    chosen: Floats = _clipped(probabilities)[np.arange(len(codes)), codes]
    return np.asarray(-np.log(chosen))


def _clipped(probabilities: NDArray[Any]) -> Floats:
    """Clip probabilities away from 0, as in sklearn.metrics.log_loss, to keep losses finite."""
    return np.asarray(np.clip(probabilities, np.finfo(np.float64).eps, 1.0), dtype=np.float64)


def _share_of_equal_pairs(target: NDArray[Any], predictions: NDArray[Any]) -> float:
    labels, n_target = np.unique(target, return_counts=True)
    predicted, n_predicted = np.unique(predictions, return_counts=True)
    _, in_target, in_predicted = np.intersect1d(
        labels, predicted, assume_unique=True, return_indices=True
    )
    shares = n_target[in_target] / len(target) * (n_predicted[in_predicted] / len(predictions))
    return float(shares.sum())
