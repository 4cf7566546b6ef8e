"""The base estimators of every ensemble, as scripts for scikit-learn use them."""

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import weald
from contract.subjects import (
    EVERY_DETECTOR,
    EVERY_ESTIMATOR,
    EVERY_TREE_MODEL,
    answers,
    quick,
    task,
)
from weald.ensembles.forests.option_tree import OptionTree

# Ensembles that are sequences of their base estimators, as in scikit-learn.
EVERY_SEQUENCE = [one for one in (*EVERY_ESTIMATOR, *EVERY_DETECTOR) if hasattr(one, "__len__")]
EVERY_TREE_WITH_NODES = [one for one in EVERY_TREE_MODEL if not issubclass(one, OptionTree)]
FORESTS = [one for one in EVERY_SEQUENCE if hasattr(one, "in_bag_counts")]
WITH_TREES = [
    weald.DecisionTreeClassifier,
    weald.DecisionTreeRegressor,
    weald.RandomForestClassifier,
    weald.RandomForestRegressor,
    weald.ExtraTreesClassifier,
    weald.ExtraTreesRegressor,
    weald.BaggingClassifier,
    weald.BaggingRegressor,
    weald.AdaBoostClassifier,
    weald.AdaBoostRegressor,
    weald.GradientBoostingClassifier,
    weald.GradientBoostingRegressor,
]
every_sequence = pytest.mark.parametrize("estimator", EVERY_SEQUENCE)
every_tree_with_nodes = pytest.mark.parametrize("estimator", EVERY_TREE_WITH_NODES)
with_trees = pytest.mark.parametrize("estimator", WITH_TREES)


def trees_of(model: Any) -> list[Any]:
    """The trees of a fitted model, as estimators; one tree is its own."""
    return list(np.ravel(model.estimators_)) if hasattr(model, "estimators_") else [model]


# ---- sequences ----


def test_what_is_a_sequence_in_scikit_learn_is_one_here() -> None:
    theirs = [
        name
        for name in sklearn.ensemble.__all__
        if hasattr(getattr(sklearn.ensemble, name), "__len__") and name in weald.__all__
    ]
    ours = {one.__name__ for one in EVERY_SEQUENCE}
    # Those of gradient boosting are a table: rounds and classes.
    assert set(theirs) - ours == {"GradientBoostingClassifier", "GradientBoostingRegressor"}


@every_sequence
def test_an_ensemble_is_a_sequence_of_fitted_estimators(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator)
    with pytest.raises((AttributeError, ValueError)):
        len(model)
    model.fit(X, y)
    parts = list(model)
    assert len(model) == len(parts) == len(model.estimators_) > 1
    assert model[0] is parts[0] and model[-1] is parts[-1]
    for part in parts:
        check_is_fitted(part)
        assert part.predict(X).shape == (len(X),)


@pytest.mark.parametrize("estimator", FORESTS)
def test_a_forest_s_estimator_is_an_unfitted_tree(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    with pytest.raises(ValueError, match="is not fitted"):
        check_is_fitted(model.estimator_)
    assert model.estimator_.get_params().keys() == model[0].get_params().keys()
    clone(model.estimator_).fit(X, y)


# ---- nodes ----


@every_tree_with_nodes
def test_apply_returns_the_nodes_of_the_frame_of_trees(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    nodes = model.apply(X).reshape(len(X), -1)
    assert nodes.shape[1] == model.forest_.n_trees
    frame = model.trees_to_frame("pandas")
    leaves = frame[frame["left"] < 0]
    for tree in range(model.forest_.n_trees):
        assert set(nodes[:, tree]) <= set(leaves.loc[leaves["tree"] == tree, "node"])


@with_trees
def test_trees_have_the_arrays_and_methods_of_scikit_learn(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    for tree in trees_of(model)[:3]:
        view, nodes = tree.tree_, tree.apply(X)
        assert nodes.shape == (len(X),)
        assert (view.children_left[nodes] == -1).all()
        assert np.array_equal(view.apply(X), nodes)
        assert np.array_equal(view.apply(scipy.sparse.csr_array(X)), nodes)
        assert np.array_equal(view.predict(X), view.value[nodes, 0])
        path = tree.decision_path(X)
        assert path.shape == (len(X), view.node_count)
        assert (path[np.arange(len(X)), nodes] == 1).all()
        assert np.array_equal(view.decision_path(X).toarray(), path.toarray())
        shares = view.compute_feature_importances()
        assert shares == pytest.approx(tree.feature_importances_, abs=1e-12)
        total = view.compute_feature_importances(normalize=False).sum()
        inner = view.children_left >= 0
        weight = view.weighted_n_node_samples
        children = sum(
            (weight * view.impurity)[side[inner]]
            for side in (view.children_left, view.children_right)
        )
        lost = (weight * view.impurity)[inner] - children
        assert total == pytest.approx(lost.sum() / weight[0], abs=1e-9)


@with_trees
def test_pictures_of_scikit_learn(estimator) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    from sklearn.tree import export_graphviz, export_text, plot_tree

    X, y = task(estimator)
    tree = trees_of(quick(estimator, max_depth=3).fit(X, y))[0]
    with sklearn.config_context(skip_parameter_validation=True):
        assert export_text(tree).count("value: ") == tree.tree_.n_leaves
        if hasattr(tree.tree_, "n_node_samples"):  # stumps have shares of the weight only
            assert export_graphviz(tree).count("label=") >= tree.tree_.node_count
            figure = pyplot.figure()
            assert len(plot_tree(tree, ax=figure.gca())) >= tree.tree_.node_count
            pyplot.close(figure)


@pytest.mark.parametrize("estimator", [weald.DecisionTreeClassifier, weald.RandomForestRegressor])
def test_sets_of_categories_have_no_threshold(estimator) -> None:
    X, y = task(estimator)
    X = np.column_stack([np.argsort(np.argsort(y)) // 20 % 3, X[:, 0] * 0.0])
    model = quick(estimator, min_samples_leaf=1, categorical_features=[0]).fit(X, y)
    trees = [tree for tree in trees_of(model) if (tree.forest_.category_set >= 0).any()]
    assert trees
    with pytest.raises(ValueError, match=r"node 0 splits the categorical column 0.*text\(\)"):
        _ = trees[0].tree_.threshold
    assert "{" in trees[0].text()


@pytest.mark.parametrize("estimator", [weald.ExtraTreesClassifier, weald.GradientBoostingRegressor])
def test_numbers_of_rows_are_not_made_up(estimator) -> None:
    X, y = task(estimator)
    weight = np.random.default_rng(0).random(len(X))
    tree = trees_of(quick(estimator).fit(X, y, weight))[0]
    assert tree.tree_.weighted_n_node_samples[0] == pytest.approx(weight.sum())
    with pytest.raises(AttributeError, match="rows of this tree had weights"):
        _ = tree.tree_.n_node_samples


# ---- parameters of trees ----

OF_TREES = {
    "max_depth": 4,
    "min_samples_leaf": 2,
    "min_samples_split": 5,
    "min_impurity_decrease": 1e-4,
    "min_weight_fraction_leaf": 0.01,
    "ccp_alpha": 1e-5,
    "max_features": 3,
}


@pytest.mark.parametrize(
    "estimator",
    [
        one
        for one in WITH_TREES
        if {*OF_TREES, "n_estimators"} <= {*inspect.signature(one).parameters}
    ],
)
def test_trees_have_the_parameters_they_were_grown_with(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator, **OF_TREES, warm_start=True).fit(X, y)
    model.set_params(n_estimators=9, max_depth=2).fit(X, y)
    model.set_params(max_depth=7)  # not fitted since
    trees = trees_of(model)
    per_round = len(trees) // 9
    for number, tree in enumerate(trees):
        is_new = number >= 6 * per_round
        expected = {**OF_TREES, "max_depth": 2 if is_new else 4}
        assert {name: getattr(tree, name) for name in OF_TREES} == expected
        assert tree.get_depth() <= expected["max_depth"]


# ---- sparse tables ----


class SeesClassifier(sklearn.tree.DecisionTreeClassifier):
    """Notes the type of the table that it is fitted on, and forgets to return itself."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        super().fit(X, y, sample_weight)
        self.seen_ = type(X)


class SeesRegressor(sklearn.tree.DecisionTreeRegressor):
    """The same for regression."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        super().fit(X, y, sample_weight)
        self.seen_ = type(X)


@pytest.mark.parametrize("layout", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize(
    "estimator",
    [
        weald.AdaBoostClassifier,
        weald.AdaBoostRegressor,
        weald.BaggingClassifier,
        weald.BaggingRegressor,
    ],
)
def test_sparse_tables_reach_sparse_base_estimators(estimator, layout: str) -> None:
    X, y = task(estimator)
    X = np.where(np.median(X) < X, X, 0.0)
    base = SeesClassifier if "Classifier" in estimator.__name__ else SeesRegressor
    model = quick(estimator).set_params(estimator=base(max_depth=2))
    kind = getattr(scipy.sparse, layout)
    fitted = clone(model).fit(kind(X), y)
    assert {part.seen_ for part in fitted} == {kind}
    assert answers(fitted, kind(X)) == pytest.approx(answers(clone(model).fit(X, y), X))
