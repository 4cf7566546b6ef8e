"""Scaling of gradient sums, gains and losses with the unit of the target."""

import math

import numpy as np
from numpy.typing import ArrayLike

from weald import _native
from weald.losses.builtin import Floats
from weald.losses.choosing import Loss

_LN2 = 0.6931471805599453
_LARGE = 1e300


def units_of(loss: Loss, exponent: int) -> tuple[float, float]:
    """Binary exponents by which gradient sums and gains scale if y is divided by 2**exponent.

    A gain is the square of a sum of gradients over a sum of hessians.

    >>> from weald.losses import BuiltinLoss
    >>> units_of(BuiltinLoss("squared_error", 1, 1), 300)
    (300.0, 600.0)
    """
    gradient, hessian, _ = loss.degrees
    return gradient * exponent, (2.0 * gradient - hessian) * exponent


def unit_of_losses(loss: Loss, exponent: int) -> float:
    """Binary exponent that converts a loss back if y was divided by 2**exponent.

    >>> from weald.losses import BuiltinLoss
    >>> unit_of_losses(BuiltinLoss("absolute_error", 1, 1), 300)
    300.0
    """
    return loss.degrees[2] * exponent


def times_power(values: ArrayLike, exponent: float) -> Floats:
    """Multiply numbers by 2**exponent; the exponent need not be an integer.

    >>> times_power([3.0, np.nan], 2.0).tolist()
    [12.0, nan]
    """
    whole = math.floor(exponent)
    rest = exponent - whole
    factor = float(_native.exp(np.array([rest * _LN2]))[0]) if rest else 1.0
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(np.asarray(values, dtype=np.float64) * factor, whole))


def scaled(amount: float, exponent: float) -> float:
    """Multiply a number by 2**exponent, limited to 1e300.

    >>> scaled(3.0, 2.0), round(scaled(1.0, 0.5), 3), scaled(1.0, 5000.0)
    (12.0, 1.414, 1e+300)
    """
    if amount == 0.0:
        return 0.0
    return min(float(times_power(amount, exponent)), _LARGE)
