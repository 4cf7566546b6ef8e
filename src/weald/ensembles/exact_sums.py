"""Sums over rows that depend neither on the order of the rows nor on the machine."""

import numpy as np
from numpy.typing import NDArray

from weald.data.rows import MOST_COPIES

Floats = NDArray[np.float64]

# Terms are rounded to this many bits below the largest one, and added in two halves.
_BITS, _HALF = 40, 20


def exact_sums(terms: Floats, weight: Floats | None) -> Floats:
    """Sums over the last axis; whole-number weights count as repetitions of the row.

    >>> exact_sums(np.array([[1.0, 0.25], [0.5, 2.0]]), np.array([3.0, 2.0])).tolist()
    [3.5, 5.5]
    """
    copies: NDArray[np.int64] | None = None
    if weight is not None and _are_copies(weight):
        copies = weight.astype(np.int64)
    elif weight is not None:
        terms = terms * weight
    largest = float(np.abs(terms).max(initial=0.0))
    exponent = _BITS - int(np.frexp(largest)[1])
    fixed = np.rint(np.ldexp(terms, exponent)).astype(np.int64)
    high, low = fixed >> _HALF, fixed & (2**_HALF - 1)
    if copies is not None:
        high, low = high * copies, low * copies
    totals = [
        (int(h) << _HALF) + int(l)
        for h, l in zip(high.sum(axis=-1).ravel(), low.sum(axis=-1).ravel(), strict=True)
    ]
    sums = np.ldexp(np.array([float(total) for total in totals]), -exponent)
    return np.asarray(sums.reshape(terms.shape[:-1]))


def total_weight(weight: Floats | None, n_rows: int) -> float:
    """The sum of all weights."""
    return float(n_rows) if weight is None else float(exact_sums(np.ones(n_rows), weight))


def _are_copies(weight: Floats) -> bool:
    return bool((weight == np.floor(weight)).all() and weight.sum() <= MOST_COPIES)
