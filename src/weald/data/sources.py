"""Tables that are not one float array, converted in batches of columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weald.data.values import Floats

# Minimum number of columns per batch, and number of values if there are few rows.
_BATCH, _BATCH_VALUES = 16, 2**22

Table = NDArray[np.float64] | NDArray[np.float32]

# Of a sparse table: values, their rows, and where those of each column begin.
Entries = tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Separately stored numeric columns, as in a data frame.

    Categorical columns hold the indices 0, 1, ... of their categories; `n_levels` is the number of
    categories, 0 for numeric columns.
    """

    columns: tuple[NDArray[Any], ...]
    n_levels: NDArray[np.int64]
    labels: tuple[str, ...] = ()  # names of the columns in messages

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]), len(self.columns)

    def column(self, index: int) -> NDArray[Any]:
        """The values of one column."""
        return self.columns[index]

    def __getitem__(self, rows: NDArray[np.intp]) -> "ColumnTable":
        return replace(self, columns=tuple(column[rows] for column in self.columns))

    def batches(self) -> Iterator[tuple[int, Table]]:
        """Yield batches of columns as one array, each with the index of its first column.

        Numeric and categorical columns are never in the same batch.
        """
        first = 0
        while first < len(self.columns):
            end = first + 1
            is_category = self.n_levels[first] > 0
            while end < min(first + _batch(self.shape[0]), len(self.columns)) and (
                (self.n_levels[end] > 0) == is_category
            ):
                end += 1
            yield first, side_by_side(list(self.columns[first:end]))
            first = end


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse table."""

    columns: Any  # a SciPy csc matrix without duplicate entries

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = self.columns.shape
        return int(n_rows), int(n_columns)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        return np.zeros(self.shape[1], dtype=np.int64)

    def __getitem__(self, rows: NDArray[np.intp]) -> "SparseTable":
        return SparseTable(self.columns[rows])

    def entries(self) -> Entries:
        """The stored values, and a copy of their rows, which increase within each column."""
        columns = self.columns
        if not columns.has_sorted_indices:
            columns = columns.sorted_indices()
        values = columns.data.astype(columns.dtype.newbyteorder("="), copy=False)
        return values, columns.indices.astype(np.uint32), columns.indptr.astype(np.int64)

    def batches(self) -> Iterator[tuple[int, Table]]:
        """Yield dense batches of columns, each with the index of its first column."""
        size = _batch(self.shape[0])
        for first in range(0, self.shape[1], size):
            yield first, self._dense(first, min(first + size, self.shape[1]))

    def first_columns(self, width: int) -> Table:
        """The first columns as one dense array."""
        return self._dense(0, min(width, self.shape[1]))

    def _dense(self, first: int, end: int) -> Table:
        """Densify some columns; SciPy's slicing copies all indices if index types differ."""
        whole = self.columns
        stored = slice(whole.indptr[first], whole.indptr[end])
        pointers = whole.indptr[first : end + 1] - whole.indptr[first]
        part = (whole.data[stored], whole.indices[stored], pointers)
        dense: Table = type(whole)(part, shape=(self.shape[0], end - first)).toarray(order="F")
        return dense


def _batch(n_rows: int) -> int:
    return max(_BATCH, _BATCH_VALUES // max(1, n_rows))


# Bytes that a stored value takes in lists of codes (sparse_binning.py), about.
LISTED_BYTES = 10


class LazyTable(Protocol):
    """A table whose columns are read when they are needed (`data/parts/table.py`)."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def n_levels(self) -> NDArray[np.int64]: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    def __getitem__(self, rows: NDArray[np.intp]) -> "LazyTable": ...
    def batches(self) -> Iterator[tuple[int, Table]]:
        """Yield batches of columns, each with the index of its first column."""


AnyTable = Table | ColumnTable | SparseTable | LazyTable


def as_one_array(table: AnyTable) -> Table:
    """Return the whole table as one float array."""
    if isinstance(table, np.ndarray):
        return table
    batches = [columns for _, columns in table.batches()]
    whole: Table = batches[0] if len(batches) == 1 else np.hstack(batches)  # type: ignore[assignment]
    return whole


def levels_of(table: AnyTable) -> list[int]:
    """Return the number of categories per column, 0 if numeric; empty if all are numeric."""
    if isinstance(table, np.ndarray) or not table.n_levels.any():
        return []
    return [int(n) for n in table.n_levels]


def refuse_levels(table: AnyTable, who: str) -> None:
    """Raise TypeError if there are categorical columns, which `who` does not support."""
    if not isinstance(table, np.ndarray) and table.n_levels.any():
        first = int(np.argmax(table.n_levels > 0))
        label = f"column {first}" if isinstance(table, SparseTable) else table.labels[first]
        raise TypeError(
            f"{label} holds categories, which {who} cannot split. Convert the column to numbers, "
            "drop it, or use a tree model: BoostedTrees, GradientBoosting, RandomForest or "
            "DecisionTree with a criterion other than absolute_error."
        )


def numbers_only(table: AnyTable, who: str) -> Table:
    """Return the table as one float array; raise TypeError if it has categories."""
    refuse_levels(table, who)
    return as_one_array(table)


def steady(table: Table) -> Table:
    """Copy a table that is read repeatedly, because another thread may modify the user's array.

    A value that becomes NaN after it was sorted would corrupt the model.
    """
    return table.copy(order="K")


def side_by_side(columns: list[NDArray[Any]]) -> Table:
    """Join columns to one float array: a view if they are evenly spaced, else a copy."""
    joined = view_as_one(columns)
    if joined is not None:
        return joined
    kind: Any = np.float32 if all(fits_float32(column) for column in columns) else np.float64
    table: Table = np.empty((len(columns[0]), len(columns)), dtype=kind, order="F")
    for i, column in enumerate(columns):
        table[:, i] = column
    return table


def fits_float32(column: NDArray[Any]) -> bool:
    """Whether float32 holds every value that a column of this type may have."""
    return column.dtype.kind in "fbiu" and (
        column.dtype.itemsize <= 2 or column.dtype == np.float32
    )


def view_as_one(columns: list[NDArray[Any]]) -> Table | None:
    """Return a view if columns are parts of one array, as often in pandas, else None."""
    first = columns[0]
    if first.dtype not in (np.float64, np.float32) or not first.dtype.isnative:
        return None
    if any(c.dtype != first.dtype or c.strides != first.strides for c in columns):
        return None
    begins = [column.__array_interface__["data"][0] for column in columns]
    steps = {b - a for a, b in pairwise(begins)} or {first.itemsize}
    if len(steps) != 1 or not _share_one_base(columns):
        return None
    view: Floats = np.lib.stride_tricks.as_strided(
        first, (len(first), len(columns)), (first.strides[0], steps.pop()), writeable=False
    )
    return view


def _share_one_base(columns: list[NDArray[Any]]) -> bool:
    """Whether all columns are views of one array, which the first of them keeps alive."""

    def root(array: Any) -> Any:
        while getattr(array, "base", None) is not None:
            array = array.base
        return array

    base = root(columns[0])
    return all(root(column) is base for column in columns)
