"""Read-only arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be made writeable: `setflags(write=True)` raises ValueError.

    The core validates the arrays of a model once and then reads them without bounds checks.

    >>> frozen(np.arange(3)).setflags(write=True)
    Traceback (most recent call last):
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    array.setflags(write=False)  # for other references to the array itself
    return np.asarray(array.data.toreadonly())


def freeze_all(model: object) -> None:
    """Freeze all arrays that are attributes of an object, which may be a frozen dataclass."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            object.__setattr__(model, name, frozen(value))
