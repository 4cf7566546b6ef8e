"""Methods of all tree models: apply, importances by their definition, text, fingerprints."""

import numpy as np
import pytest

from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)


def data(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) / 4


def impurity(criterion: str, y: np.ndarray, weight: np.ndarray) -> float:
    total = weight.sum()
    if criterion == "squared_error":
        mean = (weight * y).sum() / total
        return float((weight * (y - mean) ** 2).sum() / total)
    shares = np.array([weight[y == label].sum() / total for label in np.unique(y)])
    if criterion == "gini":
        return float(1 - (shares**2).sum())
    return float(-(shares * np.log2(shares)).sum())


def importances_by_definition(model, X, y, weight) -> np.ndarray:
    """NI(i) = w_i I(i) - sum of w_j I(j) over the children j, summed per column, normalised."""
    forest, totals = model.forest_, np.zeros(X.shape[1])

    def mass(rows: np.ndarray) -> float:
        return weight[rows].sum() * impurity(model.criterion, y[rows], weight[rows])

    def visit(node: int, rows: np.ndarray) -> None:
        column = forest.feature[node]
        if column < 0:
            return
        x = X[rows, column]
        left = np.where(np.isnan(x), forest.missing_left[node] == 1, x <= forest.threshold[node])
        totals[column] += mass(rows) - mass(rows[left]) - mass(rows[~left])
        visit(node + 1, rows[left])
        visit(int(forest.right[node]), rows[~left])

    visit(0, np.arange(len(y)))
    return totals / totals.sum()


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("max_leaf_nodes", [2, 8, None])
def test_importances_by_their_definition(criterion: str, is_weighted, max_leaf_nodes) -> None:
    X, y = data()
    X[::7, 0] = np.nan
    weight = np.random.default_rng(1).exponential(size=len(y)) if is_weighted else np.ones(len(y))
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    y = y if criterion == "squared_error" else np.digitize(y, [-0.5, 0.5])
    model = kind(criterion=criterion, max_leaf_nodes=max_leaf_nodes).fit(X, y, weight)
    expected = importances_by_definition(model, X, y, weight)
    assert model.feature_importances_ == pytest.approx(expected, abs=1e-12)


def test_gain_of_a_forest_is_the_sum_over_its_trees() -> None:
    X, y = data()
    model = BoostedTreesRegressor(quality="fast", n_estimators=5, min_samples_leaf=5).fit(X, y)
    forest = model.forest_
    gains = [forest.gain[forest.feature == column].sum() for column in range(4)]
    assert model.feature_importances_ == pytest.approx(gains / np.sum(gains), rel=1e-12)


def test_leaves_of_rows() -> None:
    X, y = data()
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=3, learning_rate=0.5, min_samples_leaf=5
    ).fit(X, y)
    leaves, forest = model.apply(X), model.forest_
    assert leaves.shape == (150, 3) and leaves.dtype == np.int32
    frame = model.trees_to_frame("pandas").set_index(["tree", "node"])
    scores = np.repeat(forest.base_score[0], 150)
    for tree in range(3):
        scores += frame.loc[[(tree, node) for node in leaves[:, tree]], "value"].to_numpy()
    assert np.array_equal(model.predict(X), scores)


def test_text_of_every_tree() -> None:
    X, y = data()
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=2, max_leaf_nodes=3, min_samples_leaf=5
    )
    model.fit(X, np.digitize(y, [-0.5, 0.5]))
    texts = [model.text(tree) for tree in range(6)]
    assert len(set(texts)) == 6
    assert all(len(text.splitlines()) == 5 for text in texts)
    with pytest.raises(ValueError, match="has 6 trees, numbered from 0"):
        model.text(6)


def test_fingerprint_covers_predictions_only() -> None:
    X, y = data()
    model = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y)
    before = model.fingerprint()
    assert len(before) == 64 and int(before, 16) >= 0
    # Parameters, names and node weights are not part of it.
    assert model.set_params(max_leaf_nodes=9, n_jobs=3).fingerprint() == before
    assert (
        DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y, np.full(150, 2)).fingerprint() == before
    )
    other = DecisionTreeRegressor(max_leaf_nodes=4).fit(X, y + 1e-9)
    assert other.fingerprint() != before


def test_fingerprint_covers_the_labels() -> None:
    X, y = data()
    labels = np.array(["a", "b"])[(y > 0).astype(int)]
    first = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, labels)
    second = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, np.char.upper(labels))
    assert first.fingerprint() != second.fingerprint()
