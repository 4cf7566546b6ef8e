"""Several outputs beside scikit-learn: the same trees, shapes, weights and errors."""

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.tree

import weald


def task(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns without ties, exact in float32; numbers and labels with noise."""
    rng = np.random.default_rng(1)
    X = rng.permuted(np.tile(np.arange(float(n)), (5, 1)), axis=1).T
    signal = np.column_stack([X[:, 0] + X[:, 1] * (X[:, 2] > n / 2), X[:, 3] - X[:, 1]])
    y = signal + rng.normal(size=signal.shape) * n / 4
    ranks = np.argsort(np.argsort(y, axis=0), axis=0)
    return X, y, np.column_stack([ranks[:, 0] * 4 // n, ranks[:, 1] * 2 // n])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
def test_trees_are_the_same_node_by_node(criterion: str, weighted: bool) -> None:
    X, numbers, labels = task(2000)
    is_class = criterion != "squared_error"
    name = "DecisionTreeClassifier" if is_class else "DecisionTreeRegressor"
    y = labels if is_class else numbers
    # In small nodes counts of classes tie, and scikit-learn draws between the columns.
    limits = {"criterion": criterion, "min_samples_leaf": 50}
    weight = 0.5 + np.arange(len(X)) % 4 if weighted else None
    ours = getattr(weald, name)(exact=True, **limits).fit(X, y, weight)
    theirs = getattr(sklearn.tree, name)(random_state=0, **limits).fit(X, y, weight)
    for array in ("feature", "threshold", "children_left", "children_right"):
        assert np.array_equal(getattr(ours.tree_, array), getattr(theirs.tree_, array)), array
    assert ours.tree_.value == pytest.approx(theirs.tree_.value)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    if is_class:
        for one, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
            assert one == pytest.approx(other)


@pytest.mark.parametrize("criterion", ["squared_error", "gini"])
def test_pruning_means_the_same(criterion: str) -> None:
    X, numbers, labels = task(200)
    name = "DecisionTreeRegressor" if criterion == "squared_error" else "DecisionTreeClassifier"
    y = numbers if criterion == "squared_error" else labels
    limits = {"criterion": criterion, "min_samples_leaf": 8}
    ours = getattr(weald, name)(exact=True, **limits)
    theirs = getattr(sklearn.tree, name)(random_state=0, **limits)
    path = theirs.cost_complexity_pruning_path(X, y)
    assert ours.cost_complexity_pruning_path(X, y).ccp_alphas == pytest.approx(path.ccp_alphas)
    alpha = float(path.ccp_alphas[len(path.ccp_alphas) // 2] * 1.01)
    ours.set_params(ccp_alpha=alpha).fit(X, y)
    theirs.set_params(ccp_alpha=alpha).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 1
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    ours.set_params(ccp_alpha=0.0, min_impurity_decrease=alpha).fit(X, y)
    theirs.set_params(ccp_alpha=0.0, min_impurity_decrease=alpha).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 1


@pytest.mark.parametrize(
    "name",
    [
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
    ],
)
def test_forests_have_the_shapes_and_are_as_good(name: str) -> None:
    X, numbers, labels = task()
    is_class = "Classifier" in name
    y = labels % 2 if is_class else numbers
    settings = {"bootstrap": True, "oob_score": True, "random_state": 0, "max_features": 0.6}
    ours = getattr(weald, name)(60, **settings).fit(X[:400], y[:400])
    theirs = getattr(sklearn.ensemble, name)(60, **settings).fit(X[:400], y[:400])
    assert ours.n_outputs_ == theirs.n_outputs_ == 2
    shapes = "oob_decision_function_" if is_class else "oob_prediction_"
    assert getattr(ours, shapes).shape == getattr(theirs, shapes).shape
    assert ours.oob_score_ > theirs.oob_score_ - 0.06
    assert ours.predict(X).shape == theirs.predict(X).shape
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    score, their_score = (model.score(X[400:], y[400:]) for model in (ours, theirs))
    assert score > their_score - 0.06
    indicator, ends = ours.decision_path(X)
    assert indicator.shape == (len(X), ends[-1])
    if is_class:
        assert ours.n_classes_ == theirs.n_classes_
        for one, other in zip(ours.classes_, theirs.classes_, strict=True):
            assert np.array_equal(one, other)
        for one, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
            assert one.shape == other.shape


def test_weights_of_classes_mean_the_same() -> None:
    X, _, labels = task()
    for wanted in ("balanced", [{0: 1, 1: 2, 2: 0.5, 3: 4}, {0: 1, 1: 3}]):
        limits = {"min_samples_leaf": 10, "class_weight": wanted}
        ours = weald.DecisionTreeClassifier(exact=True, **limits).fit(X, labels)
        theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **limits).fit(X, labels)
        assert np.array_equal(ours.predict(X), theirs.predict(X))
    for module in (weald, sklearn.tree):
        with pytest.raises(ValueError, match="For multi-output, class_weight should be a list"):
            module.DecisionTreeClassifier(class_weight={0: 1}).fit(X, labels)
