"""Answers of several parts of a table: merged, they do not depend on the number of parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Answer = tuple[NDArray[Any], ...]


def merged(answers: Sequence[Answer]) -> Answer:
    """Merge the answers of parts to the same question.

    Integers are summed, real numbers are maxima, and matrices of real numbers are joined along the
    rows of the table, which are their columns. Only the order of the columns of matrices depends on
    the order of the parts.

    Examples
    --------
    >>> one = np.array([1, 2]), np.array([0.5])
    >>> merged([one, one])
    (array([2, 4]), array([0.5]))
    """
    if len(answers) == 1:
        return answers[0]
    return tuple(_merged(arrays) for arrays in zip(*answers, strict=True))


def _merged(arrays: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    if arrays[0].ndim == 2:
        return np.concatenate(arrays, axis=1)
    merge = np.add if arrays[0].dtype.kind == "i" else np.maximum
    total = arrays[0].copy()
    for array in arrays[1:]:
        merge(total, array, out=total)
    return total
