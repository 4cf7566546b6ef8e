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
    ROTATION = 5  # likewise
    FOLD = 16
    LIBRARY = 17
    BOOST = 18
    MEMBER_SEED = 19
    PASTE = 20
    BAG_COLUMNS = 21
    HALVES = 22
    SHUFFLE = 23
    VARIATION = 24
    POSTERIOR = 25
    NOISE = 26
    SETTINGS = 27


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


def draw_columns(
    n: int, n_drawn: int, *, replace: bool, seed: int, member: int
) -> NDArray[np.intp]:
    """Which of `n` columns a member sees: `n_drawn`, with or without replacement, in rising order.

    >>> draw_columns(3, 3, replace=False, seed=0, member=0).tolist()
    [0, 1, 2]
    """
    numbers = np.zeros((n_drawn if replace else n, 2), dtype=np.uint64)
    numbers[:, 0] = np.arange(len(numbers))
    words = _native.draw(numbers, seed, member, Purpose.BAG_COLUMNS)
    if replace:
        unit = np.ldexp((words >> np.uint64(64 - _UNIFORM_BITS)).astype(np.float64), -_UNIFORM_BITS)
        return np.sort(np.floor(unit * n).astype(np.intp))
    return np.sort(np.argsort(words, kind="stable")[:n_drawn])


def draw_by_mass(
    mass: NDArray[np.float64], n_draws: int, *, seed: int, member: int, attempt: int = 0
) -> NDArray[np.int64]:
    """How often each row is drawn when `n_draws` are made with replacement, in proportion to mass.

    Parameters
    ----------
    mass
        Whole numbers with a sum below 2**53, for rows in the order of their content
        (`distinct_rows`): then the draws do not depend on the order the rows came in.
    attempt
        Another number makes other draws.
    """
    ends = np.cumsum(mass)
    numbers = np.stack([np.arange(n_draws), np.full(n_draws, attempt)], axis=1).astype(np.uint64)
    words = _native.draw(numbers, seed, member, Purpose.BOOST)
    share = np.ldexp((words >> np.uint64(64 - _UNIFORM_BITS)).astype(np.float64), -_UNIFORM_BITS)
    # A product rounded up to the whole mass belongs to the last row that has any.
    place = np.minimum(np.floor(share * ends[-1]), ends[-1] - 1)
    rows = np.searchsorted(ends, place, side="right")
    return np.bincount(rows, minlength=len(mass)).astype(np.int64)


def member_seed(seed: int, member: int) -> int:
    """A random_state for a member of an ensemble.

    >>> member_seed(0, 0) != member_seed(0, 1)
    True
    """
    word = _native.draw(np.zeros((1, 2), dtype=np.uint64), seed, member, Purpose.MEMBER_SEED)
    return int(word[0] >> np.uint64(33))
