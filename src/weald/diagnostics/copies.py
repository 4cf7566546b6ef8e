"""Rows that occur more than once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.resampling.tables import hash_any_rows

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows whose columns are all equal to those of another row.

    Attributes
    ----------
    rows : intp [rows]
        Positions in X of rows that repeat an earlier one.
    conflicting : intp [rows]
        Positions in X of rows that have a copy with another target.
    least_error : float
        Error that no model can avoid, because copies have different targets: 0/1 loss, or squared
        error.
    in_test : intp [rows]
        Positions in X_test of rows that are in X.
    n, n_test : int
        Numbers of rows looked at.
    """

    rows: Rows = field(repr=False)
    conflicting: Rows = field(repr=False)
    least_error: float
    in_test: Rows = field(repr=False)
    n: int
    n_test: int


def copies_of(
    table: Any, target: NDArray[Any], rows: Rows, of_classes: bool, test_table: Any = None
) -> Copies:
    """Find equal rows by a hash of all columns.

    >>> found = copies_of(
    ...     np.array([[1.0], [2.0], [1.0], [1.0]]), np.array([0, 1, 0, 1]), np.arange(4), True
    ... )
    >>> found.rows.tolist(), found.conflicting.tolist(), found.least_error
    ([2, 3], [0, 2, 3], 0.25)
    """
    keys = _keys(table)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    is_first = np.zeros(len(keys), dtype=bool)
    is_first[first] = True
    group = group.ravel()
    differs = _group_differs(target, group)
    in_test, n_test = np.empty(0, dtype=np.intp), 0
    if test_table is not None:
        test_keys = _keys(test_table)
        in_test, n_test = np.flatnonzero(np.isin(test_keys, keys)), len(test_keys)
    return Copies(
        rows=rows[~is_first],
        conflicting=rows[differs[group]],
        least_error=_least_error(target, group, of_classes),
        in_test=in_test,
        n=len(keys),
        n_test=n_test,
    )


def _keys(table: Any) -> NDArray[Any]:
    """A 64-bit hash of each row."""
    return hash_any_rows(table, np.zeros(table.shape[0]), n_threads=1)[:, 0]


def _group_differs(target: NDArray[Any], group: Rows) -> NDArray[np.bool_]:
    """Whether the targets of each group differ."""
    low = np.full(group.max() + 1, np.inf)
    high = np.full(group.max() + 1, -np.inf)
    np.minimum.at(low, group, target)
    np.maximum.at(high, group, target)
    return np.asarray(low < high)


def _least_error(target: NDArray[Any], group: Rows, of_classes: bool) -> float:
    if not of_classes:
        counts = np.bincount(group)
        means = np.bincount(group, weights=target) / counts
        return float(((target - means[group]) ** 2).mean())
    n_classes = int(target.max()) + 1
    pairs, counts = np.unique(group * n_classes + target, return_counts=True)
    most = np.zeros(group.max() + 1)
    np.maximum.at(most, pairs // n_classes, counts)
    return float(1.0 - most.sum() / len(target))
