"""Conversion of single rows for models with non-numeric columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from weald.data.columns import Category, Column, Number, Ordered
from weald.data.level_means import EncodedCategory
from weald.data.names import check_names_again
from weald.data.plan import ColumnPlan
from weald.data.tables import dense_blocks, table_for_predict
from weald.data.values import ArrayValues

Floats = NDArray[np.float64]

# Types whose values are looked up directly among categories, and numeric types.
_LEVELS = frozenset({str, np.str_, int, float, bool, np.int64, np.float64, np.bool_})
_NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})


class RowReader(BaseEstimator):
    """Converts rows to the numeric columns of a plan.

    A row is a list, tuple or 1-D array of values in the order of the fit, or a dict by column name.
    Any other table is a batch. Values are interpreted as in a table; those without a fast path are
    converted as a column of one value.

    Parameters
    ----------
    plan : ColumnPlan
        Fitted column types.
    names : tuple of str or None
        Column names of the fit, if any.

    Examples
    --------
    >>> plan = ColumnPlan((Number(), Category(("Bonn", "Ulm"))))
    >>> reader = RowReader(plan, ("size", "city"))
    >>> reader.read([2, "Ulm"]).tolist(), reader.read({"city": "Rom", "size": 1.5}).tolist()
    ([2.0, 1.0], [1.5, nan])
    >>> unnamed = RowReader(plan, None)
    >>> unnamed.read(np.array([[2, "Ulm"], [None, "Bonn"]], dtype=object)).tolist()
    [[2.0, 1.0], [nan, 0.0]]
    """

    def __init__(self, plan: ColumnPlan, names: tuple[str, ...] | None) -> None:
        self.plan = plan
        self.names = names
        # Attributes that input validation reads from an estimator.
        self._columns = plan
        self.n_features_in_ = len(plan.columns)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        called = range(len(plan.columns)) if names is None else map(repr, names)
        self._cells = [
            _cell(one, f"Column {name}") for one, name in zip(plan.columns, called, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.plan, self.names)

    def read(self, X: Any) -> Any:
        """Convert one row to an array of shape (columns,), a batch to shape (rows, columns).

        Raises
        ------
        TypeError, ValueError
            As the model does for a table with the same values.
        """
        if isinstance(X, Mapping):
            return self.row(self._in_order(X))
        if isinstance(X, (list, tuple)) and not (X and isinstance(X[0], (list, tuple))):
            return self.row(X)
        if type(X) is np.ndarray and X.ndim == 1:
            return self.row(X.tolist() if X.dtype.kind in "biufU" else X)
        blocks = list(dense_blocks(table_for_predict(self, X)))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def row(self, row: Sequence[Any] | NDArray[Any]) -> Floats:
        """Convert one row, its values in the order of the fit."""
        if len(row) != len(self._cells):
            n = len(self._cells)
            raise ValueError(
                f"X has {len(row)} features, but this predictor is expecting {n} features as "
                f"input: a row is a list of {n} values in the order of the fit, or a dict."
            )
        found: list[float] = []
        for cell, value in zip(self._cells, row, strict=True):
            cell(value, found)
        return np.array(found)

    def _in_order(self, row: Mapping[str, Any]) -> list[Any]:
        if self.names is None:
            raise TypeError(
                "predictor() does not accept a dict: the model was fitted without column names. "
                "Pass a list of values in the order of the fit."
            )
        try:
            values = [row[name] for name in self.names]
        except KeyError:
            values = []
        if len(values) != len(row):
            check_names_again(self, [*row], (1, len(row)))
        return values


def _cell(column: Column, label: str) -> Callable[[Any, list[float]], None]:
    """Return a function that converts one value and appends the result to its row."""

    def as_column(value: Any, found: list[float]) -> None:
        one = np.empty(1, dtype=object)
        one[0] = value
        found.extend(float(part[0]) for part in column.read(ArrayValues(one, label)))

    def number(value: Any, found: list[float]) -> None:
        if value is None:
            found.append(np.nan)
        elif type(value) in _NUMBERS:
            found.append(float(value))
        else:
            as_column(value, found)

    if isinstance(column, Number):
        return number
    if not isinstance(column, (Category, Ordered)):
        return as_column
    if isinstance(column, EncodedCategory):
        return _encoded_cell(column, as_column)
    levels = column.levels if isinstance(column, Category) else column.order
    index_of = {level: float(i) for i, level in enumerate(levels)}

    def level(value: Any, found: list[float]) -> None:
        index = index_of.get(value) if type(value) in _LEVELS else None
        if index is not None or value is None:
            found.append(np.nan if index is None else index)
        else:
            as_column(value, found)

    return level


def _encoded_cell(
    column: EncodedCategory, as_column: Callable[[Any, list[float]], None]
) -> Callable[[Any, list[float]], None]:
    """As `_cell`, for a category and its target statistics."""
    index_of = {level: float(i) for i, level in enumerate(column.levels)}
    numbers = np.arange(len(column.known) + 1)  # the last: missing values
    *means, of_missing = np.stack(column.means_of(numbers), axis=1).tolist()
    missing = [np.nan, *of_missing]
    parts_of = {
        level: [index_of.get(level, np.nan), *own]
        for level, own in zip(column.known, means, strict=True)
    }

    def level(value: Any, found: list[float]) -> None:
        parts = parts_of.get(value) if type(value) in _LEVELS else None
        if value is None:
            found.extend(missing)
        elif parts is None:
            as_column(value, found)
        else:
            found.extend(parts)

    return level
