"""Minimal cost-complexity pruning of one grown tree."""

from dataclasses import replace

import numpy as np

from weald.trees import GrownTree, picked_sets


def pruned(tree: GrownTree, alpha: float) -> GrownTree:
    """Take back splits, the least worthy first, as long as they are worth at most `alpha` a leaf.

    What a subtree is worth is what its splits lower the mean squared error of the tree's rows by.
    """
    if alpha <= 0.0 or len(tree.feature) == 1:
        return tree
    n, is_inner = len(tree.feature), tree.feature >= 0
    left, right = np.arange(n) + 1, tree.right
    worth = 2.0 * tree.gain / tree.weight[0]
    while is_inner[0]:
        total, leaves = worth * is_inner, np.ones(n, dtype=np.int64)
        for node in np.flatnonzero(is_inner)[::-1]:
            total[node] += total[left[node]] + total[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]
        inner = _reached(is_inner, right)
        link = total[inner] / (leaves[inner] - 1)
        weakest = inner[np.argmin(link)]
        if link.min() > alpha:
            break
        is_inner[weakest] = False
    return cut(tree, is_inner)


def _reached(is_inner: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The inner nodes that are still part of the tree, in pre-order."""
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if is_inner[node]:
            found.append(node)
            stack += [int(right[node]), node + 1]
    return np.array(found)


def cut(tree: GrownTree, is_inner: np.ndarray) -> GrownTree:
    """The tree without what lies below its new leaves, which answer the means of the old ones."""
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
        gain=np.where(still, tree.gain[kept], 0.0),
        value=values,
        leaf_of_row=new_leaf[tree.leaf_of_row],
        **picked_sets(
            np.where(still, tree.category_set[kept], np.int32(-1)), tree.first_word, tree.words
        ),
    )


def _leaves_below(tree: GrownTree, node: int) -> list[int]:
    found, stack = [], [node]
    while stack:
        here = stack.pop()
        if tree.feature[here] < 0:
            found.append(here)
        else:
            stack += [int(tree.right[here]), here + 1]
    return found
