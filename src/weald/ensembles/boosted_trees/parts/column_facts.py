"""What the parts of a table tell about a column, from which its type is chosen as in one table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan
from weald.data.columns import (
    Category,
    Column,
    Level,
    Moment,
    Number,
    Ordered,
    Span,
    count_levels,
)
from weald.data.level_means import LevelRule
from weald.data.plan import is_read_as_category
from weald.data.text_columns import advise_of_text
from weald.data.values import Kind, Values
from weald.ensembles.boosted_trees.parts.not_on_parts import NotOnPartsError

_CODED = (Kind.TEXT, Kind.CATEGORY, Kind.ORDERED)


@dataclass(frozen=True)
class ColumnFacts:
    """A column in one part.

    Attributes
    ----------
    label : str
        Name of the column in messages.
    kind : Kind
        Kind of its values; of no meaning if all are missing.
    has_values : bool
        Whether a value is not missing.
    levels : dict or None
        Number of rows of each category; None: the column is not read as categories.
    order : tuple or None
        Ordered categories.
    zone : str or None
        Time zone of dates.
    """

    label: str
    kind: Kind
    has_values: bool
    levels: dict[Level, int] | None = None
    order: tuple[Level, ...] | None = None
    zone: str | None = None


def facts_of(values: Values, is_category: bool | None) -> ColumnFacts:
    """The facts of a column in one part; `is_category` None: by its kind."""
    kind = values.kind
    if is_read_as_category(kind, is_category):
        _, _, total = count_levels(values, None)
        return ColumnFacts(values.label, kind, bool(total), levels=total)
    if kind in _CODED:
        has_values = bool((values.coded()[0] >= 0).any())
        order = Ordered.from_values(values).order if kind is Kind.ORDERED else None
        return ColumnFacts(values.label, kind, has_values, order=order)
    column = Number() if kind is Kind.NUMBER else Span()
    if kind is Kind.MOMENT:
        moment = Moment.from_values(values)
        has_values = not _is_all_nan(moment.read(values)[0])
        return ColumnFacts(values.label, kind, has_values, zone=moment.zone)
    return ColumnFacts(values.label, kind, not _is_all_nan(column.read(values)[0]))


def _is_all_nan(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).all())


def plan_of_parts(
    parts: Sequence[Sequence[ColumnFacts]],
    chosen: NDArray[np.bool_] | None,
    n_rows: int,
    rule: LevelRule | None,
) -> ColumnPlan:
    """The column plan of the table that consists of these parts.

    Parameters
    ----------
    parts
        The facts of the columns of each part.
    chosen
        Mask of categorical columns; None means by type.
    n_rows
        Number of rows of all parts.
    rule
        Which columns would get target statistics, which parts do not support.
    """
    columns: list[Column] = []
    for i, of_column in enumerate(zip(*parts, strict=True)):
        is_category = None if chosen is None else bool(chosen[i])
        columns.append(_column_of(of_column, is_category, n_rows, rule))
    return ColumnPlan(tuple(columns))


def _column_of(
    parts: tuple[ColumnFacts, ...], is_category: bool | None, n_rows: int, rule: LevelRule | None
) -> Column:
    present = [(i, one) for i, one in enumerate(parts) if one.has_values]
    if not present:
        return Number(has_values=False)
    first_part, first = present[0]
    for i, one in present[1:]:
        if nature_of(one) != nature_of(first):
            raise TypeError(
                f"{first.label} holds {said_of(first)} in partition {first_part} and "
                f"{said_of(one)} in partition {i}. Give all partitions the same type, for example "
                "by .astype."
            )
    if is_read_as_category(first.kind, is_category):
        return _category_of(present, is_category, n_rows, rule)
    if first.kind is Kind.TEXT:
        raise ValueError(
            f"{first.label} holds text and is not among categorical_features. "
            "Add it there, or leave categorical_features='from_dtype'."
        )
    if first.kind is Kind.ORDERED and is_category is None:
        return Ordered(first.order or ())
    if first.kind is Kind.MOMENT:
        return Moment(first.zone)
    return Span() if first.kind is Kind.SPAN else Number()


def nature_of(facts: ColumnFacts) -> object:
    """What must be the same in all parts that have values."""
    if facts.levels is not None:
        return isinstance(next(iter(facts.levels)), str)
    return facts.kind, facts.order, facts.zone


def said_of(facts: ColumnFacts) -> str:
    """The nature of a column in messages."""
    if facts.levels:
        return "text" if isinstance(next(iter(facts.levels)), str) else "numbers as categories"
    more = facts.order if facts.order is not None else facts.zone
    return facts.kind.value if more is None else f"{facts.kind.value} ({more})"


def _category_of(
    present: Sequence[tuple[int, ColumnFacts]],
    is_category: bool | None,
    n_rows: int,
    rule: LevelRule | None,
) -> Category:
    total: Counter[Level] = Counter()
    for _, one in present:
        total.update(one.levels or {})
    first = present[0][1]
    if rule is not None and rule.asks_for(total.values()):
        raise NotOnPartsError(
            f"{first.label} has {len(total)} categories, some in few rows: target_statistics",
            "Set target_statistics=False",
        )
    column = Category.of_counts(dict(total), n_rows, first.label)
    if is_category is None and first.kind is Kind.TEXT:
        advise_of_text(first.label, column.all_levels)
    return column
