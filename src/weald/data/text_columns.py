"""Text that is probably no category: numbers and dates that were read as text."""

import itertools
import re
from typing import Any

from weald.advice import advise

# So many different values are looked at.
_LOOKED_AT = 1000

# Two levels are split alike, whether they are categories or numbers.
_FEWEST = 3

_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([ T]\d{1,2}:\d{2}.*)?\s*"
)
# A leading zero is that of a code, such as a postal code.
_NUMBER = re.compile(r"\s*[-+]?(0|[1-9]\d*|(0|[1-9]\d*)?\.\d+|(0|[1-9]\d*)\.)([eE][-+]?\d+)?\s*")


def advise_of_text(label: str, levels: tuple[Any, ...]) -> None:
    """Warn of a column of text whose values, all of them, are written as numbers or as dates."""
    if len(levels) < _FEWEST:
        return
    texts = [level for level in itertools.islice(levels, _LOOKED_AT) if isinstance(level, str)]
    if all(map(_NUMBER.fullmatch, texts)):
        advise(
            f"{label} holds numbers as text, which are taken as categories without an order. "
            "Convert it, for example by pandas.to_numeric, or if they are codes give it the type "
            "'category'."
        )
    elif all(map(_DATE.fullmatch, texts)):
        advise(
            f"{label} holds text that looks like dates, which is taken as categories. Parse it by "
            "pandas.to_datetime, so that year, month and weekday can be learnt, or give it the "
            "type 'category'."
        )
