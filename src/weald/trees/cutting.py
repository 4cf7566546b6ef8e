"""Removal of subtrees of a grown tree."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.trees.forest import Forest, picked_sets
from weald.trees.growing import GrownTree


def cut(tree: GrownTree, is_inner: NDArray[np.bool_]) -> GrownTree:
    """Turn all nodes not in `is_inner` into leaves, with the weighted means of their old leaves."""
    kept: list[int] = []
    place, new_leaf = {}, np.zeros(len(tree.value), dtype=np.int32)
    ends: list[tuple[int, list[int]]] = []  # new leaves, each with the old leaves below it
    stack = [0]
    while stack:
        node = stack.pop()
        place[node] = len(kept)
        kept.append(node)
        if is_inner[node]:
            stack += [int(tree.right[node]), node + 1]
        else:
            new_leaf[tree.right[_leaves_below(tree, node)]] = len(ends)
            ends.append((node, _leaves_below(tree, node)))
    right = np.array([0] * len(kept), dtype=np.int32)
    for i, node in enumerate(kept):
        if is_inner[node]:
            right[i] = place[int(tree.right[node])]
    values = np.empty((len(ends), tree.value.shape[1]))
    for number, (node, below) in enumerate(ends):
        right[place[node]] = number
        weight = tree.weight[below]
        share = weight / weight.sum() if weight.sum() > 0 else np.full(len(below), 1 / len(below))
        values[number] = (share[:, np.newaxis] * tree.value[tree.right[below]]).sum(axis=0)
    still = is_inner[kept]
    return replace(
        tree,
        feature=np.where(still, tree.feature[kept], np.int32(-1)),
        threshold=np.where(still, tree.threshold[kept], 0.0),
        right=right,
        missing_left=np.where(still, tree.missing_left[kept], np.uint8(0)),
        weight=tree.weight[kept],
        gain=np.where(still, tree.gain[kept], gains_below(tree)[kept]),
        value=values,
        leaf_of_row=new_leaf[tree.leaf_of_row],
        **picked_sets(
            np.where(still, tree.category_set[kept], np.int32(-1)), tree.first_word, tree.words
        ),
    )


def gains_below(tree: GrownTree | Forest) -> NDArray[np.float64]:
    """Return the total gain of each subtree; for regression, the weight times the impurity."""
    gains = tree.gain.copy()
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        gains[node] += gains[node + 1] + gains[tree.right[node]]
    return gains


def _leaves_below(tree: GrownTree, node: int) -> list[int]:
    found, stack = [], [node]
    while stack:
        here = stack.pop()
        if tree.feature[here] < 0:
            found.append(here)
        else:
            stack += [int(tree.right[here]), here + 1]
    return found
