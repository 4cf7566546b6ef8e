"""Both prediction engines against a walk written in Python, bit for bit."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor, DecisionTreeClassifier
from weald.trees import Forest

ENGINES = ("walk", "masks", "automatic")


def walked(forest: Forest, table: np.ndarray) -> np.ndarray:
    """Scores by the definition: one row, one tree, one node at a time."""
    scores = np.tile(forest.base_score, (len(table), 1))
    for row, values in enumerate(table):
        for tree in range(forest.n_trees):
            first = at = int(forest.first_node[tree])
            while forest.feature[at] >= 0:
                x = float(values[forest.feature[at]])
                left = forest.missing_left[at] if np.isnan(x) else x <= forest.threshold[at]
                at = at + 1 if left else first + int(forest.right[at])
            answer = forest.value[forest.first_leaf[tree] + forest.right[at]]
            answer = forest.tree_weight[tree] * answer
            output = int(forest.output[tree])
            scores[row, slice(None) if output < 0 else slice(output, output + 1)] += answer
    return scores


def hard_table(rng: np.random.Generator, n: int, columns: int, dtype: type) -> np.ndarray:
    """Numbers with ties, gaps, infinities and both zeros."""
    table = rng.integers(-6, 7, (n, columns)) / 4 + rng.standard_normal((n, columns)).round(1)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[rng.random(table.shape) < 0.02] = np.inf
    table[rng.random(table.shape) < 0.02] = -np.inf
    table[rng.random(table.shape) < 0.05] = -0.0
    return table.astype(dtype)


def models(table: np.ndarray, rng: np.random.Generator) -> list:
    score = np.nansum(np.where(np.isfinite(table), table, 0), axis=1) + rng.standard_normal(
        len(table)
    )
    classes = np.digitize(score, [-1, 1])
    return [
        BoostedTreesRegressor(n_estimators=7, min_samples_leaf=2).fit(table, score),
        BoostedTreesClassifier(n_estimators=5, min_samples_leaf=2).fit(table, classes),
        BoostedTreesClassifier(n_estimators=5, max_leaf_nodes=100, min_samples_leaf=1).fit(
            table, classes > 0
        ),
        DecisionTreeClassifier(max_leaf_nodes=60).fit(table, classes),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5, 20])
def test_engines_equal_the_walk_by_hand(dtype: type, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for model in models(hard_table(rng, 300, columns, dtype), rng):
        table = hard_table(rng, 150, columns, dtype)
        expected = walked(model.forest_, table)
        for engine in ENGINES:
            for layout in (table, np.asfortranarray(table), table[::-1]):
                rows = slice(None, None, -1) if layout.base is table else slice(None)
                scores = model.forest_._predictor.predict(layout, 2, engine)
                assert np.array_equal(scores[rows], expected), engine


def test_one_row_answers_as_in_a_batch() -> None:
    rng = np.random.default_rng(0)
    for model in models(hard_table(rng, 300, 6, np.float64), rng):
        table = hard_table(rng, 200, 6, np.float64)
        batch = model.forest_.predict(table, n_threads=2)
        alone = [model.forest_.predict(table[i : i + 1], n_threads=1) for i in range(len(table))]
        assert np.array_equal(np.concatenate(alone), batch)


def test_large_trees_are_walked_and_masks_say_so() -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((2000, 3))
    model = DecisionTreeClassifier().fit(table, rng.integers(0, 3, 2000))
    assert model.get_n_leaves() > 128
    assert np.array_equal(model.forest_.predict(table, n_threads=2), walked(model.forest_, table))
    with pytest.raises(ValueError, match="too large for masks"):
        model.forest_._predictor.predict(table, 1, "masks")


def test_a_forest_without_trees() -> None:
    model = BoostedTreesClassifier().fit(np.zeros((3, 2)), ["a", "a", "a"])
    for engine in ("walk", "automatic"):
        assert (
            model.forest_._predictor.predict(np.zeros((100, 2)), 1, engine).tolist()
            == [[0.0]] * 100
        )
