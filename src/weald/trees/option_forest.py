"""Option trees as arrays: one tree of a forest, and for each node the next option beside it."""

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
    """Part of an option tree while it is put together: arrays as in `OptionForest`.

    Numbers of nodes, leaves and sets count from the branch's own first.
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
        """A tree without options."""
        arrays: dict[str, Any] = {f.name: getattr(tree, f.name, None) for f in fields(cls)}
        arrays["next_option"] = np.zeros(len(tree.feature), dtype=np.int32)
        return cls(**arrays)

    def __len__(self) -> int:
        return len(self.feature)

    def test(self) -> "Branch":
        """The first node alone; what hangs below it is left out."""
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
        """What each leaf counts when it is reached."""
        idle = {"weight", "gain"}
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in idle}
        n_columns = int(self.feature.max()) + 1 if self.feature.max() >= 0 else 1
        return _native.OptionPredictor(**arrays, n_columns=n_columns).leaf_shares()

    def scaled(self, target_exponent: int, weight_unit: float) -> "Branch":
        """The same for targets multiplied by a power of two and weights by a factor."""
        with np.errstate(over="ignore"):  # rows of the largest weights weigh infinity together
            weight = self.weight * weight_unit
        gain = self.gain * unit_parts(weight_unit)[0]
        value = np.ldexp(self.value, target_exponent)
        return replace(self, weight=weight, gain=gain, value=value)


def below(test: Branch, left: Branch, right: Branch) -> Branch:
    """A test with what hangs below it."""
    whole = _joined([test, left, right])
    whole.right[0] = 1 + len(left)
    return whole


def beside(options: Sequence[Branch]) -> Branch:
    """Options of the same rows, all to be followed."""
    whole = _joined(options)
    firsts = np.cumsum([len(option) for option in options])
    heads = [0, *firsts[:-1]]
    whole.next_option[heads[:-1]] = heads[1:]
    return whole


def _joined(parts: Sequence[Branch]) -> Branch:
    """The arrays one after another, with their numbers moved on."""
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
    """One tree whose nodes may have options beside them; a row follows all of them.

    The arrays are those of `Forest`, for one tree, and `next_option`. Options of the same rows lie
    one after another, each with all that hangs below it. A leaf counts by its share: 1 at the
    root, divided evenly among the options on the way. The answer to a row is the sum of share times
    value over the leaves that it reaches.

    Attributes
    ----------
    next_option : int32 [nodes]
        The next test of the same rows; 0: there is none.
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
        """The arrays that can be put together anew; copies, for they may be written to."""
        return Branch(**{f.name: getattr(self, f.name).copy() for f in fields(Branch)})

    def __repr__(self) -> str:
        options = int((self.next_option > 0).sum())
        return f"<OptionForest: {len(self.value)} leaves, {options} options beside other tests>"

    @cached_property
    def _predictor(self) -> Any:
        names = {f.name for f in fields(Branch)} - {"weight", "gain"}
        arrays = {name: getattr(self, name) for name in names}
        return _native.OptionPredictor(**arrays, n_columns=self.n_columns)

    def predict(self, table: NDArray[Any], *, n_threads: int) -> Floats:
        """Merged answers of the shape (rows, outputs)."""
        answers: Floats = self._predictor.predict(table, n_threads)
        return answers

    def predict_spread(self, table: NDArray[Any], *, n_threads: int) -> tuple[Floats, Floats]:
        """Merged answers, and how much the leaves that were merged disagree."""
        both: tuple[Floats, Floats] = self._predictor.predict_spread(table, n_threads)
        return both

    def apply(self, table: NDArray[Any], *, n_threads: int) -> NDArray[np.int32]:
        """The leaves each row reaches, from left to right, and then -1."""
        leaves: NDArray[np.int32] = self._predictor.apply(table, n_threads)
        return leaves

    @property
    def leaf_shares(self) -> Floats:
        """What each leaf counts when it is reached."""
        shares: Floats = self._predictor.leaf_shares()
        return shares

    def gain_of_columns(self) -> Floats:
        """What the tests of each column gained, each times its share."""
        inner = self.feature >= 0
        gains = (self.gain * node_shares(self))[inner]
        return np.bincount(self.feature[inner], weights=gains, minlength=self.n_columns).astype(
            np.float64
        )


def heads_of(tree: "Branch | OptionForest") -> NDArray[np.bool_]:
    """Which nodes are the first of their options, or have none beside them."""
    is_head = np.ones(len(tree.feature), dtype=bool)
    is_head[tree.next_option[tree.next_option > 0]] = False
    return is_head


def options_at(tree: "Branch | OptionForest", head: int) -> list[int]:
    """The tests of the same rows, from the first on."""
    found = [head]
    while tree.next_option[found[-1]]:
        found.append(int(tree.next_option[found[-1]]))
    return found


def node_shares(tree: "Branch | OptionForest") -> Floats:
    """What each node counts when it is reached."""
    share = np.zeros(len(tree.feature))
    share[0] = 1.0  # what comes to the first of some options, until it is divided
    for node in np.flatnonzero(heads_of(tree)):
        options = options_at(tree, int(node))
        share[options] = share[node] / len(options)
        for option in options:
            if tree.feature[option] >= 0:
                share[option + 1] = share[tree.right[option]] = share[option]
    return share


def way_to(tree: "Branch | OptionForest", node: int) -> list[tuple[int, bool]]:
    """The tests above a node, from the root on, and whether it lies to the left of each."""
    above: dict[int, tuple[int, bool]] = {}
    for i in range(node + 1):
        if tree.feature[i] >= 0:
            above[i + 1], above[int(tree.right[i])] = (i, True), (i, False)
        if tree.next_option[i] and i in above:
            above[int(tree.next_option[i])] = above[i]
    way = []
    while node in above:
        way.append(above[node])
        node = way[-1][0]
    return way[::-1]


def inserted_option(tree: OptionForest, node: int, option: Branch) -> OptionForest:
    """The tree with one more option behind those of a node."""
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
    """Where what hangs below a node ends; the options beside it are not counted."""
    while tree.feature[node] >= 0:
        node = options_at(tree, int(tree.right[node]))[-1]
    return node + 1
