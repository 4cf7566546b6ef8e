"""Bins of sparse tables, found and kept without a dense copy."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.checked_state import CheckedState
from weald.data.binning import (
    CODED_BINS,
    BinnedTable,
    SortedTable,
    bin_rows,
    check_cuts,
    learning_mass,
)
from weald.data.rows import Floats, Rows
from weald.data.sources import LISTED_BYTES, SparseTable

# With more stored values, codes of one byte for each cell take less memory.
_MOST_STORED = 1 / LISTED_BYTES


@dataclass(frozen=True, eq=False)
class ListedTable(CheckedState):
    """Bin codes of a sparse table in lists, and the thresholds between bins.

    The rows `rows[begins[c]:begins[c + 1]]` of column c have the codes at the same places, all
    others the code `usual[c]`. Codes and thresholds are those of a `BinnedTable`.
    """

    rows: NDArray[np.uint32]
    codes: NDArray[np.uint8]
    begins: NDArray[np.int64]
    usual: NDArray[np.uint8]
    n_rows: int
    cuts: Floats
    first: NDArray[np.int64]

    @property
    def n_bins(self) -> NDArray[np.int32]:
        """Number of bins of each column."""
        return (np.diff(self.first) + 1).astype(np.int32)

    def prove_sound(self) -> None:
        """Raise an error if the arrays do not fit together; the core checks rows and codes."""
        check_cuts(self.cuts, self.first)
        if self.begins.shape != self.first.shape or self.usual.shape != self.n_bins.shape:
            raise ValueError("begins, first and usual must be of the same columns")
        if self.rows.shape != self.codes.shape:
            raise ValueError("rows and codes must have the same length")


AnyBins: TypeAlias = BinnedTable | ListedTable | SortedTable


def bin_any_rows(
    rows: Rows,
    *,
    in_lists: bool,
    max_bins: int | None,
    exact: bool,
    n_threads: int,
    learn_from: NDArray[np.bool_] | None,
) -> AnyBins:
    """`bin_sparse_rows` if the codes may be `in_lists` and the table is sparse, else `bin_rows`."""
    listed = None
    if in_lists:
        listed = bin_sparse_rows(
            rows, max_bins=max_bins, n_threads=n_threads, learn_from=learn_from
        )
    if listed is not None:
        return listed
    return bin_rows(
        rows, max_bins=max_bins, exact=exact, n_threads=n_threads, learn_from=learn_from
    )


def bin_sparse_rows(
    rows: Rows, *, max_bins: int | None, n_threads: int, learn_from: NDArray[np.bool_] | None = None
) -> ListedTable | None:
    """What `bin_rows` finds, in lists; None if the table is not sparse enough.

    Examples
    --------
    >>> bin_sparse_rows(Rows(np.zeros((2, 1)), np.zeros(2)), max_bins=None, n_threads=1)
    """
    most = CODED_BINS if max_bins is None else max_bins
    if not isinstance(rows.table, SparseTable) or most > CODED_BINS:
        return None
    n_rows, n_columns = rows.table.shape
    if rows.table.columns.nnz > _MOST_STORED * n_rows * n_columns:
        return None
    entries = rows.table.entries()
    mass, n_learn = learning_mass(rows.total_weight, learn_from)
    n_learn = n_rows if n_learn is None else n_learn
    found = _native.bin_sparse(*entries, n_rows, n_learn, mass, most, n_threads)
    cuts, first, codes, usual = found
    return ListedTable(entries[1], codes, entries[2], usual, n_rows, cuts, first)
