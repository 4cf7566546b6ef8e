"""The frame library that files are read into."""

import importlib.util
from collections.abc import Sequence

FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")


def installed_frame_library(libraries: Sequence[str] = FRAME_LIBRARIES) -> str | None:
    """Name the first of `libraries` that is installed, without importing it."""
    return next((name for name in libraries if importlib.util.find_spec(name)), None)


def frame_library(engines: Sequence[str] = ()) -> str:
    """Name the library to read with; pandas needs one of `engines`, unless there are none."""
    libraries: Sequence[str] = FRAME_LIBRARIES
    if engines and installed_frame_library(engines) is None:
        libraries = [name for name in libraries if name != "pandas"]
    library = installed_frame_library(libraries)
    if library is None:
        raise ImportError(
            "reading a file needs pandas, polars or pyarrow, and none of them is installed "
            "(parquet with pandas needs pyarrow too, and so do Arrow files); for example: "
            "pip install pandas pyarrow"
        )
    return library
