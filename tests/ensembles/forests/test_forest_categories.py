"""Categorical columns in forests: sets of categories, random sets, unseen categories, frames."""

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

FORESTS = [
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    BaggingClassifier,
    BaggingRegressor,
]

LEVELS = ["ash", "beech", "elm", "fir", "oak", "yew"]


def frame(n: int = 400, seed: int = 0) -> tuple[Any, np.ndarray]:
    """A categorical column with missing values (the most informative), a number and a date."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(len(LEVELS), size=n)
    X = pd.DataFrame(
        {
            "kind": pd.Categorical([LEVELS[k] for k in kind]),
            "height": rng.normal(size=n),
            "felled": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=n), "D"),
        }
    )
    X.loc[::13, "kind"] = None
    y = np.array([0.0, 5.0, 1.0, 6.0, 0.5, 5.5])[kind] + X["height"].to_numpy() * 0.3
    return X, y + rng.normal(size=n) * 0.1


def target_of(forest: Any, y: np.ndarray, n_classes: int = 3) -> np.ndarray:
    if forest.__name__.endswith("Regressor"):
        return y
    return np.digitize(y, np.linspace(0.5, 5.5, n_classes + 1)[1:-1])


# ---- against naive code ----


def impurity(y: np.ndarray, is_class: bool) -> float:
    """Sum over the rows: squared error, or Gini."""
    if len(y) == 0:
        return 0.0
    if not is_class:
        return float(((y - y.mean()) ** 2).sum())
    shares = np.bincount(y.astype(int)) / len(y)
    return float(len(y) * (1 - (shares**2).sum()))


def naive_best(level: np.ndarray, y: np.ndarray, is_class: bool) -> float:
    """Largest decrease over all partitions of the categories into two sets."""
    found = np.unique(level)
    gains = [
        impurity(y, is_class)
        - impurity(y[np.isin(level, left)], is_class)
        - impurity(y[~np.isin(level, left)], is_class)
        for size in range(1, len(found))
        for left in combinations(found, size)
    ]
    return max(gains)


@pytest.mark.parametrize("n", [9, 60, 1500])
@pytest.mark.parametrize("task", ["numbers", "two classes", "weighted classes"])
def test_the_root_finds_the_best_two_of_all_sets(n: int, task: str) -> None:
    rng = np.random.default_rng(n)
    level = rng.integers(7, size=n)
    y = rng.normal(size=n) + np.sin(level * 5.0)
    X = pd.DataFrame({"level": pd.Categorical([f"l{one}" for one in level])})
    one = {"max_features": None, "bootstrap": False, "max_depth": 1, "n_jobs": 1}
    if task == "numbers":
        model: Any = RandomForestRegressor(1, **one).fit(X, y)
        best = naive_best(level, y, False)
    else:
        y = (y > 0.3).astype(int)
        # A fractional weight takes another path through the core.
        weight = None if task == "two classes" else np.full(n, 1.5)
        model = RandomForestClassifier(1, criterion="gini", **one).fit(X, y, weight)
        best = naive_best(level, y, True) * (1.0 if weight is None else 1.5)
    assert model.forest_.category_set[0] == 0
    assert float(model.forest_.gain[0]) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_of_three_classes_and_few_levels_the_root_finds_the_best_sets(criterion: str) -> None:
    rng = np.random.default_rng(3)
    level = rng.integers(4, size=200)
    y = (level + (rng.random(200) < 0.3)) % 3
    X = pd.DataFrame({"level": pd.Categorical([f"l{one}" for one in level])})
    model = RandomForestClassifier(
        1, max_features=None, bootstrap=False, max_depth=1, criterion=criterion
    ).fit(X, y)
    if criterion == "gini":
        assert float(model.forest_.gain[0]) == pytest.approx(naive_best(level, y, True), rel=1e-9)
    assert model.forest_.category_set[0] == 0


def test_a_set_parts_what_no_cut_of_codes_can() -> None:
    X, y = frame()
    X = X[["kind"]].dropna()
    y = y[X.index]
    model = DecisionTreeRegressor(max_depth=1, max_features=1, random_state=0).fit(X, y)
    assert model.text().splitlines()[0] in (
        "kind in {ash, elm, oak}?",
        "kind in {beech, fir, yew}?",
        "kind not in {ash, elm, oak}?",
        "kind not in {beech, fir, yew}?",
    )
    assert model.score(X, y) > 0.9


# ---- the same model ----


@pytest.mark.parametrize("forest", FORESTS)
def test_rows_in_any_order_and_any_threads_make_the_same_forest(forest: Any) -> None:
    X, y = frame()
    y = target_of(forest, y)
    order = np.random.default_rng(1).permutation(len(y))
    one = forest(n_estimators=8, random_state=3, n_jobs=1).fit(X, y)
    two = forest(n_estimators=8, random_state=3, n_jobs=2).fit(X.iloc[order], y[order])
    assert one.fingerprint() == two.fingerprint()
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    assert again.fingerprint() == one.fingerprint()


@pytest.mark.parametrize("forest", FORESTS)
def test_whole_number_weights_are_repetitions_in_so_many_draws(forest: Any) -> None:
    X, y = frame(150)
    y = target_of(forest, y)
    weight = np.random.default_rng(2).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    settings = {"n_estimators": 5, "random_state": 0, "bootstrap": True, "max_samples": 120}
    if forest in (RandomForestClassifier, RandomForestRegressor):
        settings |= {"min_samples_leaf": 2, "max_features": 0.5}  # no settings are selected
    weighted = forest(**settings).fit(X, y, weight)
    assert weighted.fingerprint() == forest(**settings).fit(X.iloc[rows], y[rows]).fingerprint()


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("forest", FORESTS)
def test_order_and_scale_of_weights_do_not_matter(forest: Any, bootstrap: bool) -> None:
    X, y = frame(150)
    y, rng = target_of(forest, y), np.random.default_rng(2)
    some, order, weight = rng.integers(0, 100, 150), rng.permutation(150), rng.integers(0, 4, 150)
    X, y = X.iloc[some], y[some]
    settings = {"n_estimators": 5, "random_state": 0, "bootstrap": bootstrap}
    one = forest(**settings).fit(X, y, weight)
    other = forest(**settings).fit(X.iloc[order], y[order], weight[order])
    assert other.fingerprint() == one.fingerprint()
    assert forest(**settings).fit(X, y, weight * 4).fingerprint() == one.fingerprint()


def test_names_of_levels_mean_nothing_where_no_row_is_drawn() -> None:
    """Rows are drawn by content, and random sets by category index: neither is used here."""
    X, y = frame()
    new = dict(zip(LEVELS, ["z", "m", "a", "q", "b", "x"], strict=True))
    renamed = X.assign(kind=X["kind"].cat.rename_categories(new))
    settings = {"n_estimators": 6, "bootstrap": False, "random_state": 0}
    one = RandomForestRegressor(**settings).fit(X, y)
    two = RandomForestRegressor(**settings).fit(renamed, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(renamed))


@pytest.mark.parametrize("forest", FORESTS)
def test_all_containers_of_a_table_make_one_model(forest: Any) -> None:
    polars = pytest.importorskip("polars")
    X, y = frame()
    y, settings = target_of(forest, y), {"n_estimators": 5, "random_state": 0}
    one = forest(**settings).fit(X, y)
    text = X.assign(kind=X["kind"].astype(object).where(X["kind"].notna(), None))
    other = polars.DataFrame({name: text[name].to_list() for name in text})
    assert forest(**settings).fit(text, y).fingerprint() == one.fingerprint()
    assert forest(**settings).fit(other, y).fingerprint() == one.fingerprint()
    # Category codes and columns in another order.
    turned = X.assign(kind=X["kind"].cat.reorder_categories(LEVELS[::-1]))[X.columns[::-1]]
    np.testing.assert_array_equal(one.predict(turned), one.predict(X))


# ---- unseen, missing and many categories ----


@pytest.mark.parametrize("forest", FORESTS)
def test_an_unknown_category_is_treated_as_missing(forest: Any) -> None:
    X, y = frame()
    model = forest(n_estimators=8, random_state=0).fit(X, target_of(forest, y))
    unseen = X.assign(kind=["cypress"] * len(X))
    nothing = X.assign(kind=pd.Series([None] * len(X), dtype="object"))
    np.testing.assert_array_equal(model.predict(unseen), model.predict(nothing))


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_category_of_zero_weight_rows_is_unknown(forest: Any) -> None:
    X, y = frame()
    weight = np.where(X["kind"] == "elm", 0.0, 1.0)
    some = weight > 0
    one = forest(n_estimators=5, random_state=0).fit(X, y, weight)
    two = forest(n_estimators=5, random_state=0).fit(X[some], y[some])
    assert one.fingerprint() == two.fingerprint()


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_class_of_no_weight_leaves_levels_without_rows(forest: Any) -> None:
    """The plan has categories without rows in the forest: indices and ranks then differ."""
    X, y = frame()
    labels = np.where(X["kind"].isin(["ash", "elm"]), 2, (y > 5.4).astype(int))
    kind = X["kind"].astype(object)
    settings = {"n_estimators": 10, "random_state": 0, "class_weight": {0: 1, 1: 1, 2: 0}}
    model = forest(**settings).fit(X[["kind"]], labels)
    known = labels < 2
    assert (model.predict(X[["kind"]])[known & (kind == "beech")] == 0).all()
    assert (model.predict(X[["kind"]])[known & (kind == "fir")] == 1).all()


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_hundreds_of_categories_are_not_overfitted(forest: Any) -> None:
    """Noise is hardly fitted, while a real effect of each category is."""
    rng = np.random.default_rng(0)
    level = rng.integers(300, size=12_000)
    X = pd.DataFrame({"level": [f"l{one}" for one in level], "x": rng.normal(size=12_000)})
    noise, train = rng.normal(size=12_000), 10_000
    settings = {"n_estimators": 15, "random_state": 0, "max_features": None}
    predicted = forest(**settings, min_samples_leaf=5).fit(X[:train], noise[:train])
    assert np.var(predicted.predict(X[train:])) < 0.25
    real = rng.normal(size=300)[level] + 0.1 * noise
    model = forest(**settings).fit(X[:train], real[:train])
    assert len(model.forest_.words) > 0
    assert model.score(X[train:], real[train:]) > 0.6


# ---- derived results ----


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesRegressor])
def test_the_ledger_supports_frames(forest: Any) -> None:
    X, y = frame(500)
    y = target_of(forest, y)
    model = forest(n_estimators=40, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    # The sums of the core during growth are the out-of-bag predictions of its trees.
    is_out = np.stack([model.in_bag_counts(k) == 0 for k in range(40)])
    predictions = np.concatenate(list(model._estimator_predictions(X)), axis=1)
    mean = (predictions * is_out[:, :, np.newaxis]).sum(axis=0) / is_out.sum(axis=0)[:, np.newaxis]
    found = getattr(model, "oob_decision_function_", getattr(model, "oob_prediction_", None))
    np.testing.assert_allclose(np.atleast_2d(found.T).T, mean, rtol=1e-12, atol=1e-12)
    importance = model.oob_permutation_importance(X, y, n_repeats=1)
    assert list(importance.columns) == list(X.columns)
    assert np.argmax(importance.importances_mean) == 0


@pytest.mark.parametrize("limit", [{"max_leaf_nodes": 12}, {"max_depth": 4}])
def test_both_growers_support_sets(limit: dict[str, int]) -> None:
    X, y = frame()
    settings = {"n_estimators": 4, "random_state": 0, "oob_score": True, **limit}
    with pytest.warns(UserWarning, match="OOB scores"):
        model = RandomForestRegressor(**settings).fit(X, y)
    assert (model.forest_.category_set >= 0).any()
    leaves = model._leaves(X)
    predictions = model.forest_.value[leaves + model.forest_.first_leaf[:-1], 0]
    np.testing.assert_allclose(predictions.mean(axis=1), model.predict(X))


def test_importances_and_trees_refer_to_input_columns() -> None:
    X, y = frame()
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.argmax(model.feature_importances_) == 0
    assert "kind" in model.text() and "{" in model.text()
    levels = model.trees_to_frame("pandas")["levels"].dropna()
    assert set(levels.explode()) <= set(LEVELS)
    path, ends = model.decision_path(X)
    assert path.shape == (len(X), ends[-1])
    tree = model.estimators_[0]
    assert isinstance(tree, DecisionTreeRegressor)
    np.testing.assert_array_equal(
        tree.predict(X), next(iter(model._estimator_predictions(X)))[0][:, 0]
    )


def test_categorical_columns_can_be_listed() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(6, size=300), rng.normal(size=300)]).astype(float)
    y = np.isin(X[:, 0], [1, 3, 5]).astype(int)
    one = {"n_estimators": 5, "max_depth": 1, "max_features": None, "random_state": 0}
    as_category = RandomForestClassifier(**one, categorical_features=[0]).fit(X, y)
    assert as_category.score(X, y) == 1.0
    assert RandomForestClassifier(**one).fit(X, y).score(X, y) < 0.9
    with pytest.raises(ValueError, match="categorical_features"):
        RandomForestClassifier(categorical_features="all").fit(X, y)
    with pytest.raises(ValueError, match="'kind' holds categories"):
        RandomForestClassifier(categorical_features=None).fit(frame()[0], frame()[1] > 3)


@pytest.mark.parametrize("settings", [{"splitter": "random"}, {"max_features": "sqrt"}])
def test_a_single_tree_that_draws_supports_sets(settings: dict[str, Any]) -> None:
    X, y = frame()
    model = DecisionTreeClassifier(random_state=0, **settings).fit(X, y > 3)
    assert (model.forest_.category_set >= 0).any()
    assert model.score(X, y > 3) == 1.0


def test_a_warm_start_refuses_other_levels() -> None:
    X, y = frame()
    model = RandomForestRegressor(3, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=5).fit(X, y)
    assert model.forest_.n_trees == 5
    cold = RandomForestRegressor(5, random_state=0).fit(X, y)
    assert model.fingerprint() == cold.fingerprint()
    other = X.assign(kind=X["kind"].cat.rename_categories({"ash": "zelkova"}))
    with pytest.raises(ValueError, match="other dtypes or categories"):
        model.set_params(n_estimators=7).fit(other, y)
    np.testing.assert_array_equal(model.predict(X), cold.predict(X))
