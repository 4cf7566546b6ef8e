"""Where a slope is zero: the search behind line searches and best constants."""

import math
from collections.abc import Callable

_STEPS = 100
_NEAR = 1e-12


def zero_of(slope: Callable[[float], float], *, most: float) -> float:
    """The point nearest to where a slope that never falls changes its sign, within +-`most`.

    The search starts at 0, goes uphill or downhill in doubled steps until the sign changes, and
    closes in by the Illinois rule, which a straight slope needs once. A slope that does not change
    its sign ends at `most`; one that is no number ends the search where it last was one.

    >>> zero_of(lambda x: 2 * (x - 3), most=100.0)
    3.0
    """
    a, slope_a = 0.0, slope(0.0)
    if slope_a == 0.0 or not math.isfinite(slope_a):
        return 0.0
    b = math.copysign(min(1.0, most), -slope_a)
    slope_b = slope(b)
    while slope_b * slope_a > 0 and math.isfinite(slope_b):
        if abs(b) >= most:
            return b
        a, slope_a = b, slope_b
        b = math.copysign(min(2 * abs(b), most), b)
        slope_b = slope(b)
    if not math.isfinite(slope_b):
        return a
    return _between(slope, a, slope_a, b, slope_b)


def _between(
    slope: Callable[[float], float], a: float, slope_a: float, b: float, slope_b: float
) -> float:
    """Close in on the change of sign between a and b."""
    for _ in range(_STEPS):
        if slope_b == 0.0 or abs(b - a) <= _NEAR * max(abs(a), abs(b)):
            return b
        c = (a * slope_b - b * slope_a) / (slope_b - slope_a)
        if not min(a, b) < c < max(a, b):
            c = 0.5 * (a + b)
        slope_c = slope(c)
        if not math.isfinite(slope_c):
            return b
        if slope_c * slope_b < 0:
            a, slope_a = b, slope_b
        else:
            slope_a *= 0.5
        b, slope_b = c, slope_c
    return b
