"""Decision trees: pure leaves, limits, depth, criteria, class probabilities."""

import numpy as np
import pytest

from weald import DecisionTreeClassifier, DecisionTreeRegressor


def data(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(n)), (4, 1)), axis=1).T
    return X, X[:, 0] + X[:, 1] % 37


def test_fully_grown_trees_fit_their_rows() -> None:
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
    assert np.unique(tree.apply(X), return_counts=True)[1].min() >= 11
    tree = DecisionTreeRegressor(min_samples_split=40).fit(X, y)
    forest = tree.forest_
    assert forest.weight[forest.feature >= 0].min() >= 40


def test_exclusive_or_is_fitted_by_default() -> None:
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
    assert tree.forest_.apply(X, n_threads=1)[:, 0].tolist() == list(range(10))
    assert tree.apply(X).tolist() == np.flatnonzero(tree.tree_.children_left < 0).tolist()


# ---- scikit-learn's other parameters ----


def task() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=200)


@pytest.mark.parametrize("alpha", [0.02, 0.1, 100.0])
def test_pruning_is_that_of_scikit_learn(alpha: float) -> None:
    from sklearn.tree import DecisionTreeRegressor as Theirs

    X, y = task()
    ours = DecisionTreeRegressor(exact=True, ccp_alpha=alpha).fit(X, y)
    theirs = Theirs(ccp_alpha=alpha).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.predict(X) == pytest.approx(theirs.predict(X))


def test_the_path_of_pruning() -> None:
    from sklearn.tree import DecisionTreeRegressor as Theirs

    X, y = task()
    ours = DecisionTreeRegressor(exact=True, max_depth=4).cost_complexity_pruning_path(X, y)
    theirs = Theirs(max_depth=4).cost_complexity_pruning_path(X, y)
    assert ours.ccp_alphas == pytest.approx(theirs.ccp_alphas)
    assert ours.impurities == pytest.approx(theirs.impurities)


@pytest.mark.parametrize(
    "limit",
    [
        {"min_weight_fraction_leaf": 0.07},
        {"min_impurity_decrease": 0.01},
        {"min_samples_leaf": 0.06},
        {"min_samples_split": 0.5},
        {"class_weight": "balanced", "max_depth": 3},
        {"class_weight": {0: 3.0}, "max_depth": 3},
        {"criterion": "log_loss", "max_depth": 3},
    ],
    ids=lambda limit: next(iter(limit)),
)
def test_limits_and_weights_are_those_of_scikit_learn(limit: dict) -> None:
    from sklearn.tree import DecisionTreeClassifier as Theirs

    X, y = task()
    labels, weight = (y > 0.8).astype(int), None
    if "min_weight_fraction_leaf" in limit:
        weight = 0.5 + np.random.default_rng(1).random(200)
    ours = DecisionTreeClassifier(exact=True, **limit).fit(X, labels, weight)
    theirs = Theirs(random_state=0, **limit).fit(X, labels, weight)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))
    assert ours.tree_.node_count == theirs.tree_.node_count
    assert np.array_equal(ours.tree_.children_right, theirs.tree_.children_right)
    assert ours.tree_.value == pytest.approx(theirs.tree_.value)


@pytest.mark.parametrize("drawn", [{"splitter": "random"}, {"max_features": 1}])
def test_a_tree_that_draws(drawn: dict) -> None:
    X, y = task()
    fits = [DecisionTreeRegressor(random_state=seed, **drawn).fit(X, y) for seed in (0, 0, 1)]
    assert fits[0].fingerprint() == fits[1].fingerprint() != fits[2].fingerprint()
    assert fits[0].predict(X) == pytest.approx(y)
    pruned = DecisionTreeRegressor(random_state=0, ccp_alpha=0.01, **drawn).fit(X, y)
    assert pruned.get_n_leaves() < fits[0].get_n_leaves()
    with pytest.raises(ValueError, match="Leave these three"):
        DecisionTreeRegressor(exact=True, **drawn).fit(X, y)
