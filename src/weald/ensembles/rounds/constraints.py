"""Which columns may meet on a path, and leaf values held to columns along which answers rise."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan, column_position
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions

Groups = tuple[tuple[int, ...], ...]


def groups_of(wanted: Any, plan: ColumnPlan, names: list[str] | None) -> Groups | None:
    """Turn `interaction_cst` into groups of the plan's columns; None: all may meet.

    Columns that are in no group are one together.

    >>> groups_of([["a", "b"]], ColumnPlan.of_numbers(4), ["a", "b", "c", "d"])
    ((0, 1), (2, 3))
    """
    if wanted is None:
        return None
    n = len(plan.columns)
    if isinstance(wanted, str):
        size = min(n, 2 if wanted == "pairwise" else 1)
        inputs = [set(group) for group in combinations(range(n), size)]
    else:
        inputs = [
            {column_position(entry, names, n, "interaction_cst") for entry in group}
            for group in wanted
        ]
    left = set(range(n)).difference(*inputs)
    if left:
        inputs.append(left)
    parts: dict[int, list[int]] = {i: [] for i in range(n)}
    for column, owner in enumerate(plan.owner.tolist()):
        parts[owner].append(column)
    return tuple(tuple(sorted(c for i in group for c in parts[i])) for group in inputs)


def held_monotone(
    feature: NDArray[np.int32],
    threshold: Floats,
    right: NDArray[np.int32],
    weight: Floats,
    values: Floats,
    directions: Directions,
) -> Floats:
    """Leaf values that were chosen leaf by leaf, moved no further than the directions ask.

    Below every split along a column that must rise, all values on the left stay at or below the
    middle of the two sides' means, and all on the right at or above it. The arrays are those of one
    tree, as `Forest` keeps them.

    >>> one_split = (np.array([0, -1, -1]), np.array([0.5, 0, 0]), np.array([2, 0, 1]), np.ones(3))
    >>> held_monotone(*one_split, np.array([5.0, 3.0]), (1,)).tolist()
    [4.0, 4.0]
    """
    columns, rights, weights = feature.tolist(), right.tolist(), weight.tolist()
    n = len(columns)
    mean = [0.0] * n
    for node in reversed(range(n)):
        if columns[node] < 0:
            mean[node] = float(values[rights[node]])
            continue
        a, b = node + 1, rights[node]
        share = weights[b] / (weights[a] + weights[b]) if weights[a] + weights[b] > 0 else 0.5
        mean[node] = mean[a] + (mean[b] - mean[a]) * share
    bounds = [(-np.inf, np.inf)] * n
    held = np.array(values)
    for node in range(n):
        low, high = bounds[node]
        if columns[node] < 0:
            held[rights[node]] = min(max(held[rights[node]], low), high)
            continue
        a, b = node + 1, rights[node]
        bounds[a] = bounds[b] = (low, high)
        # Where values are parted from missing ones, no value goes right.
        direction = 0 if threshold[node] == np.inf else directions[columns[node]]
        if direction:
            middle = min(max(mean[a] / 2 + mean[b] / 2, low), high)
            below, above = (a, b) if direction > 0 else (b, a)
            bounds[below], bounds[above] = (low, middle), (middle, high)
    return held
