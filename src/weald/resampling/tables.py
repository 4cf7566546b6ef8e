"""Hashes of the rows of any table: numbers, frames with text, lists of documents."""

import hashlib
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes


def hash_any_rows(X: Any, target: NDArray[np.float64], *, n_threads: int) -> Hashes:
    """A 128-bit hash of what each row holds, its target included.

    Tables of numbers are hashed by value, whatever their container; all others by the text of
    their cells.
    """
    numbers = _as_numbers(X)
    if numbers is not None:
        return _native.hash_rows(numbers, target, n_threads)
    digests = [
        hashlib.blake2b(repr((row, float(number))).encode(), digest_size=16).digest()
        for row, number in zip(_rows(X), target, strict=True)
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2)


def _as_numbers(X: Any) -> NDArray[np.float64] | None:
    """The table as floats, or None if it holds anything else."""
    try:
        table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        if table.ndim != 2 or table.dtype.kind in "USmMc":
            return None
        return np.ascontiguousarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _rows(X: Any) -> Any:
    """The rows one after another, as plain Python values."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.iter_rows()
    return X.tolist() if isinstance(X, np.ndarray) else X
