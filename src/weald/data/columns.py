"""Fitted column types: conversion of a column's values to numbers in fit and predict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weald.data.text_columns import advise_of_rare
from weald.data.values import Floats, Kind, Values, is_missing

Level: TypeAlias = str | int | float

# Columns with at most this many categories have one-byte codes and keep all of them. Otherwise,
# categories with fewer than RARE rows are dropped, because they would be overfitted.
BYTE_LEVELS = 255
RARE = 10

# Maximum number of 16-bit codes; code 0 means missing.
MOST_LEVELS = 2**16 - 1


@dataclass(frozen=True)
class Number:
    """A numeric or boolean column.

    Also a column of any type that is entirely missing in fit: no split uses it, so that later
    tables may hold values of any type, and non-numeric ones are read as missing.
    """

    has_values: bool = field(default=True, compare=False)
    parts: ClassVar[tuple[str, ...]] = ("",)
    levels: ClassVar[None] = None

    def read(self, values: Values) -> list[NDArray[Any]]:
        kind = values.kind
        if kind is Kind.NUMBER:
            return [values.numbers()]
        if not self.has_values:
            return [np.full(len(values), np.nan)]
        if kind in (Kind.CATEGORY, Kind.ORDERED):
            codes, found = values.coded()
            numbers = [_number_or_none(value) for value in found]
            if None not in numbers:
                # The last entry is for code -1.
                return [np.array([*numbers, np.nan], dtype=np.float64)[codes]]
        raise _not(values, "numbers", ValueError if kind is not Kind.MOMENT else TypeError)

    def kind_name(self) -> str:
        return "number"


@dataclass(frozen=True)
class Category:
    """A categorical column of text or numbers, which are compared by value.

    Categories that are not in `levels` are treated as missing.
    """

    levels: tuple[Level, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        return ("",)

    @property
    def all_levels(self) -> tuple[Level, ...]:
        """The categories that the column is known to hold."""
        return self.levels

    @staticmethod
    def of_counts(total: dict[Level, int], n_rows: int, label: str) -> "Category":
        """The column of categories with these numbers of rows; warn if many rows lose theirs."""
        levels = kept_levels(total)
        n_dropped = sum(total.values()) - sum(total[level] for level in levels)
        advise_of_rare(label, len(total), len(levels), n_dropped / max(1, n_rows))
        return Category(levels)

    def read(self, values: Values) -> list[NDArray[Any]]:
        codes, found = _coded_like(values, self.all_levels)
        return self._arrays(codes, _levels(found, values.label))

    def _arrays(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> list[NDArray[Any]]:
        return [self._encoded(codes, levels)]

    def _encoded(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> Floats:
        index_of = {level: float(i) for i, level in enumerate(self.levels)}
        table = [np.nan if level is None else index_of.get(level, np.nan) for level in levels]
        # The last entry is for code -1.
        placed: Floats = np.array([*table, np.nan], dtype=np.float32)[codes]
        return placed

    def kind_name(self) -> str:
        return "category"


@dataclass(frozen=True)
class TextCategory(Category):
    """A categorical column of an imported model whose library has made text of whole numbers."""

    def read(self, values: Values) -> list[NDArray[Any]]:
        if values.kind in (Kind.MOMENT, Kind.SPAN):
            raise _not(values, "categories", TypeError)
        codes, found = values.coded()
        levels = [None if is_missing(value) else str(level_of(value)) for value in found]
        return self._arrays(codes, levels)


@dataclass(frozen=True)
class Ordered:
    """A column of ordered categories, which are split like numbers."""

    order: tuple[Level, ...]
    parts: ClassVar[tuple[str, ...]] = ("",)
    levels: ClassVar[None] = None

    @classmethod
    def from_values(cls, values: Values) -> "Ordered":
        levels = _levels(values.coded()[1], values.label)
        return cls(tuple(dict.fromkeys(level for level in levels if level is not None)))

    def read(self, values: Values) -> list[NDArray[Any]]:
        codes, found = _coded_like(values, self.order)
        return [Category(self.order)._encoded(codes, _levels(found, values.label))]

    def kind_name(self) -> str:
        return "ordered"


@dataclass(frozen=True)
class Moment:
    """A column of dates or times: one input column, six numeric columns."""

    zone: str | None
    parts: ClassVar[tuple[str, ...]] = (
        "seconds",
        "year",
        "month",
        "day of year",
        "weekday",
        "hour",
    )
    levels: ClassVar[None] = None

    @classmethod
    def from_values(cls, values: Values) -> "Moment":
        return cls(values.zone)

    def read(self, values: Values) -> list[NDArray[Any]]:
        if _is_all_missing(values):
            return [np.full(len(values.numbers()), np.nan)] * len(self.parts)
        if values.kind is not Kind.MOMENT:
            raise _not(values, "dates or times", TypeError)
        if (values.zone is None) != (self.zone is None):
            was, now = self.zone or "no time zone", values.zone or "no time zone"
            raise TypeError(
                f"{values.label} was in {was} when fitted and is in {now} now. "
                "Use a time zone for both or for neither, for example by .dt.tz_localize."
            )
        return _parts_of(*values.moments(self.zone))

    def kind_name(self) -> str:
        return f"moment {self.zone or ''}".strip()


@dataclass(frozen=True)
class Span:
    """A column of durations or times of day, converted to seconds."""

    parts: ClassVar[tuple[str, ...]] = ("",)
    levels: ClassVar[None] = None

    def read(self, values: Values) -> list[NDArray[Any]]:
        if _is_all_missing(values):
            return [values.numbers()]
        if values.kind is not Kind.SPAN:
            raise _not(values, "durations or times of day", TypeError)
        return [values.seconds()]

    def kind_name(self) -> str:
        return "span"


Column: TypeAlias = Number | Category | Ordered | Moment | Span


def count_levels(
    values: Values, counted: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], list[Level | None], dict[Level, int]]:
    """Codes of the rows, the category of each code, and the number of rows of each category.

    Of rows with positive weight only, which `counted` masks (None: all).
    """
    codes, found = values.coded()
    level_of = _levels(found, values.label)
    total: dict[Level, int] = {}
    # Missing values have code -1 and are counted first.
    counts = np.bincount(np.add(codes, 1, dtype=np.intp), counted, len(found) + 1)
    for level, count in zip(level_of, counts[1:].astype(np.int64).tolist(), strict=True):
        if level is not None and count > 0:
            total[level] = total.get(level, 0) + count
    return codes, level_of, total


def kept_levels(total: dict[Level, int], least: int | None = None) -> tuple[Level, ...]:
    """The categories that splits in sets can use, sorted: those with at least `least` rows.

    None: all if they are few, else those with at least `RARE` rows.
    """
    return tuple(sorted(_kept(total, least)))


def _kept(total: dict[Level, int], least: int | None = None) -> list[Level]:
    if least is None:
        if len(total) <= BYTE_LEVELS:
            return list(total)
        least = RARE
    if len(total) > MOST_LEVELS:
        # Raise the minimum count until at most MOST_LEVELS categories remain.
        least = max(least, sorted(total.values())[-MOST_LEVELS - 1] + 1)
    return [level for level, count in total.items() if count >= least]


def _levels(found: list[Any], label: str) -> list[Level | None]:
    """Convert values to categories: text, numbers, or str() of other types; None if missing."""
    levels = [None if is_missing(value) else level_of(value) for value in found]
    kinds = {isinstance(level, str) for level in levels if level is not None}
    if len(kinds) > 1:
        raise TypeError(
            f"{label} mixes text and numbers as categories. "
            "Convert all of them to text, for example by .astype(str)."
        )
    return levels


def level_of(value: Any) -> Level:
    """Return the category of a value: 1, 1.0 and True are the same, "1" is a different one.

    >>> level_of(1.0), level_of(True), level_of("1"), level_of(0.5)
    (1, 1, '1', 0.5)
    """
    if isinstance(value, str):
        return str(value)
    number = _number_or_none(value)
    if number is None:
        return str(value)
    return int(number) if number == np.floor(number) and abs(number) < 2**53 else number


def _number_or_none(value: Any) -> float | None:
    if is_missing(value):
        return float("nan")
    if isinstance(value, (str, bytes)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _coded_like(values: Values, levels: tuple[Level, ...]) -> tuple[NDArray[Any], list[Any]]:
    """Return codes and values of a column, if they have the type of `levels`."""
    kind = values.kind
    if kind in (Kind.MOMENT, Kind.SPAN):
        raise _not(values, "categories", TypeError)
    codes, found = values.coded()
    present = [value for value in found if not is_missing(value)]
    was_text = any(isinstance(level, str) for level in levels)
    is_text = any(isinstance(level_of(value), str) for value in present)
    if levels and present and was_text != is_text:
        words = ("text", "numbers") if was_text else ("numbers", "text")
        raise TypeError(
            f"{values.label} had {words[0]} as categories when fitted and has {words[1]} now. "
            "Categories are compared by value: convert them to the type used in fit."
        )
    return codes, found


def has_no_value(values: Values, column: Column, arrays: list[NDArray[Any]]) -> bool:
    """Whether all values of a column, converted to `arrays`, are missing."""
    if not isinstance(column, Category):
        return is_all_nan(arrays[0])
    if column.levels:
        return False
    codes, found = values.coded()  # rare categories were dropped, but are not missing
    return all(is_missing(found[code]) for code in np.unique(codes).tolist() if code >= 0)


def is_all_nan(array: NDArray[Any]) -> bool:
    """Whether a non-empty array is all NaN; tests the first value first, which is faster."""
    return array.dtype.kind == "f" and bool(np.isnan(array[0]) and np.isnan(array).all())


def _is_all_missing(values: Values) -> bool:
    return values.kind is Kind.NUMBER and bool(np.isnan(values.numbers().astype(float)).all())


def _not(values: Values, expected: str, error: type[Exception]) -> Exception:
    kind = values.kind
    where = ""
    if kind is Kind.TEXT:
        codes, found = values.coded()
        row = int(np.argmax(codes >= 0))
        where = f" ({found[int(codes[row])]!r} in row {row})" if found else ""
    return error(
        f"{values.label} holds {kind.value}{where}, which could not be converted to {expected}. "
        "Convert it to the type it had when the model was fitted."
    )


_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


def _parts_of(instant: NDArray[Any], wall: NDArray[Any]) -> list[NDArray[Any]]:
    """Return seconds since 1970 in UTC, and calendar and clock in local time."""
    missing = np.isnat(instant)
    has_missing = bool(missing.any())
    clock = wall.astype(np.int64)
    if has_missing:
        clock = np.where(missing, 0, clock)
    day = clock // _DAY
    hour = (clock - day * _DAY) // _HOUR
    parts = [instant.astype(np.int64) / 1e6, *_calendar(day), hour]
    if has_missing:
        parts = [np.where(missing, np.nan, part) for part in parts]
    kinds = [np.float64] + [np.float32] * 5  # small integers are exact in float32
    return [part.astype(kind, copy=False) for part, kind in zip(parts, kinds, strict=True)]


def _calendar(day: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return year, month, day of year and weekday of days since 1970."""
    first, last = (int(day.min()), int(day.max())) if day.size else (0, 0)
    if last - first < day.size:
        # More rows than days in the range: compute each day once.
        return [part[day - first] for part in _calendar_of_days(np.arange(first, last + 1))]
    return _calendar_of_days(day)


def _calendar_of_days(day: NDArray[np.int64]) -> list[NDArray[Any]]:
    date = day.astype("M8[D]")
    year, month = date.astype("M8[Y]"), date.astype("M8[M]")
    return [
        (year.astype(np.int64) + 1970).astype(np.float32),
        (month.astype(np.int64) % 12 + 1).astype(np.float32),
        ((date - year.astype("M8[D]")).astype(np.int64) + 1).astype(np.float32),
        ((day + 3) % 7).astype(np.float32),  # 1970 began on a Thursday; Monday is 0
    ]
