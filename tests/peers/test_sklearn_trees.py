"""Our trees beside scikit-learn's: same data without ties, same settings, same trees."""

import numpy as np
import pytest
import sklearn.tree

from weald import DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = [("gini", 3), ("entropy", 3), ("squared_error", 0)]
SEEDS = range(6)


def task(n_classes: int, seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """At most 150 distinct values a column: every midpoint is a candidate for both."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(n)), (5, 1)), axis=1).T
    signal = X[:, 0] + X[:, 1] * (X[:, 2] > n / 2) + rng.normal(size=n) * 20
    return X, np.argsort(np.argsort(signal)) * n_classes // n if n_classes else signal


def both(criterion: str, **limits):
    if criterion == "squared_error":
        ours, theirs = DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor
    else:
        ours, theirs = DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier
    return ours(criterion=criterion, **limits), theirs(
        criterion=criterion, random_state=0, **limits
    )


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
def test_fully_grown_trees_predict_training_rows_alike(criterion, n_classes, seed) -> None:
    X, y = task(n_classes, seed)
    ours, theirs = (tree.fit(X, y) for tree in both(criterion))
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
def test_first_split(criterion, n_classes, seed) -> None:
    X, y = task(n_classes, seed)
    ours, theirs = (tree.fit(X, y) for tree in both(criterion, max_depth=1))
    assert ours.forest_.feature[0] == theirs.tree_.feature[0]
    assert ours.forest_.threshold[0] == theirs.tree_.threshold[0]
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-12)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 3, "min_samples_leaf": 12},
        {"max_leaf_nodes": 6, "min_samples_leaf": 12},
        {"min_samples_split": 60, "min_samples_leaf": 12},
    ],
    ids=["depth", "leaves", "rows"],
)
def test_trees_of_few_large_leaves(criterion, n_classes, seed, limits) -> None:
    """Large nodes have no ties: the same children, predictions, weights and importances.

    Thresholds below the root differ inside a gap: theirs is the middle between the values of the
    node, ours a cut of the whole column.
    """
    X, y = task(n_classes, seed)
    ours, theirs = (tree.fit(X, y) for tree in both(criterion, **limits))
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.get_depth() == theirs.get_depth()
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-12)
    assert sorted(ours.forest_.weight) == sorted(theirs.tree_.weighted_n_node_samples)


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_rows(criterion, n_classes, seed) -> None:
    X, y = task(n_classes, seed)
    weight = np.random.default_rng(seed).exponential(size=len(y)) + 0.1
    limits = {"max_depth": 3, "min_samples_leaf": 12}
    ours, theirs = (tree.fit(X, y, weight) for tree in both(criterion, **limits))
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-12)


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA[:2])
@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_classes(criterion, n_classes, seed) -> None:
    X, y = task(n_classes, seed)
    ours, theirs = (tree.fit(X, y) for tree in both(criterion, max_depth=3, min_samples_leaf=12))
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_missing_values(seed: int) -> None:
    X, y = task(0, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    ours, theirs = (
        tree.fit(X, y) for tree in both("squared_error", max_depth=2, min_samples_leaf=20)
    )
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)
