"""Csv files and files with other separators, read by the installed frame library."""

from __future__ import annotations

import csv
import importlib
import io
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, cast

# The stable API: in the main one, `native_namespace` was renamed within the supported versions.
import narwhals.stable.v1 as nw

from weald.data.frame_library import frame_library
from weald.data.text_files import (
    content_of,
    decoded,
    is_compressed,
    n_bytes,
    n_quotes,
    refuse_nul,
)
from weald.errors import listing

Header: TypeAlias = Literal["auto"] | bool

# Separators that are recognised, the most likely first, and the number of rows that must agree.
SEPARATORS = (",", ";", "\t", "|")
_SNIFFED_ROWS = 20

# The frame library parses the data. csv.reader reads the first two rows before, and the whole file
# only if it may be malformed, which is detected in all cases:
# 1. a row with too many cells is an error in every library (in pandas, unless it is the first);
# 2. a row with too few is an error in pyarrow, and a missing value in the last column elsewhere;
# 3. a blank line is skipped by pandas and pyarrow, and is a row of missing values in polars (above
#    the first row, this depends on the version);
# 4. invalid UTF-8 is an error in pandas and polars, and a binary column in pyarrow;
# 5. an unclosed quotation is an error in pandas, and leaves an odd number of quotation marks;
# 6. a NUL character ends a cell in pandas, but not in the others: it is always rejected.


@dataclass(frozen=True)
class CsvFile:
    """A file, and how its text is read.

    Attributes
    ----------
    file : Path
        The file.
    header : bool or "auto"
        Whether the first row holds the column names.
    separator : str
        Character between the cells.
    marks : tuple of str
        Cells that are missing values.
    """

    file: Path
    header: Header
    separator: str
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Head:
    """Column names and header of a csv file, from its first two rows."""

    names: list[str]
    has_header: bool
    first_line: int  # line of the first row, counted from 1; lines above it are blank
    n_header_lines: int  # lines up to the end of the header, including blank ones; 0 if none


def read_csv(source: CsvFile) -> nw.DataFrame[Any]:
    """Read the table; raise ValueError that names the line of what is none."""
    library = frame_library()
    head = read_head(source)
    frame = _parse_csv(library, source, head, range(1, head.first_line))
    refuse_nul(source.file)
    if _is_suspect(library, source.file, frame):
        blank_lines = _scan(source, len(head.names))
        if library == "polars" and blank_lines:
            return _parse_csv(library, source, head, blank_lines)
    return frame


def separator_of(file: Path) -> str:
    """Recognise the separator: the first that gives rows of equal length; else a comma."""
    for separator in SEPARATORS:
        with _csv_rows(file, separator) as reader:
            try:
                rows = list(islice(filter(None, reader), _SNIFFED_ROWS))
            except csv.Error:
                continue  # reported when the file is read with a comma
        widths = {len(row) for row in rows}
        if len(widths) == 1 and widths.pop() > 1:
            return separator
    return ","


def _parse_csv(
    library: str, source: CsvFile, head: Head, blank_lines: Collection[int]
) -> nw.DataFrame[Any]:
    file = source.file
    content: str | io.BytesIO = str(file)
    try:
        # Polars versions differ on blank lines, and old ones do not detect truncated gzip data:
        # pass decompressed bytes without blank lines. Not every library reads zstd.
        is_polars = library == "polars"
        if file.name.endswith(".zst") or (is_polars and (blank_lines or is_compressed(file))):
            content = io.BytesIO(content_of(file, blank_lines if is_polars else ()))
        # Not narwhals' own reader: some of its versions do not accept bytes.
        module = importlib.import_module("pyarrow.csv" if library == "pyarrow" else library)
        frame = module.read_csv(content, **_csv_options(library, source, head))
        return cast("nw.DataFrame[Any]", nw.from_native(frame, eager_only=True))
    except MemoryError:
        raise
    except Exception as error:
        _scan(source, len(head.names))
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{library} cannot read '{file}' as csv: {error}") from error


def read_head(source: CsvFile) -> Head:
    """Read the column names; raise ValueError if there is no row of data."""
    rows: list[list[str]] = []
    first_line = n_lines = 0
    with _csv_rows(source.file, source.separator) as reader:
        line = 1
        for row in reader:
            if row and not rows:
                first_line, n_lines = line, reader.line_num
            if row:
                rows.append(row)
            if len(rows) == 2:
                break
            line = reader.line_num + 1
    if not rows:
        raise ValueError(f"'{source.file}' is empty; expected at least one row of data")
    first = rows[0]
    has_header = source.header
    if has_header == "auto":
        has_header = any(_is_text(cell, source.marks) for cell in first)
    if has_header and len(rows) == 1:
        refuse_nul(source.file)
        raise ValueError(
            f"'{source.file}' has a header and no row of data; expected at least one row below it "
            "(if the first row is data, pass header=False, after the name: ?header=0)"
        )
    if len(rows[-1]) != len(first):
        _scan(source, len(first))  # names the line
    names = [(name if has_header else "") or f"column_{index}" for index, name in enumerate(first)]
    twice = [name for name, n_times in Counter(names).items() if n_times > 1]
    if twice:
        raise ValueError(
            f"column names must be unique, but '{source.file}' repeats {listing(twice)}; rename "
            "them (if the first row is data, pass header=False, after the name: ?header=0)"
        )
    return Head(names, has_header, first_line, n_lines if has_header else 0)


def _is_text(cell: str, marks: tuple[str, ...]) -> bool:
    if cell.strip() in marks:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return "_" in cell  # float() accepts 1_000, frame libraries do not


def _csv_options(library: str, source: CsvFile, head: Head) -> dict[str, Any]:
    """Return options for equal results: column names, missing values, types from all rows."""
    if library == "pandas":
        return {
            "names": head.names,
            "header": 0 if head.has_header else None,
            "keep_default_na": False,
            "na_values": list(source.marks),
            "sep": source.separator,
            "low_memory": False,
        }
    if library == "polars":
        return {
            "new_columns": head.names,
            "has_header": head.has_header,
            "null_values": list(source.marks),
            "separator": source.separator,
            "infer_schema_length": None,
            "glob": False,  # take ? and [ in file names literally
        }
    arrow = importlib.import_module("pyarrow.csv")
    return {
        # pyarrow infers types from the first block only: make it the whole file.
        "read_options": arrow.ReadOptions(
            column_names=head.names,
            skip_rows=head.n_header_lines,
            block_size=min(max(n_bytes(source.file), 1 << 20), (1 << 31) - 1),
        ),
        "parse_options": arrow.ParseOptions(delimiter=source.separator, newlines_in_values=True),
        "convert_options": arrow.ConvertOptions(
            null_values=list(source.marks), strings_can_be_null=True
        ),
    }


def _is_suspect(library: str, file: Path, frame: nw.DataFrame[Any]) -> bool:
    if library == "pyarrow":
        is_suspect = any(str(kind) == "binary" for kind in frame.to_native().schema.types)
    else:
        is_suspect = frame[frame.columns[-1]].null_count() > 0
    return is_suspect or (library != "pandas" and n_quotes(file) % 2 == 1)


def _scan(source: CsvFile, width: int) -> set[int]:
    """Return the numbers of blank lines; raise ValueError with the number of a malformed line."""
    file, blank_lines = source.file, set()
    with _csv_rows(file, source.separator) as reader:
        refuse_nul(file)
        line = 1
        for row in reader:
            if not row:
                blank_lines.add(line)
            elif len(row) != width:
                raise ValueError(
                    f"line {line} of '{file}' has {len(row)} cells; expected {width}, as in the "
                    "first row; correct the line (a cell with the separator "
                    f"{source.separator!r} in it needs quotation marks), or pass sep= (after the "
                    f"name: '{file.name}?sep=%3B' for semicolons)"
                )
            line = reader.line_num + 1
    return blank_lines


class _Rows:
    """The rows of a csv reader, and the line on which the last one begins."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.begin = 1

    @property
    def line_num(self) -> int:
        """The number of lines read."""
        return int(self._reader.line_num)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[str]:
        self.begin = self.line_num + 1
        row: list[str] = next(self._reader)
        return row


@contextmanager
def _csv_rows(file: Path, separator: str) -> Iterator[Any]:
    """Open a file with csv.reader, with clear errors for quotations that are not closed."""
    limit = csv.field_size_limit((1 << 31) - 1)  # the frame libraries have no limit
    try:
        with decoded(file, newline="") as text:
            reader = csv.reader(text, strict=True, delimiter=separator)
            rows = _Rows(reader)
            try:
                yield rows
            except csv.Error as error:
                raise ValueError(
                    f"line {reader.line_num} of '{file}' is not valid csv: {error}; is a quotation "
                    f"mark not closed? The row begins on line {rows.begin}."
                ) from error
    finally:
        csv.field_size_limit(limit)
