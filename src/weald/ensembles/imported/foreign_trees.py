"""Trees of other libraries in the layout of `Forest`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.trees import Forest, ForestBuilder, GrownTree

Floats = NDArray[np.float64]

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class ForeignTree:
    """One tree as node arrays in any order; node 0 is the root.

    Attributes
    ----------
    left, right : int [nodes]
        Children; -1 for a leaf.
    feature : int [nodes]
        Column of the split.
    threshold : float [nodes]
        Values <= threshold go left.
    missing_left : bool [nodes]
        Whether missing values go left.
    value : float [nodes, values]
        Values of the leaves.
    weight, gain : float [nodes]
        Cover and gain, for importances.
    levels_left : dict of int to sequence of int
        Category codes that go left, of the nodes that split on categories.
    """

    left: NDArray[Any]
    right: NDArray[Any]
    feature: NDArray[Any]
    threshold: Floats
    missing_left: NDArray[Any]
    value: Floats
    weight: Floats
    gain: Floats
    levels_left: Mapping[int, Sequence[int]] = field(default_factory=dict)


def forest_of(
    trees: Sequence[ForeignTree], outputs: Sequence[int], base_score: Any, n_columns: int
) -> Forest:
    """The forest of these trees; `outputs` are the scores they add to, -1: all scores."""
    builder = ForestBuilder(np.asarray(base_score, dtype=np.float64), n_columns)
    for number, (tree, output) in enumerate(zip(trees, outputs, strict=True)):
        try:
            builder.add(_in_pre_order(tree), output=output)
        except (IndexError, ValueError) as error:
            raise ValueError(f"tree {number} is not sound: {error}") from error
    return builder.build()


def _in_pre_order(tree: ForeignTree) -> GrownTree:
    order = _pre_order(tree.left, tree.right)
    is_leaf = np.asarray(tree.left)[order] < 0
    place = np.empty(len(tree.left), dtype=np.int64)
    place[order] = np.arange(len(order))
    right = np.where(is_leaf, np.cumsum(is_leaf) - 1, place[np.asarray(tree.right)[order]])
    sets = [(place[node], levels) for node, levels in tree.levels_left.items()]
    category_set, first_word, words = _sets(sets, len(order))
    is_split = ~is_leaf
    return GrownTree(
        feature=np.where(is_leaf, -1, tree.feature[order]).astype(np.int32),
        threshold=np.where(is_split & (category_set < 0), tree.threshold[order], 0.0),
        right=right.astype(np.int32),
        missing_left=(is_split & tree.missing_left[order].astype(bool)).astype(np.uint8),
        category_set=category_set,
        first_word=first_word,
        words=words,
        weight=np.asarray(tree.weight, dtype=np.float64)[order],
        gain=np.where(is_leaf, 0.0, tree.gain[order]),
        value=np.ascontiguousarray(np.asarray(tree.value, dtype=np.float64)[order][is_leaf]),
        leaf_of_row=np.zeros(0, dtype=np.int32),
    )


def _pre_order(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.int64]:
    """Nodes in pre-order; every node is reached once, or the tree is not sound."""
    lefts, rights = left.tolist(), right.tolist()
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if len(order) > len(lefts):
            raise ValueError("a node has two parents")
        if lefts[node] >= 0:
            waiting += [rights[node], lefts[node]]
    if len(order) != len(lefts):
        raise ValueError("a node is not reached from the root")
    return np.array(order, dtype=np.int64)


def _sets(
    sets: Sequence[tuple[Any, Sequence[int]]], n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint64]]:
    """Bit sets of categories, in the order of the nodes."""
    category_set = np.full(n_nodes, -1, dtype=np.int32)
    first, words = [0], []
    for number, (node, levels) in enumerate(sorted(sets, key=lambda one: int(one[0]))):
        category_set[node] = number
        own = [0] * (max(levels, default=0) // 64 + 1)
        for level in levels:
            own[level // 64] |= 1 << level % 64
        words += own
        first.append(len(words))
    return category_set, np.array(first, dtype=np.int64), np.array(words, dtype=np.uint64)


def of_float32(threshold: Any) -> Floats:
    """Thresholds t' with: x <= t' in float64 just where float32(x) <= threshold.

    Other libraries round values to float32 before they compare them. With f the largest float32
    up to the threshold, values up to the middle between f and the next float32 are rounded to f;
    the middle itself is if the last bit of f is 0.

    >>> t = of_float32(np.array([0.1]))[0]
    >>> x = np.nextafter(t, 1.0)
    >>> float(np.float32(t)) <= 0.1, float(np.float32(x)) <= 0.1
    (True, False)
    """
    threshold = np.clip(np.asarray(threshold, dtype=np.float64), -_LARGEST, _LARGEST)
    below = threshold.astype(np.float32)
    with np.errstate(over="ignore"):  # the next one after the largest is infinite
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + np.minimum(above.astype(np.float64), _LARGEST)) / 2
    is_even = below.astype(np.float32).view(np.uint32) % 2 == 0
    return np.asarray(np.where(is_even, middle, np.nextafter(middle, -np.inf)))


def below_float32(threshold: Any) -> Floats:
    """As `of_float32` for values that go left if float32(x) < threshold, itself a float32."""
    with np.errstate(over="ignore"):
        return of_float32(np.nextafter(np.asarray(threshold, np.float32), np.float32(-np.inf)))
