"""Minimal cost-complexity pruning."""

import heapq
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.trees.cutting import cut, gains_below
from weald.trees.forest import Forest, picked_sets
from weald.trees.growing import GrownTree

Floats = NDArray[np.float64]


def pruning_alphas(tree: Forest | GrownTree) -> Floats:
    """Return the effective alpha at which each inner node is pruned; inf for leaves.

    The effective alpha of a subtree is its total gain, divided by the weight of the tree and by the
    number of leaves it adds. The weakest subtree is pruned first, then its ancestors are updated.
    """
    n = len(tree.feature)
    parent = np.full(n, -1, dtype=np.int64)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[inner + 1] = parent[tree.right[inner]] = inner
    subtree_gain = np.where(tree.feature >= 0, tree.gain, 0.0) / tree.weight[0]
    leaves = np.ones(n, dtype=np.int64)
    for node in inner[::-1]:
        below = (node + 1, tree.right[node])
        subtree_gain[node] += sum(subtree_gain[child] for child in below)
        leaves[node] = sum(leaves[child] for child in below)
    alphas, is_split = np.full(n, np.inf), tree.feature >= 0
    waiting = [(subtree_gain[node] / (leaves[node] - 1), int(node)) for node in inner]
    heapq.heapify(waiting)
    reached = 0.0
    while waiting:
        alpha, node = heapq.heappop(waiting)
        if not is_split[node] or alpha != subtree_gain[node] / (leaves[node] - 1):
            continue  # pruned, or an outdated entry
        reached = max(reached, float(alpha))
        stack = [node]
        while stack:  # prune the whole subtree
            here = stack.pop()
            if is_split[here]:
                is_split[here], alphas[here] = False, reached
                stack += [here + 1, int(tree.right[here])]
        lost_gain, lost_leaves = subtree_gain[node], leaves[node] - 1
        while node >= 0:
            subtree_gain[node] -= lost_gain
            leaves[node] -= lost_leaves
            node = int(parent[node])
            if node >= 0 and leaves[node] - lost_leaves > 1:
                alpha = (subtree_gain[node] - lost_gain) / (leaves[node] - lost_leaves - 1)
                heapq.heappush(waiting, (alpha, node))
    return alphas


def pruned(tree: Forest, alpha: float) -> Forest:
    """Remove subtrees with an effective alpha of at most `alpha`."""
    is_pruned = pruning_alphas(tree) <= alpha
    if not is_pruned.any():
        return tree
    kept: list[int] = []
    right: list[int] = []
    values: list[Floats] = []
    stack = [(0, -1)]  # a node, and the index of the parent if it is a right child
    means = _means(tree)
    while stack:
        node, owner = stack.pop()
        if owner >= 0:
            right[owner] = len(kept)
        kept.append(node)
        if tree.feature[node] < 0 or is_pruned[node]:
            right.append(len(values))
            values.append(means[node])
            continue
        stack += [(int(tree.right[node]), len(kept) - 1), (node + 1, -1)]
        right.append(-1)
    places = np.array(kept)
    still = (tree.feature[places] >= 0) & ~is_pruned[places]
    return replace(
        tree,
        feature=np.where(still, tree.feature[places], np.int32(-1)),
        threshold=np.where(still, tree.threshold[places], 0.0),
        right=np.array(right, dtype=np.int32),
        missing_left=np.where(still, tree.missing_left[places], np.uint8(0)),
        weight=tree.weight[places],
        gain=np.where(still, tree.gain[places], gains_below(tree)[places]),
        value=np.array(values),
        first_node=np.array([0, len(places)]),
        first_leaf=np.array([0, len(values)]),
        **picked_sets(
            np.where(still, tree.category_set[places], np.int32(-1)), tree.first_word, tree.words
        ),
    )


def pruned_newton_tree(tree: GrownTree, alpha: float) -> GrownTree:
    """Prune a Newton tree, whose gains are half the decrease of squared error."""
    if alpha <= 0.0 or len(tree.feature) == 1:
        return tree
    is_pruned = 2.0 * pruning_alphas(tree) <= alpha
    return cut(tree, (tree.feature >= 0) & ~is_pruned)


def pruned_forest(forest: Forest, alpha: float) -> Forest:
    """Prune every tree of a forest."""
    if alpha <= 0.0:
        return forest
    whole = pruned(forest.tree(0), alpha)
    for number in range(1, forest.n_trees):
        whole = whole.joined(pruned(forest.tree(number), alpha))
    return whole


def _means(tree: Forest) -> Floats:
    """Return the value of each node as a leaf: the weighted mean of the leaves below it."""
    means = np.zeros((len(tree.feature), tree.value.shape[1]))
    for node in range(len(tree.feature) - 1, -1, -1):
        right = tree.right[node]
        if tree.feature[node] < 0:
            means[node] = tree.value[right]
            continue
        left_weight, right_weight = tree.weight[node + 1], tree.weight[right]
        total = left_weight + right_weight
        a, b = means[node + 1], means[right]
        mean = a * (left_weight / total) + b * (right_weight / total)
        # Clip rounding errors, which could violate monotonic constraints.
        means[node] = np.clip(mean, np.minimum(a, b), np.maximum(a, b))
    return means
