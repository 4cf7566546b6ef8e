"""Numbers that other people's code returned: base estimators, losses, scorers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import shown

Floats = NDArray[np.float64]

# Beyond this, sums and differences of numbers leave the range of floats.
LARGEST = 2.0**1000

# What rounding may do to a probability, and to the sum of those of a row (half precision).
_NEAR, _NEAR_SUM = 1e-6, 1e-3


def numbers_returned(values: Any, who: str) -> Floats:
    """What `who` returned as an array of float64, without a loss of anything but digits.

    >>> numbers_returned([1, 2], "predict").tolist()
    [1.0, 2.0]
    >>> numbers_returned(np.array([1j]), "predict")
    Traceback (most recent call last):
    ...
    ValueError: predict gave complex numbers, of which the imaginary part would be lost; expected
    real numbers.
    """
    if np.ma.isMaskedArray(values):
        raise ValueError(
            f"{who} gave a masked array, of which the mask would be lost; expected an array in "
            "which every value counts."
        )
    array = np.asarray(values)
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(
            f"{who} gave complex numbers, of which the imaginary part would be lost; expected real "
            "numbers."
        )
    try:
        if kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        example = array.flat[0] if array.size else array
        raise ValueError(
            f"{who} gave {array.dtype}, no numbers, such as {shown(example)}."
        ) from None


def number_returned(value: Any, who: str, *, finite: bool = True) -> float:
    """One number, such as a score; a finite one unless it may be any.

    >>> number_returned(None, "scoring='mine'")
    Traceback (most recent call last):
    ...
    ValueError: scoring='mine' gave None; expected one finite number.
    """
    number = None
    if value is not None:
        array = numbers_returned(value, who)
        number = float(array) if array.ndim == 0 else None
    if number is None or (finite and not np.isfinite(number)):
        kind = "finite number" if finite else "number"
        raise ValueError(f"{who} gave {shown(value)}; expected one {kind}.")
    return number


def refuse_not_finite(answers: Floats, who: str) -> None:
    """Raise a ValueError for answers of the shape (rows, columns) that no sum can take."""
    bad = np.flatnonzero(~(np.abs(answers) <= LARGEST).all(axis=1))
    if bad.size:
        first = answers[bad[0]]
        what = "numbers too large for sums" if np.isfinite(first).all() else "NaN or infinity"
        raise ValueError(
            f"{who} gave {what} in {bad.size} of {len(answers)} rows; the first is row {bad[0]} of "
            f"those asked about: {first.tolist()[:10]}."
        )


def probabilities_returned(answers: Floats, who: str) -> Floats:
    """Probabilities of the shape (rows, classes), with what rounding did beyond 0 and 1 cut off.

    Raises
    ------
    ValueError
        If one of them is negative or above 1, or a row does not sum to 1.
    """
    low, high = answers.min(axis=1), answers.max(axis=1)
    outside = np.flatnonzero((low < -_NEAR) | (high > 1.0 + _NEAR))
    bad = outside if outside.size else np.flatnonzero(abs(answers.sum(axis=1) - 1.0) > _NEAR_SUM)
    if bad.size:
        what = "are not between 0 and 1" if outside.size else "do not sum to 1"
        raise ValueError(
            f"{who} gave probabilities that {what} in {bad.size} of {len(answers)} rows; the first "
            f"is row {bad[0]} of those asked about: {answers[bad[0]].tolist()[:10]}."
        )
    return np.clip(answers, 0.0, 1.0)
