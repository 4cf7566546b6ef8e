"""Numbering equal rows over all parts: what the client asks, and what it tells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# About so many rows of all parts are compared at once: 8 bytes each at the client.
_ROWS_AT_ONCE = 2**21


def number_rows(parts: Any, n_rows: int) -> None:
    """Make the keys of all rows, as `weald.resampling.ordered_rows` does in one table.

    Parts tell their words of hashes, range by range; only of words that several parts have, more is
    asked.
    """
    (tokens,) = parts.ask("sort_rows")
    n_ranges = -(-n_rows // _ROWS_AT_ONCE) if tokens.size > 1 else 0
    for i in range(n_ranges):
        first, end = (2**64 * j // n_ranges for j in (i, i + 1))
        words = np.sort(parts.ask("words_between", first, end - 1)[0][0])
        shared = np.unique(words[1:][words[1:] == words[:-1]])
        if len(shared):
            (sets,) = parts.ask("sets_of", shared)
            parts.ask("number_sets", shared, starts_of_sets(sets))
    parts.ask("make_keys")


def starts_of_sets(sets: NDArray[np.uint64]) -> dict[int, NDArray[np.int64]]:
    """The number of the first row of each set, by the name of its part, in the part's order.

    The rows of a hash are numbered by increasing weight; which of equal rows of the same weight
    comes first does not matter.

    Parameters
    ----------
    sets : uint64 [5, sets]
        Two words of a hash, the weight, the number of rows, and the name of the part.

    Examples
    --------
    >>> columns = [[7, 0, 1, 2, 50], [7, 0, 2, 1, 60], [7, 0, 1, 1, 60], [9, 0, 1, 4, 60]]
    >>> starts = starts_of_sets(np.array(columns, dtype=np.uint64).T)
    >>> {name: numbers.tolist() for name, numbers in starts.items()}
    {50: [0], 60: [2, 3, 0]}
    """
    high, low, weight, counts, token = sets
    order = np.lexsort((token, weight, low, high))
    high, low, token = high[order], low[order], token[order]
    before = np.cumsum(counts[order].astype(np.int64)) - counts[order].astype(np.int64)
    is_first = np.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))
    starts = before - np.maximum.accumulate(np.where(is_first, before, 0))
    return {int(name): starts[token == name] for name in np.unique(token)}
