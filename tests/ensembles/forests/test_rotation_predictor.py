"""Predictions of rotation forests equal naive tree traversal bit by bit, on every code path."""

from typing import Any

import numpy as np
import pytest

from weald import RotationForestClassifier, RotationForestRegressor
from weald.trees import RotatedForest


def mixed_table(n: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, some missing, some infinite, and a categorical last column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X[:, 0] = np.round(X[:, 0])
    X[rng.random(n) < 0.2, 1] = np.nan
    X[rng.random(n) < 0.1, 2] = np.inf
    X[:, -1] = np.arange(n) % 70  # all categories occur, so that codes equal categories
    noise = rng.normal(size=n)
    return X, (X[:, 0] + X[:, 3] - X[:, 4] + (X[:, -1] % 3) + noise > 1).astype(int) + (noise > 1)


def columns_of_tree(rotations: Any, tree: int, row: np.ndarray) -> list[float]:
    """Columns of a row for one tree: products summed in the order of the block."""
    ready = [
        min(max((c if np.isnan(row[i]) else float(row[i])) * s, -(2.0**500)), 2.0**500)
        for i, c, s in zip(rotations.rotated, rotations.centre, rotations.scale, strict=True)
    ]
    columns = []
    for places, block in rotations.blocks(tree):
        for component in range(len(block)):
            total = float(block[0, component]) * ready[places[0]]
            for i in range(1, len(block)):
                total += float(block[i, component]) * ready[places[i]]
            columns.append(total)
    columns += [float(row[i]) for i in rotations.kept]
    return columns + [np.nan if np.isnan(row[i]) else 0.0 for i in rotations.flagged]


def naive_leaf(forest: Any, values: list[float]) -> int:
    """Leaf of a row in the only tree of a forest."""
    node = 0
    while forest.feature[node] >= 0:
        x, missing_left = values[forest.feature[node]], bool(forest.missing_left[node])
        left = missing_left if np.isnan(x) else x <= forest.threshold[node]
        if (number := forest.category_set[node]) >= 0:
            words = forest.words[forest.first_word[number] : forest.first_word[number + 1]]
            is_level = 0 <= x < 64 * len(words)
            left = bool(int(words[int(x) // 64]) >> int(x) % 64 & 1) if is_level else missing_left
        node = node + 1 if left else int(forest.right[node])
    return int(forest.right[node])


def naive_leaves(model: Any, X: np.ndarray) -> np.ndarray:
    rotations, n_trees = model.rotations_, model.forest_.n_trees
    trees = [model.forest_.tree(tree) for tree in range(n_trees)]
    return np.array(
        [
            [naive_leaf(trees[t], columns_of_tree(rotations, t, row)) for t in range(n_trees)]
            for row in X
        ]
    )


@pytest.mark.parametrize("kind", [RotationForestClassifier, RotationForestRegressor])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"subset_size": 1}, {"subset_size": 2, "scale": "range"}, {"n_subsets": 2}],
)
def test_leaves_and_sums_equal_naive_traversal(kind: Any, parameters: dict) -> None:
    X, y = mixed_table(400, 9)
    model = kind(6, random_state=0, categorical_features=[8], **parameters).fit(X[:300], y[:300])
    leaves = naive_leaves(model, X)
    assert np.array_equal(model._leaves(X), leaves)
    sums = np.zeros((len(X), model.forest_.value.shape[1]))
    for tree in range(6):
        sums += model.forest_.tree(tree).value[leaves[:, tree]]
    assert np.array_equal(model._rotated.predict(X, n_threads=1), sums)


def test_predictions_do_not_depend_on_the_batch() -> None:
    """Few rows and many rows take different code paths, in blocks of any size: equal bits."""
    X, y = mixed_table(5000, 12)
    model = RotationForestClassifier(4, random_state=1, categorical_features=[11])
    model.fit(X[:300], y[:300])
    whole = model._rotated.predict(X, n_threads=1)
    for n_threads in (2, 3, 8):
        assert np.array_equal(model._rotated.predict(X, n_threads=n_threads), whole)
    for n in (1, 7, 8, 63, 64, 65, 2049):
        assert np.array_equal(model._rotated.predict(X[:n], n_threads=2), whole[:n])
    alone = [model._rotated.predict(X[i], n_threads=1) for i in range(20)]
    assert np.array_equal(alone, whole[:20])
    assert np.array_equal(model.apply(X[:5]), model.apply(X)[:5])
    means = whole / 4
    squares = model._rotated.spread(X, means, n_threads=1)
    assert np.array_equal(model._rotated.spread(X[:5], means[:5], n_threads=1), squares[:5])
    assert model._rotated.predict(X[:0], n_threads=2).shape == (0, 3)


def test_any_memory_layout() -> None:
    X, y = mixed_table(300, 40)
    model = RotationForestClassifier(4, random_state=1).fit(X, y)
    whole = model._rotated.predict(X, n_threads=1)
    wide = np.zeros((600, 80))
    wide[::2, ::2] = X
    for table in (np.asfortranarray(X), wide[::2, ::2], X[::-1][::-1]):
        assert np.array_equal(model._rotated.predict(table, n_threads=1), whole)
    single = X.astype(np.float32)
    expected = model._rotated.predict(single.astype(np.float64), n_threads=1)
    assert np.array_equal(model._rotated.predict(single, n_threads=1), expected)


def test_leaves_of_several_classes_are_added_whole() -> None:
    """Pure leaves add one class share only, others all of them."""
    X, y = mixed_table(300, 9)
    model = RotationForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    assert (np.count_nonzero(model.forest_.value, axis=1) > 1).any()
    leaves = model._leaves(X)
    sums = sum(model.forest_.tree(t).value[leaves[:, t]] for t in range(5))
    assert np.array_equal(model._rotated.predict(X, n_threads=1), sums)
    alone = RotatedForest(model.forest_.tree(0), model.rotations_.only(0))
    assert np.array_equal(alone.predict(X, n_threads=1), model.forest_.tree(0).value[leaves[:, 0]])
