"""Warnings about columns of text or categories that are not used as their user may expect."""

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
_NUMBER = re.compile(r"\s*[-+]?(0|[1-9]\d*|(0|[1-9]\d*)?[.,]\d+|(0|[1-9]\d*)\.)([eE][-+]?\d+)?\s*")


def advise_of_text(label: str, levels: tuple[Any, ...]) -> None:
    """Warn about a text column whose values all look like numbers or like dates."""
    if len(levels) < _FEWEST:
        return
    texts = [level for level in itertools.islice(levels, _LOOKED_AT) if isinstance(level, str)]
    if all(map(_NUMBER.fullmatch, texts)):
        advise(
            f"{label} holds numbers as text, which are treated as unordered categories. "
            "Convert it, for example by pandas.to_numeric (decimal commas: by pandas.read_csv with "
            "decimal=','), or use the type 'category' if they are codes."
        )
    elif all(map(_DATE.fullmatch, texts)):
        advise(
            f"{label} holds text that looks like dates, which is treated as categories. Parse it "
            "by pandas.to_datetime, so that splits can use year, month and weekday, or use the "
            "type 'category'."
        )


# Share of the rows above which rare categories that are dropped are worth a warning.
_MANY_ROWS = 0.05


def advise_of_rare(label: str, n_levels: int, n_kept: int, share: float) -> None:
    """Warn if categories too rare to be split in sets, in this share of the rows, are dropped."""
    if share <= _MANY_ROWS:
        return
    advise(
        f"{label} has {n_levels:,} categories, of which {n_levels - n_kept:,} are treated as "
        f"missing, because they have too few rows; they hold {share:.0%} of the rows. Encode the "
        "column, for example by sklearn.preprocessing.TargetEncoder, drop it if it identifies "
        "rows, or use BoostedTrees, a forest or boosting with target_statistics=True."
    )
