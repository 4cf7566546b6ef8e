"""What a table in parts is read from: files, a dataset, frames, or a function."""

import importlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v1 as nw

from weald.data.names import frame_names
from weald.data.parts.batches import Batch, batch_rows, check_names, needs_arrow
from weald.data.parts.csv_parts import CsvParts
from weald.data.reading import format_of_name
from weald.errors import listing


class Source(Protocol):
    """A table that can be read several times, a few columns at a time."""

    names: list[str]
    reads_columns: bool  # whether reading a few columns takes about their share of the time

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows in an order that is always the same."""


def source_of(given: Any) -> Source:
    """The source of what was passed to `weald.parts`."""
    if isinstance(given, (str, os.PathLike)):
        return _files([given])
    if isinstance(given, (list, tuple)) and given:
        if all(isinstance(one, (str, os.PathLike)) for one in given):
            return _files(given)
        if not any(isinstance(one, (str, os.PathLike)) for one in given):
            return FrameParts(given)
    if type(given).__module__.startswith("polars") and type(given).__name__ == "LazyFrame":
        return LazyParts(given)
    if hasattr(given, "get_fragments"):
        return DatasetParts(given)
    if callable(given):
        return FunctionParts(given)
    raise TypeError(
        f"source is a {_described(given)}; expected a glob or a list of paths of parquet, csv or "
        "Arrow files, a pyarrow Dataset, a polars LazyFrame, a list of data frames, or a function "
        "that returns an iterator of data frames. A table in memory is passed to fit as it is; an "
        "iterator can be read only once: pass the function that makes it."
    )


def _described(given: Any) -> str:
    if isinstance(given, (list, tuple)):
        return f"{type(given).__name__} of {len(given)}" + (" mixed objects" if given else "")
    return type(given).__name__


# ---- files ----

_PAGE_BYTES = 1 << 16


def _files(paths: Iterable[str | os.PathLike[str]]) -> Source:
    files = [file for path in paths for file in _matches(os.fspath(path))]
    formats = {format_of_name(file) or file.suffix or "none" for file in files}
    if len(formats) > 1:
        raise ValueError(
            f"the files of source have several formats, {listing(sorted(formats))}: "
            f"{listing(map(str, files))}. Pass files of one format."
        )
    format = formats.pop()
    kinds: dict[str, Callable[[list[Path]], Source]] = {
        "parquet": ParquetParts,
        "arrow": ArrowParts,
        "csv": CsvParts,
        "tsv": CsvParts,
    }
    if format not in kinds:
        raise ValueError(
            f"files of the format {format} cannot be read in parts ('{files[0]}'); expected "
            "parquet, Arrow or csv. Convert them, or pass a function that yields data frames."
        )
    return kinds[format](files)


def _matches(path: str) -> list[Path]:
    """The files of a path or a pattern, sorted by name."""
    if Path(path).is_file():
        return [Path(path)]
    if Path(path).is_dir():
        raise IsADirectoryError(
            f"'{path}' is a folder; pass a pattern such as '{Path(path, '*.parquet')}'"
        )
    anchor = Path(path).anchor
    pattern = str(Path(path).relative_to(anchor)) if anchor else path
    found = sorted(one for one in Path(anchor).glob(pattern) if one.is_file())
    if not found:
        raise FileNotFoundError(
            f"there is no file '{path}' (looked from the folder '{Path.cwd()}'); check the path or "
            "the pattern"
        )
    return found


class _FileParts:
    """Files of Arrow's formats, each of which is a part."""

    format: str
    reads_columns = True

    def __init__(self, files: list[Path]) -> None:
        needs_arrow(f"reading {self.format} files in parts")
        self._files = files
        self.names = self._names_in(files[0])
        for file in files[1:]:
            check_names(self.names, self._names_in(file), str(file))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for file in self._files:
            try:
                for table in self._tables(file, list(columns)):
                    yield Batch(str(file), nw.from_native(table, eager_only=True))
            except FileNotFoundError as error:
                raise FileNotFoundError(
                    f"'{file}' is not there any more: it vanished while the table was read. Its "
                    "parts are read several times and must stay as they are until fit returns."
                ) from error
            except (OSError, ValueError) as error:
                if type(error).__module__.startswith("pyarrow") or isinstance(error, OSError):
                    raise ValueError(f"cannot read '{file}' as {self.format}: {error}") from error
                raise

    def _names_in(self, file: Path) -> list[str]:
        try:
            return list(self._schema(file).names)
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot read '{file}' as {self.format}: {error}") from error

    def _schema(self, file: Path) -> Any:
        raise NotImplementedError

    def _tables(self, file: Path, columns: list[str]) -> Iterator[Any]:
        raise NotImplementedError


class ParquetParts(_FileParts):
    """Parquet files."""

    format = "parquet"

    def _schema(self, file: Path) -> Any:
        return importlib.import_module("pyarrow.parquet").read_schema(str(file))

    def _tables(self, file: Path, columns: list[str]) -> Iterator[Any]:
        arrow = needs_arrow("reading parquet files")
        parquet = importlib.import_module("pyarrow.parquet")
        # Page by page, so that the size of row groups does not matter.
        options = {"memory_map": False, "pre_buffer": False, "buffer_size": _PAGE_BYTES}
        with parquet.ParquetFile(str(file), **options) as opened:
            size = batch_rows(len(columns))
            for batch in opened.iter_batches(size, columns=columns, use_threads=False):
                yield arrow.Table.from_batches([batch]).select(columns)


class ArrowParts(_FileParts):
    """Arrow (feather) files."""

    format = "arrow"

    def _schema(self, file: Path) -> Any:
        with needs_arrow("reading Arrow files").OSFile(str(file)) as opened:
            return importlib.import_module("pyarrow.ipc").open_file(opened).schema

    def _tables(self, file: Path, columns: list[str]) -> Iterator[Any]:
        arrow, ipc = needs_arrow("reading Arrow files"), importlib.import_module("pyarrow.ipc")
        places = sorted(self._schema(file).get_field_index(name) for name in columns)
        options = ipc.IpcReadOptions(included_fields=places, use_threads=False)
        size = batch_rows(len(columns))
        with arrow.OSFile(str(file)) as opened:
            reader = ipc.open_file(opened, options=options)
            for number in range(reader.num_record_batches):
                whole = arrow.Table.from_batches([reader.get_batch(number)]).select(columns)
                for begin in range(0, whole.num_rows, size):
                    yield whole.slice(begin, size)


class DatasetParts:
    """A pyarrow Dataset, each fragment of which is a part."""

    reads_columns = True

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.names = list(dataset.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        arrow = needs_arrow("a Dataset")
        options = {
            "columns": list(columns),
            "batch_size": batch_rows(len(columns)),
            "batch_readahead": 1,
            "fragment_readahead": 1,
            "use_threads": False,
        }
        schema = self._dataset.schema
        for number, fragment in enumerate(self._dataset.get_fragments()):
            part = str(getattr(fragment, "path", "") or f"fragment {number}")
            for batch in fragment.to_batches(schema=schema, **options):
                table = arrow.Table.from_batches([batch])
                yield Batch(part, nw.from_native(table, eager_only=True))


class LazyParts:
    """A polars LazyFrame: written once, in polars' streaming engine, to a file that is then read.

    A query may cost much, and need not give its rows in the same order twice.
    """

    reads_columns = True

    def __init__(self, frame: Any) -> None:
        self._polars = importlib.import_module("polars")
        self._lazy = frame
        self._file: Path | None = None
        self.names = list(frame.collect_schema().names())

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        size = batch_rows(len(self.names))
        if self._file is None:
            folder = tempfile.mkdtemp(prefix="weald-parts-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            file = Path(folder, "rows.parquet")
            self._lazy.sink_parquet(file, row_group_size=size)
            self._file = file
        written = self._polars.scan_parquet(self._file, glob=False)
        n_rows = int(written.select(self._polars.len()).collect().item())
        for begin in range(0, n_rows, size):
            frame = written.slice(begin, size).select(list(columns)).collect()
            yield Batch(f"rows {begin} to {begin + len(frame) - 1}", nw.from_native(frame))


# ---- frames in memory, and functions ----


class FrameParts:
    """A list of data frames, each of which is a part."""

    reads_columns = True

    def __init__(self, frames: Sequence[Any]) -> None:
        self._frames = [_as_frame(one, f"frame {i} of source") for i, one in enumerate(frames)]
        self.names = list(self._frames[0].columns)
        for i, frame in enumerate(self._frames):
            check_names(self.names, list(frame.columns), f"frame {i}")

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for i, frame in enumerate(self._frames):
            yield from sliced(f"frame {i}", frame.select(*columns))


class FunctionParts:
    """A function that returns an iterator of data frames; it is called for every pass."""

    reads_columns = False

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        first = next(iter(self._frames()), None)
        if first is None:
            raise ValueError("the function passed as source yields no data frame at all")
        self.names = list(first.frame.columns)

    def _frames(self) -> Iterator[Batch]:
        made = self._make()
        if not isinstance(made, Iterable) or hasattr(made, "columns"):
            raise TypeError(
                f"the function passed as source returns a {type(made).__name__}; expected an "
                "iterator of data frames: write it with yield"
            )
        for i, one in enumerate(made):
            yield Batch(f"batch {i}", _as_frame(one, f"batch {i} of source"))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for part, frame in self._frames():
            check_names(self.names, list(frame.columns), part)
            yield from sliced(part, frame.select(*columns))


def sliced(part: str, frame: "nw.DataFrame[Any]") -> Iterator[Batch]:
    """Yield the rows of a frame a batch at a time."""
    size = batch_rows(len(frame.columns))
    for begin in range(0, len(frame), size):
        yield Batch(part, frame[begin : begin + size])


def _as_frame(given: Any, what: str) -> "nw.DataFrame[Any]":
    if type(given).__name__ == "RecordBatch":
        given = needs_arrow("a RecordBatch").Table.from_batches([given])
    frame = nw.from_native(given, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"{what} is a {type(given).__name__}; expected a data frame of pandas, polars or "
            "pyarrow with the same columns in every part"
        )
    names = frame_names(given) or []
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} has columns whose names are no text; name them all by strings")
    return frame
