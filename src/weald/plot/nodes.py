"""One tree of a model as nodes with text, as they are drawn."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.base import TreeModel
from weald.errors import listing
from weald.number_text import number_text, signed_text
from weald.plot.thresholds import threshold_text
from weald.trees import Forest
from weald.trees.option_forest import OptionForest, options_at
from weald.trees.text import split_text

Floats = NDArray[np.float64]

# Number of nodes above which a picture cannot be read, and text is of no use.
_MOST_NODES = 2000


@dataclass(frozen=True, eq=False)
class Node:
    """A split, a leaf, a set of options, or a subtree that is not drawn.

    Attributes
    ----------
    kind : {"split", "leaf", "options", "cut"}
        What it is.
    split : str
        The split as a question, the way options are combined, or "".
    answer : str
        Prediction at this node.
    size : str
        Number of its rows, or their weight.
    weight : float
        Their weight.
    shares : float64 [classes] or None
        Class shares; None if the values are none.
    value : float or None
        The prediction, if it is one number.
    children : tuple of (str, Node)
        Label of the edge and node below.
    n_leaves : int
        Number of leaves below.
    """

    kind: str
    split: str
    answer: str
    size: str
    weight: float
    shares: Floats | None
    value: float | None
    children: tuple[tuple[str, "Node"], ...]
    n_leaves: int


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """A tree as arrays: what `Forest`, `OptionForest` and scikit-learn's trees have in common."""

    left: NDArray[Any]
    right: NDArray[Any]
    options: Callable[[int], list[int]]
    split: Callable[[int], str]
    answer: Callable[[Floats], str]
    size: Callable[[int], str]
    weight: Floats
    value: Floats  # of each node, (nodes, outputs)
    n_leaves: NDArray[Any]
    is_shares: bool
    merged_by: str


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The nodes of one tree, and the classes that their shares refer to."""

    root: Node
    classes: list[str] | None
    title: str


def nodes_of(
    model: Any,
    tree: int,
    max_depth: int,
    feature_names: Sequence[str] | None,
    class_names: Sequence[str] | None,
    asked_by: str,
    max_categories: int | None = 5,
) -> TreeNodes:
    """Find the tree of a model and make its nodes down to a depth."""
    owner, number = _tree_of(model, tree, asked_by)
    names = _names(owner, feature_names)
    classes = _classes(owner, class_names)
    arrays = _of_weald(owner, number, names, classes, max_categories)
    if arrays is None:
        arrays = _of_sklearn(owner, names, classes)
    root = _Drawn(arrays, max_depth, asked_by).at(0, 0)
    several = getattr(model, "estimators_", None) is not None or _n_trees(model) > 1
    title = f"{type(model).__name__}, tree {tree}" if several else type(model).__name__
    return TreeNodes(root, classes if arrays.is_shares else None, title)


def _tree_of(model: Any, tree: int, asked_by: str) -> tuple[Any, int]:
    """The estimator that holds the tree, and the tree's number in it."""
    model = getattr(model, "model", model) if not hasattr(model, "predict") else model
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"{asked_by} takes a fitted model of trees; got {model!r}.")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    number, n_trees = operator.index(tree), _n_trees(model)
    if n_trees == 0:
        raise TypeError(
            f"{asked_by} draws trees, and {type(model).__name__} has none. weald.distill(model, X) "
            "fits a tree to the predictions of any model."
        )
    if not 0 <= number < n_trees:
        raise ValueError(
            f"There is no tree {number}: this {type(model).__name__} has {n_trees}, numbered "
            "from 0."
        )
    if isinstance(getattr(model, "forest_", None), Forest) or hasattr(model, "tree_"):
        return model, number
    return _trees_in(model)[number], 0


def _n_trees(model: Any) -> int:
    if isinstance(getattr(model, "forest_", None), Forest):
        return int(model.forest_.n_trees)
    return 1 if hasattr(model, "tree_") else len(_trees_in(model))


def _trees_in(model: Any) -> list[Any]:
    """Base estimators that are trees."""
    estimators = np.ravel(np.asarray(getattr(model, "estimators_", []), dtype=object))
    return [one for one in estimators if hasattr(one, "tree_") or hasattr(one, "forest_")]


def _names(model: Any, given: Sequence[str] | None) -> list[str] | None:
    if given is None:
        return None
    names = [str(name) for name in given]
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names must hold {model.n_features_in_} names, one for each column of the "
            f"fit; got {len(names)}: {listing(names)}."
        )
    return names


def _classes(model: Any, given: Sequence[str] | None) -> list[str] | None:
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    if given is None:
        return [str(label) for label in np.asarray(classes).tolist()]
    if len(given) != len(classes):
        raise ValueError(
            f"class_names must hold {len(classes)} names, in the order of classes_; got "
            f"{len(given)}."
        )
    return [str(label) for label in given]


# ---- trees of weald ----


def _of_weald(
    model: Any,
    number: int,
    names: list[str] | None,
    classes: list[str] | None,
    max_categories: int | None,
) -> TreeArrays | None:
    forest = getattr(model, "forest_", None)
    if not isinstance(forest, Forest) or not isinstance(model, TreeModel):
        return None
    is_option = isinstance(forest, OptionForest)
    tree = forest if is_option or forest.n_trees == 1 else forest.tree(number)
    is_leaf = tree.feature < 0
    options = partial(options_at, tree) if isinstance(tree, OptionForest) else _no_options
    left = np.where(is_leaf, -1, np.arange(len(is_leaf)) + 1)
    right = np.where(is_leaf, -1, tree.right)
    columns = model._names_of_tree(number)
    if names is not None and columns == model._plan.names(model._column_names()):
        columns = model._plan.names(names)
    columns = [one.removesuffix(" (seconds)") for one in columns]  # a date is its moment
    levels = model._levels_of_trees()
    say = partial(threshold_text, model._plan)
    is_shares = classes is not None and tree.value.shape[1] == len(classes)
    is_shares = is_shares and bool((tree.value >= 0).all()) and model._weight_name == "weight"
    return TreeArrays(
        left=left,
        right=right,
        options=options,
        split=lambda at: split_text(tree, at, columns, levels, say, max_categories).replace(
            " <= ", " ≤ ", 1
        ),
        answer=partial(_class_text, classes or []) if is_shares else _answer(model),
        size=partial(_size_text, tree.weight, model._weight_name),
        weight=tree.weight,
        value=_inner_values(left, right, options, tree.weight, tree.value[_rows(tree)]),
        n_leaves=_leaves_below(left, right, options),
        is_shares=is_shares,
        merged_by=getattr(model, "_merged_by", ""),
    )


def _rows(tree: Forest) -> NDArray[np.intp]:
    """Row of `value` of each leaf; 0 for inner nodes."""
    return np.where(tree.feature < 0, tree.right, 0).astype(np.intp)


def _no_options(node: int) -> list[int]:
    return [node]


def _answer(model: Any) -> Callable[[Floats], str]:
    if hasattr(model, "classes_") and model._weight_name != "hessian":
        return lambda value: str(model._leaf_text(value))
    say = signed_text if model._weight_name == "hessian" else number_text
    return lambda value: ", ".join(say(one) for one in value.tolist())


def _class_text(classes: list[str], shares: Floats) -> str:
    best = int(np.argmax(shares))
    share = shares[best] / max(float(shares.sum()), 1e-300)
    return f"{classes[best]}: {_percent(float(share))}"


def _percent(share: float) -> str:
    """Format a share; 99.6 % is not 100 %.

    >>> _percent(0.996), _percent(1.0), _percent(0.5)
    ('99 %', '100 %', '50 %')
    """
    whole = round(100 * share)
    return f"{99 if whole == 100 and share < 1 else whole} %"


def _size_text(weight: Floats, name: str, node: int) -> str:
    own = float(weight[node])
    if name == "weight" and bool((weight == np.rint(weight)).all()):
        return f"{own:,.0f} {'row' if own == 1 else 'rows'}"
    return f"{name} {number_text(own)}"


def _inner_values(
    left: NDArray[Any],
    right: NDArray[Any],
    options: Callable[[int], list[int]],
    weight: Floats,
    leaf_values: Floats,
) -> Floats:
    """Values of all nodes: those of inner nodes are weighted means, of options plain ones."""
    values = np.array(leaf_values, dtype=np.float64)
    for node in np.flatnonzero(left >= 0)[::-1].tolist():
        sides = [options(int(left[node])), options(int(right[node]))]
        means = [values[side].mean(axis=0) for side in sides]
        weights = np.array([float(weight[side[0]]) for side in sides])
        share = weights / weights.sum() if weights.sum() > 0 else np.array([0.5, 0.5])
        values[node] = share[0] * means[0] + share[1] * means[1]
    return values


def _leaves_below(
    left: NDArray[Any], right: NDArray[Any], options: Callable[[int], list[int]]
) -> NDArray[np.int64]:
    counts = np.ones(len(left), dtype=np.int64)
    for node in np.flatnonzero(left >= 0)[::-1].tolist():
        below = [*options(int(left[node])), *options(int(right[node]))]
        counts[node] = counts[below].sum()
    return counts


# ---- trees of scikit-learn ----


def _of_sklearn(model: Any, names: list[str] | None, classes: list[str] | None) -> TreeArrays:
    tree = model.tree_
    if names is None:
        known = getattr(model, "feature_names_in_", None)
        names = [f"column {i}" for i in range(tree.n_features)] if known is None else list(known)
    is_shares = classes is not None and tree.n_outputs == 1
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    values = np.asarray(tree.value, dtype=np.float64)
    values = values.reshape(len(left), -1)
    counts = np.asarray(tree.n_node_samples, dtype=np.float64)
    return TreeArrays(
        left=left,
        right=right,
        options=_no_options,
        split=lambda at: f"{names[tree.feature[at]]} ≤ {number_text(tree.threshold[at], 5)}?",
        answer=partial(_class_text, classes or []) if is_shares else _numbers_text,
        size=partial(_size_text, counts, "weight"),
        weight=counts,
        value=values,
        n_leaves=_leaves_below(left, right, _no_options),
        is_shares=is_shares,
        merged_by="",
    )


def _numbers_text(value: Floats) -> str:
    return ", ".join(number_text(one) for one in value.tolist())


# ---- nodes ----


class _Drawn:
    """Makes the nodes of a tree from the root down to a depth."""

    def __init__(self, tree: TreeArrays, max_depth: int, asked_by: str) -> None:
        self._tree, self._max_depth, self._asked_by = tree, max_depth, asked_by
        self._n_made = 0

    def at(self, node: int, depth: int) -> Node:
        """The node of a position: a single one, or a set of options."""
        options = self._tree.options(node)
        if len(options) == 1:
            return self._single(node, depth)
        children = tuple(("", self._single(option, depth)) for option in options)
        return self._node(
            "options", f"{len(options)} options, {self._tree.merged_by}", options, children
        )

    def _single(self, node: int, depth: int) -> Node:
        tree = self._tree
        if tree.left[node] < 0:
            return self._node("leaf", "", [node], ())
        if depth >= self._max_depth:
            return self._node("cut", "", [node], ())
        sides = ("yes", int(tree.left[node])), ("no", int(tree.right[node]))
        children = tuple((edge, self.at(below, depth + 1)) for edge, below in sides)
        return self._node("split", tree.split(node), [node], children)

    def _node(
        self, kind: str, split: str, nodes: list[int], children: tuple[tuple[str, Node], ...]
    ) -> Node:
        self._n_made += 1
        tree = self._tree
        if self._n_made > _MOST_NODES:
            raise ValueError(
                f"{self._asked_by} draws at most {_MOST_NODES:,} nodes; this tree has "
                f"{len(tree.left):,}. Set a smaller max_depth."
            )
        value = tree.value[nodes].mean(axis=0)
        return Node(
            kind=kind,
            split=split,
            answer=tree.answer(value),
            size=tree.size(nodes[0]),
            weight=float(tree.weight[nodes[0]]),
            shares=value / max(float(value.sum()), 1e-300) if tree.is_shares else None,
            value=float(value[0]) if len(value) == 1 else None,
            children=children,
            n_leaves=int(tree.n_leaves[nodes].sum()),
        )
