"""The expected target, given by the user or estimated from repeated rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from weald.theory.arguments import Floats


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected target of every row (0/1 loss: the optimal class), and its source.

    `source` is "true_target", "repeats" or "unknown"; in the last case `values` is None. Rows with
    equal features have the same number in `groups`.
    """

    source: str
    values: NDArray[Any] | None
    groups: NDArray[np.intp]

    @property
    def group_sizes(self) -> NDArray[np.intp]:
        """Size of each row's group."""
        return np.bincount(self.groups)[self.groups]


def expected_target(
    table: Any,
    target: NDArray[Any],
    true_target: Any,
    summary: Callable[[NDArray[Any], NDArray[np.intp]], NDArray[Any]],
) -> Expected:
    """Return the user's true_target or, if every row is repeated, the summary of equal rows."""
    groups = equal_rows(table, len(target))
    if true_target is not None:
        known = np.asarray(true_target(table) if callable(true_target) else true_target)
        known = column_or_1d(known)
        if len(known) != len(target):
            raise ValueError(
                f"true_target must have one value for each of the {len(target)} test rows; it has "
                f"{len(known)}."
            )
        return Expected("true_target", known, groups)
    if np.bincount(groups).min() >= 2:
        return Expected("repeats", summary(target, groups), groups)
    return Expected("unknown", None, groups)


def equal_rows(table: Any, n_rows: int) -> NDArray[np.intp]:
    """Assign equal numbers to equal rows; NaN equals NaN.

    Rows of sparse matrices are not compared and count as distinct.
    """
    if hasattr(table, "tocsr"):
        return np.arange(n_rows)
    plain = table if isinstance(table, np.ndarray) else nw.from_native(table).to_numpy()
    if plain.dtype.kind in "fiub":
        # Compare bytes, so that NaN equals NaN; adding 0 turns -0 into 0.
        numbers = np.ascontiguousarray(plain.reshape(n_rows, -1), dtype=np.float64) + 0.0
        keys = [row.tobytes() for row in numbers]
    else:
        keys = [
            tuple(None if value != value else value for value in row)
            for row in plain.reshape(n_rows, -1).tolist()
        ]
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)


def group_means(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Mean over the group of every row."""
    means: Floats = np.bincount(groups, weights=values) / np.bincount(groups)
    return means[groups]
