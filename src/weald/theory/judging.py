"""A target and a loss: what a model is asked, and how its answers are judged row by row."""

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

# A loss of two arguments over all pairs of n rows: at most so many at a time.
_PAIRS_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges answers for the rows of one target; `answers` always stand for the rows asked about.

    `classes` and `codes` (the class numbers of the rows) are there for "log_loss" only.
    """

    target: NDArray[Any]
    loss: Loss
    classes: NDArray[Any] | None = None
    codes: NDArray[np.intp] | None = None

    @property
    def loss_name(self) -> str:
        return self.loss if isinstance(self.loss, str) else getattr(self.loss, "__name__", "loss")

    def ask(self, model: Any, X: Any) -> NDArray[Any]:
        """Answers of a fitted model: labels, numbers, or probabilities by `classes`."""
        if self.classes is None:
            answers = model.predict(X)
            if self.loss != "zero_one" and not callable(self.loss):
                answers = numbers_returned(answers, f"predict of {type(model).__name__}")
            answers = np.asarray(answers)
        else:
            name = f"predict_proba of {type(model).__name__}"
            shares = probabilities_returned(numbers_returned(model.predict_proba(X), name), name)
            answers = aligned(shares, model.classes_, self.classes)
        return self.checked(answers, of=f"The answers of {type(model).__name__}")

    def checked(self, answers: NDArray[Any], *, of: str) -> NDArray[Any]:
        """Refuse answers of another shape, and numbers that are not finite."""
        width = () if self.classes is None else (len(self.classes),)
        if answers.ndim == 2 and answers.shape[1] == 1 and not width:
            answers = answers[:, 0]
        if answers.shape[1:] != width:
            expected = ", ".join(["rows", *map(str, width)])
            raise ValueError(
                f"{of} must have the shape ({expected}) for the loss {self.loss_name!r}; they have "
                f"{answers.shape}."
            )
        if answers.dtype.kind == "f" and not np.isfinite(answers).all():
            bad = int(np.argwhere(~np.isfinite(answers))[0][0])
            raise ValueError(
                f"{of} must be finite: number {bad} of the rows asked about got {answers[bad]}."
            )
        return answers

    def losses(self, answers: NDArray[Any], rows: Any = slice(None)) -> Floats:
        """One loss for each of the rows asked about."""
        if self.codes is not None:
            return _log_losses(self.codes[rows], answers)
        return self._two_sided(self.target[rows], answers)

    def over_all_pairs(self, answers: NDArray[Any]) -> float:
        """Mean loss over all pairs (y_i, answer_j): the error if y did not depend on x."""
        if self.codes is not None:
            shares = np.bincount(self.codes, minlength=answers.shape[1]) / len(self.codes)
            return float(shares @ -np.log(_clipped(answers)).mean(axis=0))
        if self.loss == "zero_one":
            return 1.0 - _share_of_equal_pairs(self.target, answers)
        if self.loss == "squared_error":
            gap = self.target.mean() - answers.mean()
            return float(self.target.var() + answers.var() + gap**2)
        n, total = len(answers), 0.0
        step = max(1, _PAIRS_AT_ONCE // n)
        for begin in range(0, len(self.target), step):
            part = self.target[begin : begin + step]
            pairs = self._two_sided(np.repeat(part, n), np.tile(answers, len(part)))
            total += float(pairs.sum())
        return total / (n * len(self.target))

    def _two_sided(self, target: NDArray[Any], answers: NDArray[Any]) -> Floats:
        if self.loss == "zero_one":
            return np.asarray(target != answers, dtype=np.float64)
        if self.loss == "squared_error":
            return np.asarray((target - answers) ** 2, dtype=np.float64)
        if self.loss == "absolute_error":
            return np.asarray(np.abs(target - answers), dtype=np.float64)
        assert callable(self.loss)
        losses = numbers_returned(self.loss(target, answers), f"The loss {self.loss_name!r}")
        if losses.shape != target.shape or not np.isfinite(losses).all():
            raise ValueError(
                f"The loss {self.loss_name!r} must give one finite number a row: for "
                f"{len(target)} rows it gave the shape {losses.shape}"
                + (" with NaN or infinities." if losses.shape == target.shape else ".")
            )
        return losses


def judge_for(function: str, y: NDArray[Any], loss: Any, estimator: Any = None) -> Judge:
    """Check a target for a loss; None takes the usual loss for the kind of estimator."""
    if loss is None:
        loss = "zero_one" if estimator is not None and is_classifier(estimator) else "squared_error"
    if callable(loss):
        return Judge(y, loss)
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(
            f"The 'loss' parameter of {function} must be one of {listing(LOSSES)}, a function of "
            f"(y, answers) that gives one number a row, or None. Got {loss!r} instead."
        )
    if loss in ("squared_error", "absolute_error"):
        return Judge(finite_target(y), loss)
    check_classification_targets(y)
    if loss == "zero_one":
        return Judge(y, loss)
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"The loss 'log_loss' needs probabilities, and {type(estimator).__name__} has no "
            "'predict_proba'. Take loss='zero_one'."
        )
    classes, codes = np.unique(y, return_inverse=True)
    return Judge(y, loss, classes, codes)


def aligned(probabilities: Any, theirs: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities in the columns of all classes; a class that a model never saw gets 0."""
    given = np.asarray(probabilities, dtype=np.float64)
    labels = np.asarray(theirs)
    columns = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not np.array_equal(classes[columns], labels):
        raise ValueError(
            f"A model answers for classes that y does not hold: it knows {listing(labels)}, y has "
            f"{listing(classes)}."
        )
    full = np.zeros((len(given), len(classes)))
    full[:, columns] = given
    return full


def _log_losses(codes: NDArray[np.intp], probabilities: NDArray[Any]) -> Floats:
    chosen: Floats = _clipped(probabilities)[np.arange(len(codes)), codes]
    return np.asarray(-np.log(chosen))


def _clipped(probabilities: NDArray[Any]) -> Floats:
    """A probability of 0 would cost infinitely much; scikit-learn cuts at the same place."""
    return np.asarray(np.clip(probabilities, np.finfo(np.float64).eps, 1.0), dtype=np.float64)


def _share_of_equal_pairs(target: NDArray[Any], answers: NDArray[Any]) -> float:
    labels, n_target = np.unique(target, return_counts=True)
    others, n_answers = np.unique(answers, return_counts=True)
    _, here, there = np.intersect1d(labels, others, assume_unique=True, return_indices=True)
    shares = n_target[here] / len(target) * (n_answers[there] / len(answers))
    return float(shares.sum())
