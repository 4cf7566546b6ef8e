"""Values of a column at which its effect is evaluated: always values that occur in the table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Kind, Values, column_position, read_columns
from weald.explain.checks import column_names

Indices = NDArray[np.intp]

_ORDERED = (Kind.NUMBER, Kind.ORDERED, Kind.MOMENT, Kind.SPAN)


@dataclass(frozen=True, eq=False)
class GridColumn:
    """One column of a table.

    Attributes
    ----------
    position : int
        Index of the column.
    name : str
        Its name.
    is_ordered : bool
        Whether its values have an order: numbers, dates, ordered categories.
    keys : array, shape (rows,)
        The values as numbers, NaN if missing; of categories, their codes.
    shown : array, shape (rows,)
        The values for display.
    """

    position: int
    name: str
    is_ordered: bool
    keys: NDArray[np.float64]
    shown: NDArray[Any]

    @classmethod
    def of(cls, model: Any, X: Any, column: Any) -> "GridColumn":
        """Find a column by its name or position."""
        names = column_names(model, X, X.shape[1])
        named = hasattr(model, "feature_names_in_") or hasattr(X, "columns")
        position = column_position(column, names if named else None, X.shape[1], "column")
        values = read_columns(X)[position]
        keys, shown = _read(values)
        if np.isnan(keys).all():
            raise ValueError(f"{names[position]!r} has no values: all of them are missing.")
        return cls(position, names[position], values.kind in _ORDERED, keys, shown)

    def rows_of_values(self) -> Indices:
        """A row for each different value, in the order of the values."""
        known = np.flatnonzero(~np.isnan(self.keys))
        _, first = np.unique(self.keys[known], return_index=True)
        return known[first]

    def grid(self, most: int) -> Indices:
        """Rows whose values are the grid, ascending.

        All values if they are few, else evenly spaced quantiles, or the most frequent categories.
        """
        rows = self.rows_of_values()
        if len(rows) <= most:
            return rows
        known = np.flatnonzero(~np.isnan(self.keys))
        if self.is_ordered:
            order = known[np.argsort(self.keys[known], kind="stable")]
            spaced = order[np.linspace(0, len(order) - 1, most).round().astype(np.intp)]
            _, first = np.unique(self.keys[spaced], return_index=True)
            return spaced[first]
        counts = np.bincount(self.keys[known].astype(np.intp))
        frequent = np.argsort(-counts[self.keys[rows].astype(np.intp)], kind="stable")[:most]
        return rows[np.sort(frequent)]


def _read(values: Values) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The values as numbers, and for display."""
    if values.kind is Kind.NUMBER:
        numbers = np.asarray(values.numbers(), dtype=np.float64)
        return numbers, numbers
    if values.kind is Kind.MOMENT:
        instant, wall = values.moments(values.zone)
        keys = np.where(np.isnat(instant), np.nan, instant.astype(np.int64) / 1e6)
        return keys, wall
    if values.kind is Kind.SPAN:
        seconds = np.asarray(values.seconds(), dtype=np.float64)
        return seconds, seconds
    codes, found = values.coded()
    keys = np.where(np.asarray(codes) < 0, np.nan, np.asarray(codes, dtype=np.float64))
    shown = np.array([*found, None], dtype=object)[np.asarray(codes, dtype=np.intp)]
    return keys, shown
