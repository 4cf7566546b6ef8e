"""Csv files in parts: types of columns that fit the cells of all files."""

import importlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from weald.data.csv_files import CsvFile, Head, read_head, separator_of
from weald.data.date_columns import DATE_FORMS
from weald.data.parts.batches import Batch, check_names, needs_arrow
from weald.data.reading import MISSING_MARKS
from weald.data.text_files import refuse_nul

_BLOCK_BYTES = 1 << 23

# Types of a column, in the order of preference; text always fits.
_TYPES = ("int64", "float64", "bool", *DATE_FORMS.values())


class CsvParts:
    """Csv files, each of which is a part; a first pass finds the types of the columns."""

    reads_columns = False

    def __init__(self, files: list[Path]) -> None:
        needs_arrow("reading csv files in parts")
        self._files = [self._opened(file) for file in files]
        self.names = self._files[0][1].names
        for source, head in self._files[1:]:
            check_names(self.names, head.names, str(source.file))
        self._types: dict[str, str | None] = {}

    @staticmethod
    def _opened(file: Path) -> tuple[CsvFile, Head]:
        source = CsvFile(file, "auto", separator_of(file), MISSING_MARKS)
        refuse_nul(file)
        return source, read_head(source)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        if not self._types:
            self._types = self._fitting_types()
        for source, head in self._files:
            for cells in self._cells(source, head, columns):
                typed = [_typed(cells[name], self._types[name]) for name in columns]
                table = needs_arrow("csv").table(dict(zip(columns, typed, strict=True)))
                yield Batch(str(source.file), nw.from_native(table, eager_only=True))

    def _fitting_types(self) -> dict[str, str | None]:
        """For every column the first type that all of its cells have; None: text."""
        possible = {name: list(_TYPES) for name in self.names}
        for source, head in self._files:
            for cells in self._cells(source, head, self.names):
                for name in self.names:
                    present = cells[name].drop_null()
                    possible[name] = [one for one in possible[name] if _fits(present, one)]
        return {name: next(iter(left), None) for name, left in possible.items()}

    def _cells(self, source: CsvFile, head: Head, columns: Sequence[str]) -> Iterator[Any]:
        """Yield blocks of a file as Arrow tables of text."""
        arrow, reader = needs_arrow("csv"), importlib.import_module("pyarrow.csv")
        try:
            with reader.open_csv(
                str(source.file),
                read_options=reader.ReadOptions(
                    column_names=head.names,
                    skip_rows=head.n_header_lines,
                    block_size=_BLOCK_BYTES,
                    use_threads=False,
                ),
                parse_options=reader.ParseOptions(
                    delimiter=source.separator, newlines_in_values=True
                ),
                convert_options=reader.ConvertOptions(
                    column_types=dict.fromkeys(head.names, arrow.string()),
                    include_columns=list(columns),
                    null_values=list(source.marks),
                    strings_can_be_null=True,
                ),
            ) as blocks:
                for block in blocks:
                    yield arrow.Table.from_batches([block])
        except FileNotFoundError:
            raise
        except (OSError, arrow.ArrowInvalid) as error:
            raise ValueError(f"cannot read '{source.file}' as csv: {error}") from error


def _fits(cells: Any, kind: str) -> bool:
    arrow = needs_arrow("csv")
    try:
        typed = _typed(cells, kind)
        if kind in DATE_FORMS.values():
            # Arrow reads the 30th of February as the 1st of March.
            for cell in cells.unique().to_pylist():
                datetime.fromisoformat(cell)
            return _has_form(cells, kind) and typed.null_count == 0
    except (arrow.ArrowInvalid, ValueError):
        return False
    return True


def _has_form(cells: Any, form: str) -> bool:
    compute = importlib.import_module("pyarrow.compute")
    pattern = next(one for one, kind in DATE_FORMS.items() if kind == form)
    all_match = compute.all(compute.match_substring_regex(cells, pattern)).as_py()
    return all_match is not False  # None: there are no cells


def _typed(cells: Any, kind: str | None) -> Any:
    """Convert a column of text."""
    if kind is None:
        return cells
    compute = importlib.import_module("pyarrow.compute")
    if kind in DATE_FORMS.values():
        return compute.strptime(cells, format=kind, unit="us")
    return compute.utf8_trim_whitespace(cells).cast(kind)
