"""Where a slope is zero: the search behind line searches and best constants."""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _native

Floats = NDArray[np.float64]
Copies = NDArray[np.int64] | None

_STEPS = 100
_NEAR = 1e-12

# A loss that keeps falling along a direction is followed so far: scores that are exponents of
# something soon say all there is to say, others may be of any size.
_FAR, _FAR_OF_EXPONENTS = 2.0**40, 64.0


class NotFiniteError(ValueError):
    """A user's loss answered with something that is no finite number."""


class Sloped(Protocol):
    """What a search needs of a loss."""

    @property
    def of_exponents(self) -> bool: ...

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool: ...


def best_step(
    loss: Sloped,
    y: Floats,
    scores: Floats,
    directions: Floats,
    weight: Floats | None,
    copies: Copies,
) -> float:
    """How far to go from the scores in one direction so that the loss is least.

    Only gradients are asked for: the best step is where they, along the direction, add up to zero.
    """
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)

    def slope(step: float) -> float:
        try:
            with np.errstate(all="ignore"):
                loss.gradients(y, scores + step * directions, weight, gradient, hessian)
                along = gradient * directions
        except NotFiniteError:
            if step == 0.0:
                raise
            return math.nan
        return sum(_native.exact_total(values, copies) for values in along)

    return zero_of(slope, most=_FAR_OF_EXPONENTS if loss.of_exponents else _FAR)


def zero_of(slope: Callable[[float], float], *, most: float) -> float:
    """The point nearest to where a slope that never falls changes its sign, within +-`most`.

    The search starts at 0, goes uphill or downhill in doubled steps until the sign changes, and
    closes in by the Illinois rule, which a straight slope needs once. A slope that does not change
    its sign ends at `most`; where it is no number, that is too far.

    >>> zero_of(lambda x: 2 * (x - 3), most=100.0)
    3.0
    """
    a, slope_a = 0.0, slope(0.0)
    if slope_a == 0.0 or not math.isfinite(slope_a):
        return 0.0
    b = math.copysign(min(1.0, most), -slope_a)
    slope_b = slope(b)
    while _same_sign(slope_a, slope_b) and math.isfinite(slope_b):
        if abs(b) >= most:
            return b
        a, slope_a = b, slope_b
        b = math.copysign(min(2 * abs(b), most), b)
        slope_b = slope(b)
    if not math.isfinite(slope_b):
        return _before(slope, a, slope_a, b)
    return _between(slope, a, slope_a, b, slope_b)


def _same_sign(a: float, b: float) -> bool:
    """Tell whether two slopes are both positive or both negative; their product may underflow."""
    return a > 0.0 < b or a < 0.0 > b


def _before(slope: Callable[[float], float], a: float, slope_a: float, end: float) -> float:
    """The change of sign between a and an end where the slope is no number, by halving."""
    for _ in range(_STEPS):
        b = 0.5 * (a + end)
        slope_b = slope(b)
        if not math.isfinite(slope_b):
            end = b
        elif _same_sign(slope_a, slope_b):
            a, slope_a = b, slope_b
        else:
            return _between(slope, a, slope_a, b, slope_b)
    return a


def _between(
    slope: Callable[[float], float], a: float, slope_a: float, b: float, slope_b: float
) -> float:
    """Close in on the change of sign: by the Illinois rule, or by halving where that is slow."""
    width, halves = abs(b - a), False
    for _ in range(_STEPS):
        if slope_b == 0.0 or abs(b - a) <= _NEAR * max(abs(a), abs(b)):
            return b
        c = (a * slope_b - b * slope_a) / (slope_b - slope_a)
        if halves or not min(a, b) < c < max(a, b):
            c = 0.5 * (a + b)
        elif abs(c - b) <= _NEAR * abs(b):
            return c
        slope_c = slope(c)
        if not math.isfinite(slope_c):
            return b
        if slope_c != 0.0 and not _same_sign(slope_b, slope_c):
            a, slope_a = b, slope_b
        elif not halves:
            slope_a *= 0.5
        b, slope_b = c, slope_c
        width, halves = abs(b - a), abs(b - a) > 0.5 * width
    return b
