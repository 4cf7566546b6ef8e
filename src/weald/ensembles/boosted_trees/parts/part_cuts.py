"""Bin thresholds of all parts of a table, exactly those of one table.

The values of a column are divided into intervals, of which the parts say the mass, the least and
the largest value. Thresholds follow from these, but for the few intervals inside of which one may
be: those are divided further, until no threshold is inside an interval.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer

# About how many intervals a column is divided into at first, and then each of those that may hold a
# threshold.
_INTERVALS, _PIECES = 2**12, 16

# Most columns in one question, and values of all of them: an answer has 24 bytes an interval.
_MOST_COLUMNS, _MOST_VALUES = 512, 2**17

# Intervals are asked about if the error of guesses leads to them at so many standard deviations.
# But not about many more of them at once: an answer is held in memory.
_DEVIATIONS, _MOST_DOUBTFUL = 3.0, 2**10

# Sorted columns of a part that are asked about at once need about so many bytes.
_PART_BYTES = 2**26

_LARGEST = np.finfo(np.float64).max


def found_cuts(
    ask: Callable[..., Answer], columns: Sequence[int], n_rows: int, max_bins: int
) -> list[Floats]:
    """The bin thresholds of some columns: equal mass, or all if there are few values.

    They are those of `_native.find_cuts` for all rows together.

    Parameters
    ----------
    ask
        Asks all parts, which answer by their `RowCuts`.
    columns
        Their numbers.
    n_rows
        Number of rows of all parts.
    max_bins
        Maximum number of bins.
    """
    if len(columns) == 0:
        return []
    fitting = min(
        int(_PART_BYTES / max(1.0, float(ask("largest_column")[0][0]))),
        _MOST_VALUES // min(max(1, n_rows), _INTERVALS),
        _MOST_COLUMNS,
    )
    batch = max(1, fitting)
    found: list[Floats] = []
    for begin in range(0, len(columns), batch):
        some = columns[begin : begin + batch]
        (spread,) = ask("spread", some, max(1, n_rows // _INTERVALS))
        found += _cuts_of(ask, some, spread, max_bins)
    return found


def _cuts_of(
    ask: Callable[..., Answer], columns: Sequence[int], spread: Floats, max_bins: int
) -> list[Floats]:
    """The thresholds of columns that are asked about together."""
    first = _answered(ask, columns, [_first_edges(values) for values in spread])
    intervals = [each.without([]) for each in first]
    while True:
        found = [_thresholds(each, max_bins) for each in intervals]
        open_ = [i for i, (_, doubtful) in enumerate(found) if len(doubtful)]
        if not open_:
            return [cuts for cuts, _ in found]
        inside = [intervals[i].edges_inside(found[i][1]) for i in open_]
        answers = _answered(ask, [columns[i] for i in open_], [np.ravel(one) for one in inside])
        for i, answer, edges_of in zip(open_, answers, inside, strict=True):
            outside = range(0, edges_of.size + 1, edges_of.shape[1])
            intervals[i] = intervals[i].replaced(found[i][1], answer.without(outside))


def _first_edges(values: Floats) -> Floats:
    """Edges around about the same number of rows; frequent and infinite values are alone."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    before = np.nextafter(distinct[counts > 1], -np.inf)
    return np.unique(np.concatenate([[-np.inf, _LARGEST], before, distinct]))


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Disjoint intervals of the values of a column, in ascending order.

    Attributes
    ----------
    mass : array of int64
        Mass of each.
    low, high : arrays
        Least and largest value of each; if they are equal, there is no other.
    """

    mass: NDArray[np.int64]
    low: Floats
    high: Floats

    def __getitem__(self, which: Any) -> "_Intervals":
        return _Intervals(self.mass[which], self.low[which], self.high[which])

    @property
    def is_one_value(self) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = self.low == self.high
        return same

    def edges_inside(self, which: Sequence[int]) -> Floats:
        """Edges that divide some intervals, a row for each: the ends are alone, the rest is even.

        Even in the order of all floats, so that small and large numbers need as many questions.
        """
        low, high = self.low[which], self.high[which]
        before_low, before_high = np.nextafter([low, high], -np.inf)
        inner = np.minimum(_evenly(low, high), before_high[:, np.newaxis])
        return np.column_stack([before_low, inner, before_high, high])

    def without(self, which: Sequence[int]) -> "_Intervals":
        """All but some intervals and those without values."""
        stays = self.mass > 0
        stays[np.asarray(which, dtype=np.intp)] = False
        return self[stays]

    def replaced(self, which: Sequence[int], by: "_Intervals") -> "_Intervals":
        """These intervals, some of them divided."""
        rest = self.without(which)
        joined = _Intervals(
            np.concatenate([rest.mass, by.mass]),
            np.concatenate([rest.low, by.low]),
            np.concatenate([rest.high, by.high]),
        )
        return joined[np.argsort(joined.low)]


def _evenly(low: Floats, high: Floats) -> Floats:
    """From low to below high in even steps of the order of all floats: `low` is the first."""
    sign = np.uint64(1) << np.uint64(63)
    bits = np.array([low, high]).view(np.uint64)
    begin, end = np.where(bits & sign, ~bits, bits | sign)
    steps, n = np.arange(_PIECES, dtype=np.uint64), np.uint64(_PIECES)
    width, rest = (part[:, np.newaxis] for part in np.divmod(end - begin, n))
    keys = begin[:, np.newaxis] + width * steps + rest * steps // n
    numbers: Floats = np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)
    return numbers


def _answered(
    ask: Callable[..., Answer], columns: Sequence[int], edges: Sequence[Floats]
) -> list[_Intervals]:
    """The intervals between edges, of each column."""
    mass, low, high = ask("masses", columns, edges)
    joined = _Intervals(mass, -low, high)
    ends = np.cumsum([0, *(len(one) + 1 for one in edges)])
    return [joined[begin:end] for begin, end in pairwise(ends)]


def _thresholds(intervals: _Intervals, max_bins: int) -> tuple[Floats, list[int]]:
    """The thresholds, and the intervals inside of which one may be: then they are guesses."""
    is_known = intervals.is_one_value
    unknown = np.flatnonzero(~is_known)
    if len(intervals.mass) + len(unknown) <= max_bins:  # maybe as few values as bins
        return _between(intervals, np.arange(len(intervals.mass) - 1)), unknown.tolist()
    heavy = intervals.mass >= -(-int(intervals.mass.sum()) // max_bins)
    if (heavy & ~is_known).any():
        return np.empty(0), np.flatnonzero(heavy & ~is_known).tolist()
    walk = _Walk(intervals.mass, heavy, is_known, max_bins)
    walk.run()
    return _between(intervals, np.array(walk.cut_after, dtype=np.intp)), sorted(walk.doubtful)


def _between(intervals: _Intervals, after: NDArray[np.intp]) -> Floats:
    """Thresholds after some intervals: `cut_between` in cpp/data/binning.cpp."""
    after = after[after < len(intervals.mass) - 1]
    a, b = intervals.high[after], intervals.low[after + 1]
    middle = a / 2 + b / 2
    fits = np.isfinite(middle) & (middle >= a) & (middle < b)
    return np.where(fits, middle, a)


def _overshoot(mass: NDArray[np.int64]) -> tuple[float, float]:
    """Mean mass beyond a full bin of the value that fills it, and how far guesses are from it.

    Estimated from the masses of known values. A bin gets full anywhere inside of a value, so that
    values count by their mass.

    >>> mean, error = _overshoot(np.array([3, 3, 3]))
    >>> mean, error / _DEVIATIONS
    (1.0, 0.816...)
    """
    m = mass.astype(np.float64)
    total = m.sum()
    if total == 0:
        return 0.0, 0.0
    mean = (m * (m - 1) / 2).sum() / total
    square = (m * (m - 1) * (2 * m - 1) / 6).sum() / total
    return float(mean), _DEVIATIONS * float(square - mean**2) ** 0.5


class _Walk:
    """Thresholds of equal mass, greedily from below: `cuts_by_mass` in cpp/data/binning.cpp.

    A heavy value, with at least the mass of an average bin, is alone in its bin.

    A threshold inside an interval of several values is guessed as if these had masses like those of
    known values; the interval is doubtful, and so are others to which errors of guesses may lead.
    """

    def __init__(
        self,
        mass: NDArray[np.int64],
        heavy: NDArray[np.bool_],
        is_known: NDArray[np.bool_],
        max_bins: int,
    ) -> None:
        self._end: list[int] = [0, *np.cumsum(mass).tolist()]
        self._n, self._heavy = len(mass), np.flatnonzero(heavy).tolist()
        self._is_known = is_known.tolist()
        light = mass[is_known & ~heavy]
        self._unit = int(np.gcd.reduce(light)) if len(light) else 1
        self._overshoot, self._error = _overshoot(light // self._unit)
        self._most_cuts = max_bins - 1
        self._light_mass = int(mass[~heavy].sum())
        self._light_bins = max_bins - len(self._heavy)
        self._enough = self._light_mass // self._light_bins if self._light_bins else 0
        self._n_guesses = 0
        self.cut_after: list[int] = []
        self.doubtful: set[int] = set()

    def run(self) -> None:
        """Find all thresholds."""
        begin = 0
        for heavy in [*self._heavy, self._n]:
            self._light(begin, heavy)
            self._cut(heavy)
            begin = heavy + 1

    def _light(self, begin: int, end: int) -> None:
        """Thresholds between light values: when a bin is full, and before a heavy value."""
        at = self._end[begin] if begin < end else 0
        while begin < end and self._light_bins and at < self._end[end]:
            full = at + max(1, self._enough)
            i = bisect_left(self._end, full, begin + 1, end + 1) - 1
            if i >= end:  # the bin does not get full before the heavy value
                if end < self._n:
                    self._close(end - 1, self._end[end] - at)
                return
            reached = self._reached(i, full)
            self._mark(reached, begin, end)
            self._close(i, reached - at)
            at = reached

    def _reached(self, i: int, full: int) -> int:
        """The mass of all values up to the threshold, in or after interval i."""
        if self._is_known[i] or self._end[i + 1] == full:
            return self._end[i + 1]
        if len(self.cut_after) < self._most_cuts:
            self.doubtful.add(i)
        n = self._n_guesses
        self._n_guesses += 1
        # In whole numbers that add up to the mean.
        more = int((n + 1) * self._overshoot) - int(n * self._overshoot)
        units = -(-(full - self._end[i]) // self._unit) + more
        return min(self._end[i] + units * self._unit, self._end[i + 1])

    def _mark(self, reached: int, begin: int, end: int) -> None:
        """Doubt the intervals around a threshold that follows guesses."""
        # Bins that are too large leave less for the others: errors of guesses fade out.
        n, rest = self._n_guesses, self._light_bins
        error = int(self._error * (n * rest / (n + rest)) ** 0.5) * self._unit
        is_enough = len(self.doubtful) >= _MOST_DOUBTFUL or len(self.cut_after) >= self._most_cuts
        if error == 0 or is_enough:
            return
        first = bisect_left(self._end, reached - error, begin + 1, end) - 1
        last = bisect_left(self._end, reached + error, begin + 1, end) - 1
        self.doubtful.update(i for i in range(first, last + 1) if not self._is_known[i])

    def _close(self, i: int, mass: int) -> None:
        """End a bin of light values in interval i."""
        self._cut(i)
        self._light_mass -= mass
        self._light_bins -= 1
        if self._light_bins:
            self._enough = self._light_mass // self._light_bins

    def _cut(self, i: int) -> None:
        if i < self._n - 1 and len(self.cut_after) < self._most_cuts:
            self.cut_after.append(i)
