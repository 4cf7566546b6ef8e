"""Random limits of a tree, and random lessons: the core's tree beside what it learnt from."""

import math

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


def learn(
    criterion: str, grower: TreeGrower, rng, n: int, cells: str
) -> tuple[GrownTree, naive.Lesson]:
    """One tree of the core, and what it learnt from: whole numbers and eighths, or any."""
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
            gradient = np.stack([random_target(rng, n) for _ in range(rng.integers(1, 4))])
        tree = grower.on_sums(gradient, weight, copies)
        return tree, naive.lesson_from_sums(gradient, weight, copies)
    if criterion == "squared_error":
        values = np.stack([random_target(rng, n) for _ in range(rng.integers(1, 4))])
        tree = grower.on_values(values, weight, copies)
        return tree, naive.lesson_from_values(values, weight, copies)
    n_classes = int(rng.choice([2, 3, 30]))
    classes = rng.integers(0, n_classes, n).astype(np.int32)
    tree = grower.on_classes(classes, n_classes, weight, copies)
    return tree, naive.lesson_from_classes(classes, n_classes, weight, copies)
