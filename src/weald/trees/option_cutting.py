"""Option trees made smaller: to a number of leaves, or by what a leaf is worth."""

import heapq
import math
from collections.abc import Mapping

import numpy as np

from weald.trees.forest import picked_sets
from weald.trees.option_forest import Branch, heads_of, node_shares, options_at


def limited(tree: Branch, max_leaf_nodes: int) -> Branch:
    """Keep at most so many leaves: the nodes that gain most, each times its share, are split first.

    Where not all options of a node fit, the first of them are kept.
    """
    if len(tree.value) <= max_leaf_nodes:
        return tree
    kept: dict[int, int] = {}
    n_leaves = 1
    waiting = [(-float(tree.gain[0]), 0, 1.0)] if tree.feature[0] >= 0 else []
    while waiting and n_leaves < max_leaf_nodes:
        _, head, share = heapq.heappop(waiting)
        fitting = (max_leaf_nodes - n_leaves + 1) // 2  # each has two leaves instead of none
        options = options_at(tree, head)[:fitting]
        kept[head] = len(options)
        n_leaves += 2 * len(options) - 1
        for option in options:
            for child in (option + 1, int(tree.right[option])):
                if tree.feature[child] >= 0:
                    mine = share / len(options)
                    heapq.heappush(waiting, (-mine * float(tree.gain[child]), child, mine))
    return _kept(tree, kept)


def pruned(tree: Branch, alpha: float) -> Branch:
    """Minimal cost-complexity pruning: the tree of least loss plus `alpha` for every leaf.

    The loss is the mean impurity of the leaves' rows, each leaf times its share. A node becomes a
    leaf together with all its options.
    """
    if alpha <= 0.0 or len(tree) == 1:
        return tree
    is_head, share = heads_of(tree), node_shares(tree)
    n = len(tree)
    worth, leaves, options = np.zeros(n), np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    kept: dict[int, int] = {}
    for i in range(n - 1, -1, -1):  # what hangs below, and the options beside, come first
        if tree.feature[i] >= 0:
            left, right = i + 1, tree.right[i]
            worth[i] = tree.gain[i] + worth[left] + worth[right]
            leaves[i] = leaves[left] + leaves[right]
        if following := tree.next_option[i]:
            worth[i] += worth[following]
            leaves[i] += leaves[following]
            options[i] += options[following]
        if not is_head[i] or leaves[i] == 1:
            continue
        # Shares of all options are the same; together they are worth the sum of their gains.
        if share[i] * worth[i] <= alpha * float(leaves[i] - 1) * tree.weight[0]:
            worth[i], leaves[i] = 0.0, 1
        else:
            kept[i] = int(options[i])
            worth[i] /= options[i]
    return _kept(tree, kept)


def _kept(tree: Branch, kept: Mapping[int, int]) -> Branch:
    """The tree with so many options of each of some nodes; all other nodes become leaves."""
    nodes: list[int] = []
    right: list[int] = []
    next_option: list[int] = []
    leaves: list[int] = []
    # A node, how many options from it on are kept (0: a leaf), and whose right child or next option
    # it is.
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
        value=_answers(tree, leaves),
        next_option=np.array(next_option, dtype=np.int32),
        **picked_sets(sets, tree.first_word, tree.words),
    )


def _answers(tree: Branch, nodes: list[int]) -> np.ndarray:
    """The mean answer of the rows of some nodes, from the leaves below them."""
    end = _ends(tree)
    mass = np.zeros(len(tree.value))
    is_leaf = tree.feature < 0
    mass[tree.right[is_leaf]] = tree.weight[is_leaf] * tree.leaf_shares[tree.right[is_leaf]]
    answers = np.empty((len(nodes), tree.value.shape[1]))
    for i, node in enumerate(nodes):
        if is_leaf[node]:
            answers[i] = tree.value[tree.right[node]]
            continue
        span = np.arange(node, end[node])
        below = tree.right[span[is_leaf[span]]]
        total = math.fsum(mass[below])
        parts = mass[below, np.newaxis] * tree.value[below]
        # Exact sums: how the leaves are grouped changes no bit.
        answers[i] = [math.fsum(column) / total for column in parts.T]
    return answers


def _ends(tree: Branch) -> np.ndarray:
    """Where what belongs to each node ends, the options after it included."""
    end = np.arange(1, len(tree) + 1)
    for i in range(len(tree) - 1, -1, -1):
        if tree.feature[i] >= 0:
            end[i] = end[tree.right[i]]
        if tree.next_option[i]:
            end[i] = end[tree.next_option[i]]
    return end
