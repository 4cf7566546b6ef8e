"""Numbers with a decimal comma in text columns of files."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw

_NUMBER = r"^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][+-]?\d+)?$"
# What tells a decimal comma from one between thousands: not three digits behind it, or a zero, four
# digits or a point before it.
_DECIMAL = r",\d{1,2}(?:[^\d]|$)|,\d{4}|\d{4},|^[+-]?0\d*,|\..*,"


def with_decimal_commas(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Convert the text columns whose cells are all numbers like "3,5" or "1.234,5".

    A column whose commas could all separate thousands, such as "1,234", stays text.
    """
    found = {}
    for name in frame.columns:
        if frame[name].dtype == nw.String and _has_decimal_commas(frame[name]):
            points = frame[name].str.replace_all(".", "", literal=True)
            found[name] = points.str.replace_all(",", ".", literal=True).cast(nw.Float64)
    return frame.with_columns(**found) if found else frame


def _has_decimal_commas(column: nw.Series[Any]) -> bool:
    present = column.drop_nulls()
    if len(present) == 0 or not present.head(1).str.contains(_NUMBER).all():
        return False
    return bool(present.str.contains(_NUMBER).all() and present.str.contains(_DECIMAL).any())
