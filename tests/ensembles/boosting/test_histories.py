"""`history_` and `train_loss_` of GradientBoosting* and AdaBoost*."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import weald
from weald import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from weald.advice import WealdWarning
from weald.ensembles.rounds.history import History

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=200) / 5
THREE = np.digitize(Y, [-0.5, 0.5])
TWO = (Y > 0).astype(int)


def same(a: History, b: History) -> bool:
    """Whether two histories are equal bit for bit."""
    curves = all(np.array_equal(a[name], b[name], equal_nan=True) for name in a)
    return list(a) == list(b) and a.watched == b.watched and curves


# ---- gradient boosting ----


@pytest.mark.parametrize("weight", [None, RNG.integers(1, 4, 200).astype(float)])
def test_the_training_loss_of_gradient_boosting(weight: np.ndarray | None) -> None:
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, Y, weight)
    assert list(model.history_) == ["train loss"] and model.history_.watched is None
    mean = np.average(Y, weights=weight)
    stages = [np.full(200, mean), *model.staged_predict(X)]
    expected = [np.average((Y - stage) ** 2, weights=weight) for stage in stages]
    assert model.train_loss_ == pytest.approx(expected, rel=1e-9)
    assert np.array_equal(model.train_loss_, model.history_["train loss"])
    assert np.array_equal(model.train_loss_[1:], model.train_score_)


def test_out_of_bag_and_validation_curves() -> None:
    model = GradientBoostingClassifier(n_estimators=5, subsample=0.5, random_state=0).fit(X, THREE)
    assert list(model.history_) == ["train loss", "out-of-bag loss"]
    assert np.isnan(model.history_["out-of-bag loss"][0])
    assert np.array_equal(model.history_["out-of-bag loss"][1:], model.oob_scores_)
    model = GradientBoostingRegressor(
        n_estimators=8, n_iter_no_change=20, validation_fraction=0.2, random_state=0
    ).fit(X, Y)
    assert list(model.history_) == ["train loss", "validation loss"]
    assert model.history_.watched == "validation loss"
    # The squared errors of all rows are those of 160 training and 40 validation rows.
    train, held_out = model.history_["train loss"], model.history_["validation loss"]
    all_rows = [((Y - stage) ** 2).mean() for stage in model.staged_predict(X)]
    assert (0.8 * train + 0.2 * held_out)[1:] == pytest.approx(all_rows, rel=1e-9)
    assert held_out[0] > held_out[-1]


def test_the_validation_curve_shows_why_the_fit_ended() -> None:
    model = GradientBoostingRegressor(n_iter_no_change=3, tol=0.0, random_state=0).fit(X, Y)
    losses = model.history_["validation loss"][1:]
    is_flat = [k >= 3 and losses[k] >= losses[k - 3 : k].max() for k in range(len(losses))]
    assert is_flat.index(True) == len(losses) - 1 < 99


@pytest.mark.parametrize("more", [{}, {"subsample": 0.5}, {"n_iter_no_change": 50}], ids=str)
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_parts_have_the_history_of_the_whole(kind: Any, more: dict) -> None:
    y = Y if kind is GradientBoostingRegressor else THREE
    whole = kind(n_estimators=9, random_state=0, **more).fit(X, y)
    parts = kind(n_estimators=4, random_state=0, warm_start=True, **more).fit(X, y)
    assert same(parts.history_, whole.history_.truncated(4))
    assert same(parts.set_params(n_estimators=9).fit(X, y).history_, whole.history_)


def test_rounds_before_early_stopping_have_no_validation_loss() -> None:
    model = GradientBoostingRegressor(n_estimators=4, random_state=0, warm_start=True).fit(X, Y)
    model.set_params(n_iter_no_change=50, n_estimators=9).fit(X, Y)
    losses = model.history_["validation loss"]
    assert np.flatnonzero(np.isnan(losses)).tolist() == [1, 2, 3, 4]
    whole = model.history_
    for rounds in (2, 6):
        assert same(model.truncate(rounds).history_, whole.truncated(rounds))
    assert same(model.truncate(6).set_params(n_estimators=9).fit(X, Y).history_, whole)
    # Rounds without validation loss in between: only those after them count.
    model.set_params(n_iter_no_change=None, n_estimators=11).fit(X, Y)
    assert list(model.history_) == ["train loss"]
    model.set_params(n_iter_no_change=50, n_estimators=13).fit(X, Y)
    losses = model.history_["validation loss"]
    assert np.flatnonzero(np.isfinite(losses)).tolist() == [0, 12, 13]


def test_one_class_and_losses_without_values() -> None:
    with pytest.warns(WealdWarning, match="one class only"):
        model = GradientBoostingClassifier().fit(X, np.ones(200))
    assert model.train_loss_.tolist() == [0.0]

    class Infinite:
        def gradient(self, y, score):
            return score - y

        def loss(self, y, score):
            return np.full(len(y), np.inf)

    model = GradientBoostingRegressor(loss=Infinite(), n_estimators=3, step="constant").fit(X, Y)
    assert np.isnan(model.train_loss_).all() and len(model.train_loss_) == 4
    with pytest.raises(ValueError, match="no curve to draw"):
        weald.plot.training_curve(model)


def test_a_monitor_sees_the_rounds_so_far(tmp_path) -> None:
    seen = []

    def monitor(i: int, model: Any, variables: dict) -> bool:
        seen.append(model.history_["train loss"])
        return i == 2

    model = GradientBoostingRegressor(random_state=0).fit(X, Y, monitor=monitor)
    assert [len(one) for one in seen] == [2, 3, 4]
    assert np.array_equal(seen[-1], model.train_loss_)
    model.save(tmp_path / "model.weald")
    assert same(weald.load(tmp_path / "model.weald").history_, model.history_)


# ---- AdaBoost ----


@pytest.mark.parametrize(
    ("form", "classes"),
    [("half-log", 2), ("log", 2), ("m1", 2), ("samme", 2), ("m1", 3), ("samme", 3)],
)
@pytest.mark.parametrize("more", [{}, {"learning_rate": 0.3}, {"reweight": "resampling"}], ids=str)
def test_the_training_loss_of_adaboost(form: str, classes: int, more: dict) -> None:
    y = TWO if classes == 2 else THREE
    weight = RNG.integers(1, 4, 200).astype(float)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=6, form=form, random_state=0, **more)
    model.fit(X, y, weight)
    is_right = np.array([one.predict(X) == y for one in model.estimators_])
    votes = model.estimator_weights_[:, np.newaxis]
    if form == "half-log":
        exponents = np.where(is_right, -votes, votes)
    else:
        share = 1 / classes if form == "samme" else 0.5
        exponents = np.where(is_right, -votes * (1 - share), votes * share)
    rows = np.exp(np.concatenate([np.zeros((1, 200)), np.cumsum(exponents, axis=0)]))
    expected = np.average(rows, axis=1, weights=weight)
    assert model.train_loss_ == pytest.approx(expected, rel=1e-9)
    assert list(model.history_) == ["train loss"] and model.history_.watched is None
    if more.get("reweight") != "resampling":
        assert (np.diff(model.train_loss_) < 0).all()
    if classes == 2:
        assert model.training_error_bound_ == pytest.approx(model.train_loss_[-1], rel=1e-12)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("more", [{}, {"reweight": "weighting"}, {"learning_rate": 0.3}], ids=str)
def test_the_training_loss_of_adaboost_r2(loss: str, more: dict) -> None:
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = AdaBoostRegressor(tree, n_estimators=6, loss=loss, random_state=0, **more).fit(X, Y)
    errors = np.abs(np.array([one.predict(X) for one in model.estimators_]) - Y)
    losses = errors / errors.max(axis=1, keepdims=True)
    losses = {"linear": losses, "square": losses**2, "exponential": 1 - np.exp(-losses)}[loss]
    exponents = model.estimator_weights_[:, np.newaxis] * (losses - 0.5)
    rows = np.exp(np.concatenate([np.zeros((1, 200)), np.cumsum(exponents, axis=0)]))
    assert model.train_loss_ == pytest.approx(rows.mean(axis=1), rel=1e-9)
    mean_loss = np.average(losses, axis=0, weights=model.estimator_weights_)
    assert (mean_loss >= 0.5).mean() <= model.train_loss_[-1]


def test_perfect_and_hopeless_base_estimators() -> None:
    halves = np.arange(20.0)[:, np.newaxis]
    model = AdaBoostClassifier().fit(halves, halves[:, 0] > 9)
    assert model.train_loss_ == pytest.approx([1.0, np.exp(-0.5)])
    perfect = AdaBoostRegressor(reweight="weighting").fit(halves, halves[:, 0] > 9)
    assert perfect.train_loss_ == pytest.approx([1.0, np.exp(-0.5)])
    zero = DummyRegressor(strategy="constant", constant=0.0)
    hopeless = AdaBoostRegressor(zero, random_state=0).fit(halves, halves[:, 0] > 3)
    assert len(hopeless) == 1  # a loss of 1 for 16 of 20 rows
    expected = 0.8 * np.exp(0.5) + 0.2 * np.exp(-0.5)
    assert hopeless.train_loss_ == pytest.approx([1.0, expected])


def test_the_history_of_adaboost_is_saved_and_does_not_depend_on_threads(tmp_path) -> None:
    for kind, y in ((AdaBoostClassifier, THREE), (AdaBoostRegressor, Y)):
        model = kind(n_estimators=5, random_state=0, n_jobs=1).fit(X, y)
        other = kind(n_estimators=5, random_state=0, n_jobs=2).fit(X, y)
        assert same(other.history_, model.history_)
        model.save(tmp_path / "model.weald")
        assert same(weald.load(tmp_path / "model.weald").history_, model.history_)
        assert model.history_.to_pandas().shape == (6, 1)
