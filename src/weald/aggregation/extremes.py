"""The least, the greatest and the middle answer."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores


def minimum(scores: ArrayLike) -> Floats:
    """The least answer of all members.

    Of probabilities: the class that no member thinks improbable is the largest. They no longer sum
    to one; `shares` makes them.

    Examples
    --------
    >>> minimum([[0.9, 0.2], [0.6, 0.3]]).tolist()
    [0.6, 0.2]
    """
    return np.asarray(checked_scores(scores).min(axis=0))


def maximum(scores: ArrayLike) -> Floats:
    """The greatest answer of all members; of probabilities: one sure member is enough.

    Examples
    --------
    >>> maximum([[0.9, 0.2], [0.6, 0.3]]).tolist()
    [0.9, 0.3]
    """
    return np.asarray(checked_scores(scores).max(axis=0))


def median(scores: ArrayLike) -> Floats:
    """The middle answer; of an even number of members, the mean of the middle two.

    Fewer than half of the members, however wrong, cannot move it beyond the answers of the others.

    Examples
    --------
    >>> median([[1.0, 2.0], [3.0, 6.0], [99.0, 4.0]]).tolist()
    [3.0, 4.0]
    """
    return np.asarray(np.median(checked_scores(scores), axis=0))
