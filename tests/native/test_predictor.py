"""All prediction engines against a walk written in Python, bit for bit."""

import numpy as np
import pytest

from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
)
from weald.trees import Forest

ENGINES = ("walk", "masks", "batch", "automatic")


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
        BoostedTreesRegressor(quality="fast", n_estimators=7, min_samples_leaf=2).fit(table, score),
        BoostedTreesClassifier(quality="fast", n_estimators=5, min_samples_leaf=2).fit(
            table, classes
        ),
        BoostedTreesClassifier(
            quality="fast", n_estimators=5, max_leaf_nodes=100, min_samples_leaf=1
        ).fit(table, classes > 0),
        DecisionTreeClassifier(max_leaf_nodes=60).fit(table, classes),
        IsolationForest(n_estimators=6, max_samples=32, random_state=0).fit(table),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5, 20])
def test_engines_equal_naive_traversal(dtype: type, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for model in models(hard_table(rng, 300, columns, dtype), rng):
        table = hard_table(rng, 150, columns, dtype)
        expected = walked(model.forest_, table)
        for engine in ENGINES:
            for layout in (table, np.asfortranarray(table), table[::-1]):
                rows = slice(None, None, -1) if layout.base is table else slice(None)
                scores = model.forest_._predictor.predict(layout, 2, engine)
                assert np.array_equal(scores[rows], expected), engine


def test_one_row_is_predicted_as_in_a_batch() -> None:
    rng = np.random.default_rng(0)
    for model in models(hard_table(rng, 300, 6, np.float64), rng):
        table = hard_table(rng, 200, 6, np.float64)
        batch = model.forest_.predict(table, n_threads=2)
        alone = [model.forest_.predict(table[i : i + 1], n_threads=1) for i in range(len(table))]
        assert np.array_equal(np.concatenate(alone), batch)


def test_large_trees_are_traversed_and_rejected_by_the_mask_engine() -> None:
    rng = np.random.default_rng(1)
    table = rng.standard_normal((2000, 3))
    model = DecisionTreeClassifier().fit(table, rng.integers(0, 3, 2000))
    assert model.get_n_leaves() > 128
    assert np.array_equal(model.forest_.predict(table, n_threads=2), walked(model.forest_, table))
    with pytest.raises(ValueError, match="too large for engine"):
        model.forest_._predictor.predict(table, 1, "masks")


def test_a_forest_without_trees() -> None:
    model = BoostedTreesClassifier(quality="fast").fit(np.zeros((3, 2)), ["a", "a", "a"])
    for engine in ("walk", "automatic"):
        assert (
            model.forest_._predictor.predict(np.zeros((100, 2)), 1, engine).tolist()
            == [[0.0]] * 100
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 15, 16, 300])
def test_batches_traverse_large_trees(dtype: type, n: int) -> None:
    """Pure leaves and others, one number or several; rows with gaps and rows without."""
    rng = np.random.default_rng(n)
    X = hard_table(rng, 900, 6, dtype)
    rest = np.nan_to_num(X[:, 0].astype(float), posinf=2, neginf=-2) + rng.standard_normal(900)
    for model in (
        RandomForestClassifier(4, random_state=0).fit(X, rest > 0),
        RandomForestClassifier(4, random_state=0).fit(X, np.digitize(rest, [-1, 0, 1])),
        ExtraTreesRegressor(4, min_samples_leaf=2, random_state=0).fit(X, rest),
    ):
        table = hard_table(rng, n, 6, dtype)
        for rows in (table, np.where(np.isnan(table), dtype(0.5), table), table[:, ::-1]):
            expected = walked(model.forest_, rows)
            for engine in ("batch", "automatic"):
                for n_threads in (1, 2):
                    scores = model.forest_._predictor.predict(rows, n_threads, engine)
                    assert np.array_equal(scores, expected)


def test_thresholds_that_no_float_has() -> None:
    """Floats are compared with the next float below a threshold: none changes its side."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, (400, 2)) + 1e-9 * rng.standard_normal((400, 2))
    X[:8, 0] = [1e300, -1e300, np.inf, -np.inf, 1e39, -1e39, 3.4028235e38, -3.4028235e38]
    y = rng.integers(0, 2, 400)
    model = DecisionTreeClassifier().fit(X, y)
    with np.errstate(over="ignore"):  # 1e300 becomes infinite
        near = X.astype(np.float32)
        tables = [near, np.nextafter(near, np.float32(-9)), np.nextafter(near, np.float32(9))]
    for rows in tables:
        expected = walked(model.forest_, rows)
        assert np.array_equal(model.forest_._predictor.predict(rows, 1, "batch"), expected)
