"""Class probabilities of several outputs, concatenated along the last axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import first_classes

Floats = NDArray[np.float64]


def shares_of_outputs(shares: Floats, classes: Sequence[NDArray[Any]]) -> list[Floats]:
    """Split concatenated class probabilities by output; classes are the last axis.

    >>> classes = [np.array(["no", "yes"]), np.array([1, 2, 3])]
    >>> [part.tolist() for part in shares_of_outputs(np.array([0.5, 0.5, 0.2, 0.2, 0.6]), classes)]
    [[0.5, 0.5], [0.2, 0.2, 0.6]]
    """
    return np.split(shares, first_classes(classes)[1:-1], axis=-1)


def labels_of_outputs(parts: Sequence[Floats], classes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Most probable label of each output, ties to the first; outputs are the last axis.

    >>> classes = [np.array(["no", "yes"]), np.array([1, 2, 3])]
    >>> parts = [np.array([[0.5, 0.5]]), np.array([[0.2, 0.2, 0.6]])]
    >>> labels_of_outputs(parts, classes).tolist()
    [['no', 3]]
    """
    return labels_by_number([np.argmax(part, axis=-1) for part in parts], classes)


def labels_by_number(
    numbers: Sequence[NDArray[np.intp]], classes: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    """Labels of the class numbers of each output; outputs are the last axis.

    >>> classes = [np.array(["no", "yes"]), np.array([1, 2, 3])]
    >>> labels_by_number([np.array([1, 0]), np.array([2, 0])], classes).tolist()
    [['yes', 3], ['no', 1]]
    """
    labels = [own[of_rows] for own, of_rows in zip(classes, numbers, strict=True)]
    # np.stack would convert numbers to strings if another output has string labels.
    if len({own.dtype.kind in "US" for own in classes}) > 1:
        labels = [np.asarray(own, dtype=object) for own in labels]
    return np.stack(labels, axis=-1)
