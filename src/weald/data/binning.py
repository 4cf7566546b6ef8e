"""A table as bin codes, and where its columns were cut."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data.rows import Floats, Rows

# Fractional weights enter the choice of cuts as whole numbers of at most this many bits.
_MASS_BITS = 30


@dataclass(frozen=True)
class BinnedTable:
    """Codes of every value, eight columns side by side, and the cuts they come from.

    `codes[column // 8, row, column % 8]` is the number of cuts below the value; the number after
    the last bin means missing. `cuts[first[c]:first[c + 1]]` are the cuts of column c.
    """

    codes: NDArray[np.uint8]
    cuts: Floats
    first: NDArray[np.int64]

    @property
    def n_bins(self) -> NDArray[np.int32]:
        return (np.diff(self.first) + 1).astype(np.int32)

    def threshold(self, column: NDArray[np.int32], code: NDArray[np.uint8]) -> Floats:
        """The largest value that goes left of a split after bin `code` of `column`.

        After the last bin every value goes left, and only missing ones right.
        """
        position = self.first[column] + code
        is_last = position == self.first[column + 1]
        padded = np.append(self.cuts, np.inf)
        return np.where(is_last, np.inf, padded[np.where(is_last, 0, position)])


def bin_rows(
    rows: Rows, *, max_bins: int, n_threads: int, learn_from: NDArray[np.bool_] | None = None
) -> BinnedTable:
    """Cut the columns by the rows' weights and code all rows.

    Parameters
    ----------
    learn_from
        The rows that may choose the cuts (all by default); the others are only coded.

    Examples
    --------
    >>> table = np.array([[1.0], [2.0], [2.0], [np.nan]])
    >>> binned = bin_rows(Rows(table, np.zeros(4)), max_bins=255, n_threads=1)
    >>> binned.codes[0, :, 0].tolist(), binned.cuts.tolist()
    ([0, 1, 1, 2], [1.5])
    """
    mass = _mass(rows)
    if learn_from is not None:
        mass = np.where(learn_from, np.int64(1) if mass is None else mass, np.int64(0))
    cuts, first = _native.find_cuts(rows.table, mass, max_bins, n_threads)
    return BinnedTable(_native.apply_cuts(rows.table, cuts, first, n_threads), cuts, first)


def _mass(rows: Rows) -> NDArray[np.int64] | None:
    """How much each row counts when bins of equal mass are cut, in whole numbers."""
    if rows.weight is None:
        return rows.copies
    # Powers of two scale exactly, so the result is the same on every machine.
    scaled = np.ldexp(rows.weight, _MASS_BITS - np.frexp(rows.weight.max())[1])
    return np.maximum(1, np.rint(scaled)).astype(np.int64)
