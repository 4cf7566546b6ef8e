"""Read csv and parquet files into a data frame, and separate the label column."""

from __future__ import annotations

import csv
import gzip
import importlib
import importlib.util
import io
import operator
import os
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote_plus

# The stable API: in the main one, `native_namespace` was renamed within the supported versions.
import narwhals.stable.v1 as nw

from weald.data.text_files import (
    content_of,
    n_bytes,
    n_quotes,
    opened,
    refuse_nul,
    undecodable,
)
from weald.errors import listing

FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")

# Used for all three libraries, whose defaults differ, so that results do not depend on the library.
# "None" is excluded, because it is more often a category than a missing value.
MISSING_MARKS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")

_FORMATS = ("csv", "parquet")
_SUFFIX_FORMATS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet"}
_QUERY_KEYS = ("format", "header", "label_column")

Header: TypeAlias = Literal["auto"] | bool


def installed_frame_library(libraries: Sequence[str] = FRAME_LIBRARIES) -> str | None:
    """Name the first of `libraries` that is installed, without importing it."""
    return next((name for name in libraries if importlib.util.find_spec(name)), None)


def read(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    header: Header = "auto",
    format: str | None = None,
) -> Any:
    r"""Read a csv or parquet file into a data frame, optionally with a separate label column.

    Parameters
    ----------
    path : str or path
        The file; names ending in ``.gz`` are decompressed. Options may follow a question mark, as
        in ``optdigits.tra?format=csv&label_column=64``: ``format``, ``label_column`` (a name or,
        if no column has that name, a zero-based index) and ``header`` (0 or 1). Values are
        URL-encoded (``%26`` for ``&``, ``+`` for a space). If a file of the full name exists, the
        question mark is part of the name.
    target : str or int, default=None
        The label column, by name or by zero-based index.
    header : {"auto", True, False}, default="auto"
        Whether the first row of a csv file holds the column names. "auto" assumes a header unless
        all cells of the first row are numbers or missing; use False for a file with text columns
        and no header. Columns without a name are named ``column_0``, ``column_1`` and so on.
    format : {"csv", "parquet"}, default=None
        None infers it from the file name: ``.csv``, ``.csv.gz`` or ``.parquet``.

    Returns
    -------
    frame, or tuple of frame and series
        A data frame of the first installed of pandas, polars and pyarrow (for parquet, pandas
        requires a parquet engine). With a label column, ``(X, y)``: the other columns, and the
        label as a series of the same library (pyarrow: a ChunkedArray).

    Notes
    -----
    A csv file is UTF-8 text with commas; quoted cells may hold commas and line breaks, and blank
    lines are skipped. The cells ``NA``, ``N/A``, ``NaN``, ``nan``, ``null``, ``NULL`` and empty
    ones are missing. Column types are those the frame library infers from the whole file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from weald.data.reading import read
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "points.data")
    ...     _ = file.write_text("1,5,1\n2,2,1\n3,1,0\n4,6,0\n")
    ...     X, y = read(f"{file}?format=csv&label_column=2")
    >>> X.shape, list(y)
    ((4, 2), [1, 1, 0, 0])
    """
    source = _locate(path, target, header, format)
    frame = _read_csv(source) if source.format == "csv" else _read_parquet(source)
    if source.label is None:
        return frame.to_native()
    name = _label_name(source, frame.columns)
    return frame.drop(name).to_native(), frame[name].to_native()


# --- path and options ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """An existing file, and how to read it."""

    file: Path
    format: str
    header: Header
    label: str | int | None
    label_may_be_index: bool  # a digit string from the path can be a name or an index


def _locate(
    path: str | os.PathLike[str], target: str | int | None, header: Header, format: str | None
) -> _Source:
    file, options = _split_query(path)
    for option, given in (
        ("format", format is not None),
        ("header", header != "auto"),
        ("label_column", target is not None),
    ):
        if given and option in options:
            keyword = "target" if option == "label_column" else option
            raise ValueError(
                f"{option} is given twice for '{file}': '{option}={options[option]}' in the path "
                f"and {keyword}= as a keyword; give only one of them"
            )
    if file.is_dir():
        raise IsADirectoryError(f"'{file}' is a folder; expected one csv or parquet file")
    if not file.exists():
        raise FileNotFoundError(
            f"there is no file '{file}' (looked from the folder '{Path.cwd()}'); check the path"
        )
    if "header" in options:
        header = _header_of_query(file, options["header"])
    elif not (header == "auto" or isinstance(header, bool)):
        raise ValueError(
            f"header={header!r} is not understood; expected 'auto', True (the first row holds "
            "the column names) or False"
        )
    format = _checked_format(file, options.get("format", format))
    if format == "parquet" and header != "auto":
        raise ValueError(
            f"header is set for '{file}', a parquet file, which always has column names; "
            "leave header out"
        )
    label = options.get("label_column", target)
    return _Source(file, format, header, label, label_may_be_index="label_column" in options)


def _split_query(path: str | os.PathLike[str]) -> tuple[Path, dict[str, str]]:
    text = os.fspath(path)
    name, mark, query = text.rpartition("?")
    if not mark or Path(text).exists():
        return Path(text), {}
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if key not in _QUERY_KEYS:
            raise ValueError(
                f"unknown option '{key}' after the question mark in '{text}'; "
                f"known are {', '.join(_QUERY_KEYS)}"
            )
        if not equals or not value:
            raise ValueError(f"option '{key}' in '{text}' has no value; write '{key}=...'")
        if key in options:
            raise ValueError(f"option '{key}' appears twice in '{text}'; give it once")
        options[key] = unquote_plus(value)
    return Path(name), options


def _header_of_query(file: Path, value: str) -> bool:
    if value not in ("0", "1"):
        raise ValueError(
            f"'header={value}' after '{file}' is not understood; expected header=1 (the first row "
            "holds the column names) or header=0"
        )
    return value == "1"


def _checked_format(file: Path, format: str | None) -> str:
    if format is None:
        name = file.name.lower()
        for suffix, known in _SUFFIX_FORMATS.items():
            if name.endswith(suffix):
                return known
        raise ValueError(
            f"the format of '{file}' cannot be inferred from its name, which ends in none of "
            f"{', '.join(_SUFFIX_FORMATS)}; pass format='csv' or format='parquet'"
        )
    if format not in _FORMATS:
        raise ValueError(
            f"unknown format '{format}' for '{file}'; expected one of {', '.join(_FORMATS)}"
        )
    return format


def _label_name(source: _Source, names: list[str]) -> str:
    label = source.label
    if isinstance(label, str):
        if label in names:
            return _checked_rest(source, names, label)
        if not (source.label_may_be_index and label.isdecimal()):
            raise ValueError(
                f"there is no column '{label}' in '{source.file}'; it has {listing(names)}"
            )
    if isinstance(label, bool):
        raise TypeError(f"target={label!r} is not a column; expected a name or a zero-based index")
    index = int(label) if isinstance(label, str) else operator.index(cast(int, label))
    if not 0 <= index < len(names):
        raise ValueError(
            f"label column {index} is out of range for '{source.file}', whose {len(names)} "
            f"columns count from 0 to {len(names) - 1}; it has {listing(names)}"
        )
    return _checked_rest(source, names, names[index])


def _checked_rest(source: _Source, names: list[str], label: str) -> str:
    if len(names) == 1:
        raise ValueError(
            f"'{source.file}' has only the label column '{label}'; expected at least one feature "
            "column (are its cells separated by commas?)"
        )
    return label


# --- csv -----------------------------------------------------------------------------------------
#
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
class _Head:
    """Column names and header of a csv file, from its first two rows."""

    names: list[str]
    has_header: bool
    first_line: int  # line of the first row, counted from 1; lines above it are blank
    n_header_lines: int  # lines up to the end of the header, including blank ones; 0 if none


def _read_csv(source: _Source) -> nw.DataFrame[Any]:
    library = _frame_library(FRAME_LIBRARIES)
    head = _read_head(source)
    frame = _parse_csv(library, source.file, head, range(1, head.first_line))
    refuse_nul(source.file)
    if _is_suspect(library, source.file, frame):
        blank_lines = _scan(source.file, len(head.names))
        if library == "polars" and blank_lines:
            return _parse_csv(library, source.file, head, blank_lines)
    return frame


def _parse_csv(
    library: str, file: Path, head: _Head, blank_lines: Collection[int]
) -> nw.DataFrame[Any]:
    content: str | io.BytesIO = str(file)
    try:
        # Polars versions differ on blank lines, and old ones do not detect truncated gzip data:
        # pass decompressed bytes without blank lines.
        if library == "polars" and (blank_lines or file.name.endswith(".gz")):
            content = io.BytesIO(content_of(file, blank_lines))
        # Not narwhals' own reader: some of its versions do not accept bytes.
        module = importlib.import_module("pyarrow.csv" if library == "pyarrow" else library)
        frame = module.read_csv(content, **_csv_options(library, file, head))
        return cast("nw.DataFrame[Any]", nw.from_native(frame, eager_only=True))
    except MemoryError:
        raise
    except Exception as error:
        _scan(file, len(head.names))
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{library} cannot read '{file}' as csv: {error}") from error


def _read_head(source: _Source) -> _Head:
    """Read the column names; raise ValueError if there is no row of data."""
    rows: list[list[str]] = []
    first_line = n_lines = 0
    with _csv_rows(source.file) as reader:
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
    has_header = any(map(_is_text, first)) if source.header == "auto" else source.header
    if has_header and len(rows) == 1:
        raise ValueError(
            f"'{source.file}' has a header and no row of data; expected at least one row below it "
            "(if the first row is data, pass header=False)"
        )
    if len(rows[-1]) != len(first):
        _scan(source.file, len(first))  # names the line
    names = [(name if has_header else "") or f"column_{index}" for index, name in enumerate(first)]
    twice = [name for name, n_times in Counter(names).items() if n_times > 1]
    if twice:
        raise ValueError(
            f"column names must be unique, but '{source.file}' repeats {listing(twice)}; rename "
            "them (if the first row is data, pass header=False)"
        )
    return _Head(names, has_header, first_line, n_lines if has_header else 0)


def _is_text(cell: str) -> bool:
    if cell.strip() in MISSING_MARKS:
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return "_" in cell  # float() accepts 1_000, frame libraries do not


def _csv_options(library: str, file: Path, head: _Head) -> dict[str, Any]:
    """Return options for equal results: column names, missing values, types from all rows."""
    if library == "pandas":
        return {
            "names": head.names,
            "header": 0 if head.has_header else None,
            "keep_default_na": False,
            "na_values": list(MISSING_MARKS),
            "low_memory": False,
        }
    if library == "polars":
        return {
            "new_columns": head.names,
            "has_header": head.has_header,
            "null_values": list(MISSING_MARKS),
            "infer_schema_length": None,
            "glob": False,  # take ? and [ in file names literally
        }
    arrow = importlib.import_module("pyarrow.csv")
    return {
        # pyarrow infers types from the first block only: make it the whole file.
        "read_options": arrow.ReadOptions(
            column_names=head.names,
            skip_rows=head.n_header_lines,
            block_size=min(max(n_bytes(file), 1 << 20), (1 << 31) - 1),
        ),
        "parse_options": arrow.ParseOptions(newlines_in_values=True),
        "convert_options": arrow.ConvertOptions(
            null_values=list(MISSING_MARKS), strings_can_be_null=True
        ),
    }


def _is_suspect(library: str, file: Path, frame: nw.DataFrame[Any]) -> bool:
    if library == "pyarrow":
        is_suspect = any(str(kind) == "binary" for kind in frame.to_native().schema.types)
    else:
        is_suspect = frame[frame.columns[-1]].null_count() > 0
    return is_suspect or (library != "pandas" and n_quotes(file) % 2 == 1)


def _scan(file: Path, width: int) -> set[int]:
    """Return the numbers of blank lines; raise ValueError with the number of a malformed line."""
    blank_lines: set[int] = set()
    with _csv_rows(file) as reader:
        refuse_nul(file)
        line = 1
        for row in reader:
            if not row:
                blank_lines.add(line)
            elif len(row) != width:
                raise ValueError(
                    f"line {line} of '{file}' has {len(row)} cells; expected {width}, as in the "
                    "first row; correct the line (a cell with a comma in it needs quotation marks)"
                )
            line = reader.line_num + 1
    return blank_lines


@contextmanager
def _csv_rows(file: Path) -> Iterator[Any]:
    """Open a file with csv.reader, with clear errors for invalid encodings."""
    limit = csv.field_size_limit((1 << 31) - 1)  # the frame libraries have no limit
    try:
        with opened(file) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            reader = csv.reader(text, strict=True)
            try:
                yield reader
            except csv.Error as error:
                raise ValueError(
                    f"line {reader.line_num} of '{file}' is not valid csv: {error}; is a quotation "
                    "mark not closed?"
                ) from error
    except UnicodeDecodeError:
        raise ValueError(undecodable(file)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"'{file}' is not a complete gzip file: {error}; download it again, or remove '.gz' "
            "from the name of a plain text file"
        ) from error
    finally:
        csv.field_size_limit(limit)


# --- parquet and libraries -----------------------------------------------------------------------


def _read_parquet(source: _Source) -> nw.DataFrame[Any]:
    with source.file.open("rb") as stream:
        start = stream.read(4)
    if start != b"PAR1":
        state = "is empty" if not start else f"begins with {start!r}"
        raise ValueError(
            f"'{source.file}' is not a parquet file: it {state}; expected b'PAR1' (for text pass "
            "format='csv')"
        )
    has_engine = installed_frame_library(("pyarrow", "fastparquet")) is not None
    library = _frame_library(FRAME_LIBRARIES if has_engine else FRAME_LIBRARIES[1:])
    options: dict[str, Any] = {"glob": False} if library == "polars" else {}
    module = importlib.import_module(library)
    try:
        frame = nw.read_parquet(str(source.file), native_namespace=module, **options)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"{library} cannot read '{source.file}' as parquet: {error}") from error
    if len(frame) == 0:
        raise ValueError(f"'{source.file}' has columns and no row of data; expected at least one")
    return frame


def _frame_library(libraries: Sequence[str]) -> str:
    library = installed_frame_library(libraries)
    if library is None:
        raise ImportError(
            "reading a file needs pandas, polars or pyarrow, and none of them is installed "
            "(parquet with pandas needs pyarrow too); for example: pip install pandas pyarrow"
        )
    return library
