"""Option trees as flat arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.trees.forest import Forest, unit_parts
from weald.trees.growing import GrownTree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Branch:
    """A subtree of an option tree under construction, with arrays as in `OptionForest`.

    Indices of nodes, leaves and sets are relative to the branch.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_set: NDArray[np.int32]
    first_word: NDArray[np.int64]
    words: NDArray[np.uint64]
    weight: Floats
    gain: Floats
    value: Floats
    next_option: NDArray[np.int32]

    @classmethod
    def of(cls, tree: GrownTree) -> "Branch":
        """Convert a tree without options."""
        arrays: dict[str, Any] = {f.name: getattr(tree, f.name, None) for f in fields(cls)}
        arrays["next_option"] = np.zeros(len(tree.feature), dtype=np.int32)
        return cls(**arrays)

    def __len__(self) -> int:
        return len(self.feature)

    def test(self) -> "Branch":
        """Return the root split only, without its children."""
        set_ = int(self.category_set[0])
        span = slice(*self.first_word[set_ : set_ + 2]) if set_ >= 0 else slice(0)
        return Branch(
            feature=self.feature[:1],
            threshold=self.threshold[:1],
            right=np.zeros(1, dtype=np.int32),
            missing_left=self.missing_left[:1],
            category_set=np.minimum(self.category_set[:1], 0),
            first_word=np.array([0, span.stop - span.start] if set_ >= 0 else [0], dtype=np.int64),
            words=self.words[span],
            weight=self.weight[:1],
            gain=self.gain[:1],
            value=self.value[:0],
            next_option=np.zeros(1, dtype=np.int32),
        )

    @cached_property
    def leaf_shares(self) -> Floats:
        """Weight of each leaf in the predictions of the rows that reach it."""
        unused = {"weight", "gain"}
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in unused}
        n_columns = int(self.feature.max()) + 1 if self.feature.max() >= 0 else 1
        return _native.OptionPredictor(**arrays, n_columns=n_columns).leaf_shares()

    def scaled(self, target_exponent: int, weight_unit: float) -> "Branch":
        """Rescale to targets multiplied by a power of two and weights by a factor."""
        with np.errstate(over="ignore"):  # sums of extreme weights may be infinite
            weight = self.weight * weight_unit
        gain = self.gain * unit_parts(weight_unit)[0]
        value = np.ldexp(self.value, target_exponent)
        return replace(self, weight=weight, gain=gain, value=value)


def below(test: Branch, left: Branch, right: Branch) -> Branch:
    """Attach two subtrees to a split."""
    whole = _joined([test, left, right])
    whole.right[0] = 1 + len(left)
    return whole


def beside(options: Sequence[Branch]) -> Branch:
    """Combine subtrees as options of one node."""
    whole = _joined(options)
    firsts = np.cumsum([len(option) for option in options])
    heads = [0, *firsts[:-1]]
    whole.next_option[heads[:-1]] = heads[1:]
    return whole


def _joined(parts: Sequence[Branch]) -> Branch:
    """Concatenate branches, adjusting their indices."""
    nodes = _begins([len(part) for part in parts])
    leaves = _begins([len(part.value) for part in parts])
    sets = _begins([len(part.first_word) - 1 for part in parts])
    words = _begins([len(part.words) for part in parts])

    right = [
        part.right + np.where(part.feature >= 0, node, leaf).astype(np.int32)
        for part, node, leaf in zip(parts, nodes, leaves, strict=True)
    ]
    category_set = [
        np.where(part.category_set < 0, -1, part.category_set + first)
        for part, first in zip(parts, sets, strict=True)
    ]
    next_option = [
        np.where(part.next_option == 0, 0, part.next_option + node)
        for part, node in zip(parts, nodes, strict=True)
    ]
    first_word = [part.first_word[:-1] + word for part, word in zip(parts, words, strict=True)]
    last = words[-1] + len(parts[-1].words)
    plain = ("feature", "threshold", "missing_left", "words", "weight", "gain", "value")
    return Branch(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in plain},
        right=np.concatenate(right),
        category_set=np.concatenate(category_set).astype(np.int32),
        first_word=np.concatenate([*first_word, [last]]).astype(np.int64),
        next_option=np.concatenate(next_option).astype(np.int32),
    )


def _begins(sizes: list[int]) -> list[int]:
    return [0, *np.cumsum(sizes[:-1]).tolist()]


@dataclass(frozen=True, eq=False)
class OptionForest(Forest):
    """One option tree: nodes may have several splits (options), and a row follows all of them.

    The arrays are those of `Forest`, for one tree, and `next_option`. Options of a node are stored
    one after another, each followed by its subtree. The share of a leaf is 1 divided by the numbers
    of options at all nodes on its path. The prediction for a row is the sum of share times value
    over the leaves it reaches.

    Attributes
    ----------
    next_option : int32 [nodes]
        Index of the next option of the same node; 0 if there is none.
    """

    next_option: NDArray[np.int32] = None  # type: ignore[assignment]  # always given

    @classmethod
    def of(
        cls, branch: Branch, n_columns: int, saw_missing: NDArray[np.uint8] | None
    ) -> "OptionForest":
        arrays: dict[str, Any] = {f.name: getattr(branch, f.name) for f in fields(branch)}
        return cls(
            **arrays,
            first_node=np.array([0, len(branch)]),
            first_leaf=np.array([0, len(branch.value)]),
            output=np.array([-1], dtype=np.int32),
            tree_weight=np.ones(1),
            base_score=np.zeros(branch.value.shape[1]),
            n_columns=n_columns,
            saw_missing=saw_missing,
        )

    def branch(self) -> Branch:
        """Return writeable copies of the arrays."""
        return Branch(**{f.name: getattr(self, f.name).copy() for f in fields(Branch)})

    def __repr__(self) -> str:
        options = int((self.next_option > 0).sum())
        return f"<OptionForest: {len(self.value)} leaves, {options} additional options>"

    def prove_sound(self) -> None:
        """Validate arrays from external sources; raises an error if they are corrupt."""
        ends = [self.first_node.tolist(), self.first_leaf.tolist(), self.output.tolist()]
        if ends != [[0, len(self.feature)], [0, len(self.value)], [-1]]:
            raise ValueError("an option tree is one tree with values of all outputs")
        if self.tree_weight.shape != (1,) or self.base_score.shape != self.value.shape[1:]:
            raise ValueError("tree_weight and base_score do not fit the leaf values")
        super().prove_sound()

    @cached_property
    def _predictor(self) -> Any:
        names = {f.name for f in fields(Branch)} - {"weight", "gain"}
        arrays = {name: getattr(self, name) for name in names}
        return _native.OptionPredictor(**arrays, n_columns=self.n_columns)

    def predict(self, table: NDArray[Any], *, n_threads: int) -> Floats:
        """Return predictions of shape (rows, outputs)."""
        predictions: Floats = self._predictor.predict(table, n_threads)
        return predictions

    def predict_spread(self, table: NDArray[Any], *, n_threads: int) -> tuple[Floats, Floats]:
        """Return predictions, and the spread of the leaf values they combine."""
        both: tuple[Floats, Floats] = self._predictor.predict_spread(table, n_threads)
        return both

    def apply(self, table: NDArray[Any], *, n_threads: int) -> NDArray[np.int32]:
        """Return the leaves that each row reaches, from left to right, padded with -1."""
        leaves: NDArray[np.int32] = self._predictor.apply(table, n_threads)
        return leaves

    @property
    def leaf_shares(self) -> Floats:
        """Weight of each leaf in the predictions of the rows that reach it."""
        shares: Floats = self._predictor.leaf_shares()
        return shares

    def gain_of_columns(self) -> Floats:
        """Total gain by column, with each split weighted by its share."""
        inner = self.feature >= 0
        gains = (self.gain * node_shares(self))[inner]
        return np.bincount(self.feature[inner], weights=gains, minlength=self.n_columns).astype(
            np.float64
        )


def heads_of(tree: "Branch | OptionForest") -> NDArray[np.bool_]:
    """Return the mask of nodes that are the first option of their position."""
    is_head = np.ones(len(tree.feature), dtype=bool)
    is_head[tree.next_option[tree.next_option > 0]] = False
    return is_head


def options_at(tree: "Branch | OptionForest", head: int) -> list[int]:
    """Return all options at a position, given the first."""
    found = [head]
    while tree.next_option[found[-1]]:
        found.append(int(tree.next_option[found[-1]]))
    return found


def node_shares(tree: "Branch | OptionForest") -> Floats:
    """Return the share of each node."""
    share = np.zeros(len(tree.feature))
    share[0] = 1.0
    for node in np.flatnonzero(heads_of(tree)):
        options = options_at(tree, int(node))
        share[options] = share[node] / len(options)
        for option in options:
            if tree.feature[option] >= 0:
                share[option + 1] = share[tree.right[option]] = share[option]
    return share


def way_to(tree: "Branch | OptionForest", node: int) -> list[tuple[int, bool]]:
    """Return the ancestors of a node, from the root, and whether it is in their left subtree."""
    above: dict[int, tuple[int, bool]] = {}
    for i in range(node + 1):
        if tree.feature[i] >= 0:
            above[i + 1], above[int(tree.right[i])] = (i, True), (i, False)
        if tree.next_option[i] and i in above:
            above[int(tree.next_option[i])] = above[i]
    path = []
    while node in above:
        path.append(above[node])
        node = path[-1][0]
    return path[::-1]


def inserted_option(tree: OptionForest, node: int, option: Branch) -> OptionForest:
    """Append an option to those of a node."""
    heads = np.flatnonzero(heads_of(tree))
    group = next(g for g in (options_at(tree, int(head)) for head in heads) if node in g)
    at = _end_of(tree, group[-1])
    n_nodes, n_leaves = len(option), len(option.value)
    first_leaf = int((tree.feature[:at] < 0).sum())
    n_sets, n_words = len(tree.first_word) - 1, len(tree.words)

    def moved(numbers: NDArray[np.int32], begin: int, by: int) -> NDArray[np.int32]:
        return np.where(numbers >= begin, numbers + by, numbers).astype(np.int32)

    old, new = tree.branch(), option
    right = np.where(
        old.feature >= 0, moved(old.right, at, n_nodes), moved(old.right, first_leaf, n_leaves)
    ).astype(np.int32)
    next_option = moved(old.next_option, at, n_nodes)
    next_option[group[-1]] = at
    own = {
        "right": (right, new.right + np.where(new.feature >= 0, at, first_leaf)),
        "next_option": (next_option, np.where(new.next_option > 0, new.next_option + at, 0)),
        "category_set": (
            old.category_set,
            np.where(new.category_set >= 0, new.category_set + n_sets, -1),
        ),
    }
    for name in ("feature", "threshold", "missing_left", "weight", "gain"):
        own[name] = getattr(old, name), getattr(new, name)
    arrays: dict[str, Any] = {
        name: np.concatenate([a[:at], b, a[at:]]).astype(a.dtype) for name, (a, b) in own.items()
    }
    return OptionForest.of(
        Branch(
            **arrays,
            value=np.concatenate([old.value[:first_leaf], new.value, old.value[first_leaf:]]),
            first_word=np.concatenate([old.first_word, new.first_word[1:] + n_words]),
            words=np.concatenate([old.words, new.words]),
        ),
        tree.n_columns,
        tree.saw_missing,
    )


def _end_of(tree: OptionForest, node: int) -> int:
    """Return the end of a node's subtree, without its later options."""
    while tree.feature[node] >= 0:
        node = options_at(tree, int(tree.right[node]))[-1]
    return node + 1
