"""Forests: joined trees, predictions against plain traversal, fingerprints, corrupt arrays."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pandas
import pytest

from weald.data import Rows, bin_rows
from weald.trees import Forest, ForestBuilder, GrownTree, TreeGrower, TreeLimits

N_COLUMNS = 4


def grown(seed: int, n_outputs: int = 1) -> GrownTree:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(80, N_COLUMNS))
    table[rng.random(table.shape) < 0.2] = np.nan
    binned = bin_rows(Rows(table, np.zeros(80)), max_bins=255, n_threads=1)
    grower = TreeGrower(binned, "squared_error", TreeLimits(max_leaf_nodes=6), n_threads=1)
    return grower.on_values(rng.normal(size=(n_outputs, 80)), None, None)


def forest_of(outputs: list[int], n_scores: int) -> Forest:
    builder = ForestBuilder(np.arange(float(n_scores)), N_COLUMNS)
    for seed, output in enumerate(outputs):
        builder.add(grown(seed, n_scores if output < 0 else 1), output=output)
    return builder.build()


def leaf_by_hand(forest: Forest, tree: int, row: np.ndarray) -> int:
    first, at = int(forest.first_node[tree]), 0
    while forest.feature[first + at] >= 0:
        node = first + at
        x = row[forest.feature[node]]
        is_left = forest.missing_left[node] if np.isnan(x) else x <= forest.threshold[node]
        at = at + 1 if is_left else int(forest.right[node])
    return int(forest.right[first + at])


def scores_by_hand(forest: Forest, row: np.ndarray) -> np.ndarray:
    scores = forest.base_score.copy()
    for tree in range(forest.n_trees):
        leaf = forest.first_leaf[tree] + leaf_by_hand(forest, tree, row)
        value = forest.tree_weight[tree] * forest.value[leaf]
        if forest.output[tree] < 0:
            scores += value
        else:
            scores[forest.output[tree]] += value[0]
    return scores


def fresh_rows(n: int = 50) -> np.ndarray:
    rng = np.random.default_rng(99)
    rows = rng.normal(size=(n, N_COLUMNS)) * 2
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[0], rows[1] = np.inf, -np.inf
    return rows


CASES = [([0, 0, 0], 1), ([0, 1, 2, 0, 1, 2], 3), ([-1, -1], 3), ([-1], 1), ([], 2)]


@pytest.mark.parametrize(("outputs", "n_scores"), CASES)
@pytest.mark.parametrize("n_threads", [1, 4])
def test_predict_equals_a_tree_traversal(outputs: list[int], n_scores: int, n_threads: int) -> None:
    forest, rows = forest_of(outputs, n_scores), fresh_rows()
    expected = np.array([scores_by_hand(forest, row) for row in rows])
    assert np.array_equal(forest.predict(rows, n_threads=n_threads), expected)
    leaves = forest.apply(rows, n_threads=n_threads)
    assert leaves.shape == (50, len(outputs))
    for tree in range(len(outputs)):
        assert leaves[:, tree].tolist() == [leaf_by_hand(forest, tree, row) for row in rows]


def test_tree_weights_multiply_leaf_values() -> None:
    forest = replace(forest_of([0, 0], 1), tree_weight=np.array([0.5, -2.0]))
    rows = fresh_rows()
    expected = np.array([scores_by_hand(forest, row) for row in rows])
    assert np.array_equal(forest.predict(rows, n_threads=1), expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_layout_of_rows(kind: type, order: str) -> None:
    forest = forest_of([0, 0, 0], 1)
    rows = fresh_rows(700).astype(np.float32).astype(np.float64)
    expected = forest.predict(rows, n_threads=1)
    assert np.array_equal(forest.predict(rows.astype(kind, order=order), n_threads=3), expected)
    assert np.array_equal(forest.predict(rows[::-2, :], n_threads=1), expected[::-2])


def test_parts_of_a_forest() -> None:
    forest = forest_of([0, 1, 0, 1], 2)
    assert len(forest) == forest.n_trees == 4
    assert forest.n_outputs == 2
    assert repr(forest) == "<Forest: 4 trees, 24 leaves, 2 outputs>"
    assert forest.first_node[-1] == len(forest.feature)
    assert forest.first_leaf[-1] == len(forest.value)
    # Pre-order: a left child is the next node, every node but a root has one parent.
    for tree in range(4):
        begin, end = forest.first_node[tree], forest.first_node[tree + 1]
        right = forest.right[begin:end]
        inner = np.flatnonzero(forest.feature[begin:end] >= 0)
        children = sorted([*(inner + 1), *right[inner]])
        assert children == list(range(1, end - begin))


def test_gain_of_columns() -> None:
    forest = forest_of([0, 0, 0], 1)
    expected = [forest.gain[forest.feature == column].sum() for column in range(N_COLUMNS)]
    assert forest.gain_of_columns() == pytest.approx(expected, rel=1e-15)
    assert forest_of([], 1).gain_of_columns().tolist() == [0.0] * N_COLUMNS


def test_fingerprint_covers_what_affects_predictions() -> None:
    assert set(forest_of([0], 1).fingerprint_arrays()) == {f.name for f in fields(Forest)} - {
        "weight",
        "gain",
        "n_columns",
        "saw_missing",
        # Only where there are sets.
        "category_set",
        "first_word",
        "words",
    }


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_copies_predict_the_same(duplicate) -> None:
    forest, rows = forest_of([0, 1], 2), fresh_rows()
    before = forest.predict(rows, n_threads=1)
    assert np.array_equal(duplicate(forest).predict(rows, n_threads=1), before)


def test_a_forest_cannot_be_changed_by_accident() -> None:
    with pytest.raises(AttributeError):
        forest_of([0], 1).n_columns = 7


def damaged(name: str, index: int, value: float) -> Forest:
    forest = forest_of([0, 0], 1)
    array = getattr(forest, name).copy()
    array[index] = value
    return replace(forest, **{name: array})


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("feature", 0, N_COLUMNS),
        ("feature", 0, -2),
        ("feature", 0, 2**31 - 1),
        ("right", 0, 0),
        ("right", 0, 1),
        ("right", 0, -5),
        ("right", 0, 10**6),
        ("right", -1, 10**6),
        ("right", -1, -1),
        ("first_node", 0, 1),
        ("first_node", 1, 0),
        ("first_node", 1, 10**9),
        ("first_node", 2, 3),
        ("first_leaf", 1, 10**9),
        ("first_leaf", 1, 0),
        ("first_leaf", 2, 1),
        ("output", 0, 1),
        ("output", 0, -2),
        ("output", 0, -1),
    ],
)
def test_corrupt_arrays_are_rejected_before_traversal(name: str, index: int, value: float) -> None:
    if (name, value) == ("output", -1):
        # One value per leaf contributes to one score either way.
        damaged(name, index, value).predict(fresh_rows(), n_threads=1)
        return
    with pytest.raises(ValueError, match="damaged"):
        damaged(name, index, value).predict(fresh_rows(), n_threads=1)


@pytest.mark.parametrize(
    "name", ["threshold", "missing_left", "right", "tree_weight", "first_leaf"]
)
def test_arrays_of_different_lengths_are_refused(name: str) -> None:
    forest = forest_of([0, 0], 1)
    short = replace(forest, **{name: getattr(forest, name)[:-1]})
    with pytest.raises(ValueError, match="same length"):
        short.predict(fresh_rows(), n_threads=1)


def test_a_forest_that_ends_in_an_inner_node_is_refused() -> None:
    """A walk must end in a leaf: the last node of a tree cannot have children."""
    forest = forest_of([0], 1)
    feature = forest.feature.copy()
    feature[-1] = 0
    with pytest.raises(ValueError, match="damaged"):
        replace(forest, feature=feature).predict(fresh_rows(), n_threads=1)


def test_tables_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="as many columns as the model"):
        forest_of([0], 1).predict(np.zeros((3, N_COLUMNS + 1)), n_threads=1)


def test_no_rows() -> None:
    assert forest_of([0, 0], 1).predict(np.zeros((0, N_COLUMNS)), n_threads=1).shape == (0, 1)


def test_saving_keeps_every_bit_and_few_bytes() -> None:
    """Full trees of two classes, weighted ones, boosted ones, trees with sets of levels."""
    from weald import BoostedTreesRegressor, RandomForestClassifier, RandomForestRegressor

    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(2000, 5)).astype(np.float32), rng.normal(size=2000)
    y = X[:, 0] + noise
    frame = pandas.DataFrame({"a": X[:, 0], "b": pandas.Categorical(rng.integers(0, 9, 2000))})
    models = [
        RandomForestClassifier(10, random_state=0).fit(X, y > 0),
        RandomForestClassifier(3, voting="hard", random_state=0).fit(X, y > 0),
        RandomForestRegressor(3, random_state=0).fit(X, y, rng.random(2000)),
        BoostedTreesRegressor(quality="fast", n_estimators=5).fit(frame, y),
    ]
    for model in models:
        forest = model.forest_
        loaded = pickle.loads(pickle.dumps(forest))
        for field in fields(forest):
            before, after = getattr(forest, field.name), getattr(loaded, field.name)
            if isinstance(before, np.ndarray):
                assert before.dtype == after.dtype and before.tobytes() == after.tobytes()
                assert before.shape == after.shape
            else:
                assert before == after
    full = models[0].forest_
    assert len(pickle.dumps(full)) < 18 * len(full.feature)
