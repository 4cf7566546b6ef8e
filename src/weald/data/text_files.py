"""Access to the bytes of plain or compressed text files."""

import gzip
import importlib
import io
import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, cast


def undecodable(file: Path) -> str:
    """Return an error message that names the first byte that is not UTF-8."""
    with opened(file) as stream:
        content = stream.read()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        kind = "; gzip data needs a name ending in '.gz'" if content[:2] == b"\x1f\x8b" else ""
        return (
            f"'{file}' is not UTF-8 text: byte 0x{content[error.start]:02x} at position "
            f"{error.start}, line {line}; save it as UTF-8{kind}"
        )
    return f"'{file}' changed while it was read; read it again"


def is_compressed(file: Path) -> bool:
    """Whether a file is compressed, by its name."""
    # Case-sensitive, as in pyarrow.
    return file.name.endswith((".gz", ".zst"))


def opened(file: Path) -> BinaryIO:
    """Open a file, with decompression if its name ends in .gz or .zst."""
    if file.name.endswith(".zst"):
        return _opened_zstd(file)
    return cast(BinaryIO, gzip.open(file) if is_compressed(file) else file.open("rb"))


def _opened_zstd(file: Path) -> BinaryIO:
    content = file.read_bytes()
    errors: tuple[type[Exception], ...] = (OSError, ValueError)
    try:
        if find_spec("pyarrow"):
            arrow = importlib.import_module("pyarrow")
            with arrow.CompressedInputStream(arrow.BufferReader(content), "zstd") as stream:
                return io.BytesIO(stream.read())
        if find_spec("zstandard"):
            zstandard = importlib.import_module("zstandard")
            errors = (*errors, zstandard.ZstdError)
            with zstandard.ZstdDecompressor().stream_reader(content) as stream:
                return io.BytesIO(stream.read())
    except errors as error:
        raise ValueError(
            f"'{file}' is not a complete zstd file: {error}; download it again, or remove '.zst' "
            "from the name of a plain text file"
        ) from error
    raise ImportError(
        f"'{file}' needs pyarrow or zstandard to be decompressed, and none of them is installed; "
        "for example: pip install pyarrow"
    )


@contextmanager
def decoded(file: Path, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a file as text, with clear errors for bytes that are none and for damaged gzip data."""
    try:
        with opened(file) as stream:
            yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
    except UnicodeDecodeError:
        raise ValueError(undecodable(file)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"'{file}' is not a complete gzip file: {error}; download it again, or remove '.gz' "
            "from the name of a plain text file"
        ) from error


def content_of(file: Path, blank_lines: Collection[int]) -> bytes:
    """Return the decompressed content without some lines."""
    with opened(file) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        lines = (line for number, line in enumerate(text, 1) if number not in blank_lines)
        return "".join(lines).encode("utf-8")


def n_bytes(file: Path) -> int:
    """Size of the decompressed content."""
    with opened(file) as stream:
        return stream.seek(0, os.SEEK_END)


def n_quotes(file: Path) -> int:
    """Number of quotation marks in a file."""
    return sum(chunk.count(b'"') for chunk in _chunks(file))


def refuse_nul(file: Path) -> None:
    """Raise ValueError that names the line of the first NUL character, if any."""
    line = 1
    for chunk in _chunks(file):
        at = chunk.find(b"\0")
        if at >= 0:
            raise ValueError(
                f"line {line + chunk.count(10, 0, at)} of '{file}' holds a NUL character; "
                "expected text (save UTF-16 as UTF-8, or remove the character)"
            )
        line += chunk.count(b"\n")


def _chunks(file: Path) -> Iterator[bytes]:
    with opened(file) as stream:
        yield from iter(lambda: stream.read(1 << 20), b"")
