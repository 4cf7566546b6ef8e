"""Forest arrays with absolute node numbers, as the exported sources hold them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald.trees import Forest

_LARGEST = 2**31 - 1


class Layout(NamedTuple):
    """Nodes of all trees, one after another; the left child of a node is the next node.

    Attributes
    ----------
    root : int [trees]
        First node of each tree.
    right : int [nodes]
        Right child; of a leaf, the place of its first value among all values.
    set_begin, set_words : int [nodes]
        Where the words of a node's set of categories begin, and how many they are; 0 words: the
        node splits at a threshold.
    """

    root: NDArray[np.int64]
    right: NDArray[np.int64]
    set_begin: NDArray[np.int64]
    set_words: NDArray[np.int64]


def layout_of(forest: Forest) -> Layout:
    """Absolute positions of nodes, values and sets of categories."""
    if max(len(forest.feature), forest.value.size, len(forest.words)) > _LARGEST:
        raise ValueError(
            f"The model has {len(forest.feature)} nodes: source text of more than {_LARGEST} nodes "
            "or values cannot be compiled. Save it with model.save instead."
        )
    n_nodes = np.diff(forest.first_node)
    node = np.repeat(forest.first_node[:-1], n_nodes)
    leaf = np.repeat(forest.first_leaf[:-1], n_nodes)
    n_values = forest.value.shape[1]
    is_leaf = forest.feature < 0
    right = np.where(is_leaf, (leaf + forest.right) * n_values, node + forest.right)
    has_set = forest.category_set >= 0
    own = np.where(has_set, forest.category_set, 0)
    if has_set.any():
        begin, words = forest.first_word[own], np.diff(forest.first_word)[own]
    else:
        begin = words = np.zeros_like(node)
    return Layout(
        forest.first_node[:-1], right, np.where(has_set, begin, 0), np.where(has_set, words, 0)
    )
