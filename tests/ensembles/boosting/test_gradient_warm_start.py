"""Warm start of gradient boosting: the same model as one fit."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from weald import GradientBoostingClassifier, GradientBoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=200) / 5
LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma"]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"n_iter_no_change": 1},
    {"n_iter_no_change": 2, "learning_rate": 0.7},
    {"n_iter_no_change": 3, "subsample": 0.5},
    {"n_iter_no_change": 2, "init": Ridge()},
    {"n_iter_no_change": 2, "estimator": Ridge()},
    {"step": "line_search", "init": "zero"},
]


def assert_same_in_parts(kind: type, X: Any, y: Any, **parameters: Any) -> None:
    whole = kind(n_estimators=40, random_state=0, **parameters).fit(X, y)
    parts = kind(random_state=0, warm_start=True, **parameters)
    for rounds in (20, 20, 40):
        parts.set_params(n_estimators=max(rounds, getattr(parts, "n_estimators_", 0))).fit(X, y)
    assert parts.n_estimators_ == whole.n_estimators_
    assert np.array_equal(parts.train_score_, whole.train_score_)
    assert np.array_equal(parts.step_sizes_, whole.step_sizes_)
    assert np.array_equal(parts._predictions(X), whole._predictions(X))
    if parts.estimator is None:
        assert parts.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("scale", [1.0, 1e70, 1e200, 1e-300])
@pytest.mark.parametrize("more", SETTINGS, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_parts_end_where_the_whole_does(loss: str, more: dict[str, Any], scale: float) -> None:
    y = scale * (np.abs(Y) + 0.01 if loss in ("poisson", "gamma") else Y)
    assert_same_in_parts(GradientBoostingRegressor, X, y, loss=loss, **more)


@pytest.mark.parametrize("more", [one for one in SETTINGS if "init" not in one], ids=str)
@pytest.mark.parametrize("loss", ["log_loss", "exponential", "kl"])
def test_parts_of_classes(loss: str, more: dict[str, Any]) -> None:
    for n_classes in (2,) if loss == "exponential" else (2, 3):
        y = np.argsort(np.argsort(Y)) * n_classes // len(Y)
        assert_same_in_parts(GradientBoostingClassifier, X, y, loss=loss, **more)


@pytest.mark.parametrize("scale", [1e70, 1e-300])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_parts_of_other_sizes(loss: str, scale: float) -> None:
    """The rounds of the first fit are kept when the next has targets of another scale."""
    model = GradientBoostingRegressor(loss=loss, n_estimators=20, warm_start=True, random_state=0)
    first = model.fit(X, np.abs(Y)).predict(X)
    model.fit(X, scale * np.abs(Y))
    assert model.predict(X) == pytest.approx(first, rel=1e-12)


def test_the_largest_targets_do_not_stop_a_fit() -> None:
    """Their loss in the user's units is infinite after every round."""
    parameters = {"n_iter_no_change": 5, "tol": 0.0, "random_state": 0}
    less = GradientBoostingRegressor(**parameters).fit(X, Y * 2.0**450)
    most = GradientBoostingRegressor(**parameters).fit(X, Y * 2.0**600)
    assert np.isinf(most.train_score_).all() and np.isfinite(less.train_score_).all()
    assert most.n_estimators_ == less.n_estimators_ > 5


def test_a_stopped_fit_continues_with_more_patience() -> None:
    model = GradientBoostingRegressor(n_iter_no_change=1, warm_start=True, random_state=0)
    stopped = model.fit(X, Y).n_estimators_
    assert stopped < 100
    patient = model.set_params(n_iter_no_change=10).fit(X, Y)
    assert patient.n_estimators_ > stopped
    whole = GradientBoostingRegressor(n_iter_no_change=10, random_state=0).fit(X, Y)
    assert patient.fingerprint() == whole.fingerprint()
