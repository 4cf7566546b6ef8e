"""Automatic ensembles: the search, the selection, time, faults and what is kept."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weald
from weald import AutoEnsembleClassifier, AutoEnsembleRegressor
from weald.ensembles.auto.portfolio import NAMES
from weald.errors import WealdWarning

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
WINE = load_wine(return_X_y=True)

# The quickest: in this order, random forest, rotation forest, linear, extra trees.
QUICK = [(name, "drop") for name in NAMES if "boosted" in name or name in ("network", "neighbours")]


def quick(kind: Any, **parameters: Any) -> Any:
    """Three models in tenths of a second: two forests and a linear model."""
    given = {"time_limit": None, "max_models": 3, "portfolio": QUICK, "n_jobs": 1}
    return kind(**{**given, **parameters})


@pytest.fixture(scope="module")
def cancer() -> Any:
    X, y = CANCER
    return quick(AutoEnsembleClassifier).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def diabetes() -> Any:
    X, y = DIABETES
    return quick(AutoEnsembleRegressor).fit(X[::2], y[::2])


# ---- the ensemble ----


def test_it_is_the_weighted_mean_of_its_models(diabetes) -> None:
    X, _ = DIABETES
    numbers = sum(
        weight * np.mean([one.predict(X) for one in getattr(model, "estimators_", [model])], axis=0)
        for weight, model in zip(diabetes.weights_, diabetes.models_.values(), strict=True)
        if hasattr(model, "predict") or hasattr(model, "estimators_")
    )
    assert np.allclose(diabetes.predict(X), numbers)
    assert diabetes.weights_.sum() == pytest.approx(1) and (diabetes.weights_ > 0).all()


def test_scores_are_those_of_unseen_rows(cancer, diabetes) -> None:
    y = CANCER[1][::2]
    own = -log_loss(y, cancer.out_of_fold_)
    assert cancer.leaderboard_["ensemble"].score == pytest.approx(own)
    assert cancer.best_score_ == pytest.approx(own)
    rmse = mean_squared_error(DIABETES[1][::2], diabetes.out_of_fold_) ** 0.5
    assert diabetes.best_score_ == pytest.approx(-rmse)


def test_scores_agree_with_those_of_many_new_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=6000) > 0).astype(int)
    model = quick(AutoEnsembleClassifier).fit(X[:1000], y[:1000])
    new = log_loss(y[1000:], model.predict_proba(X[1000:]))
    training = log_loss(y[:1000], model.predict_proba(X[:1000]))
    assert abs(-model.best_score_ - new) < 0.03 < abs(training - new)


def test_the_ensemble_is_no_worse_than_any_of_its_models(cancer, diabetes) -> None:
    for model in (cancer, diabetes):
        scores = [row.score for row in model.leaderboard_.rows[1:] if np.isfinite(row.score)]
        assert len(scores) == 3 and model.best_score_ >= max(scores)


@pytest.mark.parametrize("task", [WINE, DIABETES])
def test_more_models_never_give_a_worse_score(task) -> None:
    X, y = task
    kind = AutoEnsembleClassifier if task is WINE else AutoEnsembleRegressor
    fits = [quick(kind, max_models=n).fit(X, y) for n in (1, 2, 3, 4)]
    scores = [one.best_score_ for one in fits]
    assert all(later >= earlier for earlier, later in pairwise(scores))
    trained = [sum(row.status == "trained" for row in one.leaderboard_) - 1 for one in fits]
    assert trained == [1, 2, 3, 4]


def test_better_than_one_booster_on_rows_it_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = X[:, 0] + 0.5 * X[:, 1] + np.where(X[:, 2] > 0, 1.0, -1.0) + rng.normal(size=1500)
    train, test = slice(0, 500), slice(500, 1500)
    auto = AutoEnsembleRegressor(time_limit=None, max_models=5).fit(X[train], y[train])
    booster = weald.BoostedTreesRegressor().fit(X[train], y[train])
    assert auto.score(X[test], y[test]) > booster.score(X[test], y[test])


def test_a_useless_model_gets_no_weight() -> None:
    X, y = CANCER
    useless = [*QUICK, ("guess", DummyClassifier(strategy="uniform", random_state=0))]
    model = quick(AutoEnsembleClassifier, portfolio=useless, keep_models=True).fit(X, y)
    assert model.leaderboard_["guess"].weight == 0
    assert "guess" in model.models_
    dropped = quick(AutoEnsembleClassifier, portfolio=useless).fit(X, y)
    assert "guess" not in dropped.models_
    assert np.array_equal(dropped.predict_proba(X), model.predict_proba(X))


# ---- reproducibility ----


@pytest.mark.parametrize("kind", [AutoEnsembleClassifier, AutoEnsembleRegressor])
def test_the_same_fingerprint_for_any_order_of_rows_and_threads(kind) -> None:
    X, y = CANCER if kind is AutoEnsembleClassifier else DIABETES
    X, y = X[:200], y[:200]
    order = np.random.default_rng(0).permutation(len(X))
    model = quick(kind, portfolio="trees", max_models=3)
    prints = {
        clone(model).set_params(n_jobs=n_jobs).fit(X[rows], y[rows]).fingerprint()
        for n_jobs, rows in [(1, slice(None)), (2, order)]
    }
    assert len(prints) == 1
    other = clone(model).set_params(random_state=7).fit(X, y)
    assert other.fingerprint() not in prints


def test_only_weald_trees_have_a_fingerprint() -> None:
    X, y = DIABETES
    linear = [(name, "drop") for name in NAMES if name != "linear"]
    model = quick(AutoEnsembleRegressor, portfolio=linear, max_models=1).fit(X, y)
    assert list(model.models_) == ["linear"]
    with pytest.raises(TypeError, match="'linear'"):
        model.fingerprint()


# ---- interrupts ----


class _Interrupting(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_keeps_the_best_so_far() -> None:
    X, y = CANCER
    added = [*QUICK, ("interrupting", _Interrupting())]
    with pytest.warns(WealdWarning, match=r"interrupted: .* models trained so far \(1\)"):
        model = quick(AutoEnsembleClassifier, portfolio=added).fit(X, y)
    assert model.stopped_by_ == "interrupt" and list(model.models_) == ["random forest"]
    assert model.leaderboard_["linear"].status == "interrupted"
    first = [(NAMES[0], _Interrupting())]
    unfitted = quick(AutoEnsembleClassifier, portfolio=first)
    with pytest.raises(KeyboardInterrupt):
        unfitted.fit(X, y)
    assert not hasattr(unfitted, "leaderboard_")


# ---- models of the user, and faults ----


class _Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        raise ArithmeticError("no luck")


def test_a_model_that_fails_is_left_out_and_named() -> None:
    X, y = WINE
    with pytest.warns(WealdWarning, match="'bad' was left out .* ArithmeticError: no luck"):
        model = quick(AutoEnsembleClassifier, portfolio=[*QUICK, ("bad", _Failing())]).fit(X, y)
    assert model.leaderboard_["bad"].status == "failed: ArithmeticError: no luck"
    assert model.score(X, y) > 0.9


def test_an_error_of_all_models_is_raised() -> None:
    X, y = WINE
    bad = [(name, _Failing()) for name in NAMES]
    with pytest.raises(weald.MemberError, match="no luck") as caught:
        AutoEnsembleClassifier(time_limit=None, portfolio=bad).fit(X, y)
    assert set(caught.value.failed) == {*NAMES}


def test_models_of_the_user_get_the_table_as_it_is() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DIABETES[0], columns=[f"c{i}" for i in range(10)])
    seen = []

    class Watching(Ridge):
        def fit(self, X: Any, y: Any) -> Any:
            seen.append(X)
            return super().fit(X, y)

    portfolio = [*QUICK, ("mine", Watching())]
    model = quick(AutoEnsembleRegressor, portfolio=portfolio, keep_models=True)
    model.fit(frame, DIABETES[1])
    assert all(list(X.columns) == list(frame.columns) for X in seen) and len(seen) == 8
    shuffled = frame[frame.columns[::-1]]
    assert np.array_equal(model.predict(shuffled), model.predict(frame))


def test_models_are_replaced_and_dropped_by_name() -> None:
    X, y = CANCER
    mine = make_pipeline(StandardScaler(), LogisticRegression())
    others = [("rotation forest", mine), ("random forest", "drop")]
    portfolio = [pair for pair in QUICK if pair[0] != "random forest"] + others
    parameters = {"portfolio": portfolio, "max_models": 2, "keep_models": True}
    model = quick(AutoEnsembleClassifier, **parameters).fit(X, y)
    names = [row.model for row in model.leaderboard_]
    assert "random forest" not in names and "network" not in names
    first = next(iter(model.models_.values()))
    assert type(first.estimators_[0][-1]) is LogisticRegression
    with pytest.raises(ValueError, match="drops 'booster', which is none of weald"):
        quick(AutoEnsembleClassifier, portfolio=[("booster", "drop")]).fit(X, y)
    few = [(name, "drop") for name in NAMES if name != "linear"]
    with pytest.raises(ValueError, match="drops every model .*not dropped: 'linear'"):
        quick(AutoEnsembleClassifier, portfolio=few).fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="'ensemble', which is the name of the whole ensemble"):
        quick(AutoEnsembleClassifier, portfolio=[("ensemble", mine)]).fit(X, y)


def test_a_booster_of_the_user_keeps_its_shorter_time_limit() -> None:
    limits = []

    class Watching(weald.BoostedTreesRegressor):
        def fit(self, X: Any, y: Any, **given: Any) -> Any:
            limits.append(self.time_limit)
            return super().fit(X, y, **given)

    for own in (0.5, None):
        mine = [(name, "drop") for name in NAMES] + [("mine", Watching(time_limit=own))]
        AutoEnsembleRegressor(time_limit=100, portfolio=mine, n_folds=2).fit(*DIABETES)
    assert limits[:2] == [0.5, 0.5] and all(0.5 < limit < 100 for limit in limits[2:])


# ---- rows ----


def test_groups_are_held_out_together() -> None:
    """Copies of rows in a group: a model that knows the others predicts them."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 3)), 8, axis=0)
    y = np.repeat(rng.normal(size=60), 8)
    groups = np.repeat(np.arange(60), 8)
    alone = quick(AutoEnsembleRegressor).fit(X, y)
    grouped = quick(AutoEnsembleRegressor).fit(X, y, groups=groups)
    assert alone.best_score_ > -0.2
    assert grouped.best_score_ < -0.9 * y.std()


def test_a_validation_set_decides() -> None:
    X, y = DIABETES
    fits = quick(AutoEnsembleRegressor).fit(X[:300], y[:300], None, X[300:], y[300:])
    rmse = mean_squared_error(y[300:], fits.predict(X[300:])) ** 0.5
    assert fits.best_score_ == pytest.approx(-rmse)
    assert fits.out_of_fold_.shape == (142,)


def test_models_of_the_user_are_scored_on_a_validation_set() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DIABETES[0], columns=[f"c{i}" for i in range(10)])
    y = DIABETES[1]
    parameters = {"portfolio": [*QUICK, ("mine", Ridge(alpha=0.1))], "keep_models": True}
    model = quick(AutoEnsembleRegressor, **parameters)
    model.fit(frame[:300], y[:300], X_val=frame[300:][frame.columns[::-1]], y_val=y[300:])
    mine = Ridge(alpha=0.1).fit(frame[:300], y[:300])
    rmse = mean_squared_error(y[300:], mine.predict(frame[300:])) ** 0.5
    assert model.leaderboard_["mine"].score == pytest.approx(-rmse)


def test_weights_of_zero_remove_rows() -> None:
    X, y = DIABETES
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    some = weight > 0
    weighted = quick(AutoEnsembleRegressor).fit(X, y, weight)
    removed = quick(AutoEnsembleRegressor).fit(X[some], y[some])
    assert np.allclose(weighted.predict(X), removed.predict(X))
    assert np.isnan(weighted.out_of_fold_[~some]).all()
    assert np.isfinite(weighted.out_of_fold_[some]).all()


@pytest.mark.parametrize("n", [2, 3, 10, 30])
@pytest.mark.parametrize("kind", [AutoEnsembleClassifier, AutoEnsembleRegressor])
def test_few_rows(kind, n: int) -> None:
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) % 2
    model = kind(time_limit=None, max_models=3).fit(X, y)
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.best_score_)


def test_a_constant_target_and_wide_tables() -> None:
    X = np.random.default_rng(0).normal(size=(60, 1500))
    model = quick(AutoEnsembleRegressor).fit(X, np.full(60, 3.0))
    assert np.allclose(model.predict(X), 3.0)
    y = (X[:, 0] > 0).astype(int)
    assert quick(AutoEnsembleClassifier).fit(X, y).score(X, y) > 0.8


# ---- metrics ----


@pytest.mark.parametrize("metric", ["roc_auc", "accuracy", "neg_brier_score", "f1"])
def test_metrics_of_classification(metric: str) -> None:
    X, y = CANCER
    model = quick(AutoEnsembleClassifier, metric=metric).fit(X, y)
    if metric == "roc_auc":
        assert model.best_score_ == pytest.approx(roc_auc_score(y, model.out_of_fold_[:, 1]))
    rows = [row for row in model.leaderboard_ if row.status == "trained"]
    assert model.metric_ == metric and rows[0].score >= max(row.score for row in rows)


def test_metrics_of_regression_and_callables() -> None:
    X, y = DIABETES

    def mean_absolute(estimator: Any, X: Any, y: Any) -> float:
        return -float(np.abs(estimator.predict(X) - y).mean())

    by_name = quick(AutoEnsembleRegressor, metric="neg_mean_absolute_error").fit(X, y)
    by_hand = quick(AutoEnsembleRegressor, metric=mean_absolute).fit(X, y)
    assert by_hand.best_score_ == pytest.approx(by_name.best_score_)
    assert by_hand.metric_ == "mean_absolute"
    r2 = quick(AutoEnsembleRegressor, metric="r2").fit(X, y)
    rmse = quick(AutoEnsembleRegressor).fit(X, y)
    assert np.array_equal(r2.predict(X), rmse.predict(X))
    with pytest.raises(ValueError, match="did you mean 'neg_root_mean_squared_error'"):
        quick(AutoEnsembleRegressor, metric="rmse").fit(X, y)


# ---- calibration, intervals ----


def test_overconfident_probabilities_are_made_less_extreme() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 1))
    y = (rng.random(1500) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)

    class Overconfident(LogisticRegression):
        def predict_proba(self, X: Any) -> Any:
            logs = 3.0 * np.log(super().predict_proba(X))
            powers = np.exp(logs - logs.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)

    given = [(NAMES[0], Overconfident())]
    model = quick(AutoEnsembleClassifier, portfolio=given, max_models=1).fit(X, y)
    assert 2.0 < model.temperature_ < 4.0
    plain, wrong = LogisticRegression().fit(X, y), Overconfident().fit(X, y)
    undone = np.abs(model.predict_proba(X) - plain.predict_proba(X)).mean()
    assert undone < 0.02 < 0.1 < np.abs(wrong.predict_proba(X) - plain.predict_proba(X)).mean()
    honest = quick(AutoEnsembleClassifier, portfolio=[(NAMES[0], LogisticRegression())])
    assert 0.9 < honest.set_params(max_models=1).fit(X, y).temperature_ < 1.1


@pytest.mark.parametrize("noise", ["equal", "growing"])
def test_intervals_cover_as_promised(noise: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(3000, 3))
    scale = 1.0 if noise == "equal" else np.abs(X[:, 1])
    y = X[:, 0] ** 2 + scale * rng.normal(size=3000)
    model = quick(AutoEnsembleRegressor).fit(X[:600], y[:600])
    for coverage in (0.5, 0.9):
        bounds = model.predict_interval(X[600:], coverage)
        inside = (bounds[:, 0] <= y[600:]) & (y[600:] <= bounds[:, 1])
        assert abs(inside.mean() - coverage) < 0.06


# ---- what is kept ----


def test_saved_models_predict_the_same(tmp_path) -> None:
    X, y = DIABETES
    portfolio = [(name, "drop") for name in NAMES if "boosted" in name]
    model = AutoEnsembleRegressor(
        time_limit=None, max_models=9, portfolio=portfolio, keep_models=True
    ).fit(X, y)
    assert {"linear", "network", "neighbours", "rotation forest"} <= set(model.models_)
    model.save(tmp_path / "a.weald")
    loaded = weald.load(tmp_path / "a.weald")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert str(loaded.leaderboard_) == str(model.leaderboard_)
    with pytest.raises(AttributeError, match="oob=True"):
        loaded.predict_interval(X)
    model.save(tmp_path / "b.weald", oob=True)
    whole = weald.load(tmp_path / "b.weald")
    assert np.array_equal(whole.predict_interval(X), model.predict_interval(X))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_small_model_with_its_measured_loss(cancer) -> None:
    X, y = CANCER
    small = cancer.refit(X[::2], y[::2])
    assert type(small.model) is weald.BoostedTreesClassifier and small.model.n_bags_ is None
    assert small.ensemble_score == cancer.best_score_ and small.metric == "neg_log_loss"
    unseen = -log_loss(y[1::2], small.model.predict_proba(X[1::2]))
    assert abs(unseen - small.score) < 0.1 and "the ensemble" in str(small)
    tree = cancer.refit(X[::2], y[::2], size="tree")
    assert tree.model.forest_.n_trees == 1 and tree.score < cancer.best_score_
    with pytest.raises(ValueError, match="size must be"):
        cancer.refit(X, y, size="tiny")


def test_shapley_values_are_exact_where_all_models_are_trees() -> None:
    X, y = DIABETES
    model = quick(AutoEnsembleRegressor, portfolio="trees", max_models=3).fit(X, y)
    explained = weald.explain.shap(model, X[:5])
    assert "exact" in str(explained)
    assert np.allclose(explained.predictions, model.predict(X[:5]))
    mixed = quick(AutoEnsembleRegressor).fit(X, y)
    if "linear" in mixed.models_:
        sampled = weald.explain.shap(mixed, X[:20], n_samples=5)
        assert "sampled" in str(sampled)


def test_importances_are_those_of_the_input_columns() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = pandas.to_datetime("2024-01-01") + pandas.to_timedelta(rng.integers(0, 300, 300), "D")
    frame = pandas.DataFrame({"day": days, "x": rng.normal(size=300), "noise": rng.random(300)})
    y = frame["x"] * 3 + frame["day"].dt.month
    model = quick(AutoEnsembleRegressor, portfolio="trees").fit(frame, y)
    explained = weald.explain.shap(model, frame[:4])
    assert explained.values.shape[1] == 3 and "exact" in explained.method
    assert np.allclose(explained.predictions, model.predict(frame[:4]))
    shares = model.feature_importances_
    assert shares.shape == (3,) and shares.sum() == pytest.approx(1)
    assert shares[2] == min(shares)


def test_the_leaderboard_is_a_table(cancer) -> None:
    frame = cancer.leaderboard_.to_frame("pandas")
    assert frame["model"].tolist()[0] == "ensemble"
    assert frame["score"].tolist()[1:4] == sorted(frame["score"].tolist()[1:4], reverse=True)
    assert frame["weight"][1:].sum() == pytest.approx(1)
    assert cancer.leaderboard_.to_frame("polars").columns == list(frame.columns)
    assert "neg_log_loss" in str(cancer.leaderboard_)
    with pytest.raises(KeyError, match="There is no model 'nothing'"):
        cancer.leaderboard_["nothing"]


def test_progress_names_the_models(capsys) -> None:
    X, y = WINE
    quick(AutoEnsembleClassifier, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "random forest" in shown and "best neg_log_loss" in shown and shown.endswith("\n")
    quick(AutoEnsembleClassifier).fit(X, y)
    assert capsys.readouterr().err == ""
