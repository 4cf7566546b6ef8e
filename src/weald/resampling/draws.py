"""Draws of rows by the hash of their content."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes

_UNIFORM_BITS = 53


class Purpose(IntEnum):
    """What a draw decides; each purpose has its own random numbers."""

    HOLD_OUT = 1
    SUBSAMPLE = 2
    BOOTSTRAP = 3  # made by the core (cpp/draws.hpp)
    COLUMNS = 4  # likewise
    FOLD = 16
    LIBRARY = 17


def subsample(
    hashes: Hashes,
    copies: NDArray[np.int64] | None,
    fraction: float,
    *,
    seed: int,
    member: int,
) -> NDArray[np.int64]:
    """How many copies of each row a member sees: `fraction` of them, without replacement.

    A row of c copies gives the whole part of `fraction * c` for certain and one more with the
    probability of the rest, so that repeated rows are thinned and never all in or all out. At
    least one row is drawn.
    """
    words = _native.draw(hashes, seed, member, Purpose.SUBSAMPLE)
    expected = fraction * (np.ones(len(words)) if copies is None else copies)
    certain = np.floor(expected)
    threshold = np.ldexp(expected - certain, _UNIFORM_BITS)
    drawn = certain.astype(np.int64)
    drawn += (words >> np.uint64(64 - _UNIFORM_BITS)).astype(np.float64) < threshold
    if not drawn.any():
        candidates = np.flatnonzero(expected > 0)
        drawn[candidates[np.argmin(words[candidates])]] = 1
    return drawn


def hold_out(
    hashes: Hashes,
    strata: NDArray[np.int64] | None,
    fraction: float,
    *,
    seed: int,
    at_least: int = 0,
) -> NDArray[np.bool_]:
    """Mark about `fraction` of the rows as held out: the first ones in the order of their draws.

    Inside each stratum (a class) the share is kept, rounded, so that a class of one row stays in
    training; `at_least` so many are held out of a stratum that has more. All copies of a row are on
    the same side. At least one row is held out and one kept.
    """
    words = _native.draw(hashes, seed, 0, Purpose.HOLD_OUT)
    if strata is None:
        strata = np.zeros(len(words), dtype=np.int64)
    order = np.lexsort((words, strata))
    sizes = np.bincount(strata)
    begins = np.cumsum(sizes) - sizes
    position = np.arange(len(words)) - begins[strata[order]]
    quota = np.maximum(np.floor(fraction * sizes + 0.5).astype(np.int64), at_least)
    held = np.zeros(len(words), dtype=bool)
    held[order] = position < np.minimum(quota, sizes - 1)[strata[order]]
    if not held.any() and len(words) > 1:
        held[np.argmin(words)] = True
    return held


def draw_some(n: int, n_drawn: int, *, seed: int, member: int) -> NDArray[np.intp]:
    """Draw `n_drawn` of the numbers below `n`, without replacement, in rising order.

    For what has no content but its number, such as the members of a library.

    >>> draw_some(5, 5, seed=0, member=0).tolist()
    [0, 1, 2, 3, 4]
    """
    numbers = np.zeros((n, 2), dtype=np.uint64)
    numbers[:, 0] = np.arange(n)
    words = _native.draw(numbers, seed, member, Purpose.LIBRARY)
    return np.sort(np.argsort(words, kind="stable")[:n_drawn])
