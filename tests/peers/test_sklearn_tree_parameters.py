"""Parameters, attributes and trees of scikit-learn's six classes of trees, beside ours."""

import inspect

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree

import weald

NAMES = [
    f"{method}{kind}"
    for method in ("DecisionTree", "RandomForest", "ExtraTrees")
    for kind in ("Classifier", "Regressor")
]


def theirs(name: str) -> type:
    room = sklearn.tree if name.startswith("Decision") else sklearn.ensemble
    return getattr(room, name)


def task(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """At most 150 distinct values a column: every midpoint is a candidate for both."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(n)), (5, 1)), axis=1).T
    return X, X[:, 0] + X[:, 1] * (X[:, 2] > n / 2) + rng.normal(size=n) * 20


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_there(name: str) -> None:
    ours = inspect.signature(getattr(weald, name)).parameters
    assert set(inspect.signature(theirs(name)).parameters) <= set(ours)


@pytest.mark.parametrize("name", NAMES)
def test_every_fitted_attribute_is_there(name: str) -> None:
    X, y = task()
    y = y > np.median(y) if name.endswith("Classifier") else y
    settings = {} if name.startswith("Decision") else {"oob_score": True, "bootstrap": True}
    model = theirs(name)(random_state=0, **settings).fit(X, y)
    other = getattr(weald, name)(random_state=0, **settings).fit(X, y)
    # Only scikit-learn's forests have a template of base estimators: ours are one model.
    wanted = {a for a in vars(model) if a.endswith("_")} - {"estimator_"}
    assert {attribute for attribute in wanted if not hasattr(other, attribute)} == set()


CRITERIA = ["squared_error", "poisson", "gini", "entropy"]
CONSTRAINTS = [None, [1, 0, 0, 0, 0], [1, -1, 0, 1, -1], [-1, 1, 1, 0, 0]]


def both(criterion: str, y: np.ndarray, **settings):
    is_classes = criterion in ("gini", "entropy")
    name = "DecisionTreeClassifier" if is_classes else "DecisionTreeRegressor"
    target = (y > np.median(y)).astype(int) if is_classes else y
    if criterion == "poisson":
        target = np.floor(np.exp((y - y.min()) / 60))
    models = (
        getattr(weald, name)(criterion=criterion, **settings),
        theirs(name)(criterion=criterion, random_state=0, **settings),
    )
    return models, target


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("cst", CONSTRAINTS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_trees_of_few_large_leaves(criterion: str, cst: list | None, seed: int) -> None:
    X, y = task(seed=seed)
    weight = np.random.default_rng(seed).integers(9, 80, len(y)) / 8  # no ties of classes
    for engine in ({}, {"max_features": 5, "random_state": 1}):
        models, target = both(criterion, y, max_depth=3, min_samples_leaf=12, monotonic_cst=cst)
        models[0].set_params(**engine)
        ours, other = (model.fit(X, target, weight) for model in models)
        view, tree = ours.tree_, other.tree_
        assert view.node_count == tree.node_count
        assert np.array_equal(view.feature, tree.feature)
        for name in ("children_left", "children_right", "n_node_samples"):
            assert np.array_equal(getattr(view, name), getattr(tree, name)), name
        for name in ("weighted_n_node_samples", "impurity"):
            assert getattr(view, name) == pytest.approx(getattr(tree, name), abs=1e-9), name
        leaf = tree.children_left < 0
        assert view.value[leaf] == pytest.approx(tree.value[leaf], rel=1e-9)
        assert ours.predict(X) == pytest.approx(other.predict(X), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_medians(seed: int) -> None:
    """The first split, without ties; and a tree that is as good."""
    X, y = task(seed=seed)
    ours = weald.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y)
    other = sklearn.tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y)
    assert ours.tree_.feature[0] == other.tree_.feature[0]
    assert ours.tree_.threshold[0] == other.tree_.threshold[0]
    assert ours.tree_.value[1:] == pytest.approx(other.tree_.value[1:])
    assert ours.tree_.impurity == pytest.approx(other.tree_.impurity)


def test_every_array_of_a_tree() -> None:
    X, y = task()
    weight = np.random.default_rng(0).exponential(size=len(y)) + 0.1
    tree = weald.DecisionTreeRegressor(max_depth=4).fit(X, y, weight).tree_
    other = sklearn.tree.DecisionTreeRegressor(max_depth=4, random_state=0)
    other = other.fit(X, y, weight).tree_
    # How much memory they reserved is theirs alone.
    public = {name for name in dir(other) if not name.startswith("_")} - {"capacity"}
    methods = {name for name in public if callable(getattr(other, name))}
    assert {name for name in public - methods if not hasattr(tree, name)} == set()
    for name in ("n_node_samples", "impurity", "weighted_n_node_samples", "n_classes"):
        theirs_of_it = pytest.approx(getattr(other, name), rel=1e-9, abs=1e-9)
        assert getattr(tree, name) == theirs_of_it, name
    for name in ("max_depth", "n_leaves", "node_count", "max_n_classes", "n_outputs"):
        assert getattr(tree, name) == getattr(other, name), name


def test_a_weighted_tree_of_classes_counts_rows() -> None:
    X, y = task()
    labels = y > np.quantile(y, 0.8)
    settings = {"class_weight": "balanced", "max_depth": 3, "min_samples_leaf": 5}
    tree = weald.DecisionTreeClassifier(**settings).fit(X, labels).tree_
    other = sklearn.tree.DecisionTreeClassifier(**settings, random_state=0).fit(X, labels).tree_
    assert np.array_equal(tree.n_node_samples, other.n_node_samples)
    assert tree.impurity == pytest.approx(other.impurity, abs=1e-12)


def test_trees_of_forests_have_impurities() -> None:
    X, y = task()
    settings = {"min_samples_leaf": 5, "max_features": None, "bootstrap": False}
    ours = weald.RandomForestRegressor(1, **settings).fit(X, y).estimators_[0].tree_
    theirs = sklearn.ensemble.RandomForestRegressor(1, **settings).fit(X, y).estimators_[0].tree_
    assert np.sort(ours.impurity) == pytest.approx(np.sort(theirs.impurity), rel=1e-9, abs=1e-12)
    labels = (y > 0).astype(int)
    forest = weald.RandomForestClassifier(2, min_samples_leaf=1, random_state=0).fit(X, labels)
    assert forest.estimators_[0].tree_.impurity[-1] == 0.0
