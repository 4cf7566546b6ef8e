"""Means over rows that depend neither on the order of the rows nor on the machine."""

import numpy as np
from numpy.typing import NDArray

from weald.data.rows import MOST_COPIES

Floats = NDArray[np.float64]

# Terms are rounded to this many bits below the largest one, and added in two halves.
_BITS, _HALF = 52, 26


def exact_means(terms: Floats, weight: Floats | None) -> Floats:
    """Means over the last axis; whole-number weights count as repetitions of the row.

    >>> exact_means(np.array([[1.0, 0.25], [0.5, 2.0]]), np.array([3.0, 1.0])).tolist()
    [0.8125, 0.875]
    """
    copies: NDArray[np.int64] | None = None
    shares = np.ones(terms.shape[-1])
    if weight is not None and are_copies(weight):
        copies = weight.astype(np.int64)
    elif weight is not None:
        # A common power of two changes no mean, and keeps products within the range of floats.
        shares = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
        terms = terms * shares
    exponent, sums = _sums(terms, copies)
    share_exponent, share_sums = _sums(shares, copies)
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum itself may lie beyond the floats where the mean does not.
        return np.asarray(np.ldexp(sums / share_sums, exponent - share_exponent))


def counted_rows(weight: Floats | None, n_rows: int) -> float:
    """How many rows were seen: the sum of whole-number weights, else the rows themselves."""
    return float(weight.sum()) if weight is not None and are_copies(weight) else float(n_rows)


def are_copies(weight: Floats) -> bool:
    """Tell whether weights are numbers of repetitions."""
    is_whole = weight.max() <= MOST_COPIES and (weight == np.floor(weight)).all()
    return bool(is_whole and weight.sum() <= MOST_COPIES)


def _sums(terms: Floats, copies: NDArray[np.int64] | None) -> tuple[int, Floats]:
    """Sums over the last axis in units of two to an exponent; of what is not finite, as it is."""
    largest = float(np.abs(terms).max(initial=0.0))
    if not np.isfinite(largest):
        counted = terms if copies is None else np.where(copies > 0, terms, 0.0)
        with np.errstate(invalid="ignore"):
            return 0, np.asarray(counted.sum(axis=-1))
    exponent = _BITS - int(np.frexp(largest)[1])
    fixed = np.rint(np.ldexp(terms, exponent)).astype(np.int64)
    high, low = fixed >> _HALF, fixed & (2**_HALF - 1)
    if copies is not None:
        high, low = high * copies, low * copies
    totals = [
        (int(upper) << _HALF) + int(lower)
        for upper, lower in zip(high.sum(axis=-1).ravel(), low.sum(axis=-1).ravel(), strict=True)
    ]
    sums = np.array([float(total) for total in totals])
    return -exponent, np.asarray(sums.reshape(terms.shape[:-1]))
