"""Interaction constraints, and monotonic constraints on leaf values fitted leaf by leaf."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan, column_position
from weald.ensembles.base import Floats
from weald.ensembles.monotonic import Directions

Groups = tuple[tuple[int, ...], ...]


def groups_of(interaction_cst: Any, plan: ColumnPlan, names: list[str] | None) -> Groups | None:
    """Convert `interaction_cst` to groups of the plan's columns; None: no constraint.

    Columns that are in no group form one more group.

    >>> groups_of([["a", "b"]], ColumnPlan.of_numbers(4), ["a", "b", "c", "d"])
    ((0, 1), (2, 3))
    """
    if interaction_cst is None:
        return None
    n = len(plan.columns)
    if isinstance(interaction_cst, str):
        size = min(n, 2 if interaction_cst == "pairwise" else 1)
        groups = [set(group) for group in combinations(range(n), size)]
    else:
        groups = [
            {column_position(entry, names, n, "interaction_cst") for entry in group}
            for group in interaction_cst
        ]
    ungrouped = set(range(n)).difference(*groups)
    if ungrouped:
        groups.append(ungrouped)
    columns_of: dict[int, list[int]] = {i: [] for i in range(n)}
    for column, owner in enumerate(plan.owner.tolist()):
        columns_of[owner].append(column)
    return tuple(tuple(sorted(c for i in group for c in columns_of[i])) for group in groups)


def monotone_values(
    feature: NDArray[np.int32],
    threshold: Floats,
    right: NDArray[np.int32],
    weight: Floats,
    values: Floats,
    directions: Directions,
) -> Floats:
    """Clip leaf values to satisfy monotonic constraints.

    For leaf values that were fitted leaf by leaf, without regard to the constraints. Each split on
    a constrained column bounds the values of its two subtrees by the midpoint of their weighted
    means: those of one subtree from above, those of the other from below. The arrays are those of
    one tree, in the layout of `Forest`.

    >>> one_split = (np.array([0, -1, -1]), np.array([0.5, 0, 0]), np.array([2, 0, 1]), np.ones(3))
    >>> monotone_values(*one_split, np.array([5.0, 3.0]), (1,)).tolist()
    [4.0, 4.0]
    """
    columns, rights, weights = feature.tolist(), right.tolist(), weight.tolist()
    n = len(columns)
    mean = [0.0] * n
    for node in reversed(range(n)):  # children come after their parent
        if columns[node] < 0:
            mean[node] = float(values[rights[node]])
            continue
        a, b = node + 1, rights[node]
        share = weights[b] / (weights[a] + weights[b]) if weights[a] + weights[b] > 0 else 0.5
        mean[node] = mean[a] + (mean[b] - mean[a]) * share
    bounds = [(-np.inf, np.inf)] * n
    clipped = np.array(values)
    for node in range(n):
        low, high = bounds[node]
        if columns[node] < 0:
            clipped[rights[node]] = min(max(clipped[rights[node]], low), high)
            continue
        a, b = node + 1, rights[node]
        bounds[a] = bounds[b] = (low, high)
        # An infinite threshold separates missing values only, which are not constrained.
        direction = 0 if threshold[node] == np.inf else directions[columns[node]]
        if direction:
            middle = min(max(mean[a] / 2 + mean[b] / 2, low), high)
            below, above = (a, b) if direction > 0 else (b, a)
            bounds[below], bounds[above] = (low, middle), (middle, high)
    return clipped
