"""Rows by content: every row has a key, and all draws are draws over these keys."""

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
    """What numbering rows needs to know of them: `weald.data.Rows` is one."""

    def hashes(self, n_threads: int) -> Hashes: ...
    @property
    def total_weight(self) -> Floats | None: ...
    @property
    def groups(self) -> Groups | None: ...


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """The rows of a fit in the order of their content.

    Attributes
    ----------
    index : intp [rows]
        Which row of the fit lies at each place.
    keys : uint64 [rows, 2]
        What draws go by: a hash of the row's content and of its number among equal rows, or, with
        groups, a hash of the group's label. Empty where nothing is drawn.
    groups : Groups or None
        The group of each row, in the same order, if whole groups are drawn.
    """

    index: NDArray[np.intp]
    keys: Hashes
    groups: Groups | None = None

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def place(self) -> NDArray[np.intp]:
        """At which place each row of the fit lies."""
        place = np.empty(len(self.index), dtype=np.intp)
        place[self.index] = np.arange(len(self.index))
        return place

    def take(self, some: NDArray[np.intp]) -> "OrderedRows":
        """Some of the rows, as if there were no others; `index` then counts from 0."""
        groups = None if self.groups is None else self.groups.take(some)
        return OrderedRows(np.arange(len(some)), np.ascontiguousarray(self.keys[some]), groups)

    def without_keys(self) -> "OrderedRows":
        """What is needed once all draws are made: 16 bytes a row less."""
        return replace(self, keys=np.empty((0, 2), dtype=np.uint64), groups=None)

    def without_index(self) -> "OrderedRows":
        """What is needed once the rows were taken from their table."""
        return replace(self, index=np.empty(0, dtype=np.intp))


def ordered_rows(rows: WeightedTable, *, n_threads: int) -> OrderedRows:
    """Sort rows by content and number those that are equal in all columns and the target.

    Copies are numbered by rising weight, so that the order of the rows in the table changes at most
    which of several identical rows is meant.
    """
    index, keys = _native.numbered_rows(rows.hashes(n_threads), rows.total_weight)
    if rows.groups is None:
        return OrderedRows(index, keys)
    groups = rows.groups.take(index)
    return OrderedRows(index, groups.keys_of_rows, groups)


def rows_as_they_lie(n: int) -> OrderedRows:
    """All `n` rows in the order of the table: for a fit that draws no rows."""
    return OrderedRows(np.arange(n), np.empty((0, 2), dtype=np.uint64))


def seed_of(random_state: Any) -> int:
    """The whole number that keys all draws of a fit.

    >>> seed_of(7)
    7
    """
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint64))
