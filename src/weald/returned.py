"""Checks of values returned by third-party code: base estimators, losses, scorers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import shown

Floats = NDArray[np.float64]

# Sums and differences of larger numbers could overflow.
LARGEST = 2.0**1000

# Tolerances for single probabilities, and for their sum per row (half precision).
_NEAR, _NEAR_SUM = 1e-6, 1e-3


def numbers_returned(values: Any, who: str) -> Floats:
    """Convert values returned by `who` to float64; only precision may be lost.

    >>> numbers_returned([1, 2], "predict").tolist()
    [1.0, 2.0]
    >>> numbers_returned(np.array([1j]), "predict")
    Traceback (most recent call last):
    ...
    ValueError: predict returned complex numbers; expected real numbers.
    """
    if np.ma.isMaskedArray(values):
        raise ValueError(f"{who} returned a masked array; expected an array without a mask.")
    array = np.asarray(values)
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{who} returned complex numbers; expected real numbers.")
    try:
        if kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # large long doubles become infinite
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        example = array.flat[0] if array.size else array
        raise ValueError(
            f"{who} returned {array.dtype}, such as {shown(example)}; expected numbers."
        ) from None


def number_returned(value: Any, who: str, *, finite: bool = True) -> float:
    """Convert a returned scalar, such as a score, to float; by default it must be finite.

    >>> number_returned(None, "scoring='mine'")
    Traceback (most recent call last):
    ...
    ValueError: scoring='mine' returned None; expected one finite number.
    """
    number = None
    if value is not None:
        array = numbers_returned(value, who)
        number = float(array) if array.ndim == 0 else None
    if number is None or (finite and not np.isfinite(number)):
        kind = "finite number" if finite else "number"
        raise ValueError(f"{who} returned {shown(value)}; expected one {kind}.")
    return number


def refuse_not_finite(predictions: Floats, who: str) -> None:
    """Raise ValueError if predictions of shape (rows, columns) are too large or not finite."""
    bad = np.flatnonzero(~(np.abs(predictions) <= LARGEST).all(axis=1))
    if bad.size:
        first = predictions[bad[0]]
        what = "numbers that are too large" if np.isfinite(first).all() else "NaN or infinity"
        raise ValueError(
            f"{who} returned {what} in {bad.size} of {len(predictions)} rows; the first is row "
            f"{bad[0]} of its argument: {first.tolist()[:10]}."
        )


def probabilities_returned(probabilities: Floats, who: str) -> Floats:
    """Check probabilities of shape (rows, classes), and clip rounding errors to [0, 1].

    Raises
    ------
    ValueError
        If one of them is negative or above 1, or a row does not sum to 1.
    """
    low, high = probabilities.min(axis=1), probabilities.max(axis=1)
    outside = np.flatnonzero((low < -_NEAR) | (high > 1.0 + _NEAR))
    bad = outside
    if not outside.size:
        bad = np.flatnonzero(abs(probabilities.sum(axis=1) - 1.0) > _NEAR_SUM)
    if bad.size:
        what = "are not between 0 and 1" if outside.size else "do not sum to 1"
        raise ValueError(
            f"{who} returned probabilities that {what} in {bad.size} of {len(probabilities)} rows; "
            f"the first is row {bad[0]} of its argument: {probabilities[bad[0]].tolist()[:10]}."
        )
    return np.clip(probabilities, 0.0, 1.0)
