"""Drawing the rows that are held out, of all parts together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.resampling import numbers_held_out

# Counts of draws, over all strata, that are asked for at once, as a power of two.
_MOST_COUNTS = 16


def hold_out_of_parts(parts: Any, sizes: NDArray[np.int64], fraction: float, *, seed: int) -> int:
    """Hold out the rows that `weald.resampling.hold_out` does in one table; returns their number.

    These are the rows of the least draws of each stratum (class), of which `sizes` are the numbers
    of rows. Counts by the upper bits of draws tell where the last of them is; only draws with these
    upper bits are compared themselves.
    """
    numbers = numbers_held_out(sizes, fraction)
    if not numbers.any():
        numbers = np.ones(1, dtype=np.int64)  # of so few rows, that of the least draw
    n_strata = len(numbers)
    bits = max(1, _MOST_COUNTS - (n_strata - 1).bit_length())
    counts = parts.ask("counts_of_draws", seed, n_strata, bits)[0].reshape(n_strata, 1 << bits)
    ends = np.cumsum(counts, axis=1)
    buckets = np.array(
        [np.searchsorted(end, n) if n else -1 for end, n in zip(ends, numbers, strict=True)]
    )
    strata, draws = parts.ask("draws_in", seed, bits, buckets)[0]
    limits = np.zeros(n_strata, dtype=np.uint64)
    for k in np.flatnonzero(numbers):
        before = ends[k, buckets[k] - 1] if buckets[k] else 0
        own = np.sort(draws[strata == np.uint64(k)])
        limits[k] = own[numbers[k] - before - 1]
    parts.ask("hold_out", seed, limits, numbers > 0)
    return int(numbers.sum())
