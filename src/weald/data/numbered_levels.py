"""Tables read with the numbers of levels, and those that target statistics make of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.level_means import CodedCategory, EncodedCategory
from weald.data.parts.table import PartsTable
from weald.data.plan import ColumnPlan
from weald.data.sources import AnyTable, ColumnTable

Parts = Mapping[int, Sequence[NDArray[Any]]]
NumberedTable = ColumnTable | PartsTable


def numbered_table(table: AnyTable) -> NumberedTable:
    """A table that was read with numbers of levels."""
    assert isinstance(table, (ColumnTable, PartsTable))
    return table


def numbered_columns(
    plan: ColumnPlan, table: NumberedTable
) -> Iterator[tuple[int, CodedCategory, NDArray[Any], NDArray[np.intp]]]:
    """Yield the columns with numbers of levels: index, column, its values and its numbers."""
    table = with_numbers_held(plan, table)
    firsts = np.searchsorted(plan.owner, np.arange(len(plan.columns)))
    for i, column in plan.coded.items():
        values, numbers = (table.column(int(firsts[i]) + part) for part in range(2))
        yield i, column, values, numbers.astype(np.intp)


def with_numbers_held(plan: ColumnPlan, table: NumberedTable) -> NumberedTable:
    """The table with the columns of `numbered_columns` in memory."""
    if not isinstance(table, PartsTable):
        return table
    firsts = np.searchsorted(plan.owner, np.arange(len(plan.columns)))
    return table.holding([int(firsts[i]) + part for i in plan.coded for part in range(2)])


def exchanged(
    plan: ColumnPlan, table: NumberedTable, new_plan: ColumnPlan, parts: Parts
) -> NumberedTable:
    """The table by another plan, with other parts of some columns, by the index of the column."""
    if isinstance(table, PartsTable):
        return table.with_plan(new_plan, parts)
    firsts = np.searchsorted(plan.owner, np.arange(len(plan.columns)))
    arrays: list[NDArray[Any]] = []
    labels: list[str] = []
    for i, column in enumerate(plan.columns):
        first = int(firsts[i])
        own = parts.get(i, table.columns[first : first + len(column.parts)])
        arrays += own
        labels += [table.labels[first]] * len(own)
    sizes = [0 if levels is None else len(levels) for levels in new_plan.levels]
    return ColumnTable(tuple(arrays), np.array(sizes, dtype=np.int64), tuple(labels))


def without_numbers(plan: ColumnPlan, table: NumberedTable) -> tuple[ColumnPlan, NumberedTable]:
    """The plan and the table of a fit that uses no target statistics."""
    columns, parts = list(plan.columns), {}
    labels = table.labels
    for i, column, _, numbers in numbered_columns(plan, table):
        label = labels[int(np.searchsorted(plan.owner, i))]
        columns[i], values = column.without_numbers(label, numbers)
        parts[i] = [values]
    new_plan = ColumnPlan(tuple(columns))
    if isinstance(table, PartsTable):
        return new_plan, table.with_plan(new_plan, {})
    return new_plan, exchanged(plan, table, new_plan, parts)


def encoded(plan: ColumnPlan, table: NumberedTable) -> NumberedTable:
    """The columns of a plan with target statistics, of rows as they were read in the fit."""
    if isinstance(table, PartsTable):
        return table.with_plan(plan, {})
    as_read, parts = plan.as_read(), {}
    for i, _, values, numbers in numbered_columns(as_read, table):
        column = plan.columns[i]
        assert isinstance(column, EncodedCategory)
        parts[i] = [values, *column.means_of(numbers)]
    return exchanged(as_read, table, plan, parts)
