"""Shapley values beside those of the packages shap, lightgbm and xgboost, on the same trees."""

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


# ---- the trees of peers ----


def counts_of_lightgbm(booster: Any) -> np.ndarray:
    """Numbers of rows of all nodes in pre-order, which lightgbm takes as weights."""
    counts: list[float] = []

    def add(node: dict[str, Any]) -> None:
        counts.append(node.get("internal_count", node.get("leaf_count", 1)))
        for child in ("left_child", "right_child"):
            if child in node:
                add(node[child])

    for tree in booster.dump_model()["tree_info"]:
        add(tree["tree_structure"])
    return np.array(counts, dtype=np.float64)


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
    forest = weald.from_lightgbm(booster).forest_
    forest = replace(forest, weight=counts_of_lightgbm(booster))
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
    forest = weald.from_xgboost(booster).forest_
    rows = xgboost.DMatrix(X[:50])
    theirs = booster.predict(rows, pred_contribs=True).reshape(50, n_outputs, 7)
    ours = core_values(forest, X[:50]).transpose(0, 2, 1)
    assert ours == pytest.approx(theirs, abs=1e-5)  # theirs are float32
    pairs = booster.predict(rows, pred_interactions=True).reshape(50, n_outputs, 7, 7)
    own = core_values(forest, X[:50], pairs=True).transpose(0, 3, 1, 2)
    assert own == pytest.approx(pairs[:, :, :6, :6], abs=1e-5)


def test_imported_models() -> None:
    """Sums of trees on the scale of scores or, of forests, of predictions."""
    sklearn = pytest.importorskip("sklearn.ensemble")
    X, y = tables(missing=False)
    classes = np.digitize(y, [0, 1])
    for theirs, target in (
        (sklearn.RandomForestRegressor(4, random_state=0), y),
        (sklearn.ExtraTreesClassifier(4, random_state=0), classes),
        (sklearn.HistGradientBoostingClassifier(max_iter=4), classes),
        (sklearn.HistGradientBoostingClassifier(max_iter=4), classes > 0),
        (sklearn.HistGradientBoostingRegressor(max_iter=4, loss="poisson"), y - y.min()),
    ):
        model = weald.from_sklearn(theirs.fit(X, target))
        explained = shap(model, X[:20])
        assert explained.is_exact
        if explained.scale in ("prediction", "probability"):
            has_classes = explained.scale == "probability"
            expected = (theirs.predict_proba if has_classes else theirs.predict)(X[:20])
        elif "log of" in explained.scale:
            expected = np.log(theirs.predict(X[:20]))
        else:
            expected = theirs.decision_function(X[:20])
        assert explained.predictions == pytest.approx(expected, abs=1e-9)


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
