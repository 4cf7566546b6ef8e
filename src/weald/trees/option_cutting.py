"""Pruning of option trees: to a number of leaves, or by cost-complexity."""

import heapq
import math
from collections.abc import Mapping

import numpy as np

from weald.trees.forest import picked_sets
from weald.trees.option_forest import Branch, heads_of, node_shares, options_at


def limited(tree: Branch, max_leaf_nodes: int) -> Branch:
    """Limit the number of leaves, keeping the splits with the largest gain times share.

    If not all options of a node fit, the first ones are kept.
    """
    if len(tree.value) <= max_leaf_nodes:
        return tree
    kept: dict[int, int] = {}
    n_leaves = 1
    waiting = [(-float(tree.gain[0]), 0, 1.0)] if tree.feature[0] >= 0 else []
    while waiting and n_leaves < max_leaf_nodes:
        _, head, share = heapq.heappop(waiting)
        fitting = (max_leaf_nodes - n_leaves + 1) // 2  # each option adds two leaves
        options = options_at(tree, head)[:fitting]
        kept[head] = len(options)
        n_leaves += 2 * len(options) - 1
        for option in options:
            for child in (option + 1, int(tree.right[option])):
                if tree.feature[child] >= 0:
                    own_share = share / len(options)
                    priority = -own_share * float(tree.gain[child])
                    heapq.heappush(waiting, (priority, child, own_share))
    return _kept(tree, kept)


def pruned(tree: Branch, alpha: float) -> Branch:
    """Minimal cost-complexity pruning: minimise the loss plus `alpha` times the number of leaves.

    The loss is the mean impurity of the leaves, weighted by their shares. Pruning a node removes
    all its options.
    """
    if alpha <= 0.0 or len(tree) == 1:
        return tree
    is_head, share = heads_of(tree), node_shares(tree)
    n = len(tree)
    subtree_gain, leaves, options = (
        np.zeros(n),
        np.ones(n, dtype=np.int64),
        np.ones(n, dtype=np.int64),
    )
    kept: dict[int, int] = {}
    for i in range(n - 1, -1, -1):  # children and later options before their node
        if tree.feature[i] >= 0:
            left, right = i + 1, tree.right[i]
            subtree_gain[i] = tree.gain[i] + subtree_gain[left] + subtree_gain[right]
            leaves[i] = leaves[left] + leaves[right]
        if following := tree.next_option[i]:
            subtree_gain[i] += subtree_gain[following]
            leaves[i] += leaves[following]
            options[i] += options[following]
        if not is_head[i] or leaves[i] == 1:
            continue
        # All options of a node have the same share.
        if share[i] * subtree_gain[i] <= alpha * float(leaves[i] - 1) * tree.weight[0]:
            subtree_gain[i], leaves[i] = 0.0, 1
        else:
            kept[i] = int(options[i])
            subtree_gain[i] /= options[i]
    return _kept(tree, kept)


def _kept(tree: Branch, kept: Mapping[int, int]) -> Branch:
    """Keep the given number of options of some nodes; all other nodes become leaves."""
    nodes: list[int] = []
    right: list[int] = []
    next_option: list[int] = []
    leaves: list[int] = []
    # (node, number of options to keep from it on (0: a leaf), list and index that refer to it)
    stack: list[tuple[int, int, list[int] | None, int]] = [(0, kept.get(0, 0), None, 0)]
    while stack:
        node, n_options, field, place = stack.pop()
        here = len(nodes)
        if field is not None:
            field[place] = here
        nodes.append(node)
        next_option.append(0)
        right.append(0)
        if n_options == 0:
            right[-1] = len(leaves)
            leaves.append(node)
            continue
        left_child, right_child = node + 1, int(tree.right[node])
        if n_options > 1:
            stack.append((int(tree.next_option[node]), n_options - 1, next_option, here))
        stack.append((right_child, kept.get(right_child, 0), right, here))
        stack.append((left_child, kept.get(left_child, 0), None, 0))
    index, is_leaf = np.array(nodes), np.isin(nodes, leaves)
    sets = np.where(is_leaf, -1, tree.category_set[index]).astype(np.int32)
    return Branch(
        feature=np.where(is_leaf, -1, tree.feature[index]).astype(np.int32),
        threshold=np.where(is_leaf, 0.0, tree.threshold[index]),
        right=np.array(right, dtype=np.int32),
        missing_left=np.where(is_leaf, 0, tree.missing_left[index]).astype(np.uint8),
        weight=tree.weight[index],
        gain=np.where(is_leaf, 0.0, tree.gain[index]),
        value=_values(tree, leaves),
        next_option=np.array(next_option, dtype=np.int32),
        **picked_sets(sets, tree.first_word, tree.words),
    )


def _values(tree: Branch, nodes: list[int]) -> np.ndarray:
    """Return the weighted mean leaf value below some nodes."""
    end = _ends(tree)
    mass = np.zeros(len(tree.value))
    is_leaf = tree.feature < 0
    mass[tree.right[is_leaf]] = tree.weight[is_leaf] * tree.leaf_shares[tree.right[is_leaf]]
    values = np.empty((len(nodes), tree.value.shape[1]))
    for i, node in enumerate(nodes):
        if is_leaf[node]:
            values[i] = tree.value[tree.right[node]]
            continue
        span = np.arange(node, end[node])
        below = tree.right[span[is_leaf[span]]]
        total = math.fsum(mass[below])
        parts = mass[below, np.newaxis] * tree.value[below]
        # Exact sums do not depend on the grouping of leaves.
        values[i] = [math.fsum(column) / total for column in parts.T]
    return values


def _ends(tree: Branch) -> np.ndarray:
    """Return the end of each node's subtree, including its later options."""
    end = np.arange(1, len(tree) + 1)
    for i in range(len(tree) - 1, -1, -1):
        if tree.feature[i] >= 0:
            end[i] = end[tree.right[i]]
        if tree.next_option[i]:
            end[i] = end[tree.next_option[i]]
    return end
