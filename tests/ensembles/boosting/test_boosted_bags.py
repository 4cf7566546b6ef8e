"""Bags of boosters: each on rows of its own, against naive code."""

import pickle

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor, GradientBoostingRegressor
from weald.ensembles.out_of_bag.tally import Tally

SMALL = {"n_estimators": 8, "min_samples_leaf": 3, "random_state": 0, "n_jobs": 1}


def task(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X = np.concatenate([X, X[:20]])
    return X, X[:, 0] + np.abs(X[:, 1])


X, Y = task()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}])
def test_each_booster_learns_from_its_own_rows(loss: str, settings: dict) -> None:
    y = Y - Y.min() + 1
    model = BoostedTreesRegressor(quality="fast", loss=loss, n_bags=4, **settings, **SMALL).fit(
        X, y
    )
    answers = []
    for number in range(4):
        counts = model.oob_.in_bag[number]
        if not settings:
            rows = np.repeat(np.arange(len(X)), counts)
            alone = BoostedTreesRegressor(quality="fast", loss=loss, **SMALL).fit(X[rows], y[rows])
            # Bins are those of all rows: only between rows drawn may the two differ.
            mine = next(model._estimator_predictions(X[rows]))[number, :, 0]
            assert mine == pytest.approx(alone.predict(X[rows]))
        answers.append(next(model._estimator_predictions(X))[number, :, 0])
    assert model.predict(X) == pytest.approx(np.mean(answers, axis=0))
    _, std = model.predict(X, return_std=True)
    assert std == pytest.approx(np.std(answers, axis=0, ddof=1), abs=1e-12)


def test_the_ledger_is_of_boosters_that_did_not_see_the_row() -> None:
    model = BoostedTreesRegressor(quality="fast", n_bags=6, **SMALL).fit(X, Y)
    tally = Tally(len(X), 1)
    said = np.concatenate(list(model._estimator_predictions(X)), axis=1)
    for number in range(6):
        out = np.flatnonzero(model.oob_.in_bag[number] == 0)
        tally.add(out, said[number, out])
    assert model.oob_.predictions == pytest.approx(tally.means[:, 0], nan_ok=True)
    assert model.oob_.std == pytest.approx(tally.spreads[:, 0], nan_ok=True)
    assert len(model.oob_.curve().error) == 6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_averaged(n_classes: int) -> None:
    y = np.digitize(Y, np.quantile(Y, np.arange(1, n_classes) / n_classes))
    model = BoostedTreesClassifier(quality="fast", n_bags=5, **SMALL).fit(X, y)
    shares = np.mean(np.concatenate(list(model._estimator_predictions(X)), axis=1), axis=0)
    assert model.predict_proba(X) == pytest.approx(shares)
    decided = model.decision_function(X)
    best = decided.argmax(axis=1) if n_classes > 2 else (decided > 0).astype(int)
    assert np.array_equal(best, model.predict(X))
    assert model.predict_set(X, 0.9).shape == (len(X), n_classes)
    again = pickle.loads(pickle.dumps(model.predictor()))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    one = BoostedTreesClassifier(quality="fast", n_bags=5, **SMALL).fit(X, np.zeros(len(X)))
    assert (one.predict_proba(X) == 1).all() and not hasattr(one, "oob_")


def test_rows_held_out_for_early_stopping_are_nobody_s_evidence() -> None:
    model = BoostedTreesRegressor(quality="fast", n_bags=20, early_stopping=True, **SMALL).fit(X, Y)
    held = (model.oob_.in_bag.toarray() > 0).all(axis=0)
    assert 10 < held.sum() < 40
    assert np.isin(np.flatnonzero(held), model.oob_.unscored).all()
    for curve in (model.train_loss_, model.validation_loss_, model.validation_score_):
        assert curve.shape[0] == 20


def test_intervals_of_boosters() -> None:
    train, y = task(1500)
    noise = np.random.default_rng(1).normal(size=len(y))
    model = BoostedTreesRegressor(quality="fast", n_bags=10, random_state=0).fit(train, y + noise)
    new, true = task(3000, seed=2)
    true = true + np.random.default_rng(3).normal(size=len(true))
    for coverage in (0.8, 0.95):
        lower, upper = model.predict_interval(new, coverage).T
        assert abs(((lower <= true) & (true <= upper)).mean() - coverage) < 0.03
    assert (np.diff(model.predict_quantiles(new, [0.1, 0.5, 0.9]), axis=1) >= 0).all()


def test_one_booster_says_why_it_cannot() -> None:
    alone = BoostedTreesRegressor(quality="fast", **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="terms of a sum.*n_bags=10"):
        alone.predict(X, return_std=True)
    for model in (alone, BoostedTreesRegressor(quality="fast", subsample=0.5, **SMALL).fit(X, Y)):
        with pytest.raises(AttributeError, match="One booster has no out-of-bag ledger"):
            _ = model.oob_
        with pytest.raises(AttributeError, match="n_bags=10"):
            model.predict_interval(X)
    drawn = GradientBoostingRegressor(subsample=0.5, n_estimators=3).fit(X, Y)
    assert len(drawn.oob_improvement_) == len(drawn.oob_scores_) == 3
    with pytest.raises(AttributeError, match="a row that one round left out is seen by the next"):
        _ = drawn.oob_
