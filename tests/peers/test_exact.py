"""Exact search beside scikit-learn's trees and xgboost's exact method: node by node the same."""

import numpy as np
import pytest
import sklearn.tree

from weald import BoostedTreesRegressor, DecisionTreeClassifier, DecisionTreeRegressor

CRITERIA = [("gini", 3), ("entropy", 4), ("squared_error", 0)]


def task(n_classes: int, seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Columns without ties, exact in float32, with far more than 255 values; noise, so that no
    node is nearly pure and parted alike by several columns."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(float(n)) ** 2, (5, 1)), axis=1).T / 16
    rank = np.argsort(np.argsort(X, axis=0), axis=0)
    signal = rank[:, 0] + rank[:, 1] * (rank[:, 2] > n / 2) + rng.normal(size=n) * n / 2
    return X, np.argsort(np.argsort(signal)) * n_classes // n if n_classes else signal


def both(criterion: str, **limits):
    if criterion == "squared_error":
        ours, theirs = DecisionTreeRegressor, sklearn.tree.DecisionTreeRegressor
    else:
        ours, theirs = DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier
    return ours(criterion=criterion, exact=True, **limits), theirs(
        criterion=criterion, random_state=0, **limits
    )


def assert_same_nodes(ours, theirs) -> None:
    """Both keep their nodes in pre-order, as long as theirs grew depth first."""
    forest, tree = ours.forest_, theirs.tree_
    assert len(forest.feature) == tree.node_count
    inner = forest.feature >= 0
    assert np.array_equal(inner, tree.feature >= 0)
    assert np.array_equal(forest.feature[inner], tree.feature[inner])
    assert np.array_equal(forest.threshold[inner], tree.threshold[inner])
    assert np.array_equal(forest.right[inner], tree.children_right[inner])
    assert forest.weight == pytest.approx(tree.weighted_n_node_samples, rel=1e-12)
    assert forest.value[forest.right[~inner]] == pytest.approx(
        tree.value[~inner].reshape(forest.value.shape), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_scikit_learns_trees(criterion, n_classes, seed, is_weighted: bool) -> None:
    X, y = task(n_classes, seed)
    weight = np.random.default_rng(seed).exponential(size=len(y)) + 0.1 if is_weighted else None
    # Small leaves are parted alike by several columns, and theirs come in random order.
    is_counting = n_classes > 0 and not is_weighted
    limits = {"max_depth": 6, "min_samples_leaf": 120 if is_counting else 30}
    ours, theirs = (tree.fit(X, y, weight) for tree in both(criterion, **limits))
    assert ours.get_n_leaves() > 8
    assert_same_nodes(ours, theirs)
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-12)


@pytest.mark.parametrize(("criterion", "n_classes"), CRITERIA)
def test_scikit_learns_best_first_trees_predict_the_same(criterion, n_classes) -> None:
    X, y = task(n_classes, 9)
    limits = {"max_leaf_nodes": 12, "min_samples_leaf": 100}
    ours, theirs = (tree.fit(X, y) for tree in both(criterion, **limits))
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)
    used = [(model.forest_ if model is ours else model.tree_) for model in (ours, theirs)]
    inner = [tree.feature >= 0 for tree in used]
    for name in ("feature", "threshold"):
        ours_, theirs_ = (getattr(t, name)[i] for t, i in zip(used, inner, strict=True))
        assert sorted(ours_) == sorted(theirs_)


# Ours, theirs. Our gain has a factor of one half, theirs none.
PENALTIES = {
    "none": ({}, {}),
    "l1": ({"l1_regularization": 2000.0}, {"reg_alpha": 2000.0}),
    "pruned": ({"min_gain": 4e5, "prune": "after"}, {"gamma": 8e5}),
    "both": (
        {"l1_regularization": 500.0, "min_gain": 2e5, "prune": "after"},
        {"reg_alpha": 500.0, "gamma": 4e5},
    ),
    "monotone": ({"monotonic_cst": [-1, 1, 0, 1, -1]}, {"monotone_constraints": "(-1,1,0,1,-1)"}),
    "monotone, pruned": (
        {"monotonic_cst": [1, 0, -1, -1, 1], "min_gain": 2e5, "prune": "after"},
        {"monotone_constraints": "(1,0,-1,-1,1)", "gamma": 4e5},
    ),
    "groups": (
        {"interaction_cst": [[0, 1], [1, 2], [3, 4]]},
        {"interaction_constraints": "[[0, 1], [1, 2], [3, 4]]"},
    ),
}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_xgboost_s_exact_method(seed: int, missing: float, penalty: str) -> None:
    if missing and "monotone" in penalty:
        pytest.skip("theirs has a direction between values and missing ones, ours has none")
    xgboost = pytest.importorskip("xgboost")
    X, y = task(0, seed, n=1000)
    X = X.astype(np.float32)
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    settings = {"max_depth": 5, "learning_rate": 0.5}
    n_rounds, l2, least = 4, 2.0, 25.0
    ours = BoostedTreesRegressor(
        quality="fast",
        exact=True,
        n_estimators=n_rounds,
        max_leaf_nodes=None,
        min_samples_leaf=1,
        min_child_weight=least,
        l2_regularization=l2,
        **settings,
        **PENALTIES[penalty][0],
    ).fit(X, y)
    booster = xgboost.train(
        {
            **settings,
            "tree_method": "exact",
            "reg_lambda": l2,
            "min_child_weight": least,
            "base_score": float(y.mean()),
            "nthread": 2,
            **PENALTIES[penalty][1],
        },
        xgboost.DMatrix(X, label=y),
        n_rounds,
    )
    assert_same_trees(ours.forest_, booster.trees_to_dataframe(), X, 15 if penalty == "none" else 9)


def assert_same_trees(forest, theirs, X: np.ndarray, n_least: int) -> None:
    """Node by node, with the rows that come there; every tree has more than so many nodes."""
    for tree in range(forest.n_trees):
        nodes = theirs[theirs.Tree == tree].set_index("Node")
        first, first_leaf = forest.first_node[tree], forest.first_leaf[tree]
        stack = [(0, 0, np.arange(len(X)))]  # the same place in ours and in theirs, and its rows
        n_nodes = 0
        while stack:
            here, there, rows = stack.pop()
            n_nodes += 1
            node, column = nodes.loc[there], forest.feature[first + here]
            if node.Feature == "Leaf":
                assert column == -1
                value = forest.value[first_leaf + forest.right[first + here], 0]
                assert value == pytest.approx(node.Gain, rel=1e-4, abs=1e-3)
                continue
            assert node.Feature == f"f{column}"
            x, missing_left = X[rows, column], bool(forest.missing_left[first + here])
            if np.isinf(forest.threshold[first + here]):
                assert node.Split > np.nanmax(x)  # all values go left
            else:
                # Theirs sends x < split left; both are the middle, theirs in float32.
                assert node.Split == pytest.approx(forest.threshold[first + here], rel=1e-6)
            if np.isnan(x).any():
                assert missing_left == (node.Missing == node.Yes)
            left = np.where(np.isnan(x), missing_left, x <= forest.threshold[first + here])
            stack.append((here + 1, int(node.Yes.split("-")[1]), rows[left]))
            right = int(forest.right[first + here])
            stack.append((right, int(node.No.split("-")[1]), rows[~left]))
        assert n_nodes == len(nodes)
        assert n_nodes > n_least
