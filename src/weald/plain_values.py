"""Values of NumPy as JSON has them."""

import math
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    >>> plain({"a": np.float64(0.5), "b": [np.int64(1), float("nan")], "c": np.array(["x"])})
    {'a': 0.5, 'b': [1, None], 'c': ['x']}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
