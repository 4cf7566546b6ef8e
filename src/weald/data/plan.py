"""The column plan: how any table becomes the columns of numbers that a model's trees ask."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.cached import cached_property
from weald.data.columns import (
    Category,
    Column,
    Moment,
    Number,
    Ordered,
    Span,
    has_no_value,
    is_all_nan,
)
from weald.data.text_columns import advise_of_text
from weald.data.values import Kind, Values


@dataclass(frozen=True)
class ColumnPlan:
    """What a model knows of the columns it was fitted on, in their order.

    A date is one input column and several columns of numbers; all others are one.
    """

    columns: tuple[Column, ...]

    @classmethod
    def of_numbers(cls, n_columns: int) -> "ColumnPlan":
        return cls((Number(),) * n_columns)

    @classmethod
    def of_array(cls, table: Any) -> "ColumnPlan":
        """The columns of an array, or sparse matrix, of numbers."""
        columns = [Number()] * table.shape[1]
        if not hasattr(table, "tocsc"):
            for i in np.flatnonzero(np.isnan(table[0])):
                columns[i] = Number(has_values=not is_all_nan(table[:, i]))
        return cls(tuple(columns))

    @cached_property
    def is_plain(self) -> bool:
        """Tell whether all columns are numbers, which need no plan."""
        return all(isinstance(column, Number) for column in self.columns)

    @property
    def first_other(self) -> int:
        """The first input column that is not simply numbers."""
        return next(i for i, one in enumerate(self.columns) if not isinstance(one, Number))

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The input column that each column of numbers comes from."""
        widths = [len(column.parts) for column in self.columns]
        return np.repeat(np.arange(len(widths)), widths)

    @cached_property
    def levels(self) -> tuple[tuple[Any, ...] | None, ...]:
        """For each column of numbers its levels, or None if it has an order."""
        return tuple(column.levels for column in self.columns for _ in column.parts)

    @property
    def n_columns(self) -> int:
        """How many columns of numbers there are."""
        return len(self.owner)

    def names(self, names: Sequence[str]) -> list[str]:
        """A name for each column of numbers, given those of the input columns."""
        return [
            f"{name} ({part})" if part else name
            for name, column in zip(names, self.columns, strict=True)
            for part in column.parts
        ]

    def sums_by_input(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up what belongs to the same input column, along the last axis."""
        if values.ndim > 1:
            return np.stack([self.sums_by_input(one) for one in values])
        sums = np.bincount(self.owner, weights=values, minlength=len(self.columns))
        return sums.astype(np.float64)

    def read(self, table: Iterable[Values]) -> list[NDArray[Any]]:
        """The columns of numbers of another table with the same input columns."""
        return [
            array
            for column, values in zip(self.columns, table, strict=True)
            for array in column.read(values)
        ]

    def learnt(self) -> dict[str, NDArray[Any]]:
        """What can change an answer, for `weald.persist.fingerprint`: nothing if it is plain."""
        if self.is_plain:
            return {}
        kinds = np.array([column.learnt() for column in self.columns], dtype=object)
        learnt = {"column_kinds": kinds}
        for i, column in enumerate(self.columns):
            levels = column.order if isinstance(column, Ordered) else column.levels
            if levels is not None:
                learnt[f"column_levels_{i}"] = np.array(levels, dtype=object)
        return learnt


def learn_plan(
    table: Sequence[Values], chosen: NDArray[np.bool_] | None, counted: NDArray[np.bool_] | None
) -> tuple[ColumnPlan, list[NDArray[Any]]]:
    """Decide what each column is and read the table by the way.

    Parameters
    ----------
    chosen
        Which columns are categories; None: those whose type says so.
    counted
        Which rows have a weight (None: all); levels that no other row has are not learnt.
    """
    columns: list[Column] = []
    arrays: list[NDArray[Any]] = []
    for i, values in enumerate(table):
        column, read = _learn_column(values, None if chosen is None else bool(chosen[i]), counted)
        if has_no_value(values, column, read):
            column = Number(has_values=False)
            read = [np.full(len(values), np.nan)]
        columns.append(column)
        arrays += read
    return ColumnPlan(tuple(columns)), arrays


def _learn_column(
    values: Values, is_category: bool | None, counted: NDArray[np.bool_] | None
) -> tuple[Column, list[NDArray[Any]]]:
    kind = values.kind
    if kind is Kind.MOMENT or kind is Kind.SPAN:
        if is_category:
            raise ValueError(
                f"categorical_features names {_lower(values.label)}, which holds {kind.value}; "
                "these have an order. Leave it out, or turn the column into text."
            )
        moments: Column = Moment.learn(values) if kind is Kind.MOMENT else Span()
        return moments, moments.read(values)
    if is_category or (is_category is None and kind in (Kind.TEXT, Kind.CATEGORY)):
        column, read = Category.learn(values, counted)
        if is_category is None and kind is Kind.TEXT:
            advise_of_text(values.label, column.levels)
        return column, list(read)
    if is_category is None and kind is Kind.ORDERED:
        ordered = Ordered.learn(values)
        return ordered, ordered.read(values)
    if kind is Kind.TEXT:
        raise ValueError(
            f"{values.label} holds text and is not among categorical_features. "
            "Add it there, or leave categorical_features='from_dtype'."
        )
    number = Number()
    return number, number.read(values)


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
