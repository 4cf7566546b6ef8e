"""Errors for 1-D and complex input that say what to pass instead."""

from typing import Any

import numpy as np


def refuse_no_rows_and_columns(X: Any) -> None:
    """Raise ValueError for input that is not 2-dimensional.

    >>> refuse_no_rows_and_columns([1.0, 2.0])
    Traceback (most recent call last):
        ...
    ValueError: Expected 2D array, got 1D array instead: X is a list of 2 values. Reshape your \
data: [X] is one row, [[value] for value in X] is one column.
    """
    n_dimensions = _n_dimensions(X)
    if n_dimensions is None or n_dimensions > 1:
        return
    what = f"X is a {_kind_of(X)}"
    if n_dimensions == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead: {what}. Reshape your data: "
            "[[value]] is one row of one column."
        )
    if hasattr(X, "iloc"):
        advice = (
            "frame.iloc[[0]] is one row (frame.iloc[0] is a series), frame[['name']] one column"
        )
    elif isinstance(X, (list, tuple)):
        advice = "[X] is one row, [[value] for value in X] is one column"
    elif isinstance(X, np.ndarray):
        advice = "X.reshape(1, -1) is one row, X.reshape(-1, 1) is one column"
    else:
        advice = "frame[:1] is one row, frame.select('name') one column"
    raise ValueError(
        f"Expected 2D array, got 1D array instead: {what} of {len(X)} values. Reshape your data: "
        f"{advice}."
    )


def refuse_complex(array: Any, name: str) -> None:
    """Raise ValueError for complex numbers."""
    kind = getattr(array, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} is of type {kind}. Pass {name}.real, or its real "
            "and imaginary parts as separate columns."
        )


def _n_dimensions(X: Any) -> int | None:
    """Number of dimensions of lists, arrays, series and scalars; None for other objects."""
    if isinstance(X, (list, tuple)):
        # Nested and ragged lists are left to other checks.
        return 1 if X and all(np.ndim(value) == 0 for value in X[:2]) else None
    if np.isscalar(X):
        return 0
    shape = getattr(X, "shape", None)
    return len(shape) if isinstance(shape, tuple) else None


def _kind_of(X: Any) -> str:
    if isinstance(X, np.ndarray):
        return f"NumPy array ({X.dtype})"
    return f"{type(X).__module__.partition('.')[0]} {type(X).__name__}".removeprefix("builtins ")
