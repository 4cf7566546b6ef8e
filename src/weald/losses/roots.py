"""Root finding for line searches and optimal constants."""

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

# Maximum step if the loss keeps decreasing: scores in exponents saturate early, others have any
# scale.
_FAR, _FAR_OF_EXPONENTS = 2.0**40, 64.0


class NotFiniteError(ValueError):
    """A user-defined loss or a metric returned a value that is not finite."""


class Sloped(Protocol):
    """The part of a loss that a line search needs."""

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
    *,
    most: float | None = None,
) -> float:
    """Line search: return the step along `directions` that minimises the loss.

    Uses gradients only: at the optimum, their sum along the direction is zero. The size of the step
    is at most `most`; None: a default that depends on the loss.
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

    if most is None:
        most = _FAR_OF_EXPONENTS if loss.of_exponents else _FAR
    return root_of(slope, most=most)


def root_of(slope: Callable[[float], float], *, most: float) -> float:
    """Return the root of a non-decreasing function, within ±`most`.

    The search starts at 0, doubles its step until the sign changes, then uses the Illinois method,
    which takes one step for linear functions. Returns ±`most` if the sign does not change; points
    where the function is not finite are out of bounds.

    >>> root_of(lambda x: 2 * (x - 3), most=100.0)
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
    """Whether both are positive or both negative; their product could underflow."""
    return a > 0.0 < b or a < 0.0 > b


def _before(slope: Callable[[float], float], a: float, slope_a: float, end: float) -> float:
    """Find the root between a and an end where the function is not finite, by bisection."""
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
    """Find the root between a and b by the Illinois method, or by bisection where that is slow."""
    width, bisects = abs(b - a), False
    for _ in range(_STEPS):
        if slope_b == 0.0 or abs(b - a) <= _NEAR * max(abs(a), abs(b)):
            return b
        c = (a * slope_b - b * slope_a) / (slope_b - slope_a)
        if bisects or not min(a, b) < c < max(a, b):
            c = 0.5 * (a + b)
        elif abs(c - b) <= _NEAR * abs(b):
            return c
        slope_c = slope(c)
        if not math.isfinite(slope_c):
            return b
        if slope_c != 0.0 and not _same_sign(slope_b, slope_c):
            a, slope_a = b, slope_b
        elif not bisects:
            slope_a *= 0.5
        b, slope_b = c, slope_c
        width, bisects = abs(b - a), abs(b - a) > 0.5 * width
    return b
