"""Row keys derived from row content, which all random draws use."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from weald import _native
from weald.groups import Groups

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float64]


class WeightedTable(Protocol):
    """Input of `ordered_rows`, such as `weald.data.Rows`."""

    def hashes(self, n_threads: int) -> Hashes: ...
    @property
    def total_weight(self) -> Floats | None: ...
    @property
    def groups(self) -> Groups | None: ...


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """The rows of a fit, sorted by content.

    Attributes
    ----------
    index : intp [rows]
        Original index of the row at each sorted position.
    keys : uint64 [rows, 2]
        Keys for random draws: a hash of the row's content and of its number among equal rows or,
        with groups, of the group's label. Empty if nothing is drawn.
    groups : Groups or None
        Group of each row, in sorted order, if whole groups are drawn.
    """

    index: NDArray[np.intp]
    keys: Hashes
    groups: Groups | None = None

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def place(self) -> NDArray[np.intp]:
        """Sorted position of each original row: the inverse of `index`."""
        place = np.empty(len(self.index), dtype=np.intp)
        place[self.index] = np.arange(len(self.index))
        return place

    def take(self, some: NDArray[np.intp]) -> "OrderedRows":
        """Select rows; `index` of the result is 0, 1, ..."""
        groups = None if self.groups is None else self.groups.take(some)
        return OrderedRows(np.arange(len(some)), np.ascontiguousarray(self.keys[some]), groups)

    def without_keys(self) -> "OrderedRows":
        """Drop the keys, 16 bytes per row, once all draws are made."""
        return replace(self, keys=np.empty((0, 2), dtype=np.uint64), groups=None)

    def without_index(self) -> "OrderedRows":
        """Drop the index once the rows have been taken from their table."""
        return replace(self, index=np.empty(0, dtype=np.intp))


def ordered_rows(rows: WeightedTable, *, n_threads: int) -> OrderedRows:
    """Sort rows by content, and number rows that are equal in all columns and the target.

    Equal rows are numbered by increasing weight, so that the row order can only exchange identical
    rows.
    """
    index, keys = _native.numbered_rows(rows.hashes(n_threads), rows.total_weight)
    if rows.groups is None:
        return OrderedRows(index, keys)
    groups = rows.groups.take(index)
    return OrderedRows(index, groups.keys_of_rows, groups)


def rows_as_they_lie(n: int) -> OrderedRows:
    """Return all `n` rows in table order, for fits without row sampling."""
    return OrderedRows(np.arange(n), np.empty((0, 2), dtype=np.uint64))


def seed_of(random_state: Any) -> int:
    """Convert a random_state to the integer seed of all draws of a fit.

    >>> seed_of(7)
    7
    """
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint64))
