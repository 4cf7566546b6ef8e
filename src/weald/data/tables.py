"""Validation of X, and its conversion to numeric columns."""

import importlib
from collections.abc import Iterator
from typing import Any, TypeGuard

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from weald.data.containers import (
    is_known_frame,
    plain_array,
    read_table,
    refuse_no_table,
    sound_sparse,
)
from weald.data.memory import refuse_beyond_memory
from weald.data.missing_targets import naming_missing
from weald.data.names import check_names_again, frame_names, remember_names
from weald.data.parts.parts import Parts, PartsColumn
from weald.data.parts.table import PartsTable
from weald.data.plan import ColumnPlan, fit_plan
from weald.data.rows import checked_weights
from weald.data.selection import chosen_columns
from weald.data.sources import (
    LISTED_BYTES,
    AnyTable,
    ColumnTable,
    SparseTable,
    Table,
    side_by_side,
    view_as_one,
)
from weald.data.values import Values, values_of
from weald.data.wrong_arrays import refuse_complex, refuse_no_rows_and_columns

# Missing values and infinities are supported.
_RULES: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
    "accept_sparse": "csr",
}

# Native byte order only: np.dtype(">f8") is not among them.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))

# Maximum number of values of a dense block in predict.
_DENSE_VALUES = 2**22


def table_for_fit(
    estimator: Any,
    X: Any,
    y: object,
    *,
    y_numeric: bool,
    sample_weight: object = None,
    multi_output: bool = False,
) -> tuple[AnyTable, Any]:
    """Validate X and y for fit, and set the column attributes of the estimator."""
    of_y = {"y_numeric": y_numeric, "multi_output": multi_output}
    if isinstance(X, Parts):
        return _parts_for_fit(estimator, X, y, of_y, sample_weight)
    X, y = _read_once(X), np.asarray(y) if isinstance(y, PartsColumn) else y
    refuse_no_rows_and_columns(X)
    _refuse_too_large(X)
    _refuse_too_many_bins(X, in_lists=getattr(estimator, "_lists_sparse_codes", False))
    choice = getattr(estimator, "categorical_features", "from_dtype")
    names = None
    if _needs_plan(X):
        names = frame_names(X)
        # scikit-learn's checks of everything but the values, on an array of the same shape.
        stand_in = np.broadcast_to(np.float64(0), _shape(X))
        _, target = _validated(estimator, stand_in, y, of_y, _RULES)
        remember_names(estimator, names)
    else:
        X, target = _checked(estimator, X, y, of_y)
        if choice is None or isinstance(choice, str):
            estimator._columns = ColumnPlan.of_array(X)
            return _array_or_sparse(X), target
    columns = _columns_of(X, names)
    estimator._columns, arrays = fit_plan(
        columns,
        chosen_columns(choice, names, X.shape[1]),
        None if sample_weight is None else checked_weights(sample_weight, X.shape[0]) > 0,
        numbers_levels=getattr(estimator, "_numbers_levels", None),
        keeps_rare=getattr(estimator, "_keeps_rare_levels", False),
    )
    return _table_of(estimator._columns, arrays, [one.label for one in columns]), target


def _parts_for_fit(
    estimator: Any, X: Parts, y: Any, of_y: dict[str, bool], sample_weight: Any
) -> tuple[PartsTable, Any]:
    """`table_for_fit` for a table in parts, of which only the target is read into memory."""
    if not getattr(estimator, "_takes_parts", False):
        _refuse_parts(X, type(estimator).__name__)
    reading = X.reading(verbose=bool(getattr(estimator, "verbose", 0)))
    if isinstance(y, PartsColumn):
        y = y.read(reading) if y.is_of(X) else np.asarray(y)
    if of_y["y_numeric"] and np.asarray(y).dtype == object:
        raise ValueError("the target holds text, but regression requires numbers; use a classifier")
    choice = getattr(estimator, "categorical_features", "from_dtype")
    plan, table = X.planned(
        reading,
        chosen_columns(choice, X.columns, len(X.columns)),
        None if sample_weight is None else checked_weights(sample_weight, len(y)) > 0,
        getattr(estimator, "_numbers_levels", None),
    )
    stand_in = np.broadcast_to(np.float64(0), (table.n_rows, len(X.columns)))
    _refuse_too_large(stand_in)
    with naming_missing(y):
        _, target = validate_data(estimator, stand_in, y, **of_y, **_RULES)
    remember_names(estimator, X.columns)
    estimator._columns = plan
    return table, target


def _refuse_parts(X: Parts, who: str) -> None:
    raise TypeError(
        f"{who} does not take a table in parts (weald.parts): it needs the raw values in memory. "
        "Use BoostedTreesClassifier or BoostedTreesRegressor, or pass a sample of the rows as a "
        "data frame."
    )


def _checked(estimator: Any, X: Any, y: Any, of_y: dict[str, bool]) -> tuple[Any, Any]:
    """Validate X and y with scikit-learn, which sets attributes of the estimator."""
    if not _are_plain(X, y):
        return _validated(estimator, X, y, of_y, {**_RULES, "accept_sparse": ["csc", "csr"]})
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator.n_features_in_ = X.shape[1]
    return X, y


def _validated(
    estimator: Any, X: Any, y: Any, of_y: dict[str, bool], rules: dict[str, Any]
) -> tuple[Any, Any]:
    """X and y after scikit-learn's checks; y is None for estimators that take no target."""
    if y is None:
        return validate_data(estimator, X, y, **rules), None
    with naming_missing(y):
        return validate_data(estimator, X, y, **of_y, **rules)  # type: ignore[no-any-return]


def _are_plain(X: Any, y: Any) -> bool:
    """Whether scikit-learn's checks can be skipped, because both arrays would pass unchanged.

    The checks take as long as growing ten small trees.
    """
    if not _is_plain_array(X) or X.shape[1] == 0 or type(y) is not np.ndarray:
        return False
    if y.shape != (len(X),) or not y.flags.c_contiguous:
        return False
    return y.dtype.kind in "biu" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))


def table_for_predict(estimator: Any, X: Any) -> Any:
    """Validate X against the columns of the fit; `dense_blocks` yields its rows."""
    if isinstance(X, Parts):
        order = check_names_again(estimator, X.columns, (1, len(X.columns)))
        return _PlannedParts(plan_of(estimator), X, order)
    X = _read_once(X)
    refuse_no_rows_and_columns(X)
    plan, order = plan_of(estimator), None
    if not _needs_plan(X):
        X = validate_data(estimator, X, reset=False, **_RULES)
        if plan.is_plain:
            return X
    elif (names := frame_names(X)) is not None:
        order = check_names_again(estimator, names, _shape(X))
    else:
        stand_in = np.broadcast_to(np.float64(0), _shape(X))
        validate_data(estimator, stand_in, reset=False, **_RULES)
    return _Planned(plan, X, order)


class _Planned:
    """A table with the plan to convert blocks of its rows."""

    def __init__(self, plan: ColumnPlan, X: Any, order: list[int] | None) -> None:
        self._plan, self._X, self._order = plan, X, order
        self.shape = (_shape(X)[0], plan.n_columns)

    def rows(self, begin: int, end: int) -> Table:
        part = self._X[begin:end]
        columns = _columns_of(part, frame_names(part))
        if self._order is not None:
            columns = [columns[i] for i in self._order]
        return side_by_side(self._plan.read(columns))


class _PlannedParts:
    """A table in parts with the plan to convert them."""

    def __init__(self, plan: ColumnPlan, X: Parts, order: list[int] | None) -> None:
        self._plan, self._X, self._order = plan, X, order

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._X), self._plan.n_columns

    def blocks(self) -> Iterator[Table]:
        """Yield the rows batch by batch."""
        return self._X.blocks(self._plan, self._order)


def plan_of(estimator: Any) -> ColumnPlan:
    """Return the column plan of a fitted estimator."""
    plan: ColumnPlan | None = getattr(estimator, "_columns", None)
    return plan or ColumnPlan.of_numbers(estimator.n_features_in_)


def is_plain_table(X: object, estimator: object) -> TypeGuard[Table]:
    """Whether X is an array with the columns of the fit that the core can read directly.

    Then scikit-learn's checks, which take longer than a prediction, are skipped.
    """
    return (
        _is_plain_array(X)
        and X.shape[1] == getattr(estimator, "n_features_in_", -1)
        and not hasattr(estimator, "feature_names_in_")
        and plan_of(estimator).is_plain
    )


def _is_plain_array(X: object) -> TypeGuard[Table]:
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in _PLAIN and X.shape[0] > 0


def dense_blocks(table: Any) -> Iterator[Table]:
    """Yield dense blocks of rows of a validated table: one block if it is dense already."""
    if isinstance(table, np.ndarray):
        yield _native_order(table)
        return
    if isinstance(table, _PlannedParts):
        yield from table.blocks()
        return
    step = max(1, _DENSE_VALUES // max(1, table.shape[1]))
    for begin in range(0, table.shape[0], step):
        if isinstance(table, _Planned):
            yield table.rows(begin, min(begin + step, table.shape[0]))
        else:
            yield table[begin : begin + step].toarray()


def readable_table(X: Any) -> Any:
    """Prepare X for base estimators, which validate its values themselves.

    Protocols are read once, lazy frames collected and column names checked. Lists and 1-D arrays
    of text are kept.
    """
    if isinstance(X, (list, tuple)):
        return X
    if isinstance(X, np.ndarray) and X.ndim != 2 and X.dtype.kind != "V":
        refuse_no_table(X)
        return X
    read = _read_once(X)
    _refuse_too_large(read)
    return read.to_native() if isinstance(read, nw.DataFrame) else read


def read_columns(X: Any) -> list[Values]:
    """Return the columns of any table with their kinds, without an estimator."""
    X = _read_once(X)
    return _columns_of(X, frame_names(X) if isinstance(X, nw.DataFrame) else None)


# ---- reading X ----


def _read_once(X: Any) -> Any:
    """Convert X to a narwhals frame, an array or a sparse matrix, reading protocols once.

    Raises an error for objects that are not tables, bytes and corrupt sparse matrices.
    """
    if isinstance(X, Parts):
        _refuse_parts(X, "This estimator or function")
    refuse_no_table(X)
    refuse_complex(X, "X")
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "S":
            raise ValueError(
                f"X holds bytes ({X.dtype}), which are neither numbers nor text. "
                "Decode them: X.astype(str) for categories, X.astype(float) for numbers."
            )
        return plain_array(X)
    if isinstance(X, (list, tuple)):
        return _array_of_lists(X)
    if hasattr(X, "tocsc") and hasattr(X, "format"):
        return sound_sparse(X)
    if hasattr(X, "iloc") or hasattr(X, "column_names"):
        frame_names(X)  # raises a clearer error for duplicate names than the frame library
    if type(X).__name__ == "RecordBatch":
        X = importlib.import_module("pyarrow").Table.from_batches([X])
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if not is_known_frame(frame):
        if isinstance(frame, nw.Series):
            return X  # scikit-learn raises the error
        read = read_table(X)
        return X if read is X else _read_once(read)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


# Limits of the core's row and column indices.
_MOST_ROWS, _MOST_COLUMNS = 2**32 - 2, 2**31 - 1


def _refuse_too_large(X: Any) -> None:
    """Raise ValueError if a table exceeds the limits of the core."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        return
    if shape[0] > _MOST_ROWS or shape[1] > _MOST_COLUMNS:
        raise ValueError(
            f"X has {shape[0]:,} rows and {shape[1]:,} columns; at most {_MOST_ROWS:,} rows and "
            f"{_MOST_COLUMNS:,} columns are supported. Fit on a part of them."
        )


def _refuse_too_many_bins(X: Any, *, in_lists: bool) -> None:
    """Raise MemoryError if the bin codes of a sparse table are too large.

    They take one byte per value, or, if the estimator keeps them `in_lists`, some per stored value.
    """
    if hasattr(X, "tocsc"):
        n_rows, n_columns = (int(size) for size in X.shape)
        n_bytes = n_rows * n_columns
        refuse_beyond_memory(
            min(n_bytes, LISTED_BYTES * int(X.nnz)) if in_lists else n_bytes,
            f"The bins of {n_rows:,} x {n_columns:,} values, zeros included,",
            "Fit on fewer rows, or drop columns that are almost all zero.",
        )


def _array_of_lists(X: Any) -> Any:
    """Convert lists of numbers and text to an object array, so that numbers stay numbers."""
    try:
        array = np.asarray(X)
    except ValueError:
        return X  # scikit-learn raises the error
    refuse_complex(array, "X")
    return np.array(X, dtype=object) if array.dtype.kind in "USO" and array.ndim == 2 else X


def _needs_plan(X: Any) -> bool:
    """Whether X is a data frame, or an array that may not be numeric."""
    if isinstance(X, nw.DataFrame):
        return True
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    return X.dtype.kind in "mMU" or (X.dtype.kind == "O" and _has_non_numbers(X))


def _has_non_numbers(X: NDArray[Any]) -> bool:
    """Whether an object array has values that are not numbers; numbers as text count as text."""
    try:
        numbers = X.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return True  # a later error will name the column
    return any(isinstance(value, str) for value in X.flat) if numbers.size else False


def _shape(X: Any) -> tuple[int, int]:
    return tuple(X.shape)


def _columns_of(X: Any, names: list[Any] | None) -> list[Values]:
    if isinstance(X, nw.DataFrame):
        labels = [
            f"Column {name!r}" if isinstance(name, str) else f"Column {i}"
            for i, name in enumerate(names or X.columns)
        ]
        series = [X.get_column(name) for name in X.columns]
        return [values_of(one, label) for one, label in zip(series, labels, strict=True)]
    if hasattr(X, "tocsc"):
        dense = X.tocsc()
        return [values_of(dense[:, [i]].toarray()[:, 0], f"Column {i}") for i in range(X.shape[1])]
    array = np.asarray(X)
    return [values_of(array[:, i], f"Column {i}") for i in range(array.shape[1])]


def _table_of(plan: ColumnPlan, arrays: list[NDArray[Any]], labels: list[str]) -> AnyTable:
    """Return one array if all columns are numeric views of one, else a `ColumnTable`."""
    if plan.is_plain and len(arrays) > 0:
        joined = view_as_one(arrays)
        if joined is not None:
            return joined
    n_levels = [0 if levels is None else len(levels) for levels in plan.levels]
    own = tuple(labels[i] for i in plan.owner)
    return ColumnTable(tuple(arrays), np.array(n_levels, dtype=np.int64), own)


def _array_or_sparse(table: Any) -> AnyTable:
    if not hasattr(table, "toarray"):
        return _native_order(table)
    columns = table.tocsc()
    if not columns.has_canonical_format:  # entries of one cell add up
        columns = columns.copy()
        columns.sum_duplicates()
    return SparseTable(columns)


def _native_order(table: Any) -> Table:
    """Convert an array to native byte order."""
    if not table.dtype.isnative:
        table = table.astype(table.dtype.newbyteorder("="))
    return table  # type: ignore[no-any-return]
