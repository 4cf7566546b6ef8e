"""Errors for missing or infinite targets that name the row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.values import is_missing


@contextmanager
def naming_missing(y: Any) -> Iterator[None]:
    """If a check of the target fails, raise an error that names a missing or infinite row."""
    try:
        yield
    except (TypeError, ValueError):
        _refuse_missing(y)
        raise


def _refuse_missing(y: Any) -> None:
    try:
        values = y.to_numpy(dtype=object) if hasattr(y, "iloc") else np.asarray(y)
    except (TypeError, ValueError):
        return  # ragged rows, reported by another check
    wrong = _missing_or_infinite(values)
    if not wrong.any():
        return
    rows = np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))
    row = int(rows[0])
    column = int(np.argmax(wrong.reshape(len(wrong), -1)[row]))
    value = values.reshape(len(wrong), -1)[row, column]
    what = "NaN" if is_missing(value) else "infinity or a value too large for float64 sums"
    where = f"row {row}, column {column}" if wrong.ndim > 1 and wrong.shape[1] > 1 else f"row {row}"
    raise ValueError(
        f"Input y contains {what}: {where} has {value} ({len(rows)} such "
        f"{'row' if len(rows) == 1 else 'rows'}). Every row needs a target: drop these rows from X "
        "and y."
    ) from None


def _missing_or_infinite(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.ndim == 0:
        return np.zeros(0, dtype=bool)
    if values.dtype.kind == "f":
        return np.asarray(~np.isfinite(values))
    if values.dtype.kind == "M" or values.dtype.kind == "m":
        return np.asarray(np.isnat(values))
    if values.dtype.kind != "O":
        return np.zeros(0, dtype=bool)
    found = [is_missing(one) or _is_infinite(one) for one in values.flat]
    return np.array(found, dtype=bool).reshape(values.shape)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))
