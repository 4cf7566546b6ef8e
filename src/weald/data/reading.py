"""Read a file into a data frame, and separate the label column."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote_plus

import narwhals.stable.v1 as nw

from weald.data.columnar_files import read_columnar
from weald.data.csv_files import CsvFile, Header, read_csv, separator_of
from weald.data.date_columns import with_dates
from weald.data.decimal_commas import with_decimal_commas
from weald.data.json_lines import read_json_lines
from weald.data.libsvm_files import read_libsvm
from weald.data.text_files import is_compressed
from weald.errors import listing

# Used for all three libraries, whose defaults differ, so that results do not depend on the library.
# "None" is excluded, because it is more often a category than a missing value.
MISSING_MARKS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")

_FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl", "libsvm")
_BINARY = ("parquet", "arrow")
_SUFFIX_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
}
_QUERY_KEYS = ("format", "header", "label_column", "sep")


def read(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    header: Header = "auto",
    format: str | None = None,
    sep: str | None = None,
    na_values: Sequence[str] = (),
) -> Any:
    r"""Read a file into a data frame, optionally with a separate label column.

    Parameters
    ----------
    path : str or path
        The file; text in names ending in ``.gz`` or ``.zst`` is decompressed. Options may follow a
        question mark, as in ``optdigits.tra?format=csv&label_column=64``: ``format``, ``sep``,
        ``label_column`` (a name or, if no column has that name, a zero-based index) and ``header``
        (0 or 1). Values are URL-encoded (``%26`` for ``&``, ``%09`` for a tab, ``+`` for a space).
        If a file of the full name exists, the question mark is part of the name.
    target : str or int, default=None
        The label column, by name or by zero-based index. Not for libsvm, which has labels.
    header : {"auto", True, False}, default="auto"
        Whether the first row of a csv file holds the column names. "auto" assumes a header unless
        all cells of the first row are numbers or missing; use False for a file with text columns
        and no header. Columns without a name are named ``column_0``, ``column_1`` and so on.
    format : {"csv", "tsv", "parquet", "arrow", "jsonl", "libsvm"}, default=None
        None infers it from the file name: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or
        ``.feather``, ``.jsonl`` or ``.ndjson``, ``.libsvm`` or ``.svmlight``.
    sep : str, default=None
        Character between the cells of a csv file. None recognises comma, semicolon, tab and ``|``:
        the first of them that splits the first 20 rows into the same number of cells, above one.
    na_values : sequence of str, default=()
        Cells of a csv file that are missing values, besides those below.

    Returns
    -------
    frame, or tuple of frame and series
        A data frame of the first installed of pandas, polars and pyarrow (for parquet and Arrow
        files, pandas requires pyarrow). With a label column, ``(X, y)``: the other columns, and the
        label as a series of the same library (pyarrow: a ChunkedArray). For libsvm always
        ``(X, y)``: a sparse matrix and an array.

    Notes
    -----
    A csv file is UTF-8 text; quoted cells may hold separators and line breaks, and blank lines are
    skipped. The cells ``?``, ``NA``, ``N/A``, ``NaN``, ``nan``, ``null``, ``NULL`` and empty ones
    are missing. Column types are those the frame library infers from the whole file; text columns
    of csv files and JSON lines whose cells are all dates or times like ``2024-05-31`` or
    ``2024-05-31 18:30:00`` become dates. If the separator is not a comma, columns of numbers like
    ``3,5`` or ``1.234,5`` become numbers; one whose commas could all separate thousands, such as
    ``1,234``, stays text.

    JSON lines hold one object per line; its keys are the columns.

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
    source = _locate(path, target, header, format, sep, na_values)
    if source.format == "libsvm":
        return read_libsvm(source.file)
    frame = _read_frame(source)
    if source.label is None:
        return frame.to_native()
    name = _label_name(source, frame.columns)
    return frame.drop(name).to_native(), frame[name].to_native()


def _read_frame(source: _Source) -> nw.DataFrame[Any]:
    if source.format in _BINARY:
        return read_columnar(source.file, source.format)
    if source.format == "jsonl":
        return with_dates(read_json_lines(source.file))
    separator = source.sep or separator_of(source.file)
    frame = read_csv(CsvFile(source.file, source.header, separator, source.marks))
    return with_dates(frame if separator == "," else with_decimal_commas(frame))


# --- path and options ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """An existing file, and how to read it."""

    file: Path
    format: str
    header: Header
    label: str | int | None
    label_may_be_index: bool  # a digit string from the path can be a name or an index
    sep: str | None  # None: to be recognised
    marks: tuple[str, ...]  # cells that are missing values


def _locate(
    path: str | os.PathLike[str],
    target: str | int | None,
    header: Header,
    format: str | None,
    sep: str | None,
    na_values: Sequence[str],
) -> _Source:
    file, options = _split_query(path)
    for option, given in (
        ("format", format is not None),
        ("header", header != "auto"),
        ("label_column", target is not None),
        ("sep", sep is not None),
    ):
        if given and option in options:
            keyword = "target" if option == "label_column" else option
            raise ValueError(
                f"{option} is given twice for '{file}': '{option}={options[option]}' in the path "
                f"and {keyword}= as a keyword; give only one of them"
            )
    _check_exists(file)
    header = _checked_header(file, options.get("header"), header)
    format = _checked_format(file, options.get("format", format))
    label = options.get("label_column", target)
    sep, marks = options.get("sep", sep), _checked_marks(na_values)
    if format == "tsv":
        format, sep = "csv", "\t" if sep is None else sep
    if format == "csv":
        _check_separator(file, sep)
    else:
        _refuse_options(file, format, header, label, sep, na_values)
    return _Source(
        file,
        format,
        header,
        label,
        label_may_be_index="label_column" in options,
        sep=sep,
        marks=marks,
    )


def _check_exists(file: Path) -> None:
    if file.is_dir():
        raise IsADirectoryError(f"'{file}' is a folder; expected one file")
    if not file.exists():
        raise FileNotFoundError(
            f"there is no file '{file}' (looked from the folder '{Path.cwd()}'); check the path"
        )


def _checked_header(file: Path, of_query: str | None, header: Header) -> Header:
    if of_query is not None:
        return _header_of_query(file, of_query)
    if not (header == "auto" or isinstance(header, bool)):
        raise ValueError(
            f"header={header!r} is not understood; expected 'auto', True (the first row holds "
            "the column names) or False"
        )
    return header


def _checked_marks(na_values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(na_values, str) or not all(isinstance(mark, str) for mark in na_values):
        raise TypeError(
            f"na_values={na_values!r} is not understood; expected a list of cells as text, such "
            "as ['-999', 'unknown']"
        )
    return tuple(dict.fromkeys((*MISSING_MARKS, *na_values)))


def _check_separator(file: Path, sep: str | None) -> None:
    if sep is None:
        return
    if not (isinstance(sep, str) and len(sep) == 1 and sep.isascii() and sep not in '"\r\n\0'):
        raise ValueError(
            f"sep={sep!r} for '{file}' is not understood; expected one ASCII character, such as "
            "',' or ';' (for spaces of varying number, rewrite the file with one separator)"
        )


def _refuse_options(
    file: Path,
    format: str,
    header: Header,
    label: object,
    sep: str | None,
    na_values: Sequence[str],
) -> None:
    """Refuse options of csv for other formats."""
    names = "has no row of names" if format == "libsvm" else "always has column names"
    if header != "auto":
        raise ValueError(
            f"header is set for '{file}', a file in the format {format}, which {names}; "
            "leave header out"
        )
    for name, given in (("sep", sep is not None), ("na_values", len(na_values) > 0)):
        if given:
            raise ValueError(
                f"{name} is set for '{file}', a file in the format {format}; it is for csv only: "
                f"leave {name} out"
            )
    if format == "libsvm" and label is not None:
        raise ValueError(
            f"a label column is given for '{file}', a file in the format libsvm, whose labels are "
            "the first entries of its lines; leave it out"
        )
    if format in _BINARY and is_compressed(file):
        raise ValueError(
            f"'{file}' is a compressed {format} file, which has a compression of its own; "
            "decompress it first"
        )


_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def _split_query(path: str | os.PathLike[str]) -> tuple[Path, dict[str, str]]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a str or a path; got {type(path).__name__}")
    text = os.fspath(path)
    if _URL.match(text) and not Path(text).exists():
        raise ValueError(f"'{text}' is an address; weald reads files only: download it first")
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


def format_of_name(file: Path) -> str | None:
    """The format that the name of a file tells; None if it tells none."""
    name = file.name.lower().removesuffix(".gz").removesuffix(".zst")
    return next((known for suffix, known in _SUFFIX_FORMATS.items() if name.endswith(suffix)), None)


def _checked_format(file: Path, format: str | None) -> str:
    if format is None:
        format = format_of_name(file)
    if format is None:
        raise ValueError(
            f"the format of '{file}' cannot be inferred from its name, which ends in none of "
            f"{', '.join(_SUFFIX_FORMATS)} (and .gz or .zst); pass format='csv' or another of "
            f"{', '.join(_FORMATS)}, or append it as in '{file.name}?format=csv'"
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
            "column (if its cells have another separator, pass sep=, or append it as in "
            f"'{source.file.name}?sep=:')"
        )
    return label
