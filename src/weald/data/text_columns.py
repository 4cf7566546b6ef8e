"""Warnings about text columns that hold numbers or dates."""

import itertools
import re
from typing import Any

from weald.advice import advise

# Maximum number of distinct values to inspect.
_LOOKED_AT = 1000

# Columns with two distinct values are split alike as categories or numbers: no warning.
_FEWEST = 3

_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([ T]\d{1,2}:\d{2}.*)?\s*"
)
# Leading zeros indicate codes, such as postal codes.
_NUMBER = re.compile(r"\s*[-+]?(0|[1-9]\d*|(0|[1-9]\d*)?\.\d+|(0|[1-9]\d*)\.)([eE][-+]?\d+)?\s*")


def advise_of_text(label: str, levels: tuple[Any, ...]) -> None:
    """Warn about a text column whose values all look like numbers or like dates."""
    if len(levels) < _FEWEST:
        return
    texts = [level for level in itertools.islice(levels, _LOOKED_AT) if isinstance(level, str)]
    if all(map(_NUMBER.fullmatch, texts)):
        advise(
            f"{label} holds numbers as text, which are treated as unordered categories. "
            "Convert it, for example by pandas.to_numeric, or use the type 'category' if they are "
            "codes."
        )
    elif all(map(_DATE.fullmatch, texts)):
        advise(
            f"{label} holds text that looks like dates, which is treated as categories. Parse it "
            "by pandas.to_datetime, so that splits can use year, month and weekday, or use the "
            "type 'category'."
        )
