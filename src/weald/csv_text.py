"""Rows as csv text that spreadsheets can open safely."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# A spreadsheet may run text that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as csv whose text no spreadsheet takes for a formula.

    Text that begins like a formula, and is not a number, gets an apostrophe in front.

    >>> print(csv_text([["=1+1", 0.5], ["-1", -2.0], ["a,b", 1.0]]), end="")
    '=1+1,0.5
    -1,-2.0
    "a,b",1.0
    """
    return "".join(",".join(_cell(value) for value in row) + "\n" for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str):
        return "" if isinstance(value, float) and math.isnan(value) else str(value)
    text = f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if set(text) & set(',;"\n\r\t') else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
