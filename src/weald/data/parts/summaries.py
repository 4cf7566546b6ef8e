"""What a column plan needs to know of a column, gathered batch by batch."""

import numpy as np
from numpy.typing import NDArray

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
from weald.data.level_means import CodedCategory, LevelRule
from weald.data.parts.contents import BatchValues
from weald.data.plan import column_class
from weald.data.sources import fits_float32
from weald.data.text_columns import advise_of_text
from weald.data.values import Kind

# Columns of more different values than this are text, or identify rows; counting them takes memory.
_MOST_COUNTED = 2**22


class ColumnSummary:
    """A column of a table in parts.

    Parameters
    ----------
    name : str
        Its name.
    is_category : bool or None
        Whether it is categorical; None: by its type.
    """

    def __init__(self, name: str, is_category: bool | None) -> None:
        self.name, self._is_category = name, is_category
        self._label = f"Column {name!r}"
        self._kind: Kind | None = None  # of the parts that have values
        self._first_part = ""
        self._zone: str | None = None
        self._order: tuple[Level, ...] = ()
        self._counts: dict[Level, int] = {}
        self._is_small = True

    def add(self, values: BatchValues, part: str, counted: NDArray[np.bool_] | None) -> None:
        """Add a batch; `counted` masks the rows of positive weight (None: all)."""
        if not values.has_values:
            return
        self._add_kind(values, part)
        made = column_class(values, self._is_category)
        if made is Number:
            self._is_small = self._is_small and fits_float32(values.numbers())
        elif made is Ordered:
            self._add_order(Ordered.from_values(values).order, part)
        elif made is Category:
            self._add_levels(count_levels(values, counted)[2], part)

    def _add_kind(self, values: BatchValues, part: str) -> None:
        kind, zone = values.kind, values.zone if values.kind is Kind.MOMENT else None
        if self._kind is None:
            self._kind, self._first_part, self._zone = kind, part, zone
        if {kind, self._kind} == {Kind.TEXT, Kind.CATEGORY}:
            self._kind = kind = Kind.CATEGORY
        if kind is not self._kind or zone != self._zone:
            before, now = (
                f"{one.value} in {of or 'no time zone'}" if one is Kind.MOMENT else one.value
                for one, of in ((self._kind, self._zone), (kind, zone))
            )
            raise TypeError(
                f"{self._label} holds {before} in {self._first_part!r}, but {now} in {part!r}. "
                "All parts must have the same kind of values in a column: convert them."
            )

    def _add_order(self, order: tuple[Level, ...], part: str) -> None:
        if self._order and self._order != order:
            raise ValueError(
                f"{self._label} holds ordered categories, whose order in {part!r} is another than "
                f"in {self._first_part!r}. All parts must have the same categories in the same "
                "order."
            )
        self._order = order

    def _add_levels(self, counts: dict[Level, int], part: str) -> None:
        both = [*self._counts][:1] + [*counts][:1]
        if len({isinstance(level, str) for level in both}) > 1:
            raise TypeError(
                f"{self._label} has text as categories in some parts and numbers in {part!r}. "
                "Convert all of them to text."
            )
        for level, count in counts.items():
            self._counts[level] = self._counts.get(level, 0) + count
        if len(self._counts) > _MOST_COUNTED:
            raise ValueError(
                f"{self._label} has more than {_MOST_COUNTED:,} different categories up to "
                f"{part!r}: it seems to hold free text or to identify rows. Leave it out with "
                "columns=, or replace it by columns computed from it."
            )

    def column(self, rule: LevelRule | None, n_rows: int) -> Column:
        """The type of the column, as `fit_plan` determines it."""
        if self._kind is None:
            return Number(has_values=False)
        made = column_class(self, self._is_category)
        if made is Category:
            column = CodedCategory.by_rule(rule, self._counts, n_rows, self._label)
            if self._is_category is None and self._kind is Kind.TEXT:
                advise_of_text(self._label, column.all_levels)
            return column
        if made is Moment:
            return Moment(self._zone)
        if made is Ordered:
            return Ordered(self._order)
        return Span() if made is Span else Number()

    @property
    def is_small(self) -> bool:
        """Whether float32 holds all values of a column of numbers."""
        return self._is_small

    # What `column_class` looks at.

    @property
    def kind(self) -> Kind:
        assert self._kind is not None
        return self._kind

    @property
    def label(self) -> str:
        return self._label
