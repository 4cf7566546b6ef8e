"""Batches of rows, which all sources of a table in parts yield."""

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw

from weald.errors import listing

# Values of a batch: enough to make Python's share of the work small, few enough to need no memory.
_BATCH_VALUES, _MOST_ROWS = 2**19, 2**16


class Batch(NamedTuple):
    """Some rows of a table, and the part of it that they are in, for messages."""

    part: str
    frame: "nw.DataFrame[Any]"


def batch_rows(n_columns: int) -> int:
    """Number of rows of a batch."""
    return max(1, min(_MOST_ROWS, _BATCH_VALUES // max(1, n_columns)))


def needs_arrow(what: str) -> Any:
    """The module pyarrow; ImportError that says what needs it."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError(f"{what} needs pyarrow: pip install pyarrow") from error


def check_names(names: Sequence[str], found: Sequence[str], part: str) -> None:
    """Raise ValueError if a part has other columns than the first one."""
    lacking, more = [n for n in names if n not in found], [n for n in found if n not in names]
    if lacking or more:
        parts = [f"lacks {listing(lacking)}"] * bool(lacking) + [f"has {listing(more)}"] * bool(
            more
        )
        raise ValueError(
            f"all parts must have the same columns, but {part!r} {' and '.join(parts)}; the first "
            f"part has {listing(names)}"
        )
