"""What every rule asks of its arrays."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def checked_scores(scores: ArrayLike) -> Floats:
    """Answers as floats, members first; at least one member."""
    answers = np.asarray(scores, dtype=np.float64)
    if answers.ndim < 2 or answers.shape[0] == 0:
        raise ValueError(
            "Answers must have the shape (members, rows) or (members, rows, classes), with at "
            f"least one member. Got the shape {answers.shape}."
        )
    return answers


def checked_weights(weights: ArrayLike, n_members: int) -> Floats:
    """One finite, non-negative weight per member, not all zero."""
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_members,):
        raise ValueError(
            f"There must be one weight per member: {n_members}. Got the shape {checked.shape}."
        )
    if not np.isfinite(checked).all() or (checked < 0).any() or not (checked > 0).any():
        raise ValueError(
            "Weights must be finite, not negative and not all zero. "
            f"Got {', '.join(f'{weight:g}' for weight in checked)}."
        )
    return checked
