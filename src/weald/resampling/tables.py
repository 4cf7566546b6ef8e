"""Hashes of the rows of any table: numbers, frames with text, lists of documents."""

import hashlib
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes

# So many values of a sparse table are made dense at once.
_DENSE_VALUES = 2**22


def hash_any_rows(X: Any, target: NDArray[np.float64], *, n_threads: int) -> Hashes:
    """A 128-bit hash of what each row holds, its target included.

    Tables of numbers are hashed by value, whatever their container; all others by the text of
    their cells.
    """
    if hasattr(X, "tocsr"):
        return _hash_sparse(X.tocsc(), target, n_threads)
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
        table = np.asarray(X)
        if table.ndim != 2 or table.dtype.kind in "USmMc":
            return None
        return np.ascontiguousarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _hash_sparse(X: Any, target: NDArray[np.float64], n_threads: int) -> Hashes:
    """Some columns at a time: all of them, with their zeros, may be more than memory holds."""
    hashes = _native.hash_rows(np.empty((X.shape[0], 0)), target, n_threads)
    step = max(1, _DENSE_VALUES // max(1, X.shape[0]))
    for begin in range(0, X.shape[1], step):
        columns = X[:, begin : begin + step].toarray(order="F")
        _native.hash_more(columns.astype(np.float64, copy=False), hashes, n_threads)
    return hashes


def _rows(X: Any) -> Any:
    """The rows one after another, as plain Python values."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.iter_rows()
    return X.tolist() if isinstance(X, np.ndarray) else X
