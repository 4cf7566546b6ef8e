"""Means over rows that depend neither on the order of the rows nor on the machine."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Terms are rounded to this many bits below the largest one, and added in two halves.
_BITS, _HALF = 52, 26


def exact_means(terms: Floats, weight: Floats | None) -> Floats:
    """Weighted means over the last axis.

    >>> exact_means(np.array([[1.0, 0.25], [0.5, 2.0]]), np.array([3.0, 1.0])).tolist()
    [0.8125, 0.875]
    """
    shares = np.ones(terms.shape[-1])
    if weight is not None:
        # A common power of two changes no mean, and keeps products within the range of floats.
        shares = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
        terms = terms * shares
    exponent, sums = _sums(terms)
    share_exponent, share_sums = _sums(shares)
    # Weights may be so small that they add up to 0.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # The sum itself may lie beyond the floats where the mean does not.
        return np.asarray(np.ldexp(sums / share_sums, exponent - share_exponent))


def _sums(terms: Floats) -> tuple[int, Floats]:
    """Sums over the last axis in units of two to an exponent; of what is not finite, as it is."""
    largest = float(np.abs(terms).max(initial=0.0))
    if not np.isfinite(largest):
        with np.errstate(invalid="ignore"):
            return 0, np.asarray(terms.sum(axis=-1))
    exponent = _BITS - int(np.frexp(largest)[1])
    fixed = np.rint(np.ldexp(terms, exponent)).astype(np.int64)
    high, low = fixed >> _HALF, fixed & (2**_HALF - 1)
    totals = [
        (int(upper) << _HALF) + int(lower)
        for upper, lower in zip(high.sum(axis=-1).ravel(), low.sum(axis=-1).ravel(), strict=True)
    ]
    sums = np.array([float(total) for total in totals])
    return -exponent, np.asarray(sums.reshape(terms.shape[:-1]))
