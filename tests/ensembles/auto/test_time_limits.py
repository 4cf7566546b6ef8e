"""Automatic ensembles keep to their time limit, also on long and wide tables."""

import time

import numpy as np
import pytest

from weald import AutoEnsembleClassifier, AutoEnsembleRegressor, BoostedTreesRegressor
from weald.errors import WealdWarning


@pytest.mark.filterwarnings("ignore:time_limit=4 was enough")  # on a busy machine
def test_the_time_limit_holds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 12))
    y = X[:, 0] * X[:, 1] + rng.normal(size=4000)
    begin = time.perf_counter()
    model = AutoEnsembleRegressor(time_limit=4).fit(X, y)
    # 10 % in use; here other processes may take the time between two looks at the clock.
    assert time.perf_counter() - begin < 6
    assert model.stopped_by_ == "time_limit"
    assert any(row.status.startswith("no time") for row in model.leaderboard_)


def test_very_little_time_gives_one_model_and_a_warning() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = X[:, 0] + rng.normal(size=3000) > 0
    with pytest.warns(WealdWarning, match=r"time_limit=0.02 was enough for one model only"):
        model = AutoEnsembleClassifier(time_limit=0.02).fit(X, y)
    assert len(model.models_) == 1
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(("n_rows", "n_columns"), [(300_000, 28), (400, 8_000)])
@pytest.mark.filterwarnings("ignore:time_limit=1 was enough")
def test_a_second_is_enough_for_long_and_wide_tables(
    n_rows: int, n_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All clocks show processor time: waiting for other processes is not the fit's fault.
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=n_rows)
    begin = time.process_time()
    model = AutoEnsembleRegressor(time_limit=1, n_jobs=1).fit(X, y)
    assert time.process_time() - begin < 1.5
    assert model.stopped_by_ == "time_limit" and len(model.models_) == 1
    assert model.score(X[:1000], y[:1000]) > 0.05


def test_a_long_table_gets_one_booster_without_score_if_folds_would_take_too_long() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=len(X))
    with pytest.warns(WealdWarning, match=r"one model only \(boosted trees\), without any score"):
        model = AutoEnsembleRegressor(time_limit=0.001).fit(X, y)
    (booster,) = model.models_.values()
    assert booster.n_bags_ is None and booster.n_estimators_ >= 1


@pytest.mark.filterwarnings("ignore:time_limit=0.001 was enough")
def test_a_booster_of_the_user_keeps_its_settings_without_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)).astype(np.float32)
    mine = BoostedTreesRegressor(n_estimators=2, n_bags=2)
    given = [("boosted trees", mine)]
    model = AutoEnsembleRegressor(time_limit=0.001, portfolio=given).fit(X, X[:, 0])
    assert np.isnan(model.best_score_)
    assert model.models_["boosted trees"].n_bags_ == 2
