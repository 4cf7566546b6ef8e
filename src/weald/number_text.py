"""Numbers as text: one format for reports, pictures and printed trees."""

import datetime
import math

import numpy as np

# Outside of these, numbers have an exponent: they would be rows of zeros.
_SMALLEST, _LARGEST = 1e-6, 1e15

# Whole numbers of four digits are often years, which have no separator.
_SEPARATED = 10_000


def number_text(value: float, digits: int = 4) -> str:
    """Format a number for people: no needless exponent, whole numbers without decimals.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default=4
        Number of significant digits. Digits before the decimal point are never rounded away.

    Examples
    --------
    >>> [number_text(one) for one in (29610.4, 1234567, 2024, 0.0012345, 0.5, -0.0)]
    ['29,610', '1,234,567', '2024', '0.001234', '0.5', '0']
    >>> [number_text(one) for one in (1.5e-9, 3e20, float("nan"), float("-inf"))]
    ['1.5e-09', '3e+20', 'missing', '-∞']
    """
    value = float(value) + 0.0
    size = abs(value)
    if math.isnan(value):
        return "missing"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if size >= _LARGEST or 0 < size < _SMALLEST:
        return f"{value:.{digits}g}"
    rounded = float(f"{value:.{digits}g}") if size < 10.0**digits else float(round(value))
    if rounded == round(rounded):
        return f"{rounded:,.0f}" if abs(rounded) >= _SEPARATED else f"{rounded:.0f}"
    separator = "," if abs(rounded) >= _SEPARATED else ""
    return f"{rounded:{separator}.{digits + 6}f}".rstrip("0")


def signed_text(value: float, digits: int = 4) -> str:
    """Format a change, with its sign.

    >>> signed_text(54100.2), signed_text(-0.25), signed_text(0.0)
    ('+54,100', '-0.25', '+0')
    """
    return f"+{number_text(value, digits)}" if value >= 0 else number_text(value, digits)


def value_text(value: object, width: int = 60) -> str:
    """Format one value of a table: a number, a date, a duration, text or nothing.

    >>> value_text(29610.4), value_text(3), value_text(None), value_text(np.float32(0.1))
    ('29,610', '3', 'missing', '0.1')
    >>> value_text(np.datetime64("2024-01-05T00:00")), value_text(np.datetime64("2024-01-05T07:30"))
    ('2024-01-05', '2024-01-05 07:30')
    >>> value_text(np.timedelta64(90_061, "s")), value_text("x" * 70)[-2:]
    ('1 day 01:01:01', 'x…')
    """
    if isinstance(value, np.datetime64):
        return _moment_text(value)
    if isinstance(value, np.timedelta64):
        return "missing" if np.isnat(value) else span_text(float(value / np.timedelta64(1, "s")))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    text = str(value)
    if value is None or text in ("NaT", "<NA>", "nan"):
        return "missing"
    if isinstance(value, datetime.timedelta):
        return span_text(value.total_seconds())
    if isinstance(value, datetime.datetime):
        text = text.removesuffix(" 00:00:00")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _moment_text(value: np.datetime64) -> str:
    if np.isnat(value):
        return "missing"
    return str(value.astype("M8[m]")).replace("T00:00", "").replace("T", " ")


def span_text(seconds: float) -> str:
    """Format a duration in days and clock time.

    >>> span_text(90_061), span_text(-3600), span_text(2 * 86_400)
    ('1 day 01:01:01', '-01:00:00', '2 days')
    """
    sign = "-" if seconds < 0 else ""
    days, rest = divmod(abs(round(seconds)), 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    if not days:
        return f"{sign}{clock}"
    unit = "day" if days == 1 else "days"
    return f"{sign}{days} {unit}" + ("" if rest == 0 else f" {clock}")
