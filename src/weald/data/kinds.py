"""Which kinds of columns a table may have: numbers; the rest is refused by name."""

from typing import Any

import narwhals as nw
import numpy as np

# Older narwhals know no times of day.
_TEMPORAL = tuple(
    getattr(nw, name) for name in ("Datetime", "Date", "Duration", "Time") if hasattr(nw, name)
)


def refuse_other_kinds(X: object) -> None:
    """Raise a TypeError or ValueError that names what weald cannot read as numbers.

    Dates would be read as counts of whatever unit they are stored in, masked values as if they
    were not masked; text ends in an error of NumPy that does not say where it stands.
    """
    if np.ma.isMaskedArray(X):
        raise TypeError(
            "Masked arrays are not supported: the mask would be ignored. "
            "Pass X.filled(np.nan), so that masked values are missing."
        )
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            raise TypeError(
                f"X holds dates or durations (dtype {X.dtype}); weald takes numbers only so far. "
                "Turn them into numbers first, such as days since a fixed date, year and weekday."
            )
        return
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame: call .collect() first.")
    if isinstance(frame, nw.DataFrame):
        for name in dict.fromkeys(frame.columns):
            _refuse_column(name, frame)


def _refuse_column(name: str, frame: "nw.DataFrame[Any]") -> None:
    if frame.columns.count(name) > 1:
        return  # scikit-learn's checks say what is wrong with names
    column = frame.get_column(name)
    kind = column.dtype
    if isinstance(kind, _TEMPORAL):
        raise TypeError(
            f"Column {name!r} holds dates or times ({kind}); weald takes numbers only so far. "
            "Turn it into numbers first, such as days since a fixed date, year and weekday."
        )
    if not isinstance(kind, (nw.String, nw.Categorical, nw.Enum)):
        return
    # Categories may be numbers: the first one that is there tells.
    missing = column.is_null().to_list()
    row = missing.index(False) if False in missing else None
    value = None if row is None else column.to_list()[row]
    if isinstance(kind, nw.String) or isinstance(value, str):
        where = "" if row is None else f" ({value!r} in row {row})"
        raise ValueError(
            f"Column {name!r} holds text{where}, which could not be converted to numbers; weald "
            "takes numbers only so far. Encode it, for example with scikit-learn's OrdinalEncoder."
        )
