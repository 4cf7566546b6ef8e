"""Growing isolation trees: random columns, random thresholds, path lengths as leaf values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.trees.forest import Forest


@dataclass(frozen=True, eq=False)
class IsolationRows:
    """The rows of an isolation forest.

    Attributes
    ----------
    table : array
        The numeric columns.
    n_levels : list of int
        Number of categories of each column, 0 for numeric ones; empty if all are numeric.
    index : int64 [rows]
        Rows of the table in the order of their content.
    mass : int64 [rows] or None
        Weights of these rows, in that order: probabilities of being drawn.
    n_draws : int
        Number of rows drawn for each tree.
    replace : bool
        Whether a row may be drawn more than once for a tree.
    """

    table: NDArray[Any]
    n_levels: list[int]
    index: NDArray[np.intp]
    mass: NDArray[np.int64] | None
    n_draws: int
    replace: bool


def depth_limit(n_draws: int) -> int:
    """Depth of a balanced tree with one row in each leaf.

    >>> [depth_limit(n) for n in (1, 2, 3, 256, 257)]
    [1, 1, 2, 8, 9]
    """
    return max(1, (n_draws - 1).bit_length())


def grow_isolation_trees(
    rows: IsolationRows, trees: range, *, max_features: int, seed: int, n_threads: int
) -> Forest:
    """Grow the trees with these numbers; the scores of the forest are sums of path lengths."""
    grown = _native.grow_isolation_forest(
        table=rows.table,
        index=rows.index,
        draws=_native.RowDraws(len(rows.index), rows.mass, rows.n_draws, rows.replace, seed),
        n_levels=np.array(rows.n_levels, dtype=np.int32),
        max_features=max_features,
        max_depth=depth_limit(rows.n_draws),
        seed=seed,
        first=trees.start,
        n_trees=len(trees),
        n_threads=n_threads,
    )
    return Forest(
        **grown,
        output=np.zeros(len(trees), dtype=np.int32),
        tree_weight=np.ones(len(trees)),
        base_score=np.zeros(1),
        n_columns=rows.table.shape[1],
    )
