"""Which columns the user calls categorical."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import listing


def chosen_columns(choice: Any, names: list[Any] | None, n: int) -> NDArray[np.bool_] | None:
    """Turn `categorical_features` into a mark per column; None: as the types of columns say.

    >>> chosen_columns(["b"], ["a", "b"], 2).tolist(), chosen_columns([-1, 0], None, 3).tolist()
    ([False, True], [True, False, True])
    """
    if isinstance(choice, str):
        return None
    marks = np.zeros(n, dtype=bool)
    if choice is None:
        return marks
    entries = list(choice)
    if all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != n:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} columns, but X has {n}. "
                "Give one truth value per column, or names or positions."
            )
        return np.array(entries, dtype=bool)
    for entry in entries:
        marks[column_position(entry, names, n, "categorical_features")] = True
    return marks


def column_position(entry: Any, names: list[Any] | None, n: int, parameter: str) -> int:
    """Find the column that a name or a position stands for; `parameter` is where it was given.

    >>> column_position("b", ["a", "b"], 2, "p"), column_position(-1, None, 3, "p")
    (1, 2)
    """
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"{parameter} names {entry!r}, but X has no column names. "
                "Give positions, or pass a frame."
            )
        if entry not in names:
            raise ValueError(
                f"{parameter} names {entry!r}, which is no column of X; there are {listing(names)}."
            )
        return names.index(entry)
    if not -n <= entry < n:
        raise ValueError(
            f"{parameter} has the position {entry}, but X has {n} columns, "
            f"numbered from 0 to {n - 1}."
        )
    return int(entry) % n
