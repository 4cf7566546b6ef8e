"""Results as tables: printed, in notebooks, and as data frames."""

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from weald.notebook import table_html
from weald.number_text import value_text


class Table(NamedTuple):
    """What is printed of a result.

    Attributes
    ----------
    title : str
        Lines above the table.
    head : list of str
        Names of the columns.
    rows : list of lists
        Values.
    n_more : int
        Number of rows that are left out.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    n_more: int = 0


class Printed:
    """A result that prints as a table and converts to data frames."""

    def _table(self) -> Table:
        raise NotImplementedError

    def _columns(self) -> dict[str, Any]:
        """All values by the name of the column."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return table_text(*self._table())

    def _repr_html_(self) -> str:
        return table_html(*self._table())

    def to_pandas(self) -> Any:
        """The result as a pandas data frame."""
        return importlib.import_module("pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """The result as a polars data frame."""
        return importlib.import_module("polars").DataFrame(self._columns())


def table_text(
    title: str, head: Sequence[str], rows: Sequence[Sequence[object]], n_more: int = 0
) -> str:
    """A table as text: the first column to the left, numbers to the right.

    Examples
    --------
    >>> print(table_text("effects", ["column", "mean"], [["age", 0.25], ["a", -1.5]], 3))
    effects
    column  mean
    age     0.25
    a       -1.5
    and 3 more
    """
    cells = [list(head), *([value_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([title, *lines, *([f"and {n_more} more"] if n_more > 0 else [])])
