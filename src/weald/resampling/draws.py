"""Random draws of rows, columns and groups by their keys."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.groups import Groups
from weald.resampling.content import Hashes

_UNIFORM_BITS = 53


class Purpose(IntEnum):
    """Purpose of a draw; each has its own stream of random numbers."""

    HOLD_OUT = 1
    SUBSAMPLE = 2
    BOOTSTRAP = 3  # made by the core (cpp/base/draws.hpp)
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
    keys: Hashes,
    copies: NDArray[np.int64] | None,
    held_out: NDArray[np.bool_] | None,
    fraction: float,
    *,
    seed: int,
    member: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Draw rows with probability `fraction` for one base estimator: how often each is in it.

    A row that is drawn is in it `copies` times (None: once), unless it is held out. Rows with the
    same key (of one group) are drawn together. The second array marks the rows that are drawn,
    those that are held out included. At least one row is drawn, of each.
    """
    return _native.subsample(keys, copies, held_out, fraction, seed, member, Purpose.SUBSAMPLE)


def hold_out(
    keys: Hashes,
    strata: NDArray[np.int64] | None,
    fraction: float,
    *,
    seed: int,
    at_least: int = 0,
) -> NDArray[np.bool_]:
    """Mark about `fraction` of the rows of each stratum (class) as held out.

    Counts per stratum are rounded, but at least `at_least` and at most all but one row, so that a
    class with a single row stays in training. At least one row is held out and one kept.
    """
    words = _native.draw(keys, seed, 0, Purpose.HOLD_OUT)
    if strata is None:
        strata = np.zeros(len(words), dtype=np.int64)
    order = np.lexsort((words, strata))
    sizes = np.bincount(strata)
    begins = np.cumsum(sizes) - sizes
    position = np.arange(len(words)) - begins[strata[order]]
    held = np.zeros(len(words), dtype=bool)
    held[order] = position < numbers_held_out(sizes, fraction, at_least)[strata[order]]
    if not held.any() and len(words) > 1:
        held[np.argmin(words)] = True
    return held


def numbers_held_out(
    sizes: NDArray[np.int64], fraction: float, at_least: int = 0
) -> NDArray[np.int64]:
    """How many rows of strata of these sizes `hold_out` holds out, if any.

    >>> numbers_held_out(np.array([100, 14, 1]), 0.1).tolist()
    [10, 1, 0]
    """
    rounded = np.maximum(np.floor(fraction * sizes + 0.5).astype(np.int64), at_least)
    held: NDArray[np.int64] = np.maximum(np.minimum(rounded, sizes - 1), 0)
    return held


def hold_out_groups(groups: Groups, fraction: float, *, seed: int) -> NDArray[np.bool_]:
    """Mark whole groups, about `fraction` of the rows in total, as held out.

    At least one group is held out and one kept.
    """
    words = _native.draw(groups.keys, seed, 0, Purpose.HOLD_OUT)
    order = np.argsort(words, kind="stable")
    sizes = np.bincount(groups.of_row, minlength=groups.n)[order]
    # Hold out a group if that brings the number of rows closer to the target.
    middle = np.cumsum(sizes) - sizes / 2
    n_held = int((middle < fraction * len(groups.of_row)).sum())
    chosen = np.zeros(groups.n, dtype=bool)
    chosen[order[: min(max(n_held, 1), groups.n - 1)]] = True
    return chosen[groups.of_row]


def draw_some(n: int, n_drawn: int, *, seed: int, member: int) -> NDArray[np.intp]:
    """Draw `n_drawn` of the integers below `n` without replacement, sorted.

    For items without content, such as the estimators of a model library.

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
    """Draw `n_drawn` of `n` columns for one base estimator, sorted.

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
    """Return how often each row is drawn in `n_draws` draws with replacement, weighted by mass.

    Parameters
    ----------
    mass
        Integers with a sum below 2**53, for rows sorted by content (`ordered_rows`), so that the
        draws do not depend on the original row order.
    attempt
        Selects a different draw for the same seed.
    """
    ends = np.cumsum(mass)
    numbers = np.stack([np.arange(n_draws), np.full(n_draws, attempt)], axis=1).astype(np.uint64)
    words = _native.draw(numbers, seed, member, Purpose.BOOST)
    share = np.ldexp((words >> np.uint64(64 - _UNIFORM_BITS)).astype(np.float64), -_UNIFORM_BITS)
    # Rounding may yield the total mass itself, which belongs to the last row.
    place = np.minimum(np.floor(share * ends[-1]), ends[-1] - 1)
    rows = np.searchsorted(ends, place, side="right")
    return np.bincount(rows, minlength=len(mass)).astype(np.int64)


def estimator_seed(seed: int, member: int) -> int:
    """Return a random_state for one base estimator of an ensemble.

    >>> estimator_seed(0, 0) != estimator_seed(0, 1)
    True
    """
    word = _native.draw(np.zeros((1, 2), dtype=np.uint64), seed, member, Purpose.MEMBER_SEED)
    return int(word[0] >> np.uint64(33))
