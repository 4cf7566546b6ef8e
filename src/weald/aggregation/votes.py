"""Votes: every member names one class."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weald.aggregation.arrays import Floats, checked_weights


def vote_shares(votes: ArrayLike, n_classes: int, weights: ArrayLike | None = None) -> Floats:
    """Share of the votes that each class gets, of the shape (rows, classes).

    Parameters
    ----------
    votes : array of class numbers, shape (members, rows)
        Whole numbers from 0 to `n_classes` - 1.
    n_classes : int
        Number of classes.
    weights : array, shape (members,), or None
        How much each vote counts; None: all the same.

    Examples
    --------
    >>> vote_shares([[0, 2], [0, 1]], n_classes=3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    """
    cast = np.asarray(votes)
    if cast.ndim != 2 or cast.shape[0] == 0 or cast.dtype.kind not in "biu":
        raise ValueError(
            "Votes must be class numbers of the shape (members, rows), with at least one member. "
            f"Got {cast.dtype} of the shape {cast.shape}."
        )
    if cast.size and not (cast.min() >= 0 and cast.max() < n_classes):
        raise ValueError(
            f"Votes must be class numbers from 0 to {n_classes - 1}. "
            f"Got numbers from {cast.min()} to {cast.max()}."
        )
    n_members, n_rows = cast.shape
    counted = np.ones(n_members) if weights is None else checked_weights(weights, n_members)
    counts = np.zeros((n_rows, n_classes))
    rows = np.arange(n_rows)
    for member in range(n_members):
        counts[rows, cast[member]] += counted[member]
    return np.asarray(counts / counted.sum())


def majority(votes: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """The class with most votes; ties go to the lowest class number.

    Examples
    --------
    >>> majority([[0, 2], [1, 2], [1, 0]], n_classes=3).tolist()
    [1, 2]
    """
    return np.asarray(np.argmax(vote_shares(votes, n_classes), axis=1))


def weighted_majority(votes: ArrayLike, weights: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """The class whose votes weigh most; ties go to the lowest class number.

    Equal weights give the majority, and a common factor of all weights changes nothing.

    Examples
    --------
    >>> weighted_majority([[0, 2], [1, 2], [1, 0]], [3, 1, 1], n_classes=3).tolist()
    [0, 2]
    """
    return np.asarray(np.argmax(vote_shares(votes, n_classes, weights), axis=1))
