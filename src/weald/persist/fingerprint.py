"""Model fingerprints: SHA-256 over the fitted arrays that determine predictions."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash named arrays: name, kind, shape and little-endian bytes, sorted by name.

    -0 equals 0 and all NaN are equal. Integers are hashed by value, whatever their width, and text
    by its UTF-8 bytes (including lone surrogates), so that equal labels have the same fingerprint
    in any array type.

    Examples
    --------
    >>> fingerprint({"value": np.array([0.5, -0.0])})[:16]
    '4b049ae7cbe3ef47'
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        kind, body = _canonical(np.asarray(arrays[name]))
        shape = ",".join(str(size) for size in np.shape(arrays[name]))
        digest.update(f"{name}|{kind}|{shape}|{len(body)}\n".encode())
        digest.update(body)
    return digest.hexdigest()


def _canonical(array: NDArray[Any]) -> tuple[str, bytes]:
    if array.dtype.kind in "biu":
        return "int", array.astype("<i8").tobytes()
    if array.dtype.kind == "f":
        values = array.astype("<f8") + 0.0
        values[np.isnan(values)] = np.nan
        return "float", values.tobytes()
    items = [f"{type(item).__name__}:{item}" for item in array.ravel().tolist()]
    parts = [item.encode("utf-8", "surrogatepass") for item in items]
    return "text", b"".join(len(part).to_bytes(8, "little") + part for part in parts)
