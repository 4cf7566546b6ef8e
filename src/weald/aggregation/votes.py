"""Majority votes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weald.aggregation.arrays import Floats, checked_weights


def vote_shares(votes: ArrayLike, n_classes: int, weights: ArrayLike | None = None) -> Floats:
    """Fraction of the votes for each class, of shape (rows, classes).

    Parameters
    ----------
    votes : array of int, shape (estimators, rows)
        Class codes from 0 to `n_classes` - 1.
    n_classes : int
        Number of classes.
    weights : array, shape (estimators,), or None
        Weight of each estimator; None means equal weights.

    Examples
    --------
    >>> vote_shares([[0, 2], [0, 1]], n_classes=3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    """
    cast = np.asarray(votes)
    if cast.ndim != 2 or cast.shape[0] == 0 or cast.dtype.kind not in "biu":
        raise ValueError(
            "Votes must be integers of the shape (estimators, rows), with at least one estimator. "
            f"Got {cast.dtype} of the shape {cast.shape}."
        )
    if cast.size and not (cast.min() >= 0 and cast.max() < n_classes):
        raise ValueError(
            f"Votes must be class codes from 0 to {n_classes - 1}. "
            f"Got values from {cast.min()} to {cast.max()}."
        )
    n_estimators, n_rows = cast.shape
    counted = np.ones(n_estimators) if weights is None else checked_weights(weights, n_estimators)
    counts = np.zeros((n_rows, n_classes))
    rows = np.arange(n_rows)
    for k in range(n_estimators):
        counts[rows, cast[k]] += counted[k]
    return np.asarray(counts / counted.sum())


def majority(votes: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """Class with the most votes; ties go to the lowest class code.

    Examples
    --------
    >>> majority([[0, 2], [1, 2], [1, 0]], n_classes=3).tolist()
    [1, 2]
    """
    return np.asarray(np.argmax(vote_shares(votes, n_classes), axis=1))


def weighted_majority(votes: ArrayLike, weights: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """Class with the largest total weight of votes; ties go to the lowest class code.

    Examples
    --------
    >>> weighted_majority([[0, 2], [1, 2], [1, 0]], [3, 1, 1], n_classes=3).tolist()
    [0, 2]
    """
    return np.asarray(np.argmax(vote_shares(votes, n_classes, weights), axis=1))
