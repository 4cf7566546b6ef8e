"""`weald.parts`: a table that is read in parts, for fits on more data than fits into memory."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.memory import most_bytes
from weald.data.parts.contents import CODED, BatchValues
from weald.data.parts.reading import PartsReading
from weald.data.parts.sources import Source, source_of
from weald.data.parts.summaries import ColumnSummary
from weald.data.parts.table import PartsTable, as_planned
from weald.data.plan import ColumnPlan
from weald.data.sources import Table, side_by_side
from weald.data.values import Kind
from weald.errors import listing

# Without a limit, so much of the memory holds values at once; columns that are read one by one
# from their source need no more than what codes of all columns will take.
_SHARE_OF_MEMORY, _LEAST_BYTES = 16, 2**26

# Bytes of the code of a value, with padding, and of what a row has beside codes and the values that
# are held at once: the target, and a column that is being sorted.
_OF_CODE, _BESIDE_CODES = 1.2, 40


def parts(
    source: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    memory_limit: int | None = None,
) -> Any:
    r"""Describe a table that is read in parts, because it is larger than memory.

    `BoostedTreesClassifier` and `BoostedTreesRegressor` take it in `fit`, with any parameters, and
    give the same model, bit for bit, as for the same rows in memory. Only one byte per value, the
    target and what training needs stay in memory; if they do not fit, they are streamed from a
    scratch file (guide "Larger than memory"). Their predictions take it, too.

    Parameters
    ----------
    source : str, path, list, Dataset, LazyFrame or function
        A pattern such as ``"data/*.parquet"``, a path, or a list of these: parquet, Arrow (feather)
        or csv files with the same columns; each file is a part. Or a `pyarrow.dataset.Dataset`, a
        `polars.LazyFrame` (written once to a temporary parquet file), a list of data frames, or a
        function without arguments that returns an iterator of data frames, the same ones each
        time it is called.
    target : str or None, default=None
        The column to predict.
    columns : list of str or None, default=None
        The columns of X; None: all but the target and those of `drop`.
    drop : list of str, default=()
        Columns that X does not have.
    memory_limit : int or None, default=None
        Bytes for all that grows with the number of rows. If codes and training state do not fit,
        they are streamed from a file in the folder for temporary files; some settings, such as
        `n_bags`, need memory and raise an error. With a smaller limit the source is read more
        often. None: what the machine, the process or its control group has.

    Returns
    -------
    Parts, or tuple of Parts and PartsColumn
        X, or with a target ``(X, y)``, to be passed to `fit`. ``X.column(name)`` is any column of
        the source, for `sample_weight`, `groups` or `offset`; they are held in memory unless
        the table is streamed.

    Notes
    -----
    Parts are matched by column names. A column must have the same kind of values in all parts:
    numbers, text or categories, dates. Categories and classes may differ from part to part, and a
    part may be empty. Reading files needs pyarrow.

    The rows are read several times, and must be the same ones in the same order each time; if they
    are not, an error says so.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import weald
    >>> def batches():
    ...     for seed in range(4):
    ...         x = np.random.default_rng(seed).random((500, 2))
    ...         yield pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] > x[:, 1]})
    >>> X, y = weald.parts(batches, target="y")
    >>> model = weald.BoostedTreesClassifier(n_estimators=20).fit(X, y)
    >>> model.predict(X).shape
    (2000,)
    >>> whole = pd.concat(batches())
    >>> same = weald.BoostedTreesClassifier(n_estimators=20).fit(whole[["a", "b"]], whole["y"])
    >>> same.fingerprint() == model.fingerprint()
    True
    """
    found = source_of(source)
    _check_known(found, [*(columns or ()), *drop, *([] if target is None else [target])])
    if columns is not None and drop:
        raise ValueError("pass either columns, those of X, or drop, those it does not have")
    if isinstance(columns, str) or isinstance(drop, str):
        raise TypeError("columns and drop are lists of names; got a str")
    left_out = {*drop, target}
    names = [name for name in found.names if name not in left_out]
    names = names if columns is None else list(columns)
    if target in names:
        raise ValueError(f"columns names {target!r}, which is the target; leave it out")
    if not names:
        raise ValueError(
            f"X has no column: the source has {listing(found.names)}. Leave out fewer of them."
        )
    X = Parts(found, names, None if memory_limit is None else _checked_bytes(memory_limit))
    return X if target is None else (X, X.column(target))


def _check_known(source: Source, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in source.names]
    if unknown:
        raise ValueError(
            f"the source has no column {listing(unknown)}; it has {listing(source.names)}"
        )


def _checked_bytes(memory_limit: Any) -> int:
    try:
        n_bytes = operator.index(memory_limit)
    except TypeError:
        n_bytes = 0
    if isinstance(memory_limit, bool) or n_bytes < 1:
        raise ValueError(
            f"memory_limit must be a number of bytes, such as 2 * 2**30; got {memory_limit!r}"
        )
    return n_bytes


class Parts:
    """A table that is read in parts; made by `weald.parts`.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    """

    def __init__(self, source: Source, names: Sequence[str], memory_limit: int | None) -> None:
        self._source, self._memory_limit = source, memory_limit
        self.columns = list(names)
        self._n_rows: int | None = None

    def __repr__(self) -> str:
        rows = "unread" if self._n_rows is None else f"{self._n_rows:,} rows"
        return f"Parts({rows}, {len(self.columns)} columns: {listing(self.columns, most=5)})"

    def __len__(self) -> int:
        """Number of rows; counted on first use."""
        if self._n_rows is None:
            self._n_rows = _count(self.reading(), self.columns[0])
        return self._n_rows

    def __getitem__(self, rows: object) -> Any:
        raise TypeError(
            "rows of a table in parts (weald.parts) cannot be selected, as cross-validation does: "
            "use a data frame of a sample, or make other parts of the files or batches."
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, which is counted on first use, and of columns."""
        return len(self), len(self.columns)

    def column(self, name: str) -> "PartsColumn":
        """A column of the source, which need not be one of this table.

        Parameters
        ----------
        name : str
            Its name.
        """
        _check_known(self._source, [name])
        return PartsColumn(self, name)

    @property
    def memory_limit(self) -> int | None:
        """Bytes for all that grows with the rows, as it was given."""
        return self._memory_limit

    def count(self, column: str, most: int) -> tuple[int, int]:
        """Number of rows, and of different values of a column, which stops at `most`."""
        reading, found = self.reading(), set[Any]()
        for part, begin, (values,) in reading.columns([column], f"column {column!r}"):
            if len(found) < most:
                found.update(self.column(column).of_batch(values, part, begin).tolist())
        self._n_rows = reading.known_rows
        return self._n_rows, min(len(found), most)

    def reading(self, *, verbose: bool = False) -> PartsReading:
        """Passes over the source that must all find the same rows."""
        return PartsReading(self._source, verbose=verbose)

    def planned(
        self,
        reading: PartsReading,
        chosen: NDArray[np.bool_] | None,
        counted: NDArray[np.bool_] | None,
        numbers_levels: Any,
    ) -> tuple[ColumnPlan, PartsTable]:
        """Determine the types of the columns, as `fit_plan` does, and the table by that plan."""
        summaries = [
            ColumnSummary(name, None if chosen is None else bool(chosen[i]))
            for i, name in enumerate(self.columns)
        ]
        for part, begin, columns in reading.columns(self.columns, "types and levels"):
            for summary, values in zip(summaries, columns, strict=True):
                mask = None if counted is None else counted[begin : begin + len(values)]
                summary.add(values, part, mask)
        self._n_rows = n_rows = reading.known_rows
        plan = ColumnPlan(tuple(one.column(numbers_levels, n_rows) for one in summaries))
        table = PartsTable(
            reading,
            tuple(self.columns),
            plan,
            tuple(one.is_small for one in summaries),
            n_rows,
            self._most_bytes(n_rows, plan.n_columns),
        )
        return plan, table

    def _most_bytes(self, n_rows: int, n_columns: int) -> int:
        if self._memory_limit is not None:
            coded = n_rows * (_OF_CODE * n_columns + _BESIDE_CODES)
            return max(0, int(self._memory_limit - coded) // 2)
        if self._source.reads_columns:
            return max(_LEAST_BYTES, n_rows * n_columns)
        machine = most_bytes()
        return _LEAST_BYTES if machine is None else machine // _SHARE_OF_MEMORY

    def blocks(self, plan: ColumnPlan, order: Sequence[int] | None) -> Iterator[Table]:
        """Yield the rows as numeric columns, batch by batch; `order` is that of the plan."""
        names = self.columns if order is None else [self.columns[i] for i in order]
        for _, _, columns in self.reading().columns(names, "rows"):
            arrays = [
                array for i, values in enumerate(columns) for array in as_planned(plan, i, values)
            ]
            yield side_by_side(arrays)


class PartsColumn:
    """A column of a table in parts; made by `weald.parts`. NumPy reads it as an array."""

    def __init__(self, parts: Parts, name: str) -> None:
        self._parts, self._name = parts, name

    def __repr__(self) -> str:
        return f"PartsColumn({self._name!r})"

    def __len__(self) -> int:
        return len(self._parts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        read = self.read(self._parts.reading())
        return read if dtype is None else read.astype(dtype, copy=False)

    def is_of(self, parts: Parts) -> bool:
        """Whether the column has the source of a table."""
        return self._parts._source is parts._source

    @property
    def name(self) -> str:
        return self._name

    def of_batch(self, values: BatchValues, part: str, begin: int) -> NDArray[Any]:
        """The values of a batch whose first row is row `begin` of all."""
        code_of: dict[Any, int] = {}
        array = self._present(values, code_of, part, begin)
        return np.array(list(code_of), dtype=object)[array] if values.kind in CODED else array

    def _present(
        self, values: BatchValues, code_of: dict[Any, int], part: str, begin: int
    ) -> NDArray[Any]:
        """Numbers or codes of a batch; ValueError if a row has none."""
        if not values.has_values:
            raise ValueError(_missing(self._name, begin, part))
        array, missing = _array_of(values, code_of)
        if missing.any():
            raise ValueError(_missing(self._name, begin + int(np.argmax(missing)), part))
        return array

    def read(self, reading: PartsReading) -> NDArray[Any]:
        """The values of all rows; each different text once."""
        pieces: list[NDArray[Any]] = []
        code_of: dict[Any, int] = {}
        kind, first_part = None, ""
        for part, begin, (values,) in reading.columns([self._name], f"column {self._name!r}"):
            array = self._present(values, code_of, part, begin)
            own = Kind.CATEGORY if values.kind in CODED else values.kind
            if kind not in (None, own):
                raise TypeError(
                    f"Column {self._name!r} holds {kind.value} in {first_part!r}, but {own.value} "
                    f"in {part!r}. Convert all parts to one kind."
                )
            kind, first_part = own, first_part or part
            pieces.append(array)
        whole = np.concatenate(pieces)
        return np.array(list(code_of), dtype=object)[whole] if kind is Kind.CATEGORY else whole


def _array_of(
    values: BatchValues, code_of: dict[Any, int]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers of a batch, or codes of its categories, which `code_of` collects; what is missing."""
    if values.kind in CODED:
        codes, found = values.coded()
        table = [code_of.setdefault(one, len(code_of)) for one in found]
        return np.array([*table, -1], dtype=np.int32)[codes], codes < 0
    array = np.asarray(values.moments(None)[0] if values.kind is Kind.MOMENT else values.numbers())
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), dtype=bool)
    return array, missing


def _missing(name: str, row: int, part: str) -> str:
    return (
        f"Column {name!r} contains NaN: it has no value in row {row} (of all rows, counted from "
        f"0), in {part!r}. A target, a weight or a group is needed for every row: drop such rows."
    )


def _count(reading: PartsReading, name: str) -> int:
    for _ in reading.columns([name], "the number of rows"):
        pass
    return reading.known_rows
