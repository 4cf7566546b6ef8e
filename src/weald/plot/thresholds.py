"""Thresholds in words: dates, months, weekdays, durations and ordered categories."""

import calendar
import datetime
import math
from zoneinfo import ZoneInfo

from weald.data import ColumnPlan
from weald.data.columns import Moment, Ordered, Span
from weald.number_text import number_text, span_text

# Dates that Python's calendar covers, in seconds since 1970.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def threshold_text(plan: ColumnPlan, column: int, threshold: float) -> str:
    """Format the threshold of a split on a numeric column of the plan.

    >>> from weald.data.columns import Number
    >>> plan = ColumnPlan((Moment(None), Ordered(("low", "middle", "high")), Span()))
    >>> [threshold_text(plan, part, value) for part, value in enumerate([1e9, 2020.5, 3.5])]
    ['2001-09-09 01:46', '2020', 'March']
    >>> threshold_text(plan, 4, 4.5), threshold_text(plan, 6, 1.5), threshold_text(plan, 7, 90061)
    ('Friday', 'middle', '1 day 01:01:01')
    """
    if column >= plan.n_columns or not math.isfinite(threshold):
        return _number(threshold)  # a rotated column, or a split of missing values
    kind = plan.columns[plan.owner[column]]
    if isinstance(kind, Ordered):
        return str(kind.order[min(max(0, math.floor(threshold)), len(kind.order) - 1)])
    if isinstance(kind, Span):
        return _duration(threshold)
    if isinstance(kind, Moment):
        first = int((plan.owner < plan.owner[column]).sum())
        return _part_of_date(kind, kind.parts[column - first], threshold)
    return _number(threshold)


def _number(value: float) -> str:
    return number_text(value, 5)


def _part_of_date(kind: Moment, part: str, value: float) -> str:
    if part == "seconds":
        return _moment(value, kind.zone)
    whole = math.floor(value)
    if part == "month" and 1 <= whole <= 12:
        return calendar.month_name[whole]
    if part == "weekday" and 0 <= whole <= 6:
        return calendar.day_name[whole]
    return str(whole)


def _moment(seconds: float, zone: str | None) -> str:
    if not _FIRST <= seconds <= _LAST:
        return f"{_number(seconds)} seconds"
    moment = _EPOCH + datetime.timedelta(seconds=math.floor(seconds))
    if zone is not None:
        moment = moment.astimezone(ZoneInfo(zone))
    text = moment.strftime("%Y-%m-%d %H:%M")
    return text.removesuffix(" 00:00")


def _duration(seconds: float) -> str:
    return span_text(seconds) if abs(seconds) <= _LAST else f"{_number(seconds)} seconds"
