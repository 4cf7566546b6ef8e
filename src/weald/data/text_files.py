"""Access to the bytes of plain or gzipped text files."""

import gzip
import io
import os
from collections.abc import Collection, Iterator
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


def opened(file: Path) -> BinaryIO:
    """Open a file, with decompression if its name ends in .gz."""
    # Case-sensitive, as in pyarrow.
    return cast(BinaryIO, gzip.open(file) if file.name.endswith(".gz") else file.open("rb"))


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
