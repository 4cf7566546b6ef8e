"""Boosted survival trees: scores, baseline hazard, errors of times, validation sets."""

import numpy as np
import pandas as pd
import pytest

from ensembles.survival.tables import hazards_table
from weald import BoostedTreesSurvival
from weald.survival import concordance_index, kaplan_meier, target


def rising_hazards(n, seed=0):
    """Hazard exp(x) t: log hazard ratios x, and log times -x/2 with extreme errors of scale 1/2."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    times = np.sqrt(2 * rng.exponential(np.exp(-x[:, 0])))
    ends = rng.exponential(3.0, n)
    return x, target(times <= ends, np.minimum(times, ends))


def test_cox_finds_the_log_hazard_ratio():
    X, y = rising_hazards(6000)
    model = BoostedTreesSurvival().fit(X, y)
    grid = np.linspace(-1.8, 1.8, 50)
    scores = model.predict(np.column_stack([grid, np.zeros(50)]))
    assert np.polyfit(grid, scores, 1)[0] == pytest.approx(1.0, abs=0.1)
    # The chance to survive t is exp(-e^x t² / 2).
    times = np.array([0.5, 1.0, 1.5])
    rows = np.column_stack([grid, np.zeros(50)])
    curves = model.predict_survival_function(rows, True, times=times)
    expected = np.exp(-np.exp(grid[:, np.newaxis]) * times**2 / 2)
    assert np.abs(curves - expected).mean() < 0.03


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_aft_finds_the_times(distribution):
    rng = np.random.default_rng(1)
    n = 6000
    x = rng.uniform(-2, 2, (n, 2))
    draw = {
        "normal": rng.normal,
        "logistic": rng.logistic,
        "extreme": lambda size: np.log(rng.exponential(size=size)),
    }
    errors = 0.4 * draw[distribution](size=n)
    times, ends = np.exp(1.0 + 0.5 * x[:, 0] + errors), rng.exponential(15.0, n)
    y = target(times <= ends, np.minimum(times, ends))
    model = BoostedTreesSurvival(loss="aft", distribution=distribution).fit(x, y)
    assert 0.38 < model.scale_ < 0.45  # 0.4, and the errors of the predictions
    new = np.column_stack([np.linspace(-1.8, 1.8, 50), np.zeros(50)])
    logs = 1.0 + 0.5 * new[:, 0] + 0.4 * np.median(draw[distribution](size=100_000))
    assert np.abs(np.log(model.predict(new)) - logs).mean() < 0.08
    for row, median in zip(new[::10], model.predict(new[::10]), strict=True):
        curve = model.predict_survival_function([row], True, times=[median])
        assert curve == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_curves_agree_with_each_other(loss):
    X, y = hazards_table()
    model = BoostedTreesSurvival(loss=loss, n_estimators=20, n_bags=2).fit(X, y)
    survival = model.predict_survival_function(X, return_array=True)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)
    assert survival.shape == (300, len(model.unique_times_))
    assert survival == pytest.approx(np.exp(-hazard))
    assert (np.diff(survival, axis=1) <= 0).all()
    # Who dies earlier by the score does so by the curve.
    sign = 1 if loss == "cox" else -1
    order = np.argsort(sign * model.predict(X))
    assert (np.diff(hazard[order], axis=0) >= -1e-12).all()
    function = model.predict_survival_function(X[:1])[0]
    assert (function(model.unique_times_) == survival[0]).all()


def test_curves_are_calibrated_on_new_rows():
    X, y = rising_hazards(3000, seed=2)
    X_new, y_new = rising_hazards(3000, seed=3)
    known = kaplan_meier(y_new)
    for loss, distribution in (("cox", None), ("aft", "extreme")):
        model = BoostedTreesSurvival(loss=loss, distribution=distribution).fit(X, y)
        times = np.array([0.5, 1.0, 2.0])
        mean = model.predict_survival_function(X_new, True, times=times).mean(axis=0)
        assert mean == pytest.approx(known(times), abs=0.03)


def test_left_out_predictions():
    X, y = hazards_table(1500)
    X_new, y_new = hazards_table(1500, seed=50)
    for loss in ("cox", "aft"):
        model = BoostedTreesSurvival(loss=loss).fit(X, y)
        risk = model.oob_prediction_ * (1 if loss == "cox" else -1)
        assert model.oob_score_ == pytest.approx(concordance_index(y, risk))
        assert model.oob_score_ == pytest.approx(model.score(X_new, y_new), abs=0.03)
    with pytest.raises(AttributeError, match="oob_prediction_"):
        _ = model.oob_
    assert not hasattr(model, "predict_interval")
    one = BoostedTreesSurvival(n_bags=None, n_estimators=5).fit(X, y)
    assert not hasattr(one, "oob_score_")


@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_units_of_time_and_weight(loss):
    X, y = hazards_table()
    weight = np.random.default_rng(0).random(300) + 0.5
    other = target(y["event"], 1024.0 * y["time"])
    scale = 0.5 if loss == "aft" else None  # a scale is estimated from draws of the rows
    kind = BoostedTreesSurvival(loss=loss, scale=scale, quality="fast", n_estimators=15)
    model = kind.fit(X, y, sample_weight=weight)
    scores = model.predict(X)
    again = kind.fit(X, other, sample_weight=8 * weight)
    if loss == "cox":
        assert (again.predict(X) == scores).all()
        assert again.unique_times_ == pytest.approx(1024 * np.unique(y["time"][y["event"]]))
    else:
        assert again.predict(X) == pytest.approx(1024.0 * scores, rel=1e-6)


@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_weights_are_repetitions(loss):
    X, y = hazards_table(100)
    weight = np.random.default_rng(0).integers(1, 4, 100)
    again = np.repeat(np.arange(100), weight)
    scale = 0.5 if loss == "aft" else None
    model = BoostedTreesSurvival(
        loss=loss, scale=scale, quality="fast", n_estimators=10, min_samples_leaf=1
    )
    weighted = model.fit(X, y, sample_weight=weight).predict(X)
    assert model.fit(X[again], y[again]).predict(X) == pytest.approx(weighted, rel=1e-9)


def test_validation_sets_decide_when_to_stop():
    X, y = hazards_table(600)
    X_val, y_val = hazards_table(400, seed=8)
    sets = {"first": X_val, "second": X_val[:200]}, {"first": y_val, "second": y_val[:200]}
    for loss in ("cox", "aft"):
        model = BoostedTreesSurvival(loss=loss, n_iter_no_change=5).fit(X, y, None, *sets)
        assert model.stopped_by_ == "early_stopping"
        assert model.history_["first loss"].argmin() == model.n_estimators_
        assert len(model.history_["second loss"]) == len(model.history_["train loss"])
        # Losses of sets of different sizes compare.
        assert model.train_loss_[0] == pytest.approx(model.validation_loss_[0], abs=0.15)


def test_scorers_see_times():
    X, y = hazards_table(400)
    seen = []

    def scorer(estimator, X, y):
        seen.append(y)
        return estimator.score(X, y)

    model = BoostedTreesSurvival(scoring=scorer, n_estimators=5, n_bags=2, early_stopping=True)
    model.fit(X, y)
    assert sorted(seen[0]["time"]) == sorted(y["time"])
    assert seen[0]["event"].sum() == y["event"].sum()
    model.set_params(scoring=None, n_bags=None).fit(X[:300], y[:300], None, X[300:], y[300:])
    last = concordance_index(y[300:], model.predict(X[300:]))
    assert model.validation_score_[model.n_estimators_] == pytest.approx(last)


def test_staged_and_truncated():
    X, y = hazards_table()
    model = BoostedTreesSurvival(n_estimators=8, n_bags=2).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_
    assert (stages[-1] == model.predict(X)).all()
    first = model.truncate(3)
    assert (first.predict(X) == stages[2]).all()
    assert (model.predict(X, n_rounds=3) == stages[2]).all()
    with pytest.raises(ValueError, match="has no baseline_hazard_"):
        first.predict_survival_function(X)


def test_warm_start_continues():
    X, y = hazards_table()
    for loss in ("cox", "aft"):
        settings = {"loss": loss, "early_stopping": False}
        whole = BoostedTreesSurvival(n_estimators=12, **settings).fit(X, y)
        part = BoostedTreesSurvival(n_estimators=5, warm_start=True, **settings).fit(X, y)
        again = part.set_params(n_estimators=12).fit(X, y)
        assert again.fingerprint() == whole.fingerprint()


def test_checkpoint(tmp_path):
    X, y = hazards_table()
    path = tmp_path / "run.npz"
    settings = {"n_estimators": 6, "early_stopping": False, "checkpoint": path}
    first = BoostedTreesSurvival(**settings).fit(X, y)
    assert BoostedTreesSurvival(**settings).fit(X, y).fingerprint() == first.fingerprint()


def test_folds_have_events():
    X, y = hazards_table(60)
    y["event"] = False
    y["event"][:5] = True
    model = BoostedTreesSurvival(n_estimators=20, n_bags=5, early_stopping=True).fit(X, y)
    assert np.isfinite(model.validation_loss_).all()
    assert np.isfinite(model.predict(X)).all()


def test_zero_times():
    X, y = hazards_table(100)
    y["time"][:10] = 0.0
    y["event"][:10] = [True, False] * 5
    model = BoostedTreesSurvival(n_estimators=5, early_stopping=False).fit(X, y)
    assert model.unique_times_[0] == 0.0
    with pytest.raises(ValueError, match="10 of 100 rows have a time of 0"):
        BoostedTreesSurvival(loss="aft").fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": 1.0}, "scale=1.0 is only used with loss='aft'"),
        ({"distribution": "normal"}, "only used with loss='aft'"),
        ({"loss": "efron"}, "loss"),
        ({"loss": "aft", "ties": "efron"}, "ties='efron' is only used with loss='cox'"),
        ({"loss": "aft", "distribution": "cauchy"}, "distribution"),
        ({"loss": "aft", "scale": 0.0}, "scale"),
    ],
)
def test_refuses_parameters(parameters, message):
    X, y = hazards_table(50)
    with pytest.raises(ValueError, match=message):
        BoostedTreesSurvival(**parameters).fit(X, y)


def test_refuses_validation_sets_without_events():
    X, y = hazards_table(100)
    censored = target(np.zeros(100), y["time"])
    with pytest.raises(ValueError, match="y_val of the set 'validation' are censored"):
        BoostedTreesSurvival().fit(X, y, None, X, censored)
    with pytest.raises(ValueError, match="y_val must say of every row"):
        BoostedTreesSurvival().fit(X, y, None, X, y["time"])


def test_auto_settings_give_the_same_model():
    X, y = hazards_table()
    frame = (
        pd.DataFrame(X)
        .rename(columns=str)
        .assign(level=pd.Categorical(np.floor(X[:, 0]).astype(str)))
    )
    for loss in ("cox", "aft"):
        model = BoostedTreesSurvival(loss=loss).fit(frame, y)
        again = BoostedTreesSurvival(loss=loss, **model.auto_settings_).fit(frame, y)
        assert model.auto_settings_["min_samples_leaf"] == 20
        assert again.fingerprint() == model.fingerprint()


# Weeks of remission of leukaemia, Freireich et al. (1963), Blood 21(6): 6-MP and placebo.
WEEKS_6MP = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
SEEN_6MP = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
WEEKS_PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def test_two_groups_have_the_published_hazard_ratio():
    """With one binary column and many rounds, the model is Cox's: its published coefficients."""
    y = target(SEEN_6MP + [1] * 21, WEEKS_6MP + WEEKS_PLACEBO)
    X = np.repeat([[0.0], [1.0]], 21, axis=0)
    settings = {"n_estimators": 300, "learning_rate": 0.3, "min_samples_leaf": 5}
    for ties, coefficient in (("breslow", 1.5092), ("efron", 1.5721)):
        model = BoostedTreesSurvival(ties=ties, quality="fast", **settings).fit(X, y)
        treated, placebo = model.predict([[0.0], [1.0]])
        assert placebo - treated == pytest.approx(coefficient, abs=1e-4)
    # Weibull regression of the same rows: published 1.267 and the scale 0.732.
    weibull = BoostedTreesSurvival(
        loss="aft", distribution="extreme", scale=0.732, quality="fast", **settings
    ).fit(X, y)
    ratio = np.log(weibull.predict([[0.0]]) / weibull.predict([[1.0]]))
    assert ratio == pytest.approx(1.267, abs=2e-3)
