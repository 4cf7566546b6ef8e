"""Row hashes of any table: arrays, data frames, sparse matrices, lists of objects."""

import hashlib
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes

# Number of values of a sparse table to densify at once.
_DENSE_VALUES = 2**22


def hash_any_rows(X: Any, target: NDArray[np.float64], *, n_threads: int) -> Hashes:
    """Return a 128-bit hash of each row and its target, of shape (rows,) or (rows, outputs).

    Numeric tables are hashed by value, whatever their container; others by the text of their cells.
    """
    if target.ndim == 2:
        hashes = hash_any_rows(X, np.ascontiguousarray(target[:, 0]), n_threads=n_threads)
        _native.hash_more(np.ascontiguousarray(target[:, 1:]), hashes, n_threads)
        return hashes
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
    """Return the table as floats, or None if it is not numeric."""
    try:
        table = np.asarray(X)
        if table.ndim != 2 or table.dtype.kind in "USmMc":
            return None
        return np.ascontiguousarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _hash_sparse(X: Any, target: NDArray[np.float64], n_threads: int) -> Hashes:
    """Hash in batches of columns, because the dense table may not fit in memory."""
    hashes = _native.hash_rows(np.empty((X.shape[0], 0)), target, n_threads)
    step = max(1, _DENSE_VALUES // max(1, X.shape[0]))
    for begin in range(0, X.shape[1], step):
        columns = X[:, begin : begin + step].toarray(order="F")
        _native.hash_more(columns.astype(np.float64, copy=False), hashes, n_threads)
    return hashes


def _rows(X: Any) -> Any:
    """Iterate over rows as Python values."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame.iter_rows()
    return X.tolist() if isinstance(X, np.ndarray) else X
