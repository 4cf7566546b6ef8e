"""The training table of a fit on parts: columns are read from their source when they are needed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.columns import Category, Moment, Number, Ordered
from weald.data.parts.contents import BatchValues, without_values
from weald.data.parts.reading import PartsReading
from weald.data.plan import ColumnPlan
from weald.data.sources import Table, side_by_side

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class PartsTable:
    """Numeric columns by a column plan, as in a `ColumnTable`, but read a few at a time.

    Attributes
    ----------
    reading : PartsReading
        Reads the source.
    names : tuple of str
        Names of the input columns.
    plan : ColumnPlan
        How input columns become numeric columns.
    are_small : tuple of bool
        Of each input column, whether float32 holds all of its values.
    n_rows : int
        Number of rows of this table.
    most_bytes : int
        Values that are held at once; a single column may be larger.
    place : int [rows of the source, then of `below`] or None
        Index of each row in this table; -1: it is left out. None: all as they lie.
    below : float [rows, columns] or None
        Rows that come after those of the source.
    held : mapping
        Columns of this table that are in memory, by index.
    """

    reading: PartsReading
    names: tuple[str, ...]
    plan: ColumnPlan
    are_small: tuple[bool, ...]
    n_rows: int
    most_bytes: int
    place: NDArray[Any] | None = None
    below: Table | None = None
    held: Mapping[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.plan.n_columns

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns in messages."""
        return tuple(f"Column {self.names[owner]!r}" for owner in self.plan.owner)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of categories of each column, 0 if it is numeric."""
        sizes = [0 if levels is None else len(levels) for levels in self.plan.levels]
        return np.array(sizes, dtype=np.int64)

    def __getitem__(self, rows: NDArray[np.intp]) -> "PartsTable":
        """Select and order rows, each of which may occur once."""
        place = np.full(self.n_rows + 1, -1, dtype=_index_type(self.n_rows))
        place[rows] = np.arange(len(rows), dtype=place.dtype)
        # The last entry is that of rows which are left out already.
        place = place[:-1] if self.place is None else place[self.place]
        held = {i: column[rows] for i, column in self.held.items()}
        return replace(self, place=place, n_rows=len(rows), held=held)

    def above(self, rows: Table) -> "PartsTable":
        """Append rows whose columns are those of this table."""
        n, held = self.n_rows, self.held
        both = rows if self.below is None else np.concatenate([self.below, rows])
        place = self.place
        if place is not None:
            place = np.append(place, np.arange(n, n + len(rows), dtype=place.dtype))
        held = {i: np.append(one, rows[:, i]) for i, one in held.items()}
        return replace(self, below=both, place=place, n_rows=n + len(rows), held=held)

    def with_plan(
        self, plan: ColumnPlan, parts: Mapping[int, Sequence[NDArray[Any]]]
    ) -> "PartsTable":
        """The table by another plan; `parts` of some input columns are not as they are read."""
        firsts = np.searchsorted(plan.owner, np.arange(len(plan.columns))).tolist()
        held = {firsts[i] + k: one for i, own in parts.items() for k, one in enumerate(own)}
        return replace(self, plan=plan, held=held)

    def holding(self, columns: Sequence[int]) -> "PartsTable":
        """The same table with some of its columns in memory."""
        new = [i for i in columns if i not in self.held]
        if not new:
            return self
        read = {i: block[:, 0] for (i,), block in self._read([[i] for i in new])}
        return replace(self, held={**self.held, **read})

    # ---- columns ----

    def column(self, index: int) -> NDArray[Any]:
        """The values of one column, which is read unless it is in memory."""
        return self.holding([index]).held[index]

    def batches(self) -> Iterator[tuple[int, Table]]:
        """Yield batches of columns, each with the index of its first column.

        Numeric and categorical columns are never in the same batch.
        """
        for runs in self._loads(range(self.shape[1])):
            for run, block in self._read(runs):
                yield run[0], block

    def _loads(self, columns: range) -> Iterator[list[list[int]]]:
        """Columns that are read in one pass, by runs that make up one batch."""
        kinds, is_category = self._kinds, self.n_levels > 0

        def alike(i: int) -> tuple[Any, ...]:
            return kinds[i], is_category[i], i if i in self.held else -1

        load: list[list[int]] = []
        n_bytes = 0
        for _, same in groupby(columns, alike):
            run: list[int] = []
            for i in same:
                size = self.n_rows * kinds[i].itemsize
                if n_bytes + size > self.most_bytes and n_bytes > 0:
                    yield [*load, run] if run else load
                    load, run, n_bytes = [], [], 0
                run.append(i)
                n_bytes += size
            load.append(run)
        yield load

    def _read(self, runs: list[list[int]]) -> Iterator[tuple[list[int], Table]]:
        """Read the columns of some runs in one pass, and yield each run as one array."""
        blocks: list[tuple[list[int], Table]] = [
            (run, np.empty((self.n_rows, len(run)), dtype=self._kinds[run[0]], order="F"))
            for run in runs
        ]
        wanted = [i for run in runs for i in run if i not in self.held]
        for places, arrays in self._passing(wanted, self._why(wanted)):
            for run, block in blocks:
                for k, i in enumerate(run):
                    if i in arrays:
                        block[places, k] = arrays[i]
        while blocks:
            run, block = blocks.pop(0)
            if run[0] in self.held:
                block[:, 0] = self.held[run[0]]
            yield run, block

    def _why(self, wanted: Sequence[int]) -> str:
        owners = sorted({int(self.plan.owner[i]) for i in wanted})
        if len(owners) < 2:
            return f"column {self.names[owners[0]]!r}" if owners else "no column"
        return f"columns {owners[0] + 1} to {owners[-1] + 1} of {len(self.names)}"

    # ---- rows ----

    def pieces(self, n_columns: int | None = None) -> Iterator[tuple[Any, Table]]:
        """Yield (the first columns of) all rows a piece at a time, with the indices of its rows."""
        columns = range(self.shape[1] if n_columns is None else min(n_columns, self.shape[1]))
        wanted = [i for i in columns if i not in self.held]
        for places, arrays in self._passing(wanted, "rows"):
            own = [arrays[i] if i in arrays else self.held[i][places] for i in columns]
            yield places, side_by_side(own)

    def _passing(
        self, wanted: Sequence[int], why: str
    ) -> Iterator[tuple[Any, dict[int, NDArray[Any]]]]:
        """Pass over the source, then over the rows below: places and columns of each batch."""
        owners = sorted({int(self.plan.owner[i]) for i in wanted})
        firsts = np.searchsorted(self.plan.owner, owners).tolist()
        end = 0
        if owners:
            names = [self.names[owner] for owner in owners]
            for _, begin, values in self.reading.columns(names, why):
                arrays = {
                    first + k: array
                    for owner, first, own in zip(owners, firsts, values, strict=True)
                    for k, array in enumerate(as_planned(self.plan, owner, own))
                }
                end = begin + len(values[0])
                yield from self._placed(begin, end, {i: arrays[i] for i in wanted})
        if self.below is not None:
            arrays = {i: self.below[:, i] for i in wanted}
            n_source = self.reading.known_rows
            yield from self._placed(n_source, n_source + len(self.below), arrays)

    def _placed(
        self, begin: int, end: int, arrays: dict[int, NDArray[Any]]
    ) -> Iterator[tuple[Any, dict[int, NDArray[Any]]]]:
        if self.place is None:
            yield slice(begin, end), arrays
            return
        places = self.place[begin:end]
        kept = places >= 0
        if kept.all():
            yield places, arrays
        elif kept.any():
            yield places[kept], {i: array[kept] for i, array in arrays.items()}

    @property
    def _kinds(self) -> list[np.dtype[Any]]:
        """float32 or float64 for each column: float32 if it holds all values."""
        kinds: list[np.dtype[Any]] = []
        for column, is_small in zip(self.plan.columns, self.are_small, strict=True):
            first: np.dtype[Any] = _DOUBLE
            others: np.dtype[Any] = _DOUBLE
            if isinstance(column, (Category, Ordered)) or (isinstance(column, Number) and is_small):
                first = _SINGLE
            elif isinstance(column, Moment):
                others = _SINGLE
            kinds += [first] + [others] * (len(column.parts) - 1)
        return kinds


def _index_type(n: int) -> Any:
    return np.int32 if n < 2**31 - 1 else np.int64


def as_planned(plan: ColumnPlan, owner: int, values: BatchValues) -> list[NDArray[Any]]:
    """Convert an input column of a batch; one without values may have any kind."""
    column = plan.columns[owner]
    return column.read(values if values.has_values else without_values(values))
