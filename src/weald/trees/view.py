"""A read-only view of a tree with scikit-learn's attributes, and decision paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.cached import cached_property
from weald.data import dense_blocks
from weald.threads import thread_count
from weald.trees.cutting import gains_below
from weald.trees.forest import Forest
from weald.trees.frozen import frozen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeafFacts:
    """Leaf statistics that are not stored in the tree's arrays.

    Attributes
    ----------
    impurity : float64 [leaves] or None
        Impurity of each leaf; None if it follows from class probabilities.
    samples : int64 [leaves]
        Number of rows in each leaf.
    exponent : int
        Impurities and gains are divided by 2**exponent.
    """

    impurity: Floats | None
    samples: Ints
    exponent: int


@dataclass(frozen=True, eq=False)
class TreeView:
    """The arrays of scikit-learn's ``tree_``, computed from one tree of a `Forest` on access.

    Nodes are numbered in pre-order, as in scikit-learn. `value` holds class probabilities or means
    (for absolute error, means of the leaf medians); `weighted_n_node_samples` is the weight of the
    in-bag rows, and so is `n_node_samples` for trees of an ensemble: it is not available where
    these weights are no whole numbers. `gain`, the gain of each split, is an addition to
    scikit-learn's attributes. A tree that splits a categorical column into two
    sets has no `threshold`. The methods take the columns that the tree splits on, as numbers, in an
    array or a sparse table.

    Examples
    --------
    >>> from weald import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0]).tree_
    >>> tree.children_left.tolist(), tree.feature.tolist(), tree.value[:, 0, 0].tolist()
    ([1, -1, -1], [0, -2, -2], [15.0, 10.0, 20.0])
    """

    forest: Forest
    number: int = 0
    widths: tuple[int, ...] | None = None  # values per output; None for one output
    criterion: str = "gini"
    facts: LeafFacts | None = None
    unit: int = 0  # gains per unit weight are divided by 2**unit

    @cached_property
    def _tree(self) -> Forest:
        return self.forest.tree(self.number) if self.forest.n_trees > 1 else self.forest

    @property
    def _is_leaf(self) -> NDArray[np.bool_]:
        return self._tree.feature < 0

    @property
    def node_count(self) -> int:
        return len(self._tree.feature)

    @property
    def n_leaves(self) -> int:
        return len(self._tree.value)

    @property
    def n_features(self) -> int:
        return self._tree.n_columns

    @property
    def n_outputs(self) -> int:
        return len(self.widths or (1,))

    @property
    def max_depth(self) -> int:
        return int(depths(self._tree).max())

    @property
    def children_left(self) -> Ints:
        return frozen(np.where(self._is_leaf, -1, np.arange(self.node_count) + 1))

    @property
    def children_right(self) -> Ints:
        return frozen(np.where(self._is_leaf, -1, self._tree.right).astype(np.int64))

    @property
    def feature(self) -> Ints:
        return frozen(np.where(self._is_leaf, -2, self._tree.feature).astype(np.int64))

    @property
    def threshold(self) -> Floats:
        self._refuse_sets("threshold")
        return frozen(np.where(self._is_leaf, -2.0, self._tree.threshold))

    @property
    def missing_go_to_left(self) -> NDArray[np.uint8]:
        return self._tree.missing_left

    @property
    def weighted_n_node_samples(self) -> Floats:
        return self._tree.weight

    @property
    def n_node_samples(self) -> Ints:
        if self.facts is None:
            weight = self._tree.weight
            counts = np.rint(weight).astype(np.int64)
            if np.abs(weight - counts).max() > 2**-20:
                raise AttributeError(
                    "tree_.n_node_samples is not available: the rows of this tree had weights, and "
                    "their numbers are not stored. Use tree_.weighted_n_node_samples, or draw the "
                    "tree with text() or weald.plot.tree."
                )
            return frozen(counts)
        return frozen(self._from_leaves(self.facts.samples, np.zeros(self.node_count, np.int64)))

    @property
    def n_classes(self) -> Ints:
        return frozen(np.array(self.widths or (self._tree.value.shape[1],), dtype=np.int64))

    @property
    def max_n_classes(self) -> int:
        return int(self.n_classes.max())

    @property
    def impurity(self) -> Floats:
        """Impurity of each node by the criterion."""
        tree, facts = self._tree, self.facts
        if facts is not None and facts.impurity is not None:
            own = facts.impurity * tree.weight[self._is_leaf]
            whole = self._from_leaves(own, tree.gain) / tree.weight
            return frozen(np.ldexp(whole, facts.exponent))
        if self.criterion in ("squared_error", "friedman_mse", "absolute_error", "poisson"):
            return frozen(np.ldexp(gains_below(tree) / tree.weight, self.unit))
        widths = self.widths or (tree.value.shape[1],)
        each = [
            class_impurity(self.criterion, self.value[:, k, :width])
            for k, width in enumerate(widths)
        ]
        return frozen(np.mean(each, axis=0))

    def _from_leaves(self, of_leaf: NDArray[Any], of_node: NDArray[Any]) -> NDArray[Any]:
        """Sum values of the leaves and inner nodes of each subtree."""
        tree = self._tree
        sums = np.where(self._is_leaf, 0, of_node).astype(of_leaf.dtype)
        sums[self._is_leaf] = of_leaf
        for node in np.flatnonzero(~self._is_leaf)[::-1]:
            sums[node] += sums[node + 1] + sums[tree.right[node]]
        return sums

    @property
    def gain(self) -> Floats:
        return frozen(np.where(self._is_leaf, 0.0, self._tree.gain))

    @cached_property
    def value(self) -> NDArray[Any]:
        """Values of all nodes; those of inner nodes are weighted means of their children."""
        tree = self._tree
        values = np.zeros((self.node_count, 1, tree.value.shape[1]))
        for node in range(self.node_count - 1, -1, -1):
            right = tree.right[node]
            if tree.feature[node] < 0:
                values[node, 0] = tree.value[right]
                continue
            left_weight, right_weight = tree.weight[node + 1], tree.weight[right]
            total = left_weight + right_weight
            values[node] = (values[node + 1] * left_weight + values[right] * right_weight) / total
        if self.n_outputs > 1:
            values = _by_output(values[:, 0], self.widths or ())
        return frozen(values)

    # ---- methods ----

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the node of the leaf that each row reaches.

        >>> from weald import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0]).tree_
        >>> tree.apply(np.array([[3.0], [0.0]])).tolist()
        [2, 1]
        """
        return nodes_of_leaves(self._tree, self._leaves(X))[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the value of the leaf of each row; without the axis of outputs if there is one."""
        values = self.value[self.apply(X)]
        return values[:, 0] if self.n_outputs == 1 else values

    def decision_path(self, X: Any) -> Any:
        """Return the nodes each row passes through: a sparse matrix of shape (rows, nodes)."""
        return decision_paths(self._tree, self._leaves(X))[0]

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Sum the impurity decreases of each column, weighted by the share of rows of the node.

        Parameters
        ----------
        normalize : bool, default=True
            Whether to divide by their total.
        """
        inner = ~self._is_leaf
        gains = np.ldexp(self._tree.gain[inner], self._gain_exponent) / self._tree.weight[0]
        sums = np.bincount(self._tree.feature[inner], gains, self.n_features)
        total = sums.sum() if normalize and sums.sum() > 0 else 1.0
        return np.asarray(sums / total, dtype=np.float64)

    @property
    def _gain_exponent(self) -> int:
        return self.unit if self.facts is None else self.facts.exponent

    def _leaves(self, X: Any) -> NDArray[np.int32]:
        table = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        n_threads = thread_count(None)
        parts = [self._tree.apply(part, n_threads=n_threads) for part in dense_blocks(table)]
        return np.concatenate(parts)

    def _refuse_sets(self, what: str) -> None:
        with_set = np.flatnonzero(self._tree.category_set >= 0)
        if with_set.size:
            raise ValueError(
                f"tree_.{what} is not available: node {with_set[0]} splits the categorical column "
                f"{self._tree.feature[with_set[0]]} into two sets of categories. Draw the tree "
                "with text() or weald.plot.tree, or use trees_to_frame() or forest_."
            )


def _by_output(values: Floats, widths: tuple[int, ...]) -> Floats:
    """Reshape values to (nodes, outputs, maximum width), padded with 0."""
    filled, begin = np.zeros((len(values), len(widths), max(widths))), 0
    for k, width in enumerate(widths):
        filled[:, k, :width] = values[:, begin : begin + width]
        begin += width
    return filled


def class_impurity(criterion: str, sums: Floats) -> Floats:
    """Gini impurity, entropy or misclassification error of each node, given the class weights.

    >>> class_impurity("gini", np.array([[3.0, 3.0], [2.0, 0.0]])).tolist()
    [0.5, 0.0]
    """
    shares = sums / sums.sum(axis=1, keepdims=True)
    if criterion == "gini":
        return np.asarray(1.0 - (shares**2).sum(axis=1))
    if criterion == "error":
        return np.asarray(1.0 - shares.max(axis=1))
    logs = np.log2(np.where(shares > 0, shares, 1.0))
    return np.asarray(0.0 - (shares * logs).sum(axis=1))


def depths(forest: Forest) -> Ints:
    """Return the depth of each node of each tree."""
    depth = np.zeros(len(forest.feature), dtype=np.int64)
    inner = np.flatnonzero(forest.feature >= 0)
    begin = np.repeat(forest.first_node[:-1], np.diff(forest.first_node))
    # Parents come before their children.
    for node, right in zip(inner.tolist(), (begin + forest.right)[inner].tolist(), strict=True):
        depth[node + 1] = depth[right] = depth[node] + 1
    return depth


def nodes_of_leaves(forest: Forest, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """Convert leaf numbers of shape (rows, trees), as `Forest.apply` returns them, to nodes.

    Nodes are numbered within their tree, in pre-order.
    """
    begin = np.repeat(forest.first_node[:-1], np.diff(forest.first_leaf))
    nodes = (np.flatnonzero(forest.feature < 0) - begin).astype(np.int32)
    return np.asarray(nodes[leaves + forest.first_leaf[:-1]])


def decision_paths(forest: Forest, leaves: NDArray[np.int32]) -> tuple[Any, Ints]:
    """Return the node indicator matrix of rows, and the column offset of each tree.

    Parameters
    ----------
    forest : Forest
        The trees.
    leaves : int32 [rows, trees]
        Leaf of every row in each tree, as returned by `Forest.apply`.
    """
    from scipy.sparse import csr_matrix

    length = np.zeros(leaves.shape, dtype=np.int64)
    for number in range(forest.n_trees):
        for alive, _ in _upwards(forest.tree(number), leaves[:, number]):
            length[alive, number] += 1
    # Entries are ordered by row, then by tree, then from the root down.
    end = np.cumsum(length.ravel()).reshape(leaves.shape)
    n_passed, n_nodes = int(end[-1, -1]), len(forest.feature)
    kind: Any = np.int32 if max(n_passed, n_nodes) < 2**31 else np.int64
    passed = np.empty(n_passed, dtype=kind)
    for number in range(forest.n_trees):
        place = end[:, number].copy()
        for alive, node in _upwards(forest.tree(number), leaves[:, number]):
            place[alive] -= 1
            passed[place[alive]] = forest.first_node[number] + node
    begin = np.append(0, end[:, -1]).astype(kind)
    ones = np.ones(n_passed, dtype=np.int64)
    return csr_matrix((ones, passed, begin), shape=(len(leaves), n_nodes)), forest.first_node


def _upwards(tree: Forest, leaves: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.intp], Ints]]:
    """Yield the nodes on the paths from the leaves to the root, with the rows still on a path."""
    inner = np.flatnonzero(tree.feature >= 0)
    parent = np.full(len(tree.feature), -1, dtype=np.int64)
    parent[inner + 1] = parent[tree.right[inner]] = inner
    alive, node = np.arange(len(leaves)), np.flatnonzero(tree.feature < 0)[leaves]
    while len(alive):
        yield alive, node
        node = parent[node]
        alive, node = alive[node >= 0], node[node >= 0]
