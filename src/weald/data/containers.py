"""Conversion of objects that implement array or data frame protocols, and checks of their data."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from weald.errors import listing


def refuse_no_table(X: Any) -> None:
    """Raise TypeError for objects that are not tables, and for masked or structured arrays."""
    if np.ma.isMaskedArray(X):
        raise TypeError(
            "Masked arrays are not supported: the mask would be ignored. "
            "Pass X.filled(np.nan), so that masked values are missing."
        )
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "V":
            fields = (
                f"with the fields {listing(X.dtype.names)}" if X.dtype.names else "of raw bytes"
            )
            raise TypeError(
                f"X is a structured array {fields}, which is not supported. Pass a data frame, "
                "such as pandas.DataFrame(X), or "
                "numpy.lib.recfunctions.structured_to_unstructured(X)."
            )
        return
    # Data frames and sparse matrices may be subclasses of dict.
    is_none = X is None or isinstance(X, (str, bytes, Iterator, Mapping, Set))
    if is_none and not any(hasattr(X, way) for way in ("tocsc", *_OF_TABLES, *_OF_ARRAYS)):
        raise TypeError(
            f"X is a {type(X).__name__}, which is not a table. Pass an array, a data frame, a "
            "sparse matrix or a list of rows; convert a generator by list(X), a dict of columns "
            "by pandas.DataFrame(X)."
        )


def read_table(thing: Any) -> Any:
    """Convert an object that implements a table or array protocol; return others unchanged.

    Called once per object, because a second conversion may yield different data.
    """
    # Table protocols first: they provide column types.
    return _read(thing, "X", {**_OF_TABLES, **_OF_ARRAYS})


def read_array(thing: Any, name: str) -> Any:
    """Convert an object that implements an array or table protocol; `name` is for messages."""
    return _read(thing, name, {**_OF_ARRAYS, **_OF_TABLES})


def _read(thing: Any, name: str, protocols: dict[str, Callable[[Any], Any]]) -> Any:
    for protocol, read in protocols.items():
        if not hasattr(thing, protocol):
            continue
        try:
            return read(thing)
        except MemoryError:
            raise
        except Exception as error:
            # The object may raise anything; callers expect TypeError or ValueError.
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(
                f"{name} is a {type(thing).__name__}, which cannot be read by its {protocol}: "
                f"{error}. Pass a NumPy array, or a data frame or series of pandas, polars or "
                "pyarrow; copy data from other devices to main memory first."
            ) from error
    return thing


def _from_stream(thing: Any) -> Any:
    library = _installed("pyarrow", "polars")
    if library == "polars":
        return importlib.import_module("polars").DataFrame(thing)
    table = importlib.import_module("pyarrow").table(thing)
    table.validate(full=True)
    return table


def _from_interchange(thing: Any) -> Any:
    frame = thing.__dataframe__(allow_copy=True)
    for chunk in frame.get_chunks():
        for name in chunk.column_names():
            _check_interchange(chunk.get_column_by_name(name), name, chunk.num_rows())
    if _installed("pyarrow", "polars") == "polars":
        return importlib.import_module("polars").from_dataframe(thing)
    table = importlib.import_module("pyarrow.interchange").from_dataframe(frame)
    table.validate(full=True)
    return table


def _check_interchange(column: Any, name: str, n_rows: int) -> None:
    """Check the sizes that a column declares, because its memory is read without checks."""
    if column.size() != n_rows:
        raise ValueError(f"column {name!r} has {column.size()} values, but there are {n_rows} rows")
    buffer, (_, bits, _, _) = column.get_buffers()["data"]
    text = column.get_buffers()["offsets"] is not None  # the data are characters, not values
    needed = 0 if text else (column.offset + n_rows) * bits
    if 8 * buffer.bufsize < needed:
        raise ValueError(
            f"column {name!r} has a buffer of {buffer.bufsize} bytes, but {n_rows} values of "
            f"{bits} bits need {-(-needed // 8)}"
        )


def _from_interface(thing: Any) -> Any:
    """Convert an array interface; check that its memory is large enough, as NumPy does not."""
    stated = dict(thing.__array_interface__)
    kind, memory = np.dtype(stated["typestr"]), stated.get("data")
    if kind.hasobject:
        raise TypeError("it holds pointers to Python objects, which cannot be checked")
    if not isinstance(memory, tuple):
        memory = stated["data"] = memoryview(thing if memory is None else memory)
        steps = stated.get("strides") or _steps(stated["shape"], kind.itemsize)
        reach = [(n - 1) * step for n, step in zip(stated["shape"], steps, strict=True)]
        begin = stated.get("offset", 0)
        low = begin + sum(min(0, far) for far in reach)
        high = begin + sum(max(0, far) for far in reach) + kind.itemsize
        if 0 not in stated["shape"] and (low < 0 or high > memory.nbytes):
            raise ValueError(
                f"its memory has {memory.nbytes} bytes, but shape {stated['shape']} of {kind} "
                f"with strides {tuple(steps)} reaches from byte {low} to {high}"
            )
    return np.asarray(_Stated(thing, stated))


class _Stated:
    """A checked array interface, and the object that owns its memory."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _steps(shape: tuple[int, ...], size: int) -> list[int]:
    """Strides of a C-contiguous array."""
    steps = [size]
    for n in shape[:0:-1]:
        steps.append(steps[-1] * n)
    return steps[::-1]


def _installed(*libraries: str) -> str:
    for library in libraries:
        if importlib.util.find_spec(library):
            return library
    raise TypeError(f"this requires one of {', '.join(libraries)}, and none is installed")


_OF_TABLES: dict[str, Callable[[Any], Any]] = {
    "__arrow_c_stream__": _from_stream,
    "__dataframe__": _from_interchange,
}
_OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "__array__": np.asarray,
    "__array_interface__": _from_interface,
    "__dlpack__": np.from_dlpack,
}


def plain_array(array: Any) -> Any:
    """View a subclass of ndarray as ndarray; np.matrix is kept, to be rejected later."""
    if type(array) is np.ndarray or isinstance(array, np.matrix):
        return array
    return np.ndarray.view(array, np.ndarray)


def is_known_frame(frame: Any) -> bool:
    """Whether narwhals fully supports a data frame."""
    if isinstance(frame, nw.DataFrame):
        return nw.get_level(frame) == "full"
    return isinstance(frame, nw.LazyFrame)


# ---- sparse matrices: SciPy's conversions do not check indices ----


def sound_sparse(X: Any) -> Any:
    """Check the indices of a sparse matrix, and return it as csr, csc or coo.

    Raises
    ------
    ValueError
        If an index or pointer is out of bounds.
    """
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D array instead: a sparse array of the shape "
            f"{X.shape}. Reshape your data: X.reshape(-1, 1) is one column, X.reshape(1, -1) one "
            "row."
        )
    if X.format == "lil":
        _check_lists(X)
    if X.format in ("lil", "dok", "dia"):
        X = X.tocsr() if X.format == "lil" else X.tocoo()
    if X.format == "coo":
        for what, index, size in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
            _check_length(X, what, len(index), X.data.shape[0])
            _check_range(X, what, index, size)
        return X
    n_major, n_minor = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        n_major, n_minor = n_major // X.blocksize[0], n_minor // X.blocksize[1]
    _check_length(X, "indices", len(X.indices), X.data.shape[0])
    _check_pointers(X, n_major)
    _check_range(X, "indices", X.indices, n_minor)
    return X.tocsr() if X.format == "bsr" else X


def _check_pointers(X: Any, n_major: int) -> None:
    pointers = X.indptr
    _check_length(X, "indptr", len(pointers), n_major + 1)
    _check_range(X, "indptr", pointers, len(X.indices) + 1)
    steps_back = np.flatnonzero(pointers[1:] < pointers[:-1])
    if pointers[0] != 0 or steps_back.size:
        at = int(steps_back[0]) + 1 if steps_back.size else 0
        raise ValueError(
            f"X is a broken sparse matrix ({X.format}): indptr[{at}] is {pointers[at]}, but indptr "
            f"must begin with 0 and never decrease. {_MAKE_ANEW}"
        )


def _check_lists(X: Any) -> None:
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=False)):
        _check_length(X, f"rows[{row}]", len(columns), len(values))
    _check_length(X, "rows", len(X.rows), X.shape[0])
    _check_length(X, "data", len(X.data), X.shape[0])


def _check_length(X: Any, what: str, got: int, expected: int) -> None:
    if got != expected:
        raise ValueError(
            f"X is a broken sparse matrix ({X.format}): {what} has {got} entries, expected "
            f"{expected} for the shape {X.shape} and the values it holds. {_MAKE_ANEW}"
        )


def _check_range(X: Any, what: str, index: Any, end: int) -> None:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(
            f"X is a broken sparse matrix ({X.format}): {what} is an array of {index.dtype} with "
            f"{index.ndim} dimensions, expected integers with one. {_MAKE_ANEW}"
        )
    if len(index) and (index.min() < 0 or index.max() >= end):
        at = int(index.argmin() if index.min() < 0 else index.argmax())
        raise ValueError(
            f"X is a broken sparse matrix ({X.format}): {what}[{at}] is {index[at]}, expected "
            f"0 to {end - 1} for the shape {X.shape} and the values it holds. {_MAKE_ANEW}"
        )


_MAKE_ANEW = "Its arrays were changed after construction: construct the matrix anew."
