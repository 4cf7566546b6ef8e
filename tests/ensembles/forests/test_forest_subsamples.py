"""Forests that draw rows without replacement, and warm starts with in-bag counts."""

import pickle

import numpy as np
import pytest

from weald import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    _native,
)
from weald.resampling import Purpose, RowSamples


def task(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


def test_draws_are_those_of_naive_code() -> None:
    """Every row gets a random number by its key; the rows of the smallest ones are drawn."""
    keys = np.random.default_rng(0).integers(2**63, size=(40, 2), dtype=np.uint64)
    samples = RowSamples(5, 17, np.arange(40), 40, keys=keys)
    for tree in range(5):
        words = _native.draw(keys, 5, tree, Purpose.PASTE)
        expected = np.zeros(40, dtype=np.int64)
        expected[np.argsort(words)[:17]] = 1
        assert np.array_equal(samples.drawn(tree), expected)
    again = pickle.loads(pickle.dumps(samples))
    assert np.array_equal(again.drawn(3), samples.drawn(3))


def test_weights_do_not_enter_the_draw_and_drawn_rows_keep_them() -> None:
    X, y = task()
    weight = np.where(np.arange(200) < 100, 0.25, 4.0)
    settings = {"bootstrap": False, "max_samples": 0.5, "random_state": 0}
    plain = RandomForestRegressor(5, **settings).fit(X, y)
    model = RandomForestRegressor(5, **settings).fit(X, y, weight)
    for tree in range(5):
        counts = model.in_bag_counts(tree)
        assert np.array_equal(counts, plain.in_bag_counts(tree))
        assert model.forest_.tree(tree).weight[0] == (counts * weight).sum()


@pytest.mark.parametrize(("max_samples", "n_drawn"), [(0.5, 100), (30, 30), (1.0, 200)])
def test_every_tree_draws_so_many_rows_once(max_samples: float, n_drawn: int) -> None:
    X, y = task()
    model = RandomForestRegressor(5, bootstrap=False, max_samples=max_samples, random_state=0)
    model.fit(X, y)
    for tree in range(5):
        counts = model.in_bag_counts(tree)
        assert counts.sum() == n_drawn
        assert counts.max() == 1
        assert model.forest_.tree(tree).weight[0] == n_drawn
        assert np.array_equal(model.estimators_samples_[tree], np.flatnonzero(counts))


def test_out_of_bag_predictions_come_from_trees_that_left_the_row_out() -> None:
    X, y = task()
    model = RandomForestRegressor(
        20, bootstrap=False, max_samples=0.6, oob_score=True, random_state=0
    ).fit(X, y)
    predicted = np.stack([tree.predict(X) for tree in model.estimators_])
    out = np.stack([model.in_bag_counts(tree) == 0 for tree in range(20)])
    assert model.oob_prediction_ == pytest.approx((predicted * out).sum(axis=0) / out.sum(axis=0))
    assert model.oob_.predictions == pytest.approx(model.oob_prediction_)
    assert 0.3 < model.oob_score_ < 1


def test_the_order_of_weighted_rows_does_not_matter() -> None:
    X, y = task(100)
    rng = np.random.default_rng(0)
    X[50:], y[50:] = X[:50], y[:50]
    model = RandomForestClassifier(
        4, bootstrap=False, max_samples=0.5, class_weight="balanced_subsample", random_state=0
    )
    weight = rng.exponential(size=100)
    one = model.fit(X, y > 0.5, weight).fingerprint()
    order = rng.permutation(100)
    assert model.fit(X[order], y[order] > 0.5, weight[order]).fingerprint() == one
    assert model.set_params(n_jobs=2).fit(X, y > 0.5, weight).fingerprint() == one


def test_rotation_forests_draw_so_too() -> None:
    X, y = task(80)
    model = RotationForestClassifier(3, bootstrap=False, max_samples=0.5, random_state=0)
    model.fit(X, y > 0.5)
    assert model.in_bag_counts(1).sum() == 40


def test_invalid_samples_are_refused() -> None:
    X, y = task(50)
    for max_samples, n_draws in ((51, 51), (1.5, 75)):
        with pytest.raises(ValueError, match=f"without replacement: .* {n_draws} of 50 rows"):
            RandomForestRegressor(2, bootstrap=False, max_samples=max_samples).fit(X, y)
    with pytest.raises(ValueError, match="leaves none out of bag"):
        RandomForestRegressor(2, bootstrap=False, max_samples=1.0, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="only available if bootstrap=True or max_samples"):
        RandomForestRegressor(2, bootstrap=False, oob_score=True).fit(X, y)


# ---- warm starts ----


@pytest.mark.parametrize(
    "settings",
    [{}, {"bootstrap": False, "max_samples": 0.5}, {"ccp_alpha": 0.01}, {"max_samples": 100}],
    ids=str,
)
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_a_warm_start_stores_all_in_bag_counts(kind: type, settings: dict) -> None:
    """Out-of-bag predictions equal those of a single fit bit by bit."""
    X, y = task(150)
    X[10:20], y[10:20] = X[:10], y[:10]
    y = np.digitize(y, [0.0, 1.0]) if kind is RandomForestClassifier else y * 2.0**200
    settings = {"oob_score": True, "random_state": 0, "n_jobs": 1, **settings}
    if "ccp_alpha" in settings and kind is RandomForestRegressor:
        settings["ccp_alpha"] *= 2.0**400
    whole = kind(60, **settings).fit(X, y)
    model = kind(40, warm_start=True, **settings).fit(X, y)
    for n in (50, 60):
        model.set_params(n_estimators=n).fit(X, y)
    assert model.fingerprint() == whole.fingerprint()
    assert model.oob_score_ == whole.oob_score_
    name = "oob_decision_function_" if kind is RandomForestClassifier else "oob_prediction_"
    assert np.array_equal(getattr(model, name), getattr(whole, name))
    assert np.array_equal(model.oob_.predictions, whole.oob_.predictions)
    assert np.array_equal(model.oob_.in_bag.toarray(), whole.oob_.in_bag.toarray())
    for k in (0, 45, 59):
        assert np.array_equal(model.in_bag_counts(k), whole.in_bag_counts(k))


def test_a_warm_start_may_request_the_score_later() -> None:
    X, y = task(150)
    model = ExtraTreesRegressor(20, warm_start=True, bootstrap=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=30, oob_score=True).fit(X, y)
    whole = ExtraTreesRegressor(30, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == whole.oob_score_


def test_other_rows_have_no_bags() -> None:
    X, y = task(150)
    model = RandomForestRegressor(20, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=30)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="requires the rows of the previous fit"):
        model.fit(X[::-1], y[::-1])
    assert model.fingerprint() == before
    model.set_params(oob_score=False).fit(X[:100], y[:100])
    assert len(model.estimators_) == 30
