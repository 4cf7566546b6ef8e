"""Forests whose trees draw rows without replacement, and warm starts that know their bags."""

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
from weald.resampling import Pastes, Purpose


def task(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


def naive_draws(pastes: Pastes, member: int) -> np.ndarray:
    """Every copy gets a random number by content; those of the smallest are seen."""
    keys = []
    for row, (low, high) in enumerate(pastes.hashes.tolist()):
        for number in range(1 if pastes.copies is None else int(pastes.copies[row])):
            content = np.array([[low ^ number, high ^ number]], dtype=np.uint64)
            word = int(_native.draw(content, pastes.seed, member, Purpose.PASTE)[0])
            late = 0.0
            if pastes.weight is not None:
                unit = ((word >> 11) + 0.5) * 2.0**-53
                late = -float(_native.log(np.array([unit]))[0]) / pastes.weight[row]
            keys.append((late, word, row))
    drawn = np.zeros(pastes.n, dtype=np.int64)
    for _, _, row in sorted(keys)[: pastes.n_draws]:
        drawn[row] += 1
    return drawn


@pytest.mark.parametrize("kind", ["alike", "copies", "weights"])
def test_draws_are_those_of_naive_code(kind: str) -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(2**63, size=(40, 2), dtype=np.uint64)
    copies = rng.integers(0, 4, 40) if kind == "copies" else None
    weight = rng.exponential(size=40) if kind == "weights" else None
    pastes = Pastes(5, 17, hashes, copies, weight, np.arange(40))
    for member in range(5):
        assert np.array_equal(pastes.drawn(member), naive_draws(pastes, member))
    again = pickle.loads(pickle.dumps(pastes))
    assert np.array_equal(again.drawn(3), pastes.drawn(3))


def test_heavy_rows_are_drawn_more_often() -> None:
    hashes = np.random.default_rng(0).integers(2**63, size=(20, 2), dtype=np.uint64)
    weight = np.repeat([0.1, 10.0], 10)
    pastes = Pastes(0, 8, hashes, None, weight, np.arange(20))
    drawn = sum(pastes.drawn(member) for member in range(200))
    assert drawn[10:].min() > 3 * drawn[:10].max()


@pytest.mark.parametrize(("max_samples", "n_drawn"), [(0.5, 100), (30, 30), (1.0, 200)])
def test_every_tree_draws_so_many_rows_once(max_samples: float, n_drawn: int) -> None:
    X, y = task()
    model = RandomForestRegressor(5, bootstrap=False, max_samples=max_samples, random_state=0)
    model.fit(X, y)
    for member in range(5):
        counts = model.in_bag_counts(member)
        assert counts.sum() == n_drawn
        assert counts.max() == 1
        assert model.forest_.tree(member).weight[0] == n_drawn
        assert np.array_equal(model.estimators_samples_[member], np.flatnonzero(counts))


def test_out_of_bag_answers_come_from_trees_that_left_the_row_out() -> None:
    X, y = task()
    model = RandomForestRegressor(
        20, bootstrap=False, max_samples=0.6, oob_score=True, random_state=0
    ).fit(X, y)
    said = np.stack([tree.predict(X) for tree in model.estimators_])
    out = np.stack([model.in_bag_counts(member) == 0 for member in range(20)])
    assert model.oob_prediction_ == pytest.approx((said * out).sum(axis=0) / out.sum(axis=0))
    assert model.oob_.predictions == pytest.approx(model.oob_prediction_)
    assert 0.3 < model.oob_score_ < 1


@pytest.mark.parametrize("is_weighted", [False, True])
def test_weights_are_repeats_and_order_does_not_matter(is_weighted: bool) -> None:
    X, y = task(100)
    rng = np.random.default_rng(0)
    model = RandomForestClassifier(
        4, bootstrap=False, max_samples=0.5, class_weight="balanced_subsample", random_state=0
    )
    if not is_weighted:
        copies = rng.integers(0, 3, 100)
        one = model.fit(X, y > 0.5, copies).fingerprint()
        again = rng.permutation(np.repeat(np.arange(100), copies))
        assert model.fit(X[again], y[again] > 0.5).fingerprint() == one
        return
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


def test_what_cannot_be_is_refused() -> None:
    X, y = task(50)
    for max_samples in (51, 1.5):
        with pytest.raises(ValueError, match="of 50 rows without replacement"):
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
def test_a_warm_start_knows_all_its_bags(kind: type, settings: dict) -> None:
    """Bit for bit what an unbroken fit says of rows left out."""
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


def test_a_warm_start_may_ask_for_the_score_later() -> None:
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
    with pytest.raises(ValueError, match="needs the rows of the fit before"):
        model.fit(X[::-1], y[::-1])
    assert model.fingerprint() == before
    model.set_params(oob_score=False).fit(X[:100], y[:100])
    assert len(model.estimators_) == 30
