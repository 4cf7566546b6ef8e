"""Labels of any kind as numbers of known classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The number of each label among the classes; -1 if it is none of them.

    Labels are compared by value, so that what cannot be ordered is simply no class.

    >>> class_numbers(np.array([1, 7, None], dtype=object), np.array([0.0, 1.0])).tolist()
    [1, -1, -1]
    """
    number = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([number.get(label, -1) for label in labels.tolist()], dtype=np.intp)
