"""Dates in text columns of files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import narwhals.stable.v1 as nw

_DAY, _MINUTE, _SECOND = r"\d{4}-\d{2}-\d{2}", r"\d{2}:\d{2}", r"\d{2}:\d{2}:\d{2}"

# Only forms of ISO 8601: in others, day and month may be exchanged.
DATE_FORMS = {
    f"^{_DAY}$": "%Y-%m-%d",
    f"^{_DAY} {_MINUTE}$": "%Y-%m-%d %H:%M",
    f"^{_DAY}T{_MINUTE}$": "%Y-%m-%dT%H:%M",
    f"^{_DAY} {_SECOND}$": "%Y-%m-%d %H:%M:%S",
    f"^{_DAY}T{_SECOND}$": "%Y-%m-%dT%H:%M:%S",
}


def with_dates(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Convert the text columns whose cells are all dates or times of one form."""
    found = {}
    for name in frame.columns:
        if frame[name].dtype == nw.String:
            dates = _dates(frame[name])
            if dates is not None:
                found[name] = dates
    return frame.with_columns(**found) if found else frame


def _dates(column: nw.Series[Any]) -> nw.Series[Any] | None:
    present = column.drop_nulls()
    for pattern, form in DATE_FORMS.items():
        if len(present) == 0 or not present.head(1).str.contains(pattern).all():
            continue
        if not present.str.contains(pattern).all():
            return None
        try:
            # Arrow reads the 30th of February as the 1st of March.
            for cell in present.unique().to_list():
                datetime.fromisoformat(cell)
            return column.str.to_datetime(form)
        except ValueError:  # no date, or beyond the years of pandas: the column stays text
            return None
    return None
