"""Rows by content: equal rows merged into one, in the order of a hash of what they hold."""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from weald import _native

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float64]


class WeightedTable(Protocol):
    """What merging needs to know of rows: `weald.data.Rows` is one."""

    def hashes(self, n_threads: int) -> Hashes: ...
    @property
    def copies(self) -> NDArray[np.int64] | None: ...
    @property
    def weight(self) -> Floats | None: ...


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Which rows stand for all, and what they count.

    `index` picks one of each set of equal rows, in the order of `hashes`; `copies` and `weight`
    are the sums over the set, with the meaning they have in `weald.data.Rows`. `set_of` says for
    each row which of the sets it belongs to.
    """

    index: NDArray[np.intp]
    hashes: Hashes
    copies: NDArray[np.int64] | None
    weight: Floats | None
    set_of: NDArray[np.intp]

    def when_drawn(self) -> "DistinctRows":
        """What is needed once all draws are made: neither hashes nor sets, 24 bytes a row."""
        nothing = np.empty((0, 2), dtype=np.uint64)
        return replace(self, hashes=nothing, set_of=np.empty(0, dtype=np.intp))

    def when_ranked(self) -> "DistinctRows":
        """What is needed once the rows were taken from their table: not even which they are."""
        return replace(self, index=np.empty(0, dtype=np.intp))


def distinct_rows(rows: WeightedTable, *, n_threads: int) -> DistinctRows:
    """Merge rows that are equal in all columns and the target.

    The result does not depend on the order of the rows, nor on whether a row is repeated or
    weighted: every draw starts from it.
    """
    order, begins, set_of, hashes = _native.equal_rows(rows.hashes(n_threads))
    copies: NDArray[np.int64] | None = None
    weight: Floats | None = None
    if rows.weight is not None:
        weight = _sums_by_set(rows.weight[order], begins)
    elif rows.copies is not None:
        copies = np.add.reduceat(rows.copies[order], begins)
    elif len(begins) < len(order):
        copies = np.diff(np.append(begins, len(order))).astype(np.int64)
    index = order if len(begins) == len(order) else order[begins]
    return DistinctRows(index, hashes, copies, weight, set_of)


def rows_by_themselves(rows: WeightedTable, n: int) -> DistinctRows:
    """All `n` rows in the order they lie in: for work that neither order nor repetition touches."""
    index, nothing = np.arange(n), np.empty((0, 2), dtype=np.uint64)
    return DistinctRows(index, nothing, rows.copies, rows.weight, index)


def _sums_by_set(weight: Floats, begins: NDArray[np.intp]) -> Floats:
    """Sums over runs of `weight`, rounded once, so that the order inside a run cannot matter."""
    sums = weight[begins].copy()
    ends = np.append(begins[1:], len(weight))
    for i in np.flatnonzero(ends - begins > 1):
        sums[i] = math.fsum(weight[begins[i] : ends[i]])
    return sums


def seed_of(random_state: object) -> int:
    """The whole number that keys all draws of a fit.

    >>> seed_of(7)
    7
    """
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**32, dtype=np.uint64))
