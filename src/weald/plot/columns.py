"""Names and values of columns, from models and from any table."""

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from weald.errors import listing


def column_names(model: Any, n_columns: int, given: Any = None) -> list[str]:
    """Names of the columns: those given, those of the fit, or numbers."""
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if names is None:
        return [f"column {i}" for i in range(n_columns)]
    names = [str(name) for name in names]
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names must hold {n_columns} names, one for each column; got {len(names)}: "
            f"{listing(names)}."
        )
    return names


def column_of(table: Any, column: int) -> NDArray[Any]:
    """Values of one column of an array, a sparse matrix or a data frame."""
    if hasattr(table, "tocsc"):
        dense: NDArray[Any] = table.tocsc()[:, [column]].toarray()[:, 0]
        return dense
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return np.asarray(frame[:, column].to_numpy())
    return np.asarray(table)[:, column]


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Values as floats, or None if they are text or categories."""
    if values.dtype.kind == "M":
        days = values.astype("M8[s]").astype(np.float64) / 86_400
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values.astype("m8[s]").astype(np.float64))
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def column_number(feature: Any, names: list[str], what: str = "feature") -> int:
    """Position of a column given by name or position."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"There is no column {feature!r}. The columns are {listing(names)}.")
        return names.index(feature)
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return int(feature) % len(names)
    raise ValueError(
        f"{what} must be the name of a column or its position, from 0 to {len(names) - 1}; got "
        f"{feature!r}."
    )
