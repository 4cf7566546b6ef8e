"""Parquet and Arrow files, read by the installed frame library."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

import narwhals.stable.v1 as nw

from weald.data.frame_library import frame_library

_MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_ENGINES = {"parquet": ("pyarrow", "fastparquet"), "arrow": ("pyarrow",)}  # of pandas


def read_columnar(file: Path, format: str) -> nw.DataFrame[Any]:
    """Read a parquet or Arrow (feather) file."""
    expected = _MAGIC[format]
    with file.open("rb") as stream:
        start = stream.read(len(expected))
    if start != expected:
        state = "is empty" if not start else f"begins with {start!r}"
        raise ValueError(
            f"'{file}' is not {_a(format)} file: it {state}; expected {expected!r} (for text pass "
            "format='csv', after the name: "
            f"'{file.name}?format=csv')"
        )
    library = frame_library(_ENGINES[format])
    try:
        frame = _read_by(library, file, format)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"{library} cannot read '{file}' as {format}: {error}") from error
    if len(frame) == 0:
        raise ValueError(f"'{file}' has columns and no row of data; expected at least one")
    return frame


def _read_by(library: str, file: Path, format: str) -> nw.DataFrame[Any]:
    module = importlib.import_module(library)
    if format == "parquet":
        options: dict[str, Any] = {"glob": False} if library == "polars" else {}
        return nw.read_parquet(str(file), native_namespace=module, **options)
    if library == "polars":
        frame = module.read_ipc(file.read_bytes())
    elif library == "pandas":
        frame = module.read_feather(file)
    else:
        frame = importlib.import_module("pyarrow.feather").read_table(str(file))
    return cast("nw.DataFrame[Any]", nw.from_native(frame, eager_only=True))


def _a(format: str) -> str:
    return f"an {format}" if format == "arrow" else f"a {format}"
