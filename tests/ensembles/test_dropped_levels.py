"""Target statistics of forests, AdaBoost and gradient boosting: columns with dropped levels."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import weald
from weald import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.ensembles.forests.tree_statistics import TreeStatistics
from weald.ensembles.level_statistics import SMOOTHING
from weald.errors import WealdWarning

pd = pytest.importorskip("pandas")

FIXED: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
FEW: dict[str, Any] = {**FIXED, "n_estimators": 8}
TREES: dict[str, Any] = {**FEW, "min_samples_leaf": 2, "max_features": None}


def sample(n_levels: int = 300, n_each: int = 6, seed: int = 0) -> Any:
    """Rows of a shop with an effect, a number with an effect, and a target."""
    rng = np.random.default_rng(seed)
    level = rng.permutation(np.repeat(np.arange(n_levels), n_each))
    x = rng.integers(0, 20, len(level)) / 4.0
    effect = np.random.default_rng(99).normal(size=n_levels) * 2
    y = effect[level] + x + rng.normal(size=len(level))
    return pd.DataFrame({"shop": [f"s{i:03d}" for i in level], "x": x}), np.round(y, 3)


X, Y = sample()
NEW, NEW_Y = sample(seed=1)
TWO = (np.median(Y) < Y).astype(int)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))

MODELS = [
    pytest.param(RandomForestRegressor(**TREES), Y, id="forest"),
    pytest.param(RandomForestRegressor(**TREES, max_samples=900), Y, id="small samples"),
    pytest.param(RandomForestClassifier(**TREES), THREE, id="forest, three classes"),
    pytest.param(
        RandomForestClassifier(**TREES, class_weight="balanced_subsample", voting="hard"),
        TWO,
        id="forest, balanced votes",
    ),
    pytest.param(RandomForestRegressor(**TREES, bootstrap=False), Y, id="forest of all rows"),
    pytest.param(ExtraTreesRegressor(**FEW), Y, id="extra trees"),
    pytest.param(ExtraTreesClassifier(**FEW, bootstrap=True), TWO, id="extra trees, samples"),
    pytest.param(AdaBoostClassifier(**FEW), TWO, id="AdaBoost"),
    pytest.param(AdaBoostClassifier(**FEW, reweight="resampling"), THREE, id="AdaBoost, drawn"),
    pytest.param(AdaBoostRegressor(**FEW), Y, id="AdaBoost.R2"),
    pytest.param(GradientBoostingRegressor(**FEW), Y, id="gradient boosting"),
    pytest.param(GradientBoostingClassifier(**FEW, n_iter_no_change=3), THREE, id="early stopping"),
]
every_model = pytest.mark.parametrize(("model", "y"), MODELS)
FORESTS = [one for one in MODELS if "forest" in str(one.id) or "samples" in str(one.id)]
ON_SAMPLES = [one for one in FORESTS if one.id != "forest of all rows"]
on_samples = pytest.mark.parametrize(("model", "y"), ON_SAMPLES)


def answers(model: Any, table: Any) -> np.ndarray:
    return model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)


# ---- what trees see ----


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_encoded_by_the_definition(weighted: bool, monkeypatch: Any) -> None:
    """In-bag rows by the tree's other folds; out-of-bag rows, and new ones, by all its rows."""
    seen = {}
    made = TreeStatistics.table

    def table(self: Any, tree: int, rows: Any, ordered: Any, samples: Any) -> Any:
        seen[tree] = made(self, tree, rows, ordered, samples), self.fold, rows.target
        return seen[tree][0]

    monkeypatch.setattr(TreeStatistics, "table", table)
    given, y = X.copy(), Y + np.arange(len(Y)) * 1e-6
    given.loc[:20, "shop"] = None
    weight = np.random.default_rng(3).integers(1, 4, len(Y)) / 2 if weighted else np.ones(len(Y))
    # Without replacement rows keep their weights; with it they are drawn by them.
    for bootstrap in (True, False):
        model = RandomForestRegressor(**TREES, bootstrap=bootstrap, max_samples=0.6)
        model.fit(given, y, weight)
        shop = given["shop"].fillna("missing").to_numpy()
        new = model._plan.read(weald.data.read_columns(NEW))
        for tree in (0, 7):
            encoded, fold, target = seen[tree]
            assert target.tolist() == y.tolist()
            drawn = model.in_bag_counts(tree) * (1.0 if bootstrap else weight)
            counts = model.in_bag_counts(tree)
            own = SMOOTHING * drawn.sum() / counts.sum()
            prior = (drawn * y).sum() / drawn.sum()

            def mean(used: Any, own: float = own, prior: float = prior, d: Any = drawn) -> float:
                return ((d * y)[used].sum() + own * prior) / (d[used].sum() + own)

            for row in range(60):
                used = (shop == shop[row]) & ((fold != fold[row]) | (counts[row] == 0))
                assert encoded[row, 1] == pytest.approx(mean(used))
            expected = [mean(shop == level) for level in NEW["shop"][:40]]
            assert new[1 + tree][:40] == pytest.approx(expected)


def test_a_tree_knows_no_target_of_its_out_of_bag_rows() -> None:
    """Groups of single rows are drawn by their labels, so that targets may change."""
    model = RandomForestRegressor(**TREES)
    groups, row = np.arange(len(Y)), 17
    model.fit(X, Y, groups=groups)
    trees = [model.forest_.tree(k).predict(_table(model), n_threads=1) for k in range(8)]
    drawn = [model.in_bag_counts(k) for k in range(8)]
    other = model.fit(X, np.where(groups == row, Y + 5.0, Y), groups=groups)
    same = [
        np.array_equal(tree, other.forest_.tree(k).predict(_table(other), n_threads=1))
        for k, tree in enumerate(trees)
    ]
    assert [counts.tolist() for counts in drawn] == [
        other.in_bag_counts(k).tolist() for k in range(8)
    ]
    assert same == [counts[row] == 0 for counts in drawn]
    assert 0 < sum(same) < 8


def _table(model: Any) -> np.ndarray:
    return np.column_stack(model._plan.read(weald.data.read_columns(NEW)))


@pytest.mark.parametrize("estimator", [ExtraTreesClassifier, GradientBoostingClassifier])
@pytest.mark.parametrize("place", [False, True])
def test_folds_do_not_tell_targets(estimator: Any, place: bool) -> None:
    """Rows that are equal but for the target: the other folds must not lack just that target."""
    rng = np.random.default_rng(0)
    share = rng.beta(1, 1, 300)

    def draw() -> Any:
        level = rng.integers(0, 300, 3000)
        table = pd.DataFrame({"shop": [f"s{i}" for i in level]})
        return table.assign(place=level) if place else table, rng.random(3000) < share[level]

    (table, y), (new, new_y) = draw(), draw()
    model = estimator(**FIXED).fit(table, y)
    assert model.score(new, new_y) > 0.68


# ---- accuracy and out-of-bag errors ----


@pytest.mark.parametrize(
    "estimator",
    [RandomForestRegressor, ExtraTreesRegressor, AdaBoostRegressor, GradientBoostingRegressor],
)
def test_levels_of_few_rows_are_used(estimator: Any) -> None:
    model = estimator(**FIXED).fit(X, Y)
    with pytest.warns(WealdWarning, match="300 categories, of which 300 are treated as missing"):
        without = estimator(target_statistics=False, **FIXED).fit(X, Y)
    assert model.target_statistics_
    assert not without.target_statistics_
    assert model.score(NEW, NEW_Y) > without.score(NEW, NEW_Y) + 0.3
    assert model.feature_importances_[0] > 0.4


def test_bagged_trees_have_them() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", WealdWarning)
        model = BaggingRegressor(n_estimators=30, **FIXED).fit(X, Y)
    assert model.score(NEW, NEW_Y) > 0.6


POPULATIONS = ["noise", "place", "imbalance", "effect", "few values", "weights"]


@pytest.mark.parametrize("kind", POPULATIONS)
@pytest.mark.parametrize("estimator", [RandomForestRegressor, RandomForestClassifier])
def test_out_of_bag_errors_are_those_of_new_rows(kind: str, estimator: Any) -> None:
    """Also if the target is noise, and if a number tells the level of each row."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        effect = rng.normal(size=400)

        def draw(n: int, rng: Any = rng, effect: Any = effect) -> Any:
            level = rng.integers(0, 400, n)
            table = pd.DataFrame({"shop": [f"s{i}" for i in level], "z": rng.normal(size=n)})
            if kind in ("place", "imbalance"):
                table["z"] = level
            y = rng.normal(size=n) + (effect[level] if kind in ("effect", "weights") else 0.0)
            if estimator is RandomForestClassifier:
                return table, (y > (1.9 if kind == "imbalance" else 0.0)).astype(int)
            return table, np.round(y) if kind == "few values" else y

        (table, y), (new, new_y) = draw(2000), draw(6000)
        weight = rng.integers(1, 4, len(y)) if kind == "weights" else None
        model = estimator(60, min_samples_leaf=1, max_features=None, oob_score=True, **FIXED)
        model.fit(table, y, weight)
        if estimator is RandomForestClassifier:
            oob = np.square(model.oob_decision_function_[:, 1] - y)
            fresh = np.square(model.predict_proba(new)[:, 1] - new_y)
        else:
            oob = np.square(model.oob_prediction_ - y)
            fresh = np.square(model.predict(new) - new_y)
        ratios.append(np.average(oob[~np.isnan(oob)]) / fresh.mean())
    # 22 of the 60 trees vote for an out-of-bag row: its error is somewhat greater.
    assert 0.97 < np.mean(ratios) < 1.2


# ---- invariances ----


@every_model
def test_order_threads_and_containers(model: Any, y: Any) -> None:
    expected = model.fit(X, y).fingerprint()
    assert model.target_statistics_
    order = np.random.default_rng(0).permutation(len(y))
    if "random_state=0, reweight='resampling'" not in repr(model):
        assert model.fit(X.iloc[order], y[order]).fingerprint() == expected
    for frame in (X.astype({"shop": "category"}), *_frames()):
        assert model.fit(frame, y).fingerprint() == expected
    try:
        model.set_params(n_jobs=2)
        assert model.fit(X, y).fingerprint() == expected
    finally:
        model.set_params(n_jobs=1)


def _frames() -> Any:
    columns = {name: X[name].tolist() for name in X}
    yield pytest.importorskip("polars").DataFrame(columns)
    yield pytest.importorskip("pyarrow").table(columns)


@every_model
def test_weights(model: Any, y: Any) -> None:
    """Only ratios matter; rows without weight do not."""
    equal = model.fit(X, y).fingerprint()
    assert model.fit(X, y, np.full(len(y), 0.1)).fingerprint() == equal
    weight = np.append(np.ones(len(y)), np.zeros(50))
    extra = pd.DataFrame({"shop": [f"new{i}" for i in range(50)], "x": 1.0})
    table = pd.concat([X, extra], ignore_index=True)
    assert model.fit(table, np.append(y, y[:50]), weight).fingerprint() == equal
    weight = np.random.default_rng(0).integers(1, 9, len(y)).astype(float)
    expected = answers(model.fit(X, y, weight), NEW)
    for scale in (2.0**-40, 2.0**900):
        assert answers(model.fit(X, y, weight * scale), NEW) == pytest.approx(expected)


@every_model
def test_the_number_of_rows_of_the_levels_decides(model: Any, y: Any) -> None:
    """255 levels, or ten rows of each: the sets of levels are enough."""
    few = X.assign(shop=X["shop"].str[-2:])
    expected = model.fit(few, y).fingerprint()
    try:
        assert model.set_params(target_statistics=False).fit(few, y).fingerprint() == expected
    finally:
        model.set_params(target_statistics="auto")


# ---- predictions ----


@every_model
def test_unseen_and_missing_levels(model: Any, y: Any) -> None:
    table = X.copy()
    table.loc[y >= np.quantile(y, 0.85), "shop"] = None
    model.fit(table, y)
    of = [answers(model, X[:1].assign(shop=one)) for one in ("Atlantis", "Lemuria", None)]
    assert np.array_equal(of[0], of[1])
    if "Bagging" not in repr(model) and "n_estimators=8" in repr(model):
        assert not np.array_equal(of[0], of[2])


@every_model
def test_files_pickles_and_text(model: Any, y: Any, tmp_path: Any) -> None:
    model.fit(X, y).save(tmp_path / "model.weald")
    for other in (weald.load(tmp_path / "model.weald"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        assert np.array_equal(answers(other, NEW), answers(model, NEW))
    names = set(model.trees_to_frame("pandas")["feature"].dropna())
    assert any(name.startswith(("shop (mean of y", "shop (share of")) for name in names)
    assert model.text(0)


@every_model
def test_shapley_values_and_importances(model: Any, y: Any) -> None:
    model.fit(X, y)
    assert model.feature_importances_.shape == (2,)
    if "AdaBoost" in repr(model):
        return
    explained = weald.explain.shap(model, NEW[:5])
    values = explained.values.reshape(5, 2, -1)
    scores = model._scores(NEW[:5]).reshape(5, -1)
    if values.shape[2] == 1 and scores.shape[1] == 2:
        scores = scores[:, 1:]
    assert values.sum(axis=1) + explained.base_values == pytest.approx(scores)
    assert np.abs(values[:, 0]).max() > 0


def test_fast_predictors_read_rows() -> None:
    for model in (RandomForestRegressor(**TREES), GradientBoostingRegressor(**FEW)):
        alone, expected = model.fit(X, Y).predictor(), model.predict(NEW[:20])
        rows = NEW[:20].to_dict("records")
        assert [float(alone.predict(row)) for row in rows] == expected.tolist()
        assert np.array_equal(alone.predict(NEW[:20]), expected)


def test_exported_forms_refuse_them() -> None:
    model = RandomForestRegressor(**TREES).fit(X, Y)
    with pytest.raises(ValueError, match="it splits target statistics of 'shop'"):
        weald.export.to_c(model)


# ---- out-of-bag tools ----


@on_samples
def test_out_of_bag_predictions_are_those_of_the_trees(model: Any, y: Any) -> None:
    """Computed from the finished trees, on the columns of all trees."""
    model = clone(model).set_params(oob_score=True, n_estimators=20)
    model.fit(X, y)
    table = np.column_stack(model._plan.read(weald.data.read_columns(X)))
    total, counts = 0.0, np.zeros(len(y))
    for k in range(20):
        out = model.in_bag_counts(k) == 0
        total = total + out[:, None] * model.forest_.tree(k).predict(table, n_threads=1)
        counts += out
    scored = counts > 0
    expected = (total / np.maximum(counts, 1)[:, None])[scored]
    found = getattr(model, "oob_prediction_", getattr(model, "oob_decision_function_", None))
    assert found[scored].reshape(expected.shape) == pytest.approx(expected)
    assert np.asarray(model.oob_.predictions)[scored].ravel() == pytest.approx(
        np.asarray(found)[scored].ravel() if found.ndim == 1 else found[scored].ravel()
    )
    assert model.estimators_[3].predict(X[:9]).shape == (9,)


def test_tools_of_the_ledger() -> None:
    model = RandomForestRegressor(40, oob_score=True, min_samples_leaf=2, **FIXED).fit(X, Y)
    shares = model.oob_permutation_importance(X, Y, n_repeats=1).importances_mean
    assert (shares > 0).all()
    pruned = model.prune_oob(X, Y)
    assert pruned.model.score(NEW, NEW_Y) > 0.5
    low, high = model.predict_interval(NEW).T
    assert 0.85 < ((low <= NEW_Y) & (high >= NEW_Y)).mean() < 0.97
    mean, std = model.predict(NEW, return_std=True)
    assert std.shape == mean.shape


# ---- continued fits and other parameters ----


@pytest.mark.parametrize(("model", "y"), [*FORESTS, *[o for o in MODELS if o.id == "extra trees"]])
def test_a_warm_start_equals_one_fit(model: Any, y: Any) -> None:
    expected = clone(model).fit(X, y).fingerprint()
    model = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y)
    assert model.fingerprint() != expected
    model.set_params(n_estimators=8).fit(X, y)
    assert model.fingerprint() == expected
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    assert model.fingerprint() == expected


@on_samples
def test_a_warm_start_with_out_of_bag_predictions(model: Any, y: Any) -> None:
    once = clone(model).set_params(oob_score=True, n_estimators=16).fit(X, y).oob_score_
    model = clone(model).set_params(n_estimators=9, warm_start=True).fit(X, y)
    model.set_params(n_estimators=16, oob_score=True).fit(X, y)
    assert model.oob_score_ == pytest.approx(once)
    again = clone(model).set_params(n_estimators=16, oob_score=False).fit(X, y)
    again.set_params(oob_score=True)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        assert again.fit(X, y).oob_score_ == pytest.approx(once)
    assert again.fingerprint() == model.fingerprint()


def test_a_warm_start_of_shared_statistics_needs_the_same_rows() -> None:
    for estimator in (ExtraTreesRegressor, GradientBoostingRegressor):
        model = estimator(**{**FEW, "n_estimators": 3}, warm_start=True).fit(X, Y)
        with pytest.raises(ValueError, match="target statistics of other rows"):
            model.set_params(n_estimators=6).fit(X, Y + 1.0)
        assert model.score(X, Y) > 0.2


@pytest.mark.parametrize(
    "given",
    [
        {"n_estimators": "auto"},
        {"ccp_alpha": 0.01},
        {"feature_sampling": "tree"},
        {"max_leaf_nodes": 40},
        {"monotonic_cst": {"x": 1}},
        {"min_samples_leaf": "auto", "max_features": "auto"},
        {"criterion": "poisson"},
    ],
)
def test_other_parameters(given: dict[str, Any]) -> None:
    y = np.exp(Y / 4) if "criterion" in given else Y
    model = RandomForestRegressor(**{**FIXED, "n_estimators": 30, "oob_score": True, **given})
    score = model.fit(X, y).score(NEW, np.exp(NEW_Y / 4) if "criterion" in given else NEW_Y)
    assert model.target_statistics_
    assert score > 0.5
    assert abs(model.oob_score_ - score) < 0.15


def test_settings_are_tried_on_fewer_rows(monkeypatch: Any) -> None:
    monkeypatch.setattr("weald.ensembles.forests.auto_settings._MOST_ROWS", 900)
    model = RandomForestRegressor(30, **FIXED).fit(X, Y)
    assert len(model.auto_trials_) > 1
    assert model.score(NEW, NEW_Y) > 0.6


def test_groups_are_never_in_their_own_statistic() -> None:
    """The shop of a group occurs in no other group: nothing is known of it."""
    model = RandomForestRegressor(**TREES).fit(X, Y, groups=X["shop"].to_numpy())
    assert model.feature_importances_[0] == 0
    held = {"n_iter_no_change": 3}
    boosted = GradientBoostingRegressor(**FEW, **held).fit(X, Y, groups=X["shop"].to_numpy())
    assert boosted.feature_importances_[0] == 0


# ---- when there are none ----


@pytest.mark.filterwarnings("ignore:Column 'shop' has 300 categories")
def test_when_there_are_none() -> None:
    many = np.arange(len(Y)) % 11
    both = np.column_stack([Y, -Y])
    offset = {"offset": np.ones(len(Y))}
    forced: dict[str, Any] = {"target_statistics": True}
    cases: list[Any] = [
        (RandomForestRegressor(**TREES), both, {}, False),
        (RandomForestClassifier(**TREES), many, {}, False),
        (RandomForestClassifier(**TREES, **forced), many, {}, True),
        (RandomForestRegressor(**TREES, target_statistics=False), Y, {}, False),
        (GradientBoostingRegressor(**FEW), Y, offset, False),
        (GradientBoostingRegressor(**FEW, subsample=0.5), Y, {}, False),
    ]
    for model, y, metadata, expected in cases:
        model.fit(X, y, **metadata)
        assert model.target_statistics_ is expected
        answers(model, NEW)
    single = DecisionTreeRegressor().fit(X, Y)
    assert not single._plan.has_statistics
    refused: list[Any] = [
        (RandomForestRegressor(**TREES, **forced), both, {}, "supports one output"),
        (GradientBoostingRegressor(**FEW, **forced), Y, offset, "combined with offset"),
        (GradientBoostingRegressor(subsample=0.5, **forced), Y, {}, "or subsample < 1"),
        (AdaBoostRegressor(DecisionTreeRegressor(), **forced), Y, {}, "estimator=None"),
        (RandomForestRegressor(criterion="absolute_error", **forced), Y, {}, "have no sums"),
    ]
    for model, y, metadata, message in refused:
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, y, **metadata)


def test_a_single_class() -> None:
    for estimator in (RandomForestClassifier, AdaBoostClassifier, GradientBoostingClassifier):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator(**FEW).fit(X, np.ones(len(Y)))
        assert model.predict(NEW[:3]).tolist() == [1.0, 1.0, 1.0]
