"""Input checks of the aggregation functions."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def checked_scores(scores: ArrayLike) -> Floats:
    """Return predictions as floats, with at least one estimator along the first axis."""
    predictions = np.asarray(scores, dtype=np.float64)
    if predictions.ndim < 2 or predictions.shape[0] == 0:
        raise ValueError(
            "Predictions must have the shape (estimators, rows) or (estimators, rows, classes), "
            f"with at least one estimator. Got the shape {predictions.shape}."
        )
    return predictions


def checked_weights(weights: ArrayLike, n_estimators: int) -> Floats:
    """Return weights: one per estimator, finite, non-negative, not all zero."""
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_estimators,):
        raise ValueError(
            f"There must be one weight per estimator: {n_estimators}. Got the shape "
            f"{checked.shape}."
        )
    if not np.isfinite(checked).all() or (checked < 0).any() or not (checked > 0).any():
        raise ValueError(
            "Weights must be finite, non-negative and not all zero. "
            f"Got {', '.join(f'{weight:g}' for weight in checked)}."
        )
    return checked
