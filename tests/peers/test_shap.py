"""Shapley values beside those of the packages shap, lightgbm and xgboost, on the same trees."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import weald
from weald import _native
from weald.explain import shap
from weald.trees import Forest


def tables(n: int = 400, *, missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).astype(np.float32).astype(np.float64)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=n) / 4
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def core_values(forest: Forest, X: np.ndarray, *, pairs: bool = False) -> np.ndarray:
    """Values of the core with those of the base value as last column."""
    core = _native.TreeShap(
        **forest.native_arrays(),
        weight=forest.weight,
        player=np.arange(forest.n_columns, dtype=np.int32),
        n_players=forest.n_columns,
    )
    outputs = list(range(forest.n_outputs))
    if pairs:
        return core.interactions(X, outputs, 2)
    values = core.values(X, outputs, 2)
    base = np.broadcast_to(core.expected(), (len(X), 1, forest.n_outputs))
    return np.concatenate([values, base], axis=1)


# ---- the trees of peers as a forest ----


class Builder:
    """Collects trees in pre-order."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, float, int, float]] = []  # column, threshold, default, weight
        self.right: list[int] = []
        self.values: list[float] = []
        self.first_node, self.first_leaf = [0], [0]

    def leaf(self, value: float, weight: float) -> None:
        self.right.append(len(self.values) - self.first_leaf[-1])
        self.nodes.append((-1, 0.0, 0, weight))
        self.values.append(value)

    def split(self, column: int, threshold: float, default: bool, weight: float) -> int:
        self.nodes.append((column, threshold, int(default), weight))
        self.right.append(-1)
        return len(self.nodes) - 1

    def turn(self, node: int) -> None:
        """What follows is the right child."""
        self.right[node] = len(self.nodes) - self.first_node[-1]

    def end_tree(self) -> None:
        self.first_node.append(len(self.nodes))
        self.first_leaf.append(len(self.values))

    def forest(self, n_columns: int, n_outputs: int, base: float = 0.0) -> Forest:
        feature, threshold, default, weight = zip(*self.nodes, strict=True)
        n_trees = len(self.first_node) - 1
        return Forest(
            feature=np.array(feature, dtype=np.int32),
            threshold=np.array(threshold),
            right=np.array(self.right, dtype=np.int32),
            missing_left=np.array(default, dtype=np.uint8),
            weight=np.array(weight),
            gain=np.zeros(len(feature)),
            value=np.array(self.values)[:, np.newaxis],
            first_node=np.array(self.first_node),
            first_leaf=np.array(self.first_leaf),
            output=(np.arange(n_trees) % n_outputs).astype(np.int32),
            tree_weight=np.ones(n_trees),
            base_score=np.full(n_outputs, base),
            n_columns=n_columns,
        )


def forest_of_lightgbm(booster: Any, n_columns: int, n_outputs: int) -> Forest:
    builder = Builder()

    def add(node: dict[str, Any]) -> None:
        if "leaf_value" in node:
            builder.leaf(node["leaf_value"], node.get("leaf_count", 1))
            return
        at = builder.split(
            node["split_feature"], node["threshold"], node["default_left"], node["internal_count"]
        )
        add(node["left_child"])
        builder.turn(at)
        add(node["right_child"])

    for tree in booster.dump_model()["tree_info"]:
        add(tree["tree_structure"])
        builder.end_tree()
    return builder.forest(n_columns, n_outputs)


def forest_of_xgboost(booster: Any, n_columns: int, n_outputs: int) -> Forest:
    builder = Builder()
    model = json.loads(bytes(booster.save_raw("json")))["learner"]

    def add(tree: dict[str, Any], node: int) -> None:
        weight = tree["sum_hessian"][node]
        if tree["left_children"][node] < 0:
            builder.leaf(tree["split_conditions"][node], weight)
            return
        # Values below the threshold go left: for float32 those up to the number before it.
        threshold = float(
            np.nextafter(np.float32(tree["split_conditions"][node]), np.float32(-9e9))
        )
        column, default = tree["split_indices"][node], bool(tree["default_left"][node])
        at = builder.split(column, threshold, default, weight)
        add(tree, tree["left_children"][node])
        builder.turn(at)
        add(tree, tree["right_children"][node])

    for tree in model["gradient_booster"]["model"]["trees"]:
        add(tree, 0)
        builder.end_tree()
    return builder.forest(n_columns, n_outputs)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_lightgbm(n_classes: int) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = tables()
    kinds = {0: "regression", 2: "binary", 3: "multiclass"}
    settings = {"objective": kinds[n_classes], "num_leaves": 15, "verbose": -1, "num_threads": 2}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    if n_classes > 2:
        settings["num_class"] = n_classes
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y), 6)
    n_outputs = max(1, n_classes if n_classes > 2 else 1)
    forest = forest_of_lightgbm(booster, 6, n_outputs)
    theirs = np.asarray(booster.predict(X[:50], pred_contrib=True)).reshape(50, n_outputs, 7)
    ours = core_values(forest, X[:50]).transpose(0, 2, 1)
    assert ours.sum(axis=2) == pytest.approx(theirs.sum(axis=2), abs=1e-6)
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_xgboost(n_classes: int) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = tables()
    settings: dict[str, Any] = {"max_depth": 4, "nthread": 2, "base_score": 0.0}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        settings |= {"objective": "multi:softmax", "num_class": n_classes}
    booster = xgboost.train(settings, xgboost.DMatrix(X, y), 6)
    n_outputs = max(1, n_classes)
    forest = forest_of_xgboost(booster, 6, n_outputs)
    rows = xgboost.DMatrix(X[:50])
    theirs = booster.predict(rows, pred_contribs=True).reshape(50, n_outputs, 7)
    ours = core_values(forest, X[:50]).transpose(0, 2, 1)
    assert ours == pytest.approx(theirs, abs=1e-5)  # theirs are float32
    pairs = booster.predict(rows, pred_interactions=True).reshape(50, n_outputs, 7, 7)
    own = core_values(forest, X[:50], pairs=True).transpose(0, 3, 1, 2)
    assert own == pytest.approx(pairs[:, :, :6, :6], abs=1e-5)


# ---- our trees in the form that the package shap documents ----


def trees_for_shap(forest: Forest, output: int) -> dict[str, Any]:
    """A model for `shap.TreeExplainer`, as its documentation describes."""
    trees = []
    for tree in range(forest.n_trees):
        if forest.output[tree] >= 0 and forest.output[tree] != output:
            continue
        own = forest.tree(tree)
        n, inner = len(own.feature), own.feature >= 0
        left = np.where(inner, np.arange(n) + 1, -1)
        right = np.where(inner, own.right, -1)
        values = np.zeros((n, 1))
        column = output if forest.output[tree] < 0 else 0
        values[~inner, 0] = own.value[own.right[~inner], column] * own.tree_weight[0]
        trees.append(
            {
                "children_left": left.astype(np.int32),
                "children_right": right.astype(np.int32),
                "children_default": np.where(own.missing_left, left, right).astype(np.int32),
                "features": np.where(inner, own.feature, -2).astype(np.int32),
                "thresholds": own.threshold,
                "values": values,
                "node_sample_weight": own.weight.copy(),
            }
        )
    return {"trees": trees, "base_offset": float(forest.base_score[output])}


MODELS = {
    "boosted trees": weald.BoostedTreesRegressor(n_estimators=5, n_bags=None),
    "forest": weald.RandomForestClassifier(4, random_state=0),
    "extra trees": weald.ExtraTreesRegressor(3, random_state=0),
    "AdaBoost": weald.AdaBoostClassifier(n_estimators=10),
}


@pytest.mark.parametrize("name", MODELS)
def test_shap(name: str) -> None:
    package = pytest.importorskip("shap")
    X, y = tables(missing=False)
    model = MODELS[name]
    if hasattr(model, "predict_proba"):
        y = (y > 0).astype(int)
    forest = model.fit(X, y).forest_
    for output in range(forest.n_outputs):
        explainer = package.TreeExplainer(
            trees_for_shap(forest, output), feature_perturbation="tree_path_dependent"
        )
        ours = core_values(forest, X[:30])[:, :, output]
        assert ours[:, :-1] == pytest.approx(explainer.shap_values(X[:30]), abs=1e-6)
        assert ours[0, -1] == pytest.approx(np.ravel(explainer.expected_value)[0], abs=1e-6)
        pairs = explainer.shap_interaction_values(X[:30])
        own = core_values(forest, X[:30], pairs=True)[..., output]
        assert own == pytest.approx(pairs, abs=1e-6)
        against = package.TreeExplainer(
            trees_for_shap(forest, output), X[100:130], feature_perturbation="interventional"
        )
        core = _native.BackgroundShap(
            **forest.native_arrays(), player=np.arange(6, dtype=np.int32), n_players=6
        )
        ours = core.values(X[:30], X[100:130], [output], 2)[:, :, 0]
        assert ours == pytest.approx(against.shap_values(X[:30]), abs=1e-6)


def test_missing_values_as_in_shap() -> None:
    package = pytest.importorskip("shap")
    X, y = tables()
    forest = weald.BoostedTreesRegressor(n_estimators=5, n_bags=None).fit(X, y).forest_
    explainer = package.TreeExplainer(
        trees_for_shap(forest, 0), feature_perturbation="tree_path_dependent"
    )
    values = explainer.shap_values(X[:60], check_additivity=False)
    ours = core_values(forest, X[:60])[:, :-1, 0]
    assert ours == pytest.approx(values, abs=1e-6)


def test_explanations_of_shap() -> None:
    package = pytest.importorskip("shap")
    X, y = tables(missing=False)
    model = weald.BoostedTreesClassifier(n_estimators=3, n_bags=None).fit(X, np.digitize(y, [0, 1]))
    explained = shap(model, X[:9])
    theirs = explained.to_shap()
    assert isinstance(theirs, package.Explanation)
    assert theirs.values.shape == (9, 6, 3) and theirs.base_values.shape == (9, 3)
    assert np.array_equal(theirs.data, X[:9])
    assert theirs.feature_names == explained.feature_names
    one = replace(explained, values=explained.values[..., 0].copy(), base_values=0.5).to_shap()
    assert one.base_values.shape == (9,)


def test_to_shap_says_what_is_missing() -> None:
    X, y = tables()
    explained = shap(weald.DecisionTreeRegressor(max_depth=2).fit(X, y), X[:3])
    try:
        import shap as package  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install shap"):
            explained.to_shap()
    else:
        assert explained.to_shap().values.shape == (3, 6)
