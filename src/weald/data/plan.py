"""The column plan: conversion of any table to the numeric columns that trees split on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
    count_levels,
    has_no_value,
    is_all_nan,
    kept_levels,
)
from weald.data.level_means import CodedCategory, EncodedCategory, LevelRule
from weald.data.text_columns import advise_of_text
from weald.data.values import Kind, Values


@dataclass(frozen=True)
class ColumnPlan:
    """Types of the columns a model was fitted on.

    A date column becomes several numeric columns; all others become one.
    """

    columns: tuple[Column, ...]

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns}  # without cached properties

    @classmethod
    def of_numbers(cls, n_columns: int) -> "ColumnPlan":
        return cls((Number(),) * n_columns)

    @classmethod
    def of_array(cls, table: Any) -> "ColumnPlan":
        """Plan of a numeric array or sparse matrix."""
        columns = [Number()] * table.shape[1]
        if not hasattr(table, "tocsc"):
            for i in np.flatnonzero(np.isnan(table[0])):
                columns[i] = Number(has_values=not is_all_nan(table[:, i]))
        return cls(tuple(columns))

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are numeric."""
        return all(isinstance(column, Number) for column in self.columns)

    @property
    def first_other(self) -> int:
        """Index of the first input column that is not numeric."""
        return next(i for i, one in enumerate(self.columns) if not isinstance(one, Number))

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """Input column of each numeric column."""
        widths = [len(column.parts) for column in self.columns]
        return np.repeat(np.arange(len(widths)), widths)

    @cached_property
    def levels(self) -> tuple[tuple[Any, ...] | None, ...]:
        """Categories of each numeric column; None if it is not categorical."""
        return tuple(
            column.levels if part == 0 else None  # the others are target statistics
            for column in self.columns
            for part in range(len(column.parts))
        )

    @property
    def n_columns(self) -> int:
        """Number of numeric columns."""
        return len(self.owner)

    def names(self, names: Sequence[str]) -> list[str]:
        """Return names of the numeric columns, given those of the input columns."""
        return [
            f"{name} ({part})" if part else name
            for name, column in zip(names, self.columns, strict=True)
            for part in column.parts
        ]

    def sums_by_input(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum values over the numeric columns of each input column, along the last axis."""
        if values.ndim > 1:
            return np.stack([self.sums_by_input(one) for one in values])
        sums = np.bincount(self.owner, weights=values, minlength=len(self.columns))
        return sums.astype(np.float64)

    def read(self, table: Iterable[Values]) -> list[NDArray[Any]]:
        """Convert another table with the same input columns to numeric columns."""
        return [
            array
            for column, values in zip(self.columns, table, strict=True)
            for array in column.read(values)
        ]

    def fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays that affect predictions, for fingerprints; empty if `is_plain`."""
        if self.is_plain:
            return {}
        kinds = np.array([column.kind_name() for column in self.columns], dtype=object)
        arrays = {"column_kinds": kinds}
        for i, column in enumerate(self.columns):
            levels = column.order if isinstance(column, Ordered) else column.levels
            if levels is not None:
                arrays[f"column_levels_{i}"] = np.array(levels, dtype=object)
            if isinstance(column, CodedCategory):
                arrays[f"column_known_{i}"] = np.array(column.known, dtype=object)
            if isinstance(column, EncodedCategory):
                arrays[f"column_means_{i}"] = column.means
        return arrays

    # ---- target statistics ----

    @cached_property
    def coded(self) -> dict[int, CodedCategory]:
        """By index, the columns that are read with the numbers of their levels."""
        return {i: one for i, one in enumerate(self.columns) if isinstance(one, CodedCategory)}

    @cached_property
    def has_numbers(self) -> bool:
        """Whether a column is read with the numbers of its levels, for target statistics."""
        return bool(self.coded)

    @cached_property
    def has_statistics(self) -> bool:
        """Whether a column has target statistics."""
        return any(isinstance(column, EncodedCategory) for column in self.columns)

    def as_read(self) -> "ColumnPlan":
        """The plan by which the fit read its columns, before statistics were computed."""
        return ColumnPlan(
            tuple(
                column.as_read() if isinstance(column, EncodedCategory) else column
                for column in self.columns
            )
        )

    def of_owner(self, owner: int) -> "ColumnPlan":
        """The plan with the target statistics of one booster or tree only."""
        return ColumnPlan(
            tuple(
                column.of_owner(owner) if isinstance(column, EncodedCategory) else column
                for column in self.columns
            )
        )


def fit_plan(
    table: Sequence[Values],
    chosen: NDArray[np.bool_] | None,
    counted: NDArray[np.bool_] | None,
    *,
    numbers_levels: LevelRule | None = None,
    keeps_rare: bool = False,
) -> tuple[ColumnPlan, list[NDArray[Any]]]:
    """Determine the type of each column, and convert the table.

    Parameters
    ----------
    chosen
        Mask of categorical columns; None means by type.
    counted
        Mask of rows with positive weight (None: all); categories of other rows are ignored.
    numbers_levels
        Which columns are read with the numbers of all their levels, for target statistics.
    keeps_rare
        Keep categories of few rows, for base estimators that decide themselves what to do with
        them.
    """
    columns: list[Column] = []
    arrays: list[NDArray[Any]] = []
    for i, values in enumerate(table):
        is_category = None if chosen is None else bool(chosen[i])
        column, read = _fit_column(
            values, is_category, counted, numbers_levels=numbers_levels, keeps_rare=keeps_rare
        )
        if has_no_value(values, column, read):
            column = Number(has_values=False)
            read = [np.full(len(values), np.nan)]
        columns.append(column)
        arrays += read
    return ColumnPlan(tuple(columns)), arrays


def _fit_column(
    values: Values,
    is_category: bool | None,
    counted: NDArray[np.bool_] | None,
    *,
    numbers_levels: LevelRule | None,
    keeps_rare: bool,
) -> tuple[Column, list[NDArray[Any]]]:
    made = column_class(values, is_category)
    if made is Category:
        codes, level_of, total = count_levels(values, counted)
        if keeps_rare:
            category = Category(kept_levels(total, 1))
        else:
            category = CodedCategory.by_rule(numbers_levels, total, len(values), values.label)
        if is_category is None and values.kind is Kind.TEXT:
            advise_of_text(values.label, category.all_levels)
        return category, category._arrays(codes, level_of)
    column: Column
    if made is Moment:
        column = Moment.from_values(values)
    elif made is Ordered:
        column = Ordered.from_values(values)
    else:
        column = Span() if made is Span else Number()
    return column, column.read(values)


class Labelled(Protocol):
    """What decides how a column is read."""

    @property
    def kind(self) -> Kind: ...
    @property
    def label(self) -> str: ...


def column_class(values: Labelled, is_category: bool | None) -> type[Column]:
    """How a column is read, by its kind and by whether it was named as categorical (None: no)."""
    kind = values.kind
    if kind is Kind.MOMENT or kind is Kind.SPAN:
        if is_category:
            raise ValueError(
                f"categorical_features names {_lower(values.label)}, which holds {kind.value}; "
                "these are ordered. Leave it out, or convert the column to text."
            )
        return Moment if kind is Kind.MOMENT else Span
    if is_read_as_category(kind, is_category):
        return Category
    if is_category is None and kind is Kind.ORDERED:
        return Ordered
    if kind is Kind.TEXT:
        raise ValueError(
            f"{values.label} holds text and is not among categorical_features. "
            "Add it there, or leave categorical_features='from_dtype'."
        )
    return Number


def is_read_as_category(kind: Kind, is_category: bool | None) -> bool:
    """Whether a column is split by sets of its levels; `is_category` None: by its kind."""
    return is_category or (is_category is None and kind in (Kind.TEXT, Kind.CATEGORY))


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
