"""Tables from files: target, features, and the line of a cell in messages."""

import csv
import difflib
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import narwhals.stable.v1 as nw

from weald.data.csv_files import separator_of
from weald.data.reading import read
from weald.data.text_files import decoded

# A text column is taken for a damaged column of numbers if at least this share of it are numbers.
_MOSTLY = 0.9
# Whole numbers with at most so many distinct values are taken for classes.
_MOST_CLASSES = 20
# More classes than that need so many rows each, on average, unless --task says that they are meant.
_FEWEST_ROWS = 5


@dataclass(frozen=True, eq=False)
class Table:
    """A table, and the file it was read from."""

    path: str
    frame: nw.DataFrame[Any]

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    @property
    def native(self) -> Any:
        """The data frame of pandas, polars or pyarrow."""
        return self.frame.to_native()

    def without(self, names: Collection[str]) -> "Table":
        return Table(self.path, self.frame.drop(*names)) if names else self

    def place(self, row: int) -> str:
        """Where a row is: the line of a csv file, else its number."""
        line = _line_of(self.path, row, len(self.frame))
        where = f"row {row} (counted from 0)" if line is None else f"line {line}"
        return f"'{self.path}', {where}"

    def odd_cell(self, names: Iterable[str]) -> str:
        """Name the first cell that is not a number in a column that else holds numbers, or ''."""
        for name in names:
            row, cell = _odd_cell(self.frame[name])
            if row is not None:
                return f"{self.place(row)}, column {name!r}: {cell!r} is not a number"
        return ""


def read_table(path: str) -> Table:
    """Read a table from a file with named columns."""
    found = read(path)
    if isinstance(found, tuple):
        raise ValueError(
            f"'{path}' gives rows and labels apart; expected a table with named columns (name the "
            "target by --target, and convert libsvm files to csv)"
        )
    return Table(path, nw.from_native(found, eager_only=True))


def nearest(names: Iterable[str], wanted: str) -> list[str]:
    """Sort names, those most like `wanted` first.

    >>> nearest(["age", "income", "town"], "incme")
    ['income', 'age', 'town']
    """

    def likeness(name: str) -> float:
        return difflib.SequenceMatcher(None, wanted.lower(), name.lower()).ratio()

    return sorted(names, key=lambda name: -likeness(name))


def check_column(table: Table, name: str | None, option: str) -> str:
    """Return the name of an existing column, or raise UsageError that lists the columns."""
    if name in table.columns:
        return str(name)
    columns = table.columns if name is None else nearest(table.columns, name)
    listed = ", ".join(columns[:20]) + (f" and {len(columns) - 20} more" * (len(columns) > 20))
    if name is None:
        raise click.UsageError(f"{option} is missing; the columns of '{table.path}' are: {listed}")
    raise click.UsageError(
        f"there is no column {name!r} for {option}; the columns of '{table.path}' are, the "
        f"nearest name first: {listed}"
    )


def take_target(table: Table, target: str | None) -> tuple[Table, Any]:
    """Separate the target from the other columns; every row must have one."""
    name = check_column(table, target, "--target")
    column = table.frame[name]
    missing = column.is_null().arg_true().to_list()
    if missing:
        raise ValueError(
            f"{table.place(missing[0])}, column {name!r}: the target is missing ({len(missing)} "
            "such rows); drop these rows"
        )
    row, cell = _odd_cell(column)
    if row is not None:
        raise ValueError(
            f"{table.place(row)}, column {name!r}: the target {cell!r} is not a number, but most "
            "others are; correct the cell"
        )
    rest = table.without([name])
    if not rest.columns:
        raise ValueError(f"'{table.path}' has no column but the target {name!r}")
    return rest, column.to_native()


def task_of(y: Any, task: str) -> str:
    """Return "classification" or "regression", guessed from the target if `task` is "auto"."""
    column = nw.from_native(y, series_only=True)
    is_number = column.dtype.is_numeric()
    if task == "regression" and not is_number:
        raise ValueError(f"--task regression needs numbers, but the target is {column.dtype}")
    if task != "auto":
        return task
    if not is_number:
        return "classification"
    values = column.unique().to_list()
    few = len(values) <= _MOST_CLASSES and all(float(value).is_integer() for value in values)
    return "classification" if few else "regression"


def check_classes(table: Table, target: str) -> None:
    """Refuse a target of many classes with hardly a row each, which was not meant as classes."""
    column = table.frame[target]
    n_classes, n_rows = column.n_unique(), len(column)
    if n_classes > _MOST_CLASSES and n_classes * _FEWEST_ROWS > n_rows:
        raise ValueError(
            f"'{table.path}', column {target!r}: the target has {n_classes:,} different values in "
            f"{n_rows:,} rows, such as {str(column[0])!r}: too few rows for each to be a class. "
            "Choose another --target, write its cells as numbers (with a decimal point), or "
            "say --task classification if it is meant"
        )


def features_of(model: Any, table: Table) -> Table:
    """Select the columns that the model was fitted on, in any order; others are left out."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table
    missing = [name for name in names if name not in table.columns]
    if missing:
        like = nearest(table.columns, missing[0])[:5]
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(
            f"'{table.path}' has no column {missing[0]!r}{more}, which the model was fitted on; "
            f"it has, the nearest name first: {', '.join(like)}"
        )
    return Table(table.path, table.frame.select(*names))


def _odd_cell(column: nw.Series[Any]) -> tuple[int | None, str]:
    if column.dtype != nw.String:
        return None, ""
    cells = [(row, cell) for row, cell in enumerate(column.to_list()) if isinstance(cell, str)]
    odd = [(row, cell) for row, cell in cells if not _is_number(cell)]
    if not odd or len(cells) - len(odd) < _MOSTLY * len(cells):
        return None, ""
    return odd[0]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _line_of(path: str, row: int, n_rows: int) -> int | None:
    """Line of a row in a csv file, counted from 1; None for other files."""
    file = Path(path if Path(path).exists() else path.rpartition("?")[0])
    lines, last = [], 0
    try:
        separator = separator_of(file)
        with decoded(file, newline="") as text:
            reader = csv.reader(text, delimiter=separator)
            for cells in reader:
                if cells:
                    lines.append(last + 1)
                last = reader.line_num
    except (OSError, ValueError, csv.Error):
        return None
    header = len(lines) - n_rows
    return lines[row + header] if header in {0, 1} else None
