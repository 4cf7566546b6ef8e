"""Read bundled tables, and convert columns to the requested kind of data frame."""

from __future__ import annotations

import gzip
import importlib
import io
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from weald.data.frame_library import FRAME_LIBRARIES, installed_frame_library

Column: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
AsFrame: TypeAlias = Literal["auto", "pandas", "polars", "pyarrow", False] | None


def read_bundled(name: str) -> dict[str, Column]:
    """Read the columns of ``name.csv.gz``, all of them int64."""
    text = gzip.decompress(files("weald.datasets").joinpath(f"{name}.csv.gz").read_bytes())
    names = text[: text.index(b"\n")].decode("ascii").split(",")
    table = np.loadtxt(io.BytesIO(text), dtype=np.int64, delimiter=",", skiprows=1)
    return {column: np.ascontiguousarray(table[:, k]) for k, column in enumerate(names)}


def frame_of(columns: Mapping[str, Column], as_frame: AsFrame) -> Any:
    """Convert columns to a data frame, or to a NumPy array of shape (rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> from weald.datasets.bundled import frame_of
    >>> frame_of({"a": np.array([1, 2]), "b": np.array([3, 4])}, False).tolist()
    [[1, 3], [2, 4]]
    """
    library: str | None
    if as_frame is None or as_frame is False:
        library = None
    elif as_frame == "auto":
        library = installed_frame_library()
    elif as_frame in FRAME_LIBRARIES:
        library = installed_frame_library((as_frame,))
        if library is None:
            raise ImportError(
                f"as_frame='{as_frame}' needs {as_frame}, which is not installed; "
                f"pip install {as_frame}, or pass as_frame='auto' or as_frame=False"
            )
    else:
        choices = ", ".join(repr(choice) for choice in ("auto", *FRAME_LIBRARIES, False))
        raise ValueError(f"as_frame={as_frame!r} is not understood; expected one of {choices}")
    if library is None:
        return np.column_stack(list(columns.values()))
    native_namespace = importlib.import_module(library)
    return nw.from_dict(dict(columns), native_namespace=native_namespace).to_native()
