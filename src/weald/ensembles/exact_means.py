"""Means over rows that are independent of row order and machine."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Terms are rounded to this many bits relative to the largest one, and summed in two halves.
_BITS, _HALF = 52, 26


def exact_means(terms: Floats, weight: Floats | None) -> Floats:
    """Weighted means over the last axis.

    >>> exact_means(np.array([[1.0, 0.25], [0.5, 2.0]]), np.array([3.0, 1.0])).tolist()
    [0.8125, 0.875]
    """
    shares = np.ones(terms.shape[-1])
    if weight is not None:
        # Scaling by a power of two leaves the mean unchanged and avoids overflow of the products.
        shares = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
        terms = terms * shares
    exponent, sums = _sums(terms)
    share_exponent, share_sums = _sums(shares)
    # Weights may be so small that their sum is 0.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # The sum may overflow where the mean does not.
        return np.asarray(np.ldexp(sums / share_sums, exponent - share_exponent))


def _sums(terms: Floats) -> tuple[int, Floats]:
    """Exponent and sums over the last axis in units of 2**exponent; plain sums if not finite."""
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
