"""A table as bin codes, or as values to be sorted, and where its columns may be cut."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.data.rows import Floats, Rows, whole_multiples
from weald.data.sources import (
    AnyTable,
    ColumnTable,
    SparseTable,
    Table,
    as_one_array,
    levels_of,
    steady,
)

# Bins of a column when nothing is said, and the most whose codes fit a byte.
_CODED_BINS = 255

# Weights enter the choice of cuts and draws as whole numbers of at most this many bits.
_MASS_BITS = 30

# The core's layout of codes (cpp/base/types.hpp): columns in tiles of a cache line, and some slack.
_TILE, _SLACK = 64, 7


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Codes of every value, in the layout the core reads, and the cuts they come from.

    Code 0 means missing; the others are one more than the number of cuts below the value.
    `cuts[first[c]:first[c + 1]]` are the cuts of column c. The code of a category is one more than
    the number of its level; columns with more levels than a byte tells apart have `wide` codes.
    """

    codes: NDArray[np.uint8]
    n_rows: int
    cuts: Floats
    first: NDArray[np.int64]
    is_category: NDArray[np.uint8] | None = None  # None: no column is
    wide: Mapping[int, NDArray[np.uint16]] = field(default_factory=dict)

    @property
    def n_bins(self) -> NDArray[np.int32]:
        return (np.diff(self.first) + 1).astype(np.int32)

    def codes_of(self, column: int) -> NDArray[np.uint8]:
        """The codes of one column: tiles of 64 columns, row after row (see cpp/base/types.hpp)."""
        begin = column // _TILE * _TILE
        is_last = begin + _TILE >= len(self.first) - 1
        end = (len(self.codes) - _SLACK) // self.n_rows if is_last else begin + _TILE
        tile = self.codes[begin * self.n_rows : end * self.n_rows]
        return tile.reshape(self.n_rows, end - begin)[:, column - begin]

    def threshold(self, column: NDArray[np.int32], code: NDArray[np.uint8]) -> Floats:
        """The largest value that goes left of a split after `code` of `column`.

        After the last bin every value goes left, and only missing ones right.
        """
        position = self.first[column] + code - 1
        is_last = position == self.first[column + 1]
        padded = np.append(self.cuts, np.inf)
        return np.where(is_last, np.inf, padded[np.where(is_last, 0, position)])


@dataclass(frozen=True, eq=False)
class SortedTable:
    """Values that the core keeps sorted, and the cuts it may choose from.

    `cuts[first[c]:first[c + 1]]` are the cuts of column c; without any (None) every two values that
    are neighbours in a node may be cut apart. A column of levels holds their places 0, 1, ..., and
    `n_levels` (None: there is none) says how many; it is parted in sets.
    """

    table: Table
    cuts: Floats | None
    first: NDArray[np.int64] | None
    n_levels: NDArray[np.int32] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.table.shape[0])

    @cached_property
    def saw_missing(self) -> NDArray[np.uint8]:
        """Whether a column has missing values."""
        return np.array([np.isnan(column).any() for column in self.table.T], dtype=np.uint8)


def bin_rows(
    rows: Rows,
    *,
    max_bins: int | None,
    n_threads: int,
    exact: bool = False,
    learn_from: NDArray[np.bool_] | None = None,
) -> BinnedTable | SortedTable:
    """Cut the columns by the rows' weights, and code all rows where codes of a byte suffice.

    Parameters
    ----------
    max_bins
        Most bins of a column; None means 255.
    exact
        Cut nothing: every value may be told from the next.
    learn_from
        The rows that may choose the cuts (all by default); the others are only coded.

    Examples
    --------
    >>> table = np.array([[1.0], [2.0], [2.0], [np.nan]])
    >>> binned = bin_rows(Rows(table, np.zeros(4)), max_bins=255, n_threads=1)
    >>> binned.codes_of(0).tolist(), binned.cuts.tolist()
    ([1, 2, 2, 0], [1.5])
    """
    if exact:
        table = steady(as_one_array(rows.table))
        return SortedTable(table, None, None, _n_levels(rows.table))
    mass = mass_of(rows.total_weight)
    if learn_from is not None:
        mass = np.where(learn_from, np.int64(1) if mass is None else mass, np.int64(0))
    most = _CODED_BINS if max_bins is None else max_bins
    if isinstance(rows.table, np.ndarray):
        cuts, first = _native.find_cuts(rows.table, mass, most, n_threads)
        if np.diff(first).max() >= _CODED_BINS:
            return SortedTable(steady(rows.table), cuts, first)
        codes = _native.apply_cuts(rows.table, cuts, first, n_threads)
        return BinnedTable(codes, rows.n, cuts, first)
    if most > _CODED_BINS:
        return _bin_finely(rows, mass, most, n_threads)
    return _bin_columns(rows.table, mass, most, n_threads)


def _bin_finely(
    rows: Rows, mass: NDArray[np.int64] | None, max_bins: int, n_threads: int
) -> BinnedTable | SortedTable:
    """Cut into more bins than a byte has codes for; where none needs them, codes do."""
    table, n_levels = as_one_array(rows.table), _n_levels(rows.table)
    cuts, first = _native.find_cuts(table, mass, max_bins, n_threads)
    n_cuts = np.diff(first)
    if n_levels is not None:
        n_cuts[n_levels > 0] = 0
    if n_cuts.max() >= _CODED_BINS:
        return SortedTable(steady(table), cuts, first, n_levels)
    if n_levels is not None:
        assert isinstance(rows.table, ColumnTable)
        return _bin_columns(rows.table, mass, max_bins, n_threads)
    return BinnedTable(_native.apply_cuts(table, cuts, first, n_threads), rows.n, cuts, first)


def _n_levels(table: AnyTable) -> NDArray[np.int32] | None:
    n_levels = levels_of(table)
    return np.array(n_levels, dtype=np.int32) if n_levels else None


def _bin_columns(
    table: ColumnTable | SparseTable, mass: NDArray[np.int64] | None, max_bins: int, n_threads: int
) -> BinnedTable:
    """Cut and code a few columns at a time, so that no float array of all of them is made."""
    n_rows, n_columns = table.shape
    codes = _native.empty_codes(n_rows, n_columns)
    n_levels = table.n_levels
    is_category = (n_levels > 0).astype(np.uint8) if n_levels.any() else None
    wide: dict[int, NDArray[np.uint16]] = {}
    all_cuts, all_first = [], [np.zeros(1, dtype=np.int64)]
    for begin, columns in table.batches():
        if n_levels[begin] > 0:
            counts = n_levels[begin : begin + columns.shape[1]]
            for i in np.flatnonzero(counts > _CODED_BINS):
                place = columns[:, i]
                wide[begin + int(i)] = np.where(np.isnan(place), 0, place + 1).astype(np.uint16)
            columns, cuts, first = _between_levels(columns, counts)
        else:
            cuts, first = _native.find_cuts(columns, mass, max_bins, n_threads)
        _native.apply_cuts_into(columns, cuts, first, codes, n_columns, begin, n_threads)
        all_cuts.append(cuts)
        all_first.append(all_first[-1][-1] + first[1:])
    cuts, first = np.concatenate(all_cuts), np.concatenate(all_first)
    return BinnedTable(codes, n_rows, cuts, first, is_category, wide)


def _between_levels(columns: Table, n_levels: NDArray[np.int64]) -> tuple[Table, Floats, Any]:
    """Cuts that give level i the code i + 1. Columns of too many levels become missing there."""
    is_wide = n_levels > _CODED_BINS
    if is_wide.any():
        columns = columns.copy(order="F")
        columns[:, is_wide] = np.nan
    n_cuts = np.where(is_wide, 0, n_levels - 1)
    cuts = np.concatenate([np.arange(n) + 0.5 for n in n_cuts])
    return columns, cuts, np.concatenate([[0], np.cumsum(n_cuts)]).astype(np.int64)


def mass_of(weight: Floats | None) -> NDArray[np.int64] | None:
    """Weights as whole numbers in proportion: how probable a row is to be drawn. None: all alike.

    Multiples of a power of two are kept exactly, others rounded to 30 bits.

    >>> mass_of(np.array([0.5, 1.0])).tolist()
    [1, 2]
    """
    if weight is None:
        return None
    found = whole_multiples(weight)
    if found is not None:
        return found[0]
    # Powers of two scale exactly, so the result is the same on every machine.
    scaled = np.ldexp(weight, _MASS_BITS - np.frexp(weight.max())[1])
    mass: NDArray[np.int64] = np.maximum(1, np.rint(scaled)).astype(np.int64)
    return mass
