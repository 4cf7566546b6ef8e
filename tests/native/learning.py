"""Random tree limits and training data: the core's tree and its data."""

import math
from dataclasses import replace

import numpy as np

from native import naive
from native.tables import random_target, random_weights
from weald.trees import GrownTree, TreeGrower, TreeLimits


def random_limits(rng, criterion: str, cells: str) -> TreeLimits:
    def maybe(low: int, high: int):
        return None if rng.random() < 0.4 else int(rng.integers(low, high))

    return TreeLimits(
        growth=str(rng.choice(["best_first", "depth_wise"])),
        max_leaf_nodes=maybe(2, 12),
        max_depth=maybe(1, 6),
        min_samples_split=int(rng.choice([2, 2, 5])),
        min_samples_leaf=int(rng.choice([1, 1, 2, 4])),
        min_child_weight=float(rng.choice([0.0, 0.0, 1.7])),
        min_gain=float(rng.choice([0.0, -math.inf, 0.3])),
        l2=float(rng.choice([0.0, 1.5])) if criterion == "newton" else 0.0,
        cells=cells,
    )


def with_more(limits: TreeLimits, kind: str, rng, n_columns: int, ordered=None) -> TreeLimits:
    """Further limits at random, of one kind or "all"; `ordered` columns may rise or fall."""

    def columns() -> dict:
        symmetric = limits.growth == "symmetric"
        sampling = ["tree", "level"] if symmetric else ["tree", "level", "node", "node"]
        return {
            "max_features": int(rng.integers(1, n_columns + 1)),
            "feature_sampling": str(rng.choice(sampling)),
            "seed": int(rng.integers(2**63)),
        }

    def groups() -> dict:
        n_groups = int(rng.integers(1, 4))
        drawn = [np.flatnonzero(rng.random(n_columns) < 0.6).tolist() for _ in range(n_groups)]
        left = set(range(n_columns)) - {c for group in drawn for c in group}
        found = [tuple(group) for group in (*drawn, sorted(left)) if group]
        return {"groups": tuple(found)}

    def directions() -> dict:
        marks = rng.integers(-1, 2, n_columns)
        return {"directions": tuple((marks if ordered is None else marks * ordered).tolist())}

    kinds = {
        "columns": columns,
        "groups": groups,
        "directions": directions,
        "l1": lambda: {"l1": float(rng.choice([0.5, 2.0, 7.25]))},
        "prune": lambda: {"prune_gain": float(rng.choice([0.3, 2.0, 8.0])), "min_gain": 0.0},
    }
    more: dict = {}
    for name, make in kinds.items():
        if kind == name or (kind == "all" and (name != "prune" or limits.growth != "symmetric")):
            more |= make()
    return replace(limits, **more)


def learn(
    criterion: str, grower: TreeGrower, rng, n: int, cells: str, limits: TreeLimits | None = None
) -> tuple[GrownTree, naive.Lesson]:
    """One tree of the core, and its training data: whole numbers and eighths, or any."""
    has_directions = limits is not None and limits.directions is not None
    is_whole = cells != "wide"
    weight, copies = random_weights(rng, n)
    if is_whole and weight is not None:
        weight = rng.integers(1, 9, n) / 8
    if cells == "automatic" and rng.random() < 0.3:
        weight, copies = None, rng.integers(1, 10 ** rng.integers(1, 9), n)
    if criterion == "newton":
        if is_whole:
            gradient = rng.integers(-9, 10, (1, n)) * 1.0
        else:
            n_scores = 1 if has_directions else rng.integers(1, 4)
            gradient = np.stack([random_target(rng, n) for _ in range(n_scores)])
        tree = grower.on_sums(gradient, weight, copies)
        return tree, naive.lesson_from_sums(gradient, weight, copies)
    if criterion in ("squared_error", "poisson"):
        n_values = 1 if has_directions else rng.integers(1, 4)
        values = np.stack([random_target(rng, n) for _ in range(n_values)])
        if criterion == "poisson":
            values = np.abs(values)
        tree = grower.on_values(values, weight, copies)
        return tree, naive.lesson_from_values(values, weight, copies)
    n_classes = 2 if has_directions else int(rng.choice([2, 3, 30]))
    classes = rng.integers(0, n_classes, n).astype(np.int32)
    tree = grower.on_classes(classes, n_classes, weight, copies)
    return tree, naive.lesson_from_classes(classes, n_classes, weight, copies)
