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
    with np.errstate(invalid="ignore", divide="ignore"):  # weights so small that they add up to 0
        return np.asarray(_sums(terms) / _sums(shares))


def _sums(terms: Floats) -> Floats:
    largest = float(np.abs(terms).max(initial=0.0))
    exponent = _BITS - int(np.frexp(largest)[1])
    fixed = np.rint(np.ldexp(terms, exponent)).astype(np.int64)
    high, low = fixed >> _HALF, fixed & (2**_HALF - 1)
    totals = [
        (int(upper) << _HALF) + int(lower)
        for upper, lower in zip(high.sum(axis=-1).ravel(), low.sum(axis=-1).ravel(), strict=True)
    ]
    sums = np.ldexp(np.array([float(total) for total in totals]), -exponent)
    return np.asarray(sums.reshape(terms.shape[:-1]))
