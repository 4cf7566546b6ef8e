"""Encode labels of any type as class indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Index of each label in `classes`; -1 if it is not one of them.

    Labels are compared by equality, so labels that cannot be ordered are allowed.

    >>> class_numbers(np.array([1, 7, None], dtype=object), np.array([0.0, 1.0])).tolist()
    [1, -1, -1]
    """
    index = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([index.get(label, -1) for label in labels.tolist()], dtype=np.intp)
