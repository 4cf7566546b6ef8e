"""Fits on a part of the rows, judged on the rest: bias, variance, rounds, number of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.diagnostics.findings import Estimate
from weald.diagnostics.subject import Subject, predictions_of
from weald.diagnostics.unseen import Sample, quiet, refitted
from weald.ensembles.out_of_bag.row_losses import row_losses
from weald.resampling.folds import hold_out_rows
from weald.theory.decomposed import Decomposition
from weald.theory.decomposition import bias_variance

Floats = NDArray[np.float64]

# Share of the rows that fits are judged on.
_HELD = 1 / 3


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and rows to judge by."""

    train: Sample
    held: Sample


@dataclass(frozen=True, eq=False)
class Rounds:
    """Loss of a booster after each round, on rows that it was not fitted on.

    Attributes
    ----------
    loss : str
        "log_loss" or "squared_error".
    values : float64 [rounds]
        Mean loss.
    best : int
        Number of rounds of the least loss, from 1.
    excess : Estimate
        Loss after all rounds minus that after the best, row by row.
    slope : Estimate
        Loss after four fifths of the rounds minus that after all of them, row by row.
    """

    loss: str
    values: Floats
    best: int
    excess: Estimate
    slope: Estimate


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Error by number of training rows, all judged on the same rows.

    Attributes
    ----------
    n_rows : int64 [points]
        Number of training rows.
    errors : list of Estimate
        Error of each.
    gain : Estimate
        Error with half of the rows minus that with all of them, row by row.
    """

    n_rows: NDArray[np.int64]
    errors: list[Estimate]
    gain: Estimate


def estimate_of(losses: Floats) -> Estimate:
    """Mean of row losses with its standard error."""
    n = len(losses)
    spread = float(np.std(losses, ddof=1)) / np.sqrt(n) if n > 1 else float("nan")
    return Estimate(float(np.mean(losses)), float(spread), n)


def split_of(sample: Sample, of_classes: bool, seed: int) -> Split:
    """Hold out a third of the rows, of the groups if there are any."""
    strata = sample.target.astype(np.int64) if of_classes else None
    held = hold_out_rows(
        sample.table, sample.target, sample.groups, strata, _HELD, weight=None, seed=seed
    )
    return Split(sample.take(np.flatnonzero(~held)), sample.take(np.flatnonzero(held)))


def losses_of(subject: Subject, model: Any, held: Sample, loss: str | None = None) -> Floats:
    """Row losses of a model on held-out rows; None means 0/1 loss or squared error."""
    predicted = predictions_of(model, held.table, subject.classes, subject.asked_by)
    return row_losses(loss, held.target, predicted, subject.classes)


def decomposition_of(
    subject: Subject, split: Split, n_repeats: int, seed: int, n_jobs: int | None
) -> Decomposition:
    """Bias and variance of clones fitted on bootstrap samples of the training rows."""
    with quiet():
        return bias_variance(
            clone(subject.model),
            split.train.table,
            split.train.labels,
            split.held.table,
            split.held.labels,
            n_repeats=n_repeats,
            loss="squared_error" if subject.classes is None else "zero_one",
            random_state=seed,
            n_jobs=n_jobs,
        )


def rounds_of(subject: Subject, fitted: Any, split: Split) -> Rounds | None:
    """Loss of a fitted booster after each round; None for other models."""
    classes, of_classes = subject.classes, subject.classes is not None
    staged = getattr(fitted, "staged_predict_proba" if of_classes else "staged_predict", None)
    if staged is None or hasattr(fitted, "estimator_errors_"):
        return None  # AdaBoost is judged by its edges
    loss = "log_loss" if of_classes else "squared_error"
    losses = []
    for stage in staged(split.held.table):
        predicted = np.asarray(stage, dtype=float).reshape(split.held.n, -1)
        if classes is not None and predicted.shape[1] != len(classes):
            return None  # a class is missing in the training rows
        losses.append(row_losses(loss, split.held.target, predicted, classes))
    if not losses:
        return None
    values = np.array([one.mean() for one in losses])
    best, last = int(np.argmin(values)), losses[-1]
    before = losses[max(0, len(losses) * 4 // 5 - 1)]
    return Rounds(
        loss, values, best + 1, estimate_of(last - losses[best]), estimate_of(before - last)
    )


def learning_curve_of(subject: Subject, fitted: Any, split: Split, seed: int) -> LearningCurve:
    """Fit on a quarter and a half of the training rows, beside all of them."""
    n, rng = split.train.n, np.random.default_rng(seed)
    order = rng.permutation(n)
    sizes = [max(2, n // 4), max(2, n // 2)]
    losses = [
        losses_of(subject, refitted(subject.model, split.train.take(order[:size])), split.held)
        for size in sizes
    ]
    losses.append(losses_of(subject, fitted, split.held))
    return LearningCurve(
        np.array([*sizes, n]),
        [estimate_of(one) for one in losses],
        estimate_of(losses[1] - losses[2]),
    )
