"""Lossless compression of a forest's arrays for pickling.

Redundant arrays are omitted and numbers stored in the smallest exact type. An array that would not
be restored bit for bit is kept unchanged.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Not of one byte: a forest in memory takes at most ten times its file.
_WHOLE = (np.uint16, np.uint32)
_SIGNED = (np.int8, np.int16, np.int32)


def compact(arrays: dict[str, Any]) -> dict[str, Any]:
    """Compress the arrays of a `Forest`, by name.

    `right` is derived from the node order; thresholds and directions of missing values are stored
    for inner nodes only, gains for inner nodes and leaves with non-zero gains; class probabilities
    are stored as counts.
    """
    kept = dict(arrays)
    feature, inner = arrays["feature"], arrays["feature"] >= 0
    if _same(right_of(inner, arrays["first_node"]), arrays["right"]):
        del kept["right"]
    kept["feature"] = _shortest(feature, _SIGNED)
    if not arrays["threshold"][~inner].any():
        kept["threshold"] = (_shortest(arrays["threshold"][inner]),)
    kept["gain"] = (_shortest(arrays["gain"][inner]), *_not_zero(arrays["gain"][~inner]))
    if not arrays["missing_left"][~inner].any():
        kept["missing_left"] = (np.packbits(arrays["missing_left"][inner]),)
    weight = arrays["weight"]
    kept["weight"] = (_shortest(weight[inner]), _shortest(weight[~inner]))
    kept["value"] = _as_counts(arrays["value"], weight[~inner])
    if (arrays["category_set"] < 0).all():
        del kept["category_set"]
    return kept


def expanded(kept: dict[str, Any]) -> dict[str, Any]:
    """Invert `compact`; `category_set` is omitted if there are no categorical splits."""
    arrays = dict(kept)
    feature = arrays["feature"] = _whole_numbers(kept["feature"])
    n, is_inner = len(feature), feature >= 0
    # Indices: NumPy scatters by them five times faster than by a mask.
    inner, leaves = np.flatnonzero(is_inner), np.flatnonzero(~is_inner)
    if "right" not in kept:
        arrays["right"] = right_of(is_inner, kept["first_node"])
    if isinstance(kept["threshold"], tuple):
        arrays["threshold"] = _scattered(n, (inner, *kept["threshold"]))
    of_inner, *of_leaves = kept["gain"]
    arrays["gain"] = _scattered(n, (inner, of_inner))
    if of_leaves:
        which, numbers = of_leaves
        arrays["gain"][leaves[which]] = numbers
    if isinstance(kept["missing_left"], tuple):
        sides = np.zeros(n, dtype=np.uint8)
        sides[inner] = np.unpackbits(kept["missing_left"][0], count=len(inner))
        arrays["missing_left"] = sides
    of_inner, of_leaves = kept["weight"]
    arrays["weight"] = _scattered(n, (inner, of_inner), (leaves, of_leaves))
    if isinstance(kept["value"], tuple):
        of_leaves = arrays["weight"][leaves]
        arrays["value"] = _numbers(kept["value"][0]) / of_leaves[:, np.newaxis]
    else:
        arrays["value"] = _numbers(kept["value"]).astype(np.float64, copy=False)
    return arrays


def _numbers(array: Array) -> Array:
    if array.dtype.kind not in "iuf":
        raise TypeError(f"an array of {array.dtype} is not one of numbers")
    return array


def _whole_numbers(array: Array) -> NDArray[np.int32]:
    if array.dtype.kind not in "iu":
        raise TypeError(f"an array of {array.dtype} is not one of whole numbers")
    return array.astype(np.int32, copy=False)


def _scattered(n: int, *parts: tuple[NDArray[np.intp], Array]) -> Floats:
    """An array of n numbers: those of each part at its indices, and zeros elsewhere."""
    result = np.zeros(n)
    for indices, numbers in parts:
        if numbers.shape != indices.shape:
            raise ValueError(f"expected {len(indices)} numbers")
        result[indices] = _numbers(numbers)
    return result


def difference(arrays: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """The arrays and numbers that are not equal bit for bit to `others` of the same names.

    >>> difference({"value": np.array([0.5, 1.0]), "n": 3}, {"value": np.array([0.5, 2.0]), "n": 3})
    {'value': array([0.5, 1. ], dtype=float32)}
    """
    return {
        name: _shortest(one) if isinstance(one, np.ndarray) else one
        for name, one in arrays.items()
        if not _equal(one, others[name])
    }


def with_difference(others: dict[str, Any], different: dict[str, Any]) -> dict[str, Any]:
    """Invert `difference`: `others` with what is different, in the types of `others`."""
    if not isinstance(different, dict):
        raise TypeError("the difference of two forests must be a dict")
    arrays = dict(others)
    for name, one in different.items():
        other = others[name]
        if isinstance(other, np.ndarray):
            if not isinstance(one, np.ndarray) or one.shape != other.shape:
                raise ValueError(f"{name} is not an array of shape {other.shape}")
            one = one.astype(other.dtype)
        arrays[name] = one
    return arrays


def right_of(inner: NDArray[np.bool_], first_node: NDArray[np.int64]) -> NDArray[np.int32]:
    """Derive the array `right` of trees in pre-order whose leaves are numbered from left to right.

    >>> right_of(np.array([True, True, False, False, False]), np.array([0, 5])).tolist()
    [4, 3, 0, 1, 2]
    """
    return _native.right_of(inner.view(np.uint8), first_node)


def _not_zero(array: Floats) -> tuple[Any, ...]:
    """Return indices (a full slice if many) and values of non-zero numbers; () if there are none.

    >>> _not_zero(np.array([0.0, 0.0, 0.0, 0.1]))
    (array([3], dtype=uint16), array([0.1]))
    """
    others = np.flatnonzero(array.view(np.uint64))  # -0 is not 0
    if len(others) == 0:
        return ()
    if 2 * len(others) > len(array):
        return slice(None), _shortest(array)
    return _shortest(others), _shortest(array[others])


def _as_counts(value: Array, weight: Array) -> Any:
    """Convert class probabilities to counts, in a tuple; or return the values if not exact."""
    with np.errstate(invalid="ignore", over="ignore"):
        counts = np.rint(value * weight[:, np.newaxis])
        if value.shape[1] > 1 and _same(counts / weight[:, np.newaxis], value):
            short = _shortest(counts)
            if short.dtype.kind == "u":
                return (short,)
    return _shortest(value)


def _shortest(array: Array, whole: Any = _WHOLE) -> Array:
    """Convert to the smallest type that represents all numbers exactly, including -0."""
    if array.size == 0:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        for kind in (*whole, np.float32):
            if kind is np.float32 and array.dtype.kind != "f":
                break
            short = array.astype(kind)
            if _same(short.astype(array.dtype), array):
                return short
    return array


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one is other or (one.dtype == other.dtype and _same(one, other))
    return type(one) is type(other) and bool(one == other)


def _same(one: Array, other: Array) -> bool:
    """Whether two arrays are equal bit for bit."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()
