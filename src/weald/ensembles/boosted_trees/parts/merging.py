"""Answers of several parts of a table: merged, they do not depend on the number of parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Answer = tuple[NDArray[Any], ...]


def merged(question: str, answers: Sequence[Answer]) -> Answer:
    """Merge the answers of parts to the same question.

    Integers are summed, real numbers are maxima, and matrices of real numbers are joined along the
    rows of the table, which are their columns. Distinct values are united. No answer depends on the
    order of the parts, but those of matrices.

    Examples
    --------
    >>> one = np.array([1, 2]), np.array([0.5])
    >>> merged("look", [one, one])
    (array([2, 4]), array([0.5]))
    """
    if len(answers) == 1:
        return answers[0]
    if question == "distinct":
        return united(answers)
    return tuple(_merged(arrays) for arrays in zip(*answers, strict=True))


def _merged(arrays: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    if arrays[0].ndim == 2:
        return np.concatenate(arrays, axis=1)
    merge = np.add if arrays[0].dtype.kind == "i" else np.maximum
    total = arrays[0].copy()
    for array in arrays[1:]:
        merge(total, array, out=total)
    return total


def united(answers: Sequence[Answer]) -> Answer:
    """Unite sorted distinct values, and add the numbers of their rows.

    >>> united([(np.array([1.0, 2.0]), np.array([3, 1])), (np.array([2.0]), np.array([4]))])
    (array([1., 2.]), array([3, 5]))
    """
    values = np.concatenate([values for values, _ in answers])
    counts = np.concatenate([counts for _, counts in answers])
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[first], np.add.reduceat(counts, first) if len(first) else counts
