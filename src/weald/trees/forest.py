"""The tree model: any number of trees as flat arrays."""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.checked_state import CheckedState, refuse_nan
from weald.trees.compact import compact, difference, expanded, with_difference
from weald.trees.frozen import freeze_all
from weald.trees.growing import GrownTree, GrownTrees

Floats = NDArray[np.float64]

_OF_NODES = ("feature", "threshold", "right", "missing_left", "weight", "gain")


# Weight units with larger binary exponents are split, so that products do not overflow.
_MODERATE = 200


def unit_parts(unit: float) -> tuple[float, int]:
    """Split a weight unit into a factor for gains and a binary exponent (0 unless extreme).

    >>> unit_parts(20.5), unit_parts(2.0**900)
    ((20.5, 0), (0.5, 901))
    """
    mantissa, exponent = math.frexp(unit)
    return (unit, 0) if abs(exponent) <= _MODERATE else (mantissa, exponent)


# The core needs memory for each column, so a state that claims more columns than this is not proven
# alone, but with the columns of its model.
_COLUMNS_ALONE = 2**16


@dataclass(frozen=True, eq=False)
class Forest(CheckedState):
    """Concatenated trees, each in pre-order: the left child of a node is the next node.

    Attributes
    ----------
    feature : int32 [nodes]
        Column that an inner node splits on; -1 for a leaf.
    threshold : float64 [nodes]
        Values <= threshold go left.
    right : int32 [nodes]
        Right child, relative to the tree's first node; for a leaf its row of `value`, relative to
        the tree's first leaf.
    missing_left : uint8 [nodes]
        Whether missing values go left.
    weight, gain : float64 [nodes]
        Total weight of the node's rows, and gain of its split; not used for predictions. For
        leaves, the gain is the remaining impurity times the weight (regression forests), or the
        total gain of the pruned subtree, if known.
    value : float64 [leaves, values]
        Leaf values.
    first_node, first_leaf : int64 [trees + 1]
        Offset of each tree, and the total.
    output : int32 [trees]
        Output that a tree contributes to; -1 if its leaves have values for all outputs.
    tree_weight : float64 [trees]
        Factor of a tree's leaf values.
    base_score : float64 [outputs]
        Initial score of every row.
    n_columns : int
        Number of columns.
    category_set : int32 [nodes]
        Set of categories that go left, for categorical splits; -1 for splits by threshold. Unknown
        categories go where missing values go.
    first_word : int64 [sets + 1]
        Offset of each set in `words`, and the total.
    words : uint64
        Bitsets with one bit per category.
    saw_missing : uint8 [columns] or None
        Whether a column had missing values in training, if known; used for display only.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    weight: Floats
    gain: Floats
    value: Floats
    first_node: NDArray[np.int64]
    first_leaf: NDArray[np.int64]
    output: NDArray[np.int32]
    tree_weight: Floats
    base_score: Floats
    n_columns: int
    category_set: NDArray[np.int32] = None  # type: ignore[assignment]  # set in __post_init__
    first_word: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    words: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    saw_missing: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        if self.category_set is None:
            object.__setattr__(self, "category_set", no_sets(len(self.feature))["category_set"])
        freeze_all(self)

    @property
    def n_trees(self) -> int:
        return len(self.output)

    @property
    def n_outputs(self) -> int:
        return len(self.base_score)

    def __len__(self) -> int:
        return self.n_trees

    def __repr__(self) -> str:
        leaves, trees = self.first_leaf[-1], self.n_trees
        return f"<Forest: {trees} trees, {leaves} leaves, {self.n_outputs} outputs>"

    def fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that affect predictions, for `weald.persist.fingerprint`."""
        unused = {"weight", "gain", "n_columns", "saw_missing"}
        if len(self.first_word) == 1:
            unused |= {"category_set", "first_word", "words"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in unused}

    def predict(self, table: NDArray[Any], *, n_threads: int) -> Floats:
        """Return scores of shape (rows, outputs): base score plus all trees, added in order."""
        return self._predictor.predict(table, n_threads)

    def answer(self, rows: NDArray[Any], *, loss: str, n_threads: int) -> Floats:
        """Return predictions for a batch, or for one row (1-D), after the link function of `loss`.

        An empty `loss` returns raw scores.
        """
        return self._predictor.answer(rows, loss, n_threads)

    def apply(self, table: NDArray[Any], *, n_threads: int) -> NDArray[np.int32]:
        """Return the leaf index of each row in every tree."""
        return self._predictor.apply(table, n_threads)

    def tree(self, number: int) -> "Forest":
        """Return one tree as a forest; arrays are views."""
        nodes = slice(self.first_node[number], self.first_node[number + 1])
        leaves = slice(self.first_leaf[number], self.first_leaf[number + 1])
        of_nodes: dict[str, Any] = {name: getattr(self, name)[nodes] for name in _OF_NODES}
        return replace(
            self,
            **of_nodes,
            value=self.value[leaves],
            first_node=np.array([0, nodes.stop - nodes.start]),
            first_leaf=np.array([0, leaves.stop - leaves.start]),
            output=self.output[number : number + 1],
            tree_weight=self.tree_weight[number : number + 1],
            **picked_sets(self.category_set[nodes], self.first_word, self.words),
        )

    def part(self, first: int, end: int) -> "Forest":
        """Return the trees `first` to `end` - 1."""
        if (first, end) == (0, self.n_trees):
            return self
        nodes = slice(self.first_node[first], self.first_node[end])
        leaves = slice(self.first_leaf[first], self.first_leaf[end])
        of_nodes: dict[str, Any] = {name: getattr(self, name)[nodes] for name in _OF_NODES}
        return replace(
            self,
            **of_nodes,
            **picked_sets(self.category_set[nodes], self.first_word, self.words),
            value=self.value[leaves],
            first_node=self.first_node[first : end + 1] - nodes.start,
            first_leaf=self.first_leaf[first : end + 1] - leaves.start,
            output=self.output[first:end],
            tree_weight=self.tree_weight[first:end],
        )

    def picked(self, trees: NDArray[np.intp]) -> "Forest":
        """The trees of these indices, in this order."""
        nodes, leaves = self.nodes_of(trees), self.leaves_of(trees)
        of_nodes: dict[str, Any] = {name: getattr(self, name)[nodes] for name in _OF_NODES}
        return replace(
            self,
            **of_nodes,
            **picked_sets(self.category_set[nodes], self.first_word, self.words),
            value=self.value[leaves],
            first_node=_ends(np.diff(self.first_node)[trees]),
            first_leaf=_ends(np.diff(self.first_leaf)[trees]),
            output=self.output[trees],
            tree_weight=self.tree_weight[trees],
        )

    def nodes_of(self, trees: NDArray[np.intp]) -> NDArray[np.intp]:
        """Indices of the nodes of some trees, tree after tree."""
        return _ranges(self.first_node[trees], np.diff(self.first_node)[trees])

    def leaves_of(self, trees: NDArray[np.intp]) -> NDArray[np.intp]:
        """Indices of the leaves (rows of `value`) of some trees, tree after tree."""
        return _ranges(self.first_leaf[trees], np.diff(self.first_leaf)[trees])

    def trees_a_round(self, n_scores: int) -> int:
        """Number of trees per boosting round: one per score, or one for all scores."""
        return 1 if self.n_trees and self.output[0] < 0 else n_scores

    def joined(self, other: "Forest") -> "Forest":
        """Append the trees of another forest with the same columns and base scores."""
        arrays = (*_OF_NODES, "value", "output", "tree_weight", "words")
        both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in arrays
        }
        sets, n_sets = other.category_set, len(self.first_word) - 1
        appended = np.where(sets < 0, -1, sets + n_sets).astype(np.int32)
        return replace(
            self,
            **both,
            first_node=np.append(self.first_node, self.first_node[-1] + other.first_node[1:]),
            first_leaf=np.append(self.first_leaf, self.first_leaf[-1] + other.first_leaf[1:]),
            category_set=np.concatenate([self.category_set, appended]),
            first_word=np.append(self.first_word, self.first_word[-1] + other.first_word[1:]),
        )

    def scaled(self, target_exponent: int, weight_unit: float) -> "Forest":
        """Rescale to targets multiplied by a power of two and weights multiplied by a factor.

        Gains are multiplied by the factor too, or by its mantissa if it is extreme.
        """
        forest = self
        if target_exponent:
            forest = replace(
                forest,
                value=np.ldexp(self.value, target_exponent),
                base_score=np.ldexp(self.base_score, target_exponent),
            )
        if weight_unit != 1.0:
            with np.errstate(over="ignore"):  # sums of extreme weights may be infinite
                weight = self.weight * weight_unit
            forest = replace(forest, weight=weight, gain=self.gain * unit_parts(weight_unit)[0])
        return forest

    def with_gains_scaled(self, exponent: int) -> "Forest":
        """Multiply gains by 2**exponent."""
        return replace(self, gain=np.ldexp(self.gain, exponent)) if exponent else self

    def with_mean_gains(self, n_outputs: int) -> "Forest":
        """Convert gains from sums to means over the outputs."""
        return self if n_outputs == 1 else replace(self, gain=self.gain / n_outputs)

    def gain_of_trees(self) -> Floats:
        """Total gain by tree and column."""
        inner = self.feature >= 0
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.first_node))[inner]
        cell = tree * self.n_columns + self.feature[inner]
        gains = np.bincount(cell, weights=self.gain[inner], minlength=self.n_trees * self.n_columns)
        return gains.astype(np.float64).reshape(self.n_trees, self.n_columns)

    def sums_of_columns(self, by: str) -> Floats:
        """Total gain, cover (weight of the rows) or count of the splits on each column."""
        inner = self.feature >= 0
        what = {"gain": self.gain, "cover": self.weight, "count": None}[by]
        return np.bincount(
            self.feature[inner],
            weights=None if what is None else what[inner],
            minlength=self.n_columns,
        ).astype(np.float64)

    def gain_of_columns(self) -> Floats:
        """Total gain of the splits on each column, over all trees."""
        return self.sums_of_columns("gain")

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """Minimum and maximum leaf value, which bound the mean of trees."""
        return float(self.value.min()), float(self.value.max())

    def prove_sound(self) -> None:
        """Validate arrays from external sources; raises an error if they are corrupt."""
        if len(self.weight) != len(self.feature) or len(self.gain) != len(self.feature):
            raise ValueError("weight and gain must have one entry per node")
        if self.saw_missing is not None and self.saw_missing.shape != (self.n_columns,):
            raise ValueError("saw_missing must have one entry per column")
        refuse_nan(value=self.value, base_score=self.base_score, tree_weight=self.tree_weight)
        if self.n_columns <= _COLUMNS_ALONE:
            self._predictor  # noqa: B018  # its constructor validates

    @cached_property
    def _predictor(self) -> "_native.Predictor":
        # The core validates the arrays once, so that traversal needs no bounds checks.
        return _native.Predictor(**self.native_arrays())

    def native_arrays(self) -> dict[str, Any]:
        """Return the arrays that the core's predictors need."""
        unused = {"weight", "gain", "saw_missing"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in unused}

    def levels_left(self, node: int, n_levels: int) -> NDArray[np.bool_]:
        """Return the mask of categories that go left at a categorical split.

        Sets of imported models may have fewer words than the column has categories; those beyond
        the last word are not in the set.
        """
        set_ = self.category_set[node]
        words = self.words[self.first_word[set_] : self.first_word[set_ + 1]]
        n_missing = max(0, -(-n_levels // 64) - len(words))
        words = np.append(words, np.zeros(n_missing, dtype=np.uint64))
        level = np.arange(n_levels, dtype=np.uint64)
        bits = words[level // np.uint64(64)] >> (level % np.uint64(64))
        is_left: NDArray[np.bool_] = (bits & np.uint64(1)).astype(bool)
        return is_left

    def beyond(self, other: "Forest") -> dict[str, Any]:
        """What differs from another forest, for `other.with_difference`."""
        return difference(self._fields(), other._fields())

    def with_difference(self, different: dict[str, Any]) -> "Forest":
        """The forest whose `beyond(self)` is given; equal arrays are shared."""
        whole = with_difference(self._fields(), different)
        return Forest(**whole) if different else self

    def _fields(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return compact(self._fields())

    def _fields_of(self, state: dict[str, Any]) -> dict[str, Any]:
        return expanded(state)


def mean_shares(gains: Floats) -> Floats:
    """Normalised gains of the columns (second axis) of each tree, averaged over the trees.

    Trees without splits are ignored. The result sums to 1, or is 0 if no tree has splits.

    >>> mean_shares(np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 2.0]])).tolist()
    [0.375, 0.625]
    """
    totals = gains.sum(axis=1, keepdims=True)
    is_split = totals[:, 0] > 0
    if not is_split.any():
        return np.zeros(gains.shape[1])
    shares = (gains[is_split] / totals[is_split]).mean(axis=0)
    return np.asarray(shares / shares.sum())


def picked_sets(
    category_set: NDArray[np.int32], first_word: NDArray[np.int64], words: NDArray[np.uint64]
) -> dict[str, Any]:
    """Select the category sets used by some nodes, renumbered in the order of the nodes.

    >>> words = np.array([1, 2, 3], dtype=np.uint64)
    >>> picked = picked_sets(np.array([-1, 1], dtype=np.int32), np.array([0, 1, 3]), words)
    >>> [picked[name].tolist() for name in ("category_set", "first_word", "words")]
    [[-1, 0], [0, 2], [2, 3]]
    """
    has_set = category_set >= 0
    if not has_set.any():
        return no_sets(len(category_set))
    used = category_set[has_set]
    renumbered = np.full(len(category_set), -1, dtype=np.int32)
    renumbered[has_set] = np.arange(len(used), dtype=np.int32)
    begins = first_word[used]
    sizes = first_word[used + 1] - begins
    return {
        "category_set": renumbered,
        "first_word": _ends(sizes),
        "words": words[_ranges(begins, sizes)],
    }


def no_sets(n_nodes: int) -> dict[str, Any]:
    """The arrays of category sets of nodes that have none."""
    return {
        # A broadcast scalar: a real array would be a tenth of the model's size.
        "category_set": np.broadcast_to(np.int32(-1), n_nodes),
        "first_word": np.zeros(1, dtype=np.int64),
        "words": np.zeros(0, dtype=np.uint64),
    }


class ForestBuilder:
    """Collects grown trees and concatenates them to a Forest."""

    def __init__(self, base_score: Floats, n_columns: int) -> None:
        self._base_score = base_score
        self._n_columns = n_columns
        self._parts: list[GrownTree | GrownTrees] = []
        self._outputs: list[int] = []

    def __len__(self) -> int:
        return len(self._outputs)

    def rounds(self, n_scores: int) -> int:
        """Number of complete boosting rounds."""
        return len(self) if self._outputs[:1] == [-1] else len(self) // n_scores

    def add(self, tree: GrownTree, *, output: int) -> None:
        """Add a tree for score `output`, or for all scores if -1."""
        self._parts.append(tree)
        self._outputs.append(output)

    def add_round(self, trees: GrownTrees) -> None:
        """Add one tree per score."""
        self._parts.append(trees)
        self._outputs.extend(range(len(trees)))

    def build(self) -> Forest:
        """Concatenate the trees."""
        arrays = self._joined()
        if len(arrays["first_word"]) == 1:
            arrays |= no_sets(len(arrays["feature"]))
        return Forest(
            **arrays,
            output=np.array(self._outputs, dtype=np.int32),
            tree_weight=np.ones(len(self)),
            base_score=self._base_score,
            n_columns=self._n_columns,
            saw_missing=self._parts[0].saw_missing if self._parts else None,
        )

    def _joined(self) -> dict[str, Any]:
        """Concatenate the arrays of all trees, in the core if it holds all of them."""
        kept = [part.kept for part in self._parts if isinstance(part, GrownTrees)]
        if kept and len(kept) == len(self._parts):
            return _native.join_trees(kept)
        trees = [
            tree
            for part in self._parts
            for tree in (part if isinstance(part, GrownTrees) else (part,))
        ]
        if kept:
            self._parts = [*trees]  # cached for repeated builds
        return _joined_trees(trees)


def _joined_trees(trees: list[GrownTree]) -> dict[str, Any]:
    first_node = _ends([len(tree.feature) for tree in trees])
    first_set = _ends([len(tree.first_word) - 1 for tree in trees])
    first_word = _ends([len(tree.words) for tree in trees])
    return {
        "feature": _joined([tree.feature for tree in trees], np.int32),
        "threshold": _joined([tree.threshold for tree in trees], np.float64),
        "right": _joined([tree.right for tree in trees], np.int32),
        "missing_left": _joined([tree.missing_left for tree in trees], np.uint8),
        "weight": _joined([tree.weight for tree in trees], np.float64),
        "gain": _joined([tree.gain for tree in trees], np.float64),
        "value": np.concatenate([tree.value for tree in trees]) if trees else np.zeros((0, 1)),
        "first_node": first_node,
        "first_leaf": _ends([len(tree.value) for tree in trees]),
        "category_set": _offset_sets(
            _joined([tree.category_set for tree in trees], np.int32), first_set, first_node
        ),
        "first_word": np.append(
            _joined([tree.first_word[:-1] for tree in trees], np.int64)
            + np.repeat(first_word[:-1], np.diff(first_set)),
            first_word[-1],
        ),
        "words": _joined([tree.words for tree in trees], np.uint64),
    }


def _offset_sets(
    category_set: NDArray[np.int32], first_set: NDArray[np.int64], first_node: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Offset the set numbers of each tree by the sets of earlier trees; -1 is kept."""
    if first_set[-1] == 0:
        return category_set
    before = np.repeat(first_set[:-1], np.diff(first_node)).astype(np.int32)
    return np.where(category_set < 0, np.int32(-1), category_set + before)


def _joined(arrays: list[Any], dtype: Any) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


def _ranges(begins: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.intp]:
    """The numbers from each begin on, as many as its size says.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shift = begins - (np.cumsum(sizes) - sizes)
    return np.asarray(np.arange(sizes.sum()) + np.repeat(shift, sizes), dtype=np.intp)


def _ends(sizes: "list[int] | NDArray[np.int64]") -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
