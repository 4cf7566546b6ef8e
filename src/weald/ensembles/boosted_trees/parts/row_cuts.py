"""What a part answers about its columns when the bin thresholds of all parts are found."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.sources import side_by_side
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer

# Values that are sorted at once, and the most bytes of sorted columns that are kept for the next
# question; larger columns are sorted again in pieces, so that memory stays bounded.
_PIECE, _KEPT_BYTES = 2**20, 2**26


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Some values of a column in ascending order, and the mass of those before each.

    Without `mass` every value has mass 1.
    """

    values: NDArray[Any]
    mass: NDArray[np.int64] | None

    @property
    def n_bytes(self) -> int:
        return int(self.values.nbytes + (0 if self.mass is None else self.mass.nbytes))

    def up_to(self, ends: NDArray[np.intp]) -> NDArray[np.int64]:
        """The mass of as many of the lowest values."""
        return ends.astype(np.int64) if self.mass is None else self.mass[ends]


class RowCuts:
    """Answers what `found_cuts` asks about the columns of one part.

    Parameters
    ----------
    column : callable
        The values of a column by its number.
    mass : callable
        The mass of each row: rows with mass 0 do not count. None: all have mass 1.
    n_rows : int
        Number of rows.
    n_threads : int
        Columns that are sorted at the same time.
    most_kept : int, optional
        Most bytes of sorted columns that are kept for the next question.
    """

    def __init__(
        self,
        column: Callable[[int], NDArray[Any]],
        mass: Callable[[], NDArray[np.int64] | None],
        n_rows: int,
        n_threads: int,
        most_kept: int | None = None,
    ) -> None:
        self._column, self._mass, self._n_rows = column, mass, n_rows
        self._n_threads = n_threads
        self._most_kept = _KEPT_BYTES if most_kept is None else most_kept
        self._kept: dict[int, list[_Sorted]] = {}

    def largest_column(self) -> Answer:
        """The most bytes of a sorted column."""
        return (np.array([self._n_rows * (8.0 if self._mass() is None else 16.0)]),)

    def spread(self, columns: Sequence[int], step: int) -> Answer:
        """About every step-th of the sorted values of each column, padded with NaN."""
        return (_padded(self._each(columns, lambda i, pieces: _spread(pieces, step))),)

    def masses(self, columns: Sequence[int], edges: Sequence[Floats]) -> Answer:
        """Masses, negative least and largest values of the intervals between edges, per column.

        An interval has the values above the edge before it and up to its own; the last one has
        those above all edges. The answers about all columns are joined.
        """
        found = self._each(columns, lambda i, pieces: _masses(pieces, edges[i]))
        mass, low, high = (np.concatenate(one) for one in zip(*found, strict=True))
        return mass, -low, high

    def _each(self, columns: Sequence[int], answer: Callable[[int, list[_Sorted]], Any]) -> Any:
        """The answers about several columns, which are sorted in several threads."""
        self._kept = {c: kept for c, kept in self._kept.items() if c in columns}

        def answered(i: int) -> Any:
            c = columns[i]
            pieces = self._kept.get(c)
            return answer(i, self._sorted(c) if pieces is None else pieces)

        if self._n_threads == 1 or len(columns) == 1:
            return [answered(i) for i in range(len(columns))]
        with ThreadPoolExecutor(self._n_threads) as threads:
            return list(threads.map(answered, range(len(columns))))

    def _sorted(self, c: int) -> Any:
        """The sorted pieces of a column: all of them, kept, or one after the other."""
        pieces = _sorted_pieces(self._column(c), self._mass())
        n_kept = sum(one.n_bytes for kept in list(self._kept.values()) for one in kept)
        if n_kept + self.largest_column()[0][0] > self._most_kept:
            return pieces
        self._kept[c] = list(pieces)
        return self._kept[c]


def _sorted_pieces(column: NDArray[Any], mass: NDArray[np.int64] | None) -> Any:
    for begin in range(0, len(column), _PIECE):
        rows = slice(begin, begin + _PIECE)
        values = side_by_side([column[rows]])[:, 0]
        yield _sorted_piece(values, None if mass is None else mass[rows])


def _sorted_piece(values: NDArray[Any], mass: NDArray[np.int64] | None) -> _Sorted:
    counts = ~np.isnan(values) if mass is None else ~np.isnan(values) & (mass > 0)
    values = values[counts] + values.dtype.type(0)  # -0 becomes 0
    if mass is None or (mass[counts] == 1).all():
        return _Sorted(np.sort(values), None)
    order = np.argsort(values)
    return _Sorted(values[order], np.concatenate([[0], np.cumsum(mass[counts][order])]))


def _spread(pieces: Any, step: int) -> NDArray[Any]:
    found = [
        piece.values[min(step // 2, len(piece.values) // 2) :: step].astype(np.float64)
        for piece in pieces
    ]
    return np.concatenate([*found, np.empty(0)])


def _padded(rows: Sequence[Floats]) -> Floats:
    table = np.full((len(rows), max(len(row) for row in rows)), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def _masses(pieces: Any, edges: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Masses, least and largest values of intervals."""
    mass = np.zeros(len(edges) + 1, dtype=np.int64)
    low, high = np.full(len(mass), np.inf), np.full(len(mass), -np.inf)
    for piece in pieces:
        values = piece.values
        inner = np.searchsorted(values, _rounded_down(edges, values.dtype), side="right")
        ends = np.concatenate([[0], inner, [len(values)]])
        mass += np.diff(piece.up_to(ends))
        filled = ends[1:] > ends[:-1]
        low[filled] = np.minimum(low[filled], values[ends[:-1][filled]])
        high[filled] = np.maximum(high[filled], values[ends[1:][filled] - 1])
    return mass, low, high


def _rounded_down(edges: Floats, kind: Any) -> NDArray[Any]:
    """The largest numbers of a type that are not above the edges."""
    with np.errstate(over="ignore"):
        rounded = edges.astype(kind)
    return np.where(rounded > edges, np.nextafter(rounded, kind.type(-np.inf)), rounded)
