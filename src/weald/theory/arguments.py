"""Argument checks for `weald.theory`, and row selection from any kind of table."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from weald.parameters import Limit

Floats = NDArray[np.float64]


def check(function: str, limit: Limit, **values: object) -> None:
    """Raise ValueError for the first argument that the limit rejects.

    >>> from weald.parameters import Whole
    >>> check("left_out_share", Whole(1), n=0)
    Traceback (most recent call last):
    ...
    ValueError: The 'n' parameter of left_out_share must be an int in the range [1, inf). Got 0
    instead.
    """
    for name, value in values.items():
        if not limit.admits(value):
            raise ValueError(
                f"The {name!r} parameter of {function} must be {limit.expected}. "
                f"Got {value!r} instead."
            )


def numbers(function: str, name: str, values: object, *, least: float, most: float) -> Floats:
    """Convert a scalar or array-like to a float array and check its range."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The {name!r} parameter of {function} must be a number or an array of numbers. "
            f"Got {values!r} instead."
        ) from None
    if array.size == 0:
        raise ValueError(f"The {name!r} parameter of {function} is empty.")
    bad = np.flatnonzero(~((array >= least) & (array <= most)).ravel())
    if bad.size:
        raise ValueError(
            f"The {name!r} parameter of {function} must lie in the range [{least:g}, {most:g}]. "
            f"Got {array.ravel()[bad[0]]:g} instead" + (f" at {bad[0]}." if array.ndim else ".")
        )
    return array


def counts(function: str, name: str, values: object) -> Floats:
    """Convert one or several positive integers to a float array."""
    array = numbers(function, name, values, least=1, most=2.0**53)
    if (array != np.floor(array)).any() or np.asarray(values).dtype == bool:
        raise ValueError(
            f"The {name!r} parameter of {function} must be an int or an array of int. "
            f"Got {values!r} instead."
        )
    return array


def plain(values: Floats) -> Any:
    """Return a float for a 0-d array, else the array itself."""
    return float(values) if values.ndim == 0 else values


def target_of(X: object, y: object, *, of: str = "y") -> NDArray[Any]:
    """Return the target as a non-empty 1-d array with as many rows as X."""
    if y is None:
        raise ValueError(f"{of} is missing: it must hold one target per row of X.")
    target: NDArray[Any] = column_or_1d(y)
    check_consistent_length(X, target)
    if len(target) == 0:
        raise ValueError(f"{of} holds no rows.")
    return target


def finite_target(target: NDArray[Any], *, of: str = "y") -> Floats:
    """Return the target as finite floats, or raise ValueError."""
    try:
        numbers = np.asarray(target, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{of} must hold numbers for this loss; it holds {target.dtype} values such as "
            f"{target[0]!r}. Use loss='zero_one' for class labels."
        ) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(
            f"{of} must hold finite numbers: row {bad[0]} has {numbers[bad[0]]}. Drop the row."
        )
    return numbers


def table_of(X: Any) -> Any:
    """Return a table that `take` can index by row; lists become arrays."""
    if X is None:
        raise ValueError("X is missing: pass a table of shape (rows, columns).")
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def take(table: Any, rows: NDArray[np.intp]) -> Any:
    """Select rows of an array, sparse matrix or data frame; the type is kept."""
    if isinstance(table, np.ndarray) or hasattr(table, "tocsr"):
        return table[rows]
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return nw.from_native(table, eager_only=True)[rows.tolist(), :].to_native()
