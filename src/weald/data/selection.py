"""Selection of columns by name, position or mask."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import listing


def chosen_columns(choice: Any, names: list[Any] | None, n: int) -> NDArray[np.bool_] | None:
    """Convert `categorical_features` to a mask of columns; None means by column type.

    >>> chosen_columns(["b"], ["a", "b"], 2).tolist(), chosen_columns([-1, 0], None, 3).tolist()
    ([False, True], [True, False, True])
    """
    if isinstance(choice, str):
        return None
    mask = np.zeros(n, dtype=bool)
    if choice is None:
        return mask
    entries = list(choice)
    if all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != n:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} columns, but X has {n}. "
                "Pass one boolean per column, or names or positions."
            )
        return np.array(entries, dtype=bool)
    for entry in entries:
        mask[column_position(entry, names, n, "categorical_features")] = True
    return mask


def column_position(entry: Any, names: list[Any] | None, n: int, parameter: str) -> int:
    """Return the index of a column given by name or position; `parameter` is for messages.

    >>> column_position("b", ["a", "b"], 2, "p"), column_position(-1, None, 3, "p")
    (1, 2)
    """
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"{parameter} names {entry!r}, but X has no column names. "
                "Use positions, or pass a data frame."
            )
        if entry not in names:
            raise ValueError(
                f"{parameter} names {entry!r}, which is not a column of X; its columns are "
                f"{listing(names)}."
            )
        return names.index(entry)
    if not -n <= entry < n:
        raise ValueError(
            f"{parameter} has the position {entry}, but X has {n} columns, "
            f"numbered from 0 to {n - 1}."
        )
    return int(entry) % n
