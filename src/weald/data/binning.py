"""Binning of tables: bin thresholds and bin codes, or values for exact splits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.checked_state import CheckedState
from weald.data.parts.table import PartsTable
from weald.data.rows import Floats, Rows, whole_multiples
from weald.data.sources import (
    AnyTable,
    ColumnTable,
    LazyTable,
    SparseTable,
    Table,
    as_one_array,
    levels_of,
    steady,
)

# Thresholds of all columns of an array, and the index of the first one of each column.
FindsCuts = Callable[[Table], tuple[Floats, NDArray[np.int64]]]

# Default number of bins per column, and the maximum for codes of one byte.
CODED_BINS = 255

# With more bins per row in some column, nodes are searched in sorted values instead of histograms.
_MOST_BINS_PER_ROW = 0.5

# Bits of the integer weights used to choose thresholds and to draw rows.
MASS_BITS = 30

# Layout of codes in the core (cpp/base/types.hpp): tiles of 64 columns, and padding at the end.
_TILE, _SLACK = 64, 7


@dataclass(frozen=True, eq=False)
class BinnedTable(CheckedState):
    """Bin codes in the layout of the core, and the thresholds between bins.

    Code 0 means missing; other codes are 1 + the number of thresholds below the value.
    `cuts[first[c]:first[c + 1]]` are the thresholds of column c. The code of a category is 1 + its
    index; columns with more than 255 bins or categories have 16-bit codes in `wide`.
    """

    codes: NDArray[np.uint8]
    n_rows: int
    cuts: Floats
    first: NDArray[np.int64]
    is_category: NDArray[np.uint8] | None = None  # per column; None if there are no categories
    wide: Mapping[int, NDArray[np.uint16]] = field(default_factory=dict)

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Number of bins of the byte codes of each column; 1 if its codes are wide."""
        found = (np.diff(self.first) + 1).astype(np.int32)
        found[list(self.wide)] = 1
        return found

    def prove_sound(self) -> None:
        """Raise an error if the arrays do not fit together; the core checks every code."""
        n_columns = len(self.first) - 1
        check_cuts(self.cuts, self.first)
        width, rest = divmod(len(self.codes) - _SLACK, self.n_rows)
        if rest or width < n_columns:
            raise ValueError("codes must have one byte per row and column, and the padding")
        if self.is_category is not None and self.is_category.shape != (n_columns,):
            raise ValueError("is_category must have one entry per column")
        if any(one.shape != (self.n_rows,) for one in self.wide.values()):
            raise ValueError("wide codes must have one entry per row")
        if any(not 0 <= column < n_columns for column in self.wide):
            raise ValueError("wide codes must be of columns of the table")

    def codes_of(self, column: int) -> NDArray[np.uint8]:
        """Return the codes of one column: tiles of 64 columns in row-major order."""
        begin = column // _TILE * _TILE
        is_last = begin + _TILE >= len(self.first) - 1
        end = (len(self.codes) - _SLACK) // self.n_rows if is_last else begin + _TILE
        tile = self.codes[begin * self.n_rows : end * self.n_rows]
        return tile.reshape(self.n_rows, end - begin)[:, column - begin]

    def threshold(self, column: NDArray[np.int32], code: NDArray[np.uint8]) -> Floats:
        """Return the threshold of a split after bin `code` of `column`.

        It is infinite after the last bin: all values go left, and only missing ones right.
        """
        position = self.first[column] + code - 1
        is_last = position == self.first[column + 1]
        padded = np.append(self.cuts, np.inf)
        return np.where(is_last, np.inf, padded[np.where(is_last, 0, position)])


@dataclass(frozen=True, eq=False)
class SortedTable(CheckedState):
    """Values for the sorted engine of the core, and the thresholds it may use.

    `cuts[first[c]:first[c + 1]]` are the thresholds of column c; None allows a threshold between
    any two adjacent values in a node (exact splits). Categorical columns hold indices 0, 1, ... of
    their categories, and `n_levels` the number of categories (None if no column is categorical).
    """

    table: Table
    cuts: Floats | None
    first: NDArray[np.int64] | None
    n_levels: NDArray[np.int32] | None = None

    def prove_sound(self) -> None:
        """Raise an error if the arrays do not fit together."""
        n_columns = self.table.shape[1]
        if self.cuts is not None and self.first is not None:
            check_cuts(self.cuts, self.first)
        if self.first is not None and self.first.shape != (n_columns + 1,):
            raise ValueError("first must have one entry per column and the total")
        if self.n_levels is not None and self.n_levels.shape != (n_columns,):
            raise ValueError("n_levels must have one entry per column")

    @property
    def n_rows(self) -> int:
        return int(self.table.shape[0])

    @cached_property
    def saw_missing(self) -> NDArray[np.uint8]:
        """Whether each column has missing values."""
        return np.array([np.isnan(column).any() for column in self.table.T], dtype=np.uint8)


def check_cuts(cuts: Floats, first: NDArray[np.int64]) -> None:
    """Raise an error if `first` does not say where the thresholds of each column begin."""
    if len(first) < 2 or first[0] != 0 or first[-1] != len(cuts) or (np.diff(first) < 0).any():
        raise ValueError("first must begin at 0 and rise to the number of thresholds")


def bin_rows(
    rows: Rows,
    *,
    max_bins: int | None,
    n_threads: int,
    exact: bool = False,
    learn_from: NDArray[np.bool_] | None = None,
) -> BinnedTable | SortedTable:
    """Find weighted bin thresholds, and encode all rows if one byte per value suffices.

    Parameters
    ----------
    max_bins
        Maximum number of bins per column; None means 255.
    exact
        Do not bin: allow a threshold between any two distinct values.
    learn_from
        Rows that determine the thresholds (default: all); the others are only encoded.

    Examples
    --------
    >>> table = np.array([[1.0], [2.0], [2.0], [np.nan]])
    >>> binned = bin_rows(Rows(table, np.zeros(4)), max_bins=255, n_threads=1)
    >>> binned.codes_of(0).tolist(), binned.cuts.tolist()
    ([1, 2, 2, 0], [1.5])
    """
    if isinstance(rows.table, PartsTable) and (exact or (max_bins or 0) > CODED_BINS):
        setting = "exact=True" if exact else f"max_bins={max_bins}"
        raise ValueError(
            f"a table in parts (weald.parts) cannot be fitted with {setting}: only codes of one "
            f"byte stay in memory. Use exact=False and at most {CODED_BINS} bins, or a table in "
            "memory."
        )
    if exact:
        table = steady(as_one_array(rows.table))
        return SortedTable(table, None, None, _n_levels(rows.table))
    most = CODED_BINS if max_bins is None else max_bins
    find_cuts = _finder_of_cuts(rows.total_weight, learn_from, most, n_threads)
    if isinstance(rows.table, np.ndarray):
        cuts, first = find_cuts(rows.table)
        if np.diff(first).max() >= CODED_BINS:
            return _bin_finely(rows.table, cuts, first, None, n_threads)
        codes = _native.apply_cuts(rows.table, cuts, first, n_threads)
        return BinnedTable(codes, rows.n, cuts, first)
    if most > CODED_BINS:
        table = as_one_array(rows.table)
        cuts, first = find_cuts(table)
        return _bin_finely(table, cuts, first, _n_levels(rows.table), n_threads)
    return _bin_columns(rows.table, find_cuts, n_threads)


def _finder_of_cuts(
    weight: Floats | None,
    learn_from: NDArray[np.bool_] | None,
    most: int,
    n_threads: int,
) -> FindsCuts:
    """The function that finds the thresholds of columns, of which some rows determine them."""
    mass, n_learn = learning_mass(weight, learn_from)
    return lambda columns: _native.find_cuts(columns[:n_learn], mass, most, n_threads)


def learning_mass(
    weight: Floats | None, learn_from: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64] | None, int | None]:
    """The integer weights by which rows determine thresholds, and how many do (None: all).

    If they are not the first ones, the others have weight 0.
    """
    mass, n_learn = mass_of(weight), None
    if learn_from is not None:
        n_learn = int(np.count_nonzero(learn_from))
        if learn_from[:n_learn].all():  # held-out rows come last: no masses are needed for them
            mass = None if mass is None else mass[:n_learn]
        else:
            n_learn = None
            mass = np.where(learn_from, np.int64(1) if mass is None else mass, np.int64(0))
    return mass, n_learn


def _bin_finely(
    table: Table,
    cuts: Floats,
    first: NDArray[np.int64],
    n_levels: NDArray[np.int32] | None,
    n_threads: int,
) -> BinnedTable | SortedTable:
    """Encode with two bytes per value the columns that need it; with very many bins, none."""
    n_columns = table.shape[1]
    levels = np.zeros(n_columns, dtype=np.int32) if n_levels is None else n_levels
    of_column = [
        cuts[first[c] : first[c + 1]] if levels[c] == 0 else _cuts_between_levels(levels[c])
        for c in range(n_columns)
    ]
    if max(map(len, of_column)) > _MOST_BINS_PER_ROW * len(table):
        return SortedTable(steady(table), cuts, first, n_levels)
    wide: dict[int, NDArray[np.uint16]] = {}
    for c in range(n_columns):
        if levels[c] > CODED_BINS:
            wide[c] = _wide_codes_of_levels(table[:, c])
        elif len(of_column[c]) >= CODED_BINS:
            wide[c] = _native.apply_many_cuts(table, c, of_column[c], n_threads)
    narrow = [cuts[:0] if c in wide else of_column[c] for c in range(n_columns)]
    codes = _native.apply_cuts(table, *_joined(narrow), n_threads)
    is_category = None if n_levels is None else (levels > 0).astype(np.uint8)
    binned = BinnedTable(codes, len(table), *_joined(of_column), is_category, wide)
    for c in wide:
        binned.codes_of(c)[:] = 0
    return binned


def _joined(of_column: list[Floats]) -> tuple[Floats, NDArray[np.int64]]:
    """Thresholds of all columns, and where those of each begin."""
    starts = np.cumsum([0, *map(len, of_column)]).astype(np.int64)
    return np.concatenate(of_column), starts


def _cuts_between_levels(n_levels: int) -> Floats:
    """Thresholds that give category i the code i + 1; none for more than 255 categories."""
    n_cuts = n_levels - 1 if n_levels <= CODED_BINS else 0
    return np.arange(n_cuts, dtype=np.float64) + 0.5


def _wide_codes_of_levels(index: NDArray[Any]) -> NDArray[np.uint16]:
    return np.where(np.isnan(index), 0, index + 1).astype(np.uint16)


def _n_levels(table: AnyTable) -> NDArray[np.int32] | None:
    n_levels = levels_of(table)
    return np.array(n_levels, dtype=np.int32) if n_levels else None


def _bin_columns(
    table: ColumnTable | SparseTable | LazyTable, find_cuts: FindsCuts, n_threads: int
) -> BinnedTable:
    """Bin batches of columns, to avoid a float array of the whole table."""
    n_rows, n_columns = table.shape
    codes = _native.empty_codes(n_rows, n_columns)
    n_levels = table.n_levels
    is_category = (n_levels > 0).astype(np.uint8) if n_levels.any() else None
    wide: dict[int, NDArray[np.uint16]] = {}
    all_cuts, all_first = [], [np.zeros(1, dtype=np.int64)]
    for begin, columns in table.batches():
        if n_levels[begin] > 0:
            counts = n_levels[begin : begin + columns.shape[1]]
            for i in np.flatnonzero(counts > CODED_BINS):
                wide[begin + int(i)] = _wide_codes_of_levels(columns[:, i])
            columns, cuts, first = _between_levels(columns, counts)
        else:
            cuts, first = find_cuts(columns)
        _native.apply_cuts_into(columns, cuts, first, codes, n_columns, begin, n_threads)
        all_cuts.append(cuts)
        all_first.append(all_first[-1][-1] + first[1:])
    cuts, first = np.concatenate(all_cuts), np.concatenate(all_first)
    return BinnedTable(codes, n_rows, cuts, first, is_category, wide)


def _between_levels(columns: Table, n_levels: NDArray[np.int64]) -> tuple[Table, Floats, Any]:
    """Return thresholds that give category i the code i + 1; wide columns are set to NaN."""
    is_wide = n_levels > CODED_BINS
    if is_wide.any():
        columns = columns.copy(order="F")
        columns[:, is_wide] = np.nan
    return columns, *_joined([_cuts_between_levels(n) for n in n_levels])


def mass_of(weight: Floats | None) -> NDArray[np.int64] | None:
    """Convert weights to proportional integers; None means equal weights.

    Exact if all weights are multiples of a power of two, else rounded to 30 bits, but not to 0.

    >>> mass_of(np.array([0.5, 1.0, 0.0])).tolist()
    [1, 2, 0]
    """
    if weight is None:
        return None
    found = whole_multiples(weight)
    if found is not None:
        return found[0]
    # Scaling by a power of two is exact, so that the result is the same on every machine.
    scaled = np.ldexp(weight, MASS_BITS - np.frexp(weight.max())[1])
    mass: NDArray[np.int64] = np.maximum(weight > 0, np.rint(scaled)).astype(np.int64)
    return mass
