"""Option trees as sums of ordinary trees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.trees import Forest, OptionForest, options_at

Nodes = NDArray[np.intp]


def without_options(tree: OptionForest) -> Forest:
    """Ordinary trees whose leaf values add up to the predictions of an option tree.

    Each tree takes one option at every option node; where another tree holds the other options of
    a branch, its leaf there is 0. Values are multiplied by the shares of the leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import OptionTreeRegressor
    >>> X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 8.0], [4.0, 5.5]])
    >>> model = OptionTreeRegressor(max_depth=1).fit(X, [1.0, 1.0, 5.0, 4.0])
    >>> forest = without_options(model.forest_)
    >>> forest.n_trees, (forest.predict(X, n_threads=1)[:, 0] == model.predict(X)).all()
    (2, np.True_)
    """
    parts = [_arrays_of(tree, nodes) for nodes in _trees_at(tree, 0)]
    return Forest(
        **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        first_node=_ends([len(part["feature"]) for part in parts]),
        first_leaf=_ends([len(part["value"]) for part in parts]),
        output=np.full(len(parts), -1, dtype=np.int32),
        tree_weight=np.ones(len(parts)),
        base_score=tree.base_score,
        n_columns=tree.n_columns,
        first_word=tree.first_word,
        words=tree.words,
    )


def _trees_at(tree: OptionForest, head: int) -> list[Nodes]:
    """The nodes of each tree below a node, in pre-order; ~node is a leaf of value 0 in its place.

    Two branches of one split are put into the same trees as far as possible.
    """
    found = []
    for option in options_at(tree, head):
        end = _end_of(tree, option)
        if not tree.next_option[option + 1 : end].any():
            found.append(np.arange(option, end))
            continue
        left, right = option + 1, int(tree.right[option])
        lefts, rights = _trees_at(tree, left), _trees_at(tree, right)
        for i in range(max(len(lefts), len(rights))):
            sides = (lefts, left), (rights, right)
            own = [part[i] if i < len(part) else np.array([~child]) for part, child in sides]
            found.append(np.concatenate([np.array([option]), *own]))
    return found


def _end_of(tree: OptionForest, node: int) -> int:
    """The end of a node's subtree, without its later options."""
    while tree.feature[node] >= 0:
        node = options_at(tree, int(tree.right[node]))[-1]
    return node + 1


def _arrays_of(tree: OptionForest, nodes: Nodes) -> dict[str, Any]:
    """The arrays of one tree, given its nodes."""
    is_zero = nodes < 0
    source = np.where(is_zero, ~nodes, nodes)
    feature = np.where(is_zero, -1, tree.feature[source]).astype(np.int32)
    is_leaf = feature < 0
    value = np.zeros((int(is_leaf.sum()), tree.value.shape[1]))
    leaves = tree.right[source[is_leaf & ~is_zero]]
    value[~is_zero[is_leaf]] = tree.value[leaves] * tree.leaf_shares[leaves, np.newaxis]
    return {
        "feature": feature,
        "threshold": np.where(is_leaf, 0.0, tree.threshold[source]),
        "right": _right_children(is_leaf),
        "missing_left": np.where(is_leaf, 0, tree.missing_left[source]).astype(np.uint8),
        "weight": tree.weight[source],
        "gain": np.where(is_leaf, 0.0, tree.gain[source]),
        "value": value,
        "category_set": np.where(is_leaf, -1, tree.category_set[source]).astype(np.int32),
    }


def _right_children(is_leaf: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The right child of each node of a tree in pre-order; of a leaf, its number."""
    right = np.zeros(len(is_leaf), dtype=np.int32)
    right[is_leaf] = np.arange(is_leaf.sum())
    waiting: list[int] = []
    for i, leaf in enumerate(is_leaf.tolist()):
        if not leaf:
            waiting.append(i)
        elif waiting and i + 1 < len(is_leaf):
            right[waiting.pop()] = i + 1
    return right


def _ends(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
