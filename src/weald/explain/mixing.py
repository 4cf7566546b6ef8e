"""Rows whose columns come from different rows of a table."""

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


class MixedRows:
    """Makes tables from the columns of given rows, of the same type as the given tables.

    Parameters
    ----------
    tables : list of arrays, sparse matrices or frames
        Tables of one type with the same columns; their rows are numbered one after another. Sparse
        matrices become arrays.

    Examples
    --------
    >>> import numpy as np
    >>> rows = MixedRows([np.array([[1, 2]]), np.array([[3, 4]])])
    >>> rows.mixed(np.array([[0, 1], [1, 1]])).tolist()
    [[1, 4], [3, 4]]
    """

    def __init__(self, tables: list[Any]) -> None:
        self._columns: list[Any] = []
        self._names: Any = None
        first = tables[0]
        if any(_kind(table) != _kind(first) for table in tables):
            kinds = " and ".join(type(table).__name__ for table in tables)
            raise TypeError(f"The tables must have the same type; got {kinds}.")
        self._kind = _kind(first)
        if self._kind == "array":
            self._whole = np.concatenate([_dense(table) for table in tables])
            self.shape = self._whole.shape
            return
        self._join_frames(tables)

    def _join_frames(self, tables: list[Any]) -> None:
        frames = [nw.from_native(table, eager_only=True) for table in tables]
        self._library = nw.get_native_namespace(frames[0])
        try:
            if self._kind == "pandas":
                joined = self._library.concat(tables, ignore_index=True)
            else:
                joined = nw.concat(frames).to_native()
        except Exception as error:  # each library has its own errors
            raise ValueError(
                f"The tables must have the same columns and dtypes; joining them failed: {error}"
            ) from error
        if self._kind == "pandas":
            self._names = joined.columns
            self._columns = [joined.iloc[:, i].array for i in range(joined.shape[1])]
        else:
            frame = nw.from_native(joined, eager_only=True)
            self._names = frame.columns
            self._columns = [frame[name] for name in frame.columns]
        self.shape = tuple(joined.shape)

    def mixed(self, source: Indices) -> Any:
        """A table whose cell (i, j) is that of column j in row `source[i, j]`."""
        if self._kind == "array":
            return np.take_along_axis(self._whole, source, axis=0)
        if self._kind == "pandas":
            arrays = [column.take(source[:, j]) for j, column in enumerate(self._columns)]
            frame = self._library.DataFrame(dict(enumerate(arrays)))
            return frame.set_axis(self._names, axis=1)
        series = {
            name: column[np.ascontiguousarray(source[:, j])]
            for j, (name, column) in enumerate(zip(self._names, self._columns, strict=True))
        }
        return nw.from_dict(series, native_namespace=self._library).to_native()


def _kind(table: Any) -> str:
    if hasattr(table, "iloc"):
        return "pandas"
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return type(table).__module__.split(".")[0] if isinstance(frame, nw.DataFrame) else "array"


def _dense(table: Any) -> NDArray[Any]:
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table)
