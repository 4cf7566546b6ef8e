"""Minimal cost-complexity pruning of a tree: which splits are not worth their leaves."""

import heapq
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.trees.cutting import cut, gains_below
from weald.trees.forest import Forest, picked_sets
from weald.trees.growing import GrownTree

Floats = NDArray[np.float64]


def pruning_alphas(tree: Forest | GrownTree) -> Floats:
    """For each inner node the price of a leaf at which its split is taken back; inf for leaves.

    The price of a subtree is what its splits gain, as a share of the tree's weight, for each leaf
    they add. The cheapest subtree is taken back first, then all above it are priced anew.
    """
    n = len(tree.feature)
    parent = np.full(n, -1, dtype=np.int64)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[inner + 1] = parent[tree.right[inner]] = inner
    worth = np.where(tree.feature >= 0, tree.gain, 0.0) / tree.weight[0]
    leaves = np.ones(n, dtype=np.int64)
    for node in inner[::-1]:
        below = (node + 1, tree.right[node])
        worth[node] += sum(worth[child] for child in below)
        leaves[node] = sum(leaves[child] for child in below)
    alphas, is_split = np.full(n, np.inf), tree.feature >= 0
    waiting = [(worth[node] / (leaves[node] - 1), int(node)) for node in inner]
    heapq.heapify(waiting)
    reached = 0.0
    while waiting:
        price, node = heapq.heappop(waiting)
        if not is_split[node] or price != worth[node] / (leaves[node] - 1):
            continue  # gone, or priced anew since
        reached = max(reached, float(price))
        stack = [node]
        while stack:  # all below goes with it
            here = stack.pop()
            if is_split[here]:
                is_split[here], alphas[here] = False, reached
                stack += [here + 1, int(tree.right[here])]
        less_worth, fewer = worth[node], leaves[node] - 1
        while node >= 0:
            worth[node] -= less_worth
            leaves[node] -= fewer
            node = int(parent[node])
            if node >= 0 and leaves[node] - fewer > 1:
                price = (worth[node] - less_worth) / (leaves[node] - fewer - 1)
                heapq.heappush(waiting, (price, node))
    return alphas


def pruned(tree: Forest, alpha: float) -> Forest:
    """The tree without the splits that cost at most `alpha` a leaf."""
    gone = pruning_alphas(tree) <= alpha
    if not gone.any():
        return tree
    kept: list[int] = []
    right: list[int] = []
    values: list[Floats] = []
    stack = [(0, -1)]  # a node; the place it is the right child of
    means = _means(tree)
    while stack:
        node, owner = stack.pop()
        if owner >= 0:
            right[owner] = len(kept)
        kept.append(node)
        if tree.feature[node] < 0 or gone[node]:
            right.append(len(values))
            values.append(means[node])
            continue
        stack += [(int(tree.right[node]), len(kept) - 1), (node + 1, -1)]
        right.append(-1)
    places = np.array(kept)
    still = (tree.feature[places] >= 0) & ~gone[places]
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
    """The same for a tree of newton's criterion, whose gains are half a decrease of squares."""
    if alpha <= 0.0 or len(tree.feature) == 1:
        return tree
    gone = 2.0 * pruning_alphas(tree) <= alpha
    return cut(tree, (tree.feature >= 0) & ~gone)


def pruned_forest(forest: Forest, alpha: float) -> Forest:
    """Every tree of a forest, pruned."""
    if alpha <= 0.0:
        return forest
    whole = pruned(forest.tree(0), alpha)
    for number in range(1, forest.n_trees):
        whole = whole.joined(pruned(forest.tree(number), alpha))
    return whole


def _means(tree: Forest) -> Floats:
    """What each node would answer as a leaf: the mean of its leaves by their weights."""
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
        # Rounding leads no mean out of its leaves' range: what rose or fell still does.
        means[node] = np.clip(mean, np.minimum(a, b), np.maximum(a, b))
    return means
