"""How sums of gradients, and gains, grow with the unit of the target."""

import math

import numpy as np

from weald import _native
from weald.losses.builtin import BuiltinLoss
from weald.losses.choosing import Loss

# Powers of the unit: of a sum of gradients, and of a gain (its square over a sum of hessians).
_DEGREES = {"squared_error": (1.0, 2.0), "huber": (1.0, 2.0), "poisson": (1.0, 1.0)}
_LN2 = 0.6931471805599453
_LARGE = 1e300


def units_of(loss: Loss, exponent: int) -> tuple[float, float]:
    """Binary exponents of what sums and gains are divided by if targets are by 2**exponent.

    >>> units_of(BuiltinLoss("squared_error", 1, 1), 300)
    (300.0, 600.0)
    """
    degrees = _DEGREES.get(loss.name, (0.0, 0.0))
    if isinstance(loss, BuiltinLoss) and loss.name == "tweedie":
        degrees = (2.0 - loss.parameter, 2.0 - loss.parameter)
    return degrees[0] * exponent, degrees[1] * exponent


def scaled(amount: float, exponent: float) -> float:
    """Multiply by a power of two, which need not be whole; nothing grows beyond the floats.

    >>> scaled(3.0, 2.0), round(scaled(1.0, 0.5), 3), scaled(1.0, 5000.0)
    (12.0, 1.414, 1e+300)
    """
    if amount == 0.0:
        return 0.0
    whole = math.floor(exponent)
    rest = exponent - whole
    factor = float(_native.exp(np.array([rest * _LN2]))[0]) if rest else 1.0
    with np.errstate(over="ignore", under="ignore"):
        return min(float(np.ldexp(float(amount) * factor, whole)), _LARGE)
