"""Prediction by bit masks: small and symmetric trees against a plain walk, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from native.instructions import run_with
from weald import _native
from weald.trees import Forest

NUMBERS, CATEGORIES = 4, 2  # columns
N_LEVELS = 200


class Trees:
    """Collects trees as the arrays of a forest."""

    def __init__(self, rng: np.random.Generator, n_values: int, n_outputs: int) -> None:
        self.rng, self.n_values, self.n_outputs = rng, n_values, n_outputs
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.right: list[int] = []
        self.missing_left: list[bool] = []
        self.category_set: list[int] = []
        self.sets: list[np.ndarray] = []
        self.first_node, self.first_leaf = [0], [0]

    def split(self) -> tuple[int, float, bool, np.ndarray | None]:
        """A random one: column, threshold, side of missing values, words of a set."""
        rng = self.rng
        column = int(rng.integers(NUMBERS + CATEGORIES))
        missing_left = bool(rng.integers(2))
        if column < NUMBERS:
            return column, float(rng.integers(-8, 8) / 4), missing_left, None
        words = rng.integers(0, 2**64, int(rng.integers(1, 4)), dtype=np.uint64)
        return column, 0.0, missing_left, words

    def add_symmetric(self, n_levels: int, changed: int | None = None) -> None:
        """One split a level; that of the inner node `changed` of the last level is another one."""
        splits, other = [self.split() for _ in range(n_levels)], self.split()
        leaf = 0

        def grow(depth: int, path: int) -> None:
            nonlocal leaf
            if depth == n_levels:
                self._leaf(leaf)
                leaf += 1
                return
            is_other = depth == n_levels - 1 and path == changed
            at = self._inner(other if is_other else splits[depth])
            grow(depth + 1, 2 * path)
            self.right[at] = len(self.feature) - self.first_node[-1]
            grow(depth + 1, 2 * path + 1)

        grow(0, 0)
        self._end(leaf)

    def add_uneven(self, n_leaves: int) -> None:
        leaf = 0

        def grow(n: int) -> None:
            nonlocal leaf
            if n == 1:
                self._leaf(leaf)
                leaf += 1
                return
            at, n_left = self._inner(self.split()), int(self.rng.integers(1, n))
            grow(n_left)
            self.right[at] = len(self.feature) - self.first_node[-1]
            grow(n - n_left)

        grow(n_leaves)
        self._end(leaf)

    def _inner(self, split: tuple[int, float, bool, np.ndarray | None]) -> int:
        column, threshold, missing_left, words = split
        self.feature.append(column)
        self.threshold.append(threshold)
        self.right.append(0)
        self.missing_left.append(missing_left)
        self.category_set.append(-1 if words is None else len(self.sets))
        if words is not None:
            self.sets.append(words)
        return len(self.feature) - 1

    def _leaf(self, number: int) -> None:
        self._inner((-1, 0.0, False, None))
        self.right[-1] = number

    def _end(self, n_leaves: int) -> None:
        self.first_node.append(len(self.feature))
        self.first_leaf.append(self.first_leaf[-1] + n_leaves)

    def forest(self) -> Forest:
        rng, n_trees = self.rng, len(self.first_node) - 1
        outputs = -1 if self.n_values > 1 else np.arange(n_trees) * 7 % self.n_outputs
        return Forest(
            feature=np.array(self.feature, dtype=np.int32),
            threshold=np.array(self.threshold),
            right=np.array(self.right, dtype=np.int32),
            missing_left=np.array(self.missing_left, dtype=np.uint8),
            weight=np.ones(len(self.feature)),
            gain=np.zeros(len(self.feature)),
            value=rng.standard_normal((self.first_leaf[-1], self.n_values)),
            first_node=np.array(self.first_node),
            first_leaf=np.array(self.first_leaf),
            output=np.full(n_trees, outputs, dtype=np.int32),
            tree_weight=rng.standard_normal(n_trees),
            base_score=rng.standard_normal(self.n_outputs),
            n_columns=NUMBERS + CATEGORIES,
            category_set=np.array(self.category_set, dtype=np.int32),
            first_word=np.cumsum([0, *map(len, self.sets)]),
            words=np.concatenate([np.zeros(0, dtype=np.uint64), *self.sets]),
        )


def walked(forest: Forest, table: np.ndarray) -> np.ndarray:
    """Scores by the definition, one tree after the other."""
    scores = np.tile(forest.base_score, (len(table), 1))
    for tree in range(forest.n_trees):
        first = forest.first_node[tree]
        for row, values in enumerate(table.tolist()):
            at = first
            while forest.feature[at] >= 0:
                at = at + 1 if goes_left(forest, at, values) else first + forest.right[at]
            leaf = forest.first_leaf[tree] + forest.right[at]
            output = forest.output[tree]
            to = slice(None) if output < 0 else slice(output, output + 1)
            scores[row, to] += forest.tree_weight[tree] * forest.value[leaf]
    return scores


def goes_left(forest: Forest, node: int, values: list[float]) -> bool:
    x, set_ = values[forest.feature[node]], forest.category_set[node]
    if np.isnan(x):
        return bool(forest.missing_left[node])
    if set_ < 0:
        return bool(x <= forest.threshold[node])
    words = forest.words[forest.first_word[set_] : forest.first_word[set_ + 1]]
    if not 0 <= x < 64 * len(words) or x != int(x):
        return bool(forest.missing_left[node])
    return bool(int(words[int(x) // 64]) >> int(x) % 64 & 1)


def rows(rng: np.random.Generator, n: int) -> np.ndarray:
    table = rng.integers(-9, 9, (n, NUMBERS + CATEGORIES)) / 4
    table[:, NUMBERS:] = rng.integers(-2, N_LEVELS + 100, (n, CATEGORIES))
    table[rng.random(table.shape) < 0.02] += 0.5  # no level of a category
    table[rng.random(table.shape) < 0.1] = np.nan
    return table


def forests() -> list[Forest]:
    """Symmetric trees of one and of two bytes, nearly symmetric and other trees, all mixed."""
    found = []
    for n_values, n_outputs in ((1, 1), (1, 3), (2, 2), (5, 5), (9, 9)):
        rng = np.random.default_rng(10 * n_values + n_outputs)
        trees = Trees(rng, n_values, n_outputs)
        for n_levels in (3, 0, 6, 6, 1, 2, 9, 4, 8, 10):
            trees.add_symmetric(n_levels)
        for n_levels, changed in ((2, 1), (5, 7), (6, 31), (7, 0)):
            trees.add_symmetric(n_levels, changed)
        for n_leaves in (1, 7, 31, 64, 128):
            trees.add_uneven(n_leaves)
        found.append(trees.forest())
        order = rng.permutation(found[-1].n_trees)
        found.append(found[-1].picked(order))
    return found


def check() -> None:
    """Every engine gives the scores of the definition, for any number of rows."""
    table = rows(np.random.default_rng(0), 150)
    for forest in forests():
        expected = walked(forest, table)
        for dtype in (np.float32, np.float64):
            for n in (64, 150, 1):
                part = table[:n].astype(dtype)
                for engine in ("masks", "automatic", "walk"):
                    scores = forest._predictor.predict(part, 2, engine)
                    assert np.array_equal(scores, expected[:n]), (engine, n, forest)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_every_instruction_set(instructions: str) -> None:
    run_with(instructions, "from native.test_row_masks import check\ncheck()")


@pytest.mark.parametrize("what", ["threshold", "missing_left", "set"])
def test_one_other_split_makes_a_tree_asymmetric(what: str) -> None:
    """Large trees are evaluated by levels only if every node has the split of its level."""
    trees = Trees(np.random.default_rng(3), 1, 1)
    trees.add_symmetric(8)
    forest = trees.forest()
    is_set = forest.category_set >= 0
    assert is_set.any() and (~is_set & (forest.feature >= 0)).any()
    table = rows(np.random.default_rng(4), 100)
    assert np.array_equal(forest._predictor.predict(table, 1, "masks"), walked(forest, table))
    last = int(np.flatnonzero(is_set if what == "set" else ~is_set & (forest.feature >= 0))[-1])
    changes = {
        "threshold": {"threshold": _changed(forest.threshold, last, 7.0)},
        "missing_left": {
            "missing_left": _changed(forest.missing_left, last, 1 - forest.missing_left[last])
        },
        "set": {"words": _changed(forest.words, -1, forest.words[-1] ^ np.uint64(2))},
    }
    other = replace(forest, **changes[what])
    with pytest.raises(ValueError, match="too large for engine"):
        other._predictor.predict(table, 1, "masks")
    assert np.array_equal(other.predict(table, n_threads=1), walked(other, table))


def _changed(array: np.ndarray, at: int, value: object) -> np.ndarray:
    array = array.copy()
    array[at] = value
    return array


def test_trees_of_sixteen_levels_and_more() -> None:
    rng = np.random.default_rng(5)
    for n_levels in (16, 17):
        trees = Trees(rng, 1, 1)
        trees.add_symmetric(n_levels)
        forest, table = trees.forest(), rows(rng, 200)
        expected = walked(forest, table)
        assert np.array_equal(forest.predict(table, n_threads=1), expected)
        if n_levels == 16:
            assert np.array_equal(forest._predictor.predict(table, 1, "masks"), expected)
        else:
            with pytest.raises(ValueError, match="too large for engine"):
                forest._predictor.predict(table, 1, "masks")
