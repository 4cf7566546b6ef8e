"""Decision trees: pure leaves, limits, depth, criteria, shares of classes."""

import numpy as np
import pytest

from weald import DecisionTreeClassifier, DecisionTreeRegressor


def data(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(n)), (4, 1)), axis=1).T
    return X, X[:, 0] + X[:, 1] % 37


def test_fully_grown_trees_know_their_rows() -> None:
    X, y = data()
    assert np.array_equal(DecisionTreeRegressor().fit(X, y).predict(X), y)
    labels = (y % 5).astype(int)
    assert np.array_equal(DecisionTreeClassifier().fit(X, labels).predict(X), labels)


def test_depth_and_leaves() -> None:
    X, y = data()
    for most in (1, 3, 5):
        tree = DecisionTreeRegressor(max_depth=most).fit(X, y)
        assert tree.get_depth() == most
        assert tree.get_n_leaves() <= 2**most
    tree = DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y)
    assert tree.get_n_leaves() == 9
    flat = DecisionTreeRegressor().fit(X, np.ones(200))
    assert (flat.get_depth(), flat.get_n_leaves()) == (0, 1)


def test_limits_on_rows() -> None:
    X, y = data()
    tree = DecisionTreeRegressor(min_samples_leaf=11).fit(X, y)
    assert np.bincount(tree.apply(X)[:, 0]).min() >= 11
    tree = DecisionTreeRegressor(min_samples_split=40).fit(X, y)
    forest = tree.forest_
    assert forest.weight[forest.feature >= 0].min() >= 40


def test_exclusive_or_is_learnt_by_default() -> None:
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert DecisionTreeClassifier().fit(X, y).predict(X).tolist() == y
    assert DecisionTreeRegressor().fit(X, y).predict(X).tolist() == y


def test_shares_of_classes() -> None:
    X, y = [[0.0]] * 4 + [[1.0]] * 2, ["a", "a", "b", "c", "c", "c"]
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.predict_proba([[0.0], [1.0]]).tolist() == [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]
    weighted = DecisionTreeClassifier().fit(X, y, [0.5, 0.5, 2.0, 1.0, 1.0, 1.0])
    assert weighted.predict_proba([[0.0]]).tolist() == [[0.25, 0.5, 0.25]]
    assert weighted.predict([[0.0]]).tolist() == ["b"]


def test_ties_between_classes_go_to_the_first() -> None:
    tree = DecisionTreeClassifier().fit([[0.0]] * 2, ["z", "a"])
    assert tree.predict([[0.0]]).tolist() == ["a"]


def test_criteria_differ() -> None:
    """A case where Gini and entropy choose different columns."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (300, 6)), rng.integers(0, 3, 300)
    trees = [
        DecisionTreeClassifier(criterion=name, max_leaf_nodes=12).fit(X, y).fingerprint()
        for name in ("gini", "entropy")
    ]
    assert trees[0] != trees[1]


def test_mean_of_a_leaf_is_weighted() -> None:
    tree = DecisionTreeRegressor().fit([[0.0]] * 3, [1.0, 2.0, 6.0], [1.0, 0.5, 0.5])
    assert tree.predict([[0.0]]).tolist() == [2.5]


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
def test_few_bins_make_few_thresholds(max_bins: int) -> None:
    X, y = data(400)
    forest = DecisionTreeRegressor(max_bins=max_bins).fit(X, y).forest_
    for column in range(4):
        assert len(set(forest.threshold[forest.feature == column])) < max_bins


def test_best_first_gains_no_less_than_depth_wise() -> None:
    X, y = data()
    gains = [
        DecisionTreeRegressor(max_leaf_nodes=10, growth=growth).fit(X, y).forest_.gain.sum()
        for growth in ("best_first", "depth_wise")
    ]
    assert gains[0] >= gains[1]


def test_leaves_are_counted_from_left_to_right() -> None:
    X = np.arange(10.0)[:, np.newaxis]
    tree = DecisionTreeRegressor().fit(X, np.arange(10.0))
    assert tree.apply(X)[:, 0].tolist() == list(range(10))
