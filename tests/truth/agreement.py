"""When an estimate agrees with the truth: within three standard errors of their difference."""

from typing import Any

import numpy as np

# What an estimate that is too high or too low by construction may be off besides, as a share of
# the true error. Every use gives the reason.
ALLOWED_BIAS = 0.05


def losses_of(model: Any, X: Any, y: np.ndarray, loss: str) -> np.ndarray:
    """The loss of every row of a test sample; labels are 0, 1, 2, ..."""
    if loss == "zero_one":
        return (model.predict(X) != y).astype(np.float64)
    if loss == "squared_error":
        return np.square(model.predict(X) - y)
    return losses_of_shares(model.predict_proba(X), y, loss)


def losses_of_shares(shares: np.ndarray, y: np.ndarray, loss: str) -> np.ndarray:
    """The log loss or the Brier score of every row."""
    own = shares[np.arange(len(y)), y]
    if loss == "log_loss":
        return -np.log(np.clip(own, np.finfo(np.float64).eps, 1.0))
    return np.square(shares).sum(axis=1) - 2 * own + 1


def effective_size(weight: np.ndarray) -> float:
    """The number of rows of equal weight whose mean is as uncertain: (Σw)² / Σw²."""
    return float(weight.sum() ** 2 / np.square(weight).sum())


def assert_agrees(
    estimate: float, losses: np.ndarray, n: float, *, bias: float = 0.0, what: str = "estimate"
) -> None:
    """Hold an estimate from `n` rows against the losses of a test sample."""
    truth, spread = float(losses.mean()), float(losses.std())
    assert spread > 0, "a truth without spread agrees with nothing"
    off = 3 * spread * np.sqrt(1 / n + 1 / len(losses)) + bias * truth
    assert abs(estimate - truth) <= off, (
        f"{what} {estimate:.4f} from {n:.0f} rows, {truth:.4f} on {len(losses)} new rows: "
        f"they may differ by {off:.4f}"
    )


def by_group(losses: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Mean loss of each group: rows of one group are not independent, groups are."""
    _, number = np.unique(groups, return_inverse=True)
    return np.bincount(number, losses) / np.bincount(number)
