"""Trees as the attributes of ONNX's operator TreeEnsembleRegressor."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.export.additive import Additive
from weald.trees import Forest

Floats = NDArray[np.float64]

# No category has this code: the test for it is never true.
_NO_CODE = -1


@dataclass
class _Nodes:
    """Nodes of all trees, with the names of the operator's attributes."""

    nodes_treeids: list[int] = field(default_factory=list)
    nodes_nodeids: list[int] = field(default_factory=list)
    nodes_featureids: list[int] = field(default_factory=list)
    nodes_modes: list[str] = field(default_factory=list)
    nodes_truenodeids: list[int] = field(default_factory=list)
    nodes_falsenodeids: list[int] = field(default_factory=list)
    nodes_missing_value_tracks_true: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add_tree(self, tree: Forest, number: int, n_levels: list[int]) -> None:
        """Append one tree; nodes keep their numbers, further tests of a set follow."""
        is_leaf, n = tree.feature < 0, len(tree.feature)
        begin = len(self.values)
        self.nodes_treeids += [number] * n
        self.nodes_nodeids += range(n)
        self.nodes_featureids += np.where(is_leaf, 0, tree.feature).tolist()
        self.nodes_modes += np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist()
        self.nodes_truenodeids += np.where(is_leaf, 0, np.arange(1, n + 1)).tolist()
        self.nodes_falsenodeids += np.where(is_leaf, 0, tree.right).tolist()
        self.nodes_missing_value_tracks_true += tree.missing_left.tolist()
        self.values += np.where(is_leaf, 0.0, tree.threshold).tolist()
        for node in np.flatnonzero(tree.category_set >= 0).tolist():
            self._add_set(tree, number, node, begin, n_levels)

    def _add_set(
        self, tree: Forest, number: int, node: int, begin: int, n_levels: list[int]
    ) -> None:
        """Replace a split by a set of categories with a chain of tests for equality.

        The chain lists the categories of the side that missing values do not go to, so that these
        and unknown categories fail every test. All tests that succeed lead to the same node, as in
        the models that other converters make of LightGBM's sets.

        The first test is for inequality, its sides exchanged: onnxruntime merges tests for equality
        that follow each other, also those of two sets of one column if their leaves have several
        values (1.31).
        """
        column, missing_left = int(tree.feature[node]), bool(tree.missing_left[node])
        # Categories beyond the words of a set go where missing values go.
        n_bits = 64 * int(np.diff(tree.first_word)[tree.category_set[node]])
        is_left = tree.levels_left(node, min(n_levels[column], n_bits))
        codes = np.flatnonzero(is_left != missing_left).tolist() or [_NO_CODE]
        left, right = node + 1, int(tree.right[node])
        found, otherwise = (right, left) if missing_left else (left, right)
        at, mode = begin + node, "BRANCH_NEQ"
        for code in codes[:-1]:
            further = len(self.values) - begin
            self._set_test(at, mode, code, found, further)
            self.nodes_treeids.append(number)
            self.nodes_nodeids.append(further)
            self.nodes_featureids.append(column)
            self.nodes_modes.append("")
            self.nodes_truenodeids.append(0)
            self.nodes_falsenodeids.append(0)
            self.nodes_missing_value_tracks_true.append(0)
            self.values.append(0.0)
            at, mode = begin + further, "BRANCH_EQ"
        self._set_test(at, mode, codes[-1], found, otherwise)

    def _set_test(self, at: int, mode: str, code: int, found: int, otherwise: int) -> None:
        yes, no = (found, otherwise) if mode == "BRANCH_EQ" else (otherwise, found)
        self.nodes_modes[at] = mode
        self.values[at] = float(code)
        self.nodes_truenodeids[at], self.nodes_falsenodeids[at] = yes, no
        self.nodes_missing_value_tracks_true[at] = 0


def tree_attributes(
    model: Additive, dtype: np.dtype[Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Attributes of the operator: those that are tensors, and the others."""
    forest = model.forest if model.forest.n_trees else _with_a_tree(model.forest)
    n_levels = [0 if levels is None else len(levels) for levels in model.levels]
    nodes = _Nodes()
    for number in range(forest.n_trees):
        nodes.add_tree(forest.tree(number), number, n_levels)
    attributes = vars(nodes)
    thresholds = np.array(attributes.pop("values"))
    if dtype == np.float32:
        thresholds = float32_at_most(thresholds)
    scale = model.factor / model.n_averaged
    tensors = {
        "nodes_values_as_tensor": thresholds,
        "target_weights_as_tensor": forest.value.ravel() * scale,
        "base_values_as_tensor": forest.base_score * scale,
    }
    attributes |= _targets(forest)
    attributes |= {"n_targets": forest.n_outputs, "post_transform": "NONE"}
    return {name: value.astype(dtype) for name, value in tensors.items()}, attributes


def _targets(forest: Forest) -> dict[str, list[int]]:
    """Tree, node and score of each leaf value."""
    leaf = np.flatnonzero(forest.feature < 0)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.first_leaf))
    n_values = forest.value.shape[1]
    score = np.where(forest.output[tree] < 0, 0, forest.output[tree])[:, np.newaxis]
    return {
        "target_treeids": np.repeat(tree, n_values).tolist(),
        "target_nodeids": np.repeat(leaf - forest.first_node[tree], n_values).tolist(),
        "target_ids": (score + np.arange(n_values)).ravel().tolist(),
    }


def _with_a_tree(forest: Forest) -> Forest:
    """One leaf of zeros: the operator needs a tree."""
    return Forest(
        feature=np.array([-1], np.int32),
        threshold=np.zeros(1),
        right=np.zeros(1, np.int32),
        missing_left=np.zeros(1, np.uint8),
        weight=np.ones(1),
        gain=np.zeros(1),
        value=np.zeros((1, forest.n_outputs)),
        first_node=np.array([0, 1]),
        first_leaf=np.array([0, 1]),
        output=np.array([-1], np.int32),
        tree_weight=np.ones(1),
        base_score=forest.base_score,
        n_columns=forest.n_columns,
    )


def float32_at_most(numbers: Floats) -> Floats:
    """The largest float32 numbers that are not above the given ones.

    ``x <= t`` is the same for every float32 x with the rounded t.

    >>> float32_at_most(np.array([0.5, 0.1, 1e300])).tolist()
    [0.5, 0.09999999403953552, 3.4028234663852886e+38]
    """
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > numbers, below, rounded).astype(np.float64)
