"""Median leaf values, recomputed after pruning."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.trees.forest import Forest

Floats = NDArray[np.float64]


def weighted_median(values: Floats, mass: NDArray[Any]) -> float:
    """Weighted median; the mean of two values if both halves have equal weight.

    >>> weighted_median(np.array([1.0, 2.0, 10.0]), np.array([1, 1, 2]))
    6.0
    """
    order = np.argsort(values, kind="stable")
    order = order[mass[order] > 0]
    ends = np.cumsum(mass[order])
    half = np.searchsorted(2 * ends, ends[-1])
    low = float(values[order[half]])
    if 2 * ends[half] != ends[-1]:
        return low
    return low / 2 + float(values[order[half + 1]]) / 2


def with_medians(
    forest: Forest,
    table: NDArray[Any],
    target: Floats,
    mass_of_tree: Callable[[int], NDArray[Any] | None],
) -> Forest:
    """Set leaf values to the weighted medians of the rows in each leaf.

    `mass_of_tree` returns the weights of the rows for a tree; None means 1 each.
    """
    value = forest.value.copy()
    for tree in range(forest.n_trees):
        mass = mass_of_tree(tree)
        mass = np.ones(len(target), dtype=np.int64) if mass is None else mass
        seen = np.flatnonzero(mass > 0)
        leaves = forest.tree(tree).apply(np.ascontiguousarray(table[seen]), n_threads=1)[:, 0]
        order = np.argsort(leaves, kind="stable")
        for rows in np.split(seen[order], np.flatnonzero(np.diff(leaves[order])) + 1):
            leaf = leaves[np.searchsorted(seen, rows[0])]
            value[forest.first_leaf[tree] + leaf, 0] = weighted_median(target[rows], mass[rows])
    return replace(forest, value=value)
