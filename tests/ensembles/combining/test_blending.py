"""Blending: held-out rows, base estimators refitted or not, final estimators."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from ensembles.members.foreign import Counting, Memory
from weald import (
    BlendingClassifier,
    BlendingRegressor,
    BoostedTreesClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)


def classes(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) / 2 > 0).astype(int)


MEMBERS = [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]
OURS = [MEMBERS[0], ("boosted", BoostedTreesClassifier(quality="fast", n_estimators=5))]


def held_out(blend) -> np.ndarray:
    return ~np.isnan(blend.out_of_fold_).any(axis=1)


def test_by_hand() -> None:
    X, y = classes()
    for refit in (True, False):
        blend = BlendingClassifier(MEMBERS, random_state=0, refit=refit).fit(X, y)
        held = held_out(blend)
        assert held.sum() == round(0.2 * np.sum(y == 0)) + round(0.2 * np.sum(y == 1))
        rest = [member.fit(X[~held], y[~held]) for _, member in MEMBERS]
        answers = np.column_stack([member.predict_proba(X[held])[:, 1] for member in rest])
        assert np.array_equal(blend.out_of_fold_[held], answers)
        final = LogisticRegression().fit(answers, y[held])
        if refit:
            rest = [member.fit(X, y) for _, member in MEMBERS]
        table = np.column_stack([member.predict_proba(X)[:, 1] for member in rest])
        assert blend.predict_proba(X) == pytest.approx(final.predict_proba(table), abs=1e-12)


@pytest.mark.parametrize("refit", [True, False])
def test_fits_per_base_estimator(refit: bool) -> None:
    Counting.fits = 0
    BlendingClassifier([("a", Counting())], random_state=0, refit=refit).fit(*classes())
    assert Counting.fits == 1 + refit


def test_the_order_of_rows_does_not_matter() -> None:
    X, y = classes()
    order = np.random.default_rng(1).permutation(len(y))
    blend = BlendingClassifier(OURS, "nonnegative", random_state=0)
    first = blend.fit(X, y)
    held, fingerprint = held_out(first), first.fingerprint()
    second = blend.fit(X[order], y[order])
    assert np.array_equal(held_out(second), held[order])
    assert second.fingerprint() == fingerprint
    assert (
        BlendingClassifier(OURS, "nonnegative", random_state=1).fit(X, y).fingerprint()
        != fingerprint
    )


def test_groups_are_not_split() -> None:
    X, y = classes()
    groups = np.arange(300) % 30
    held = held_out(BlendingClassifier(MEMBERS, random_state=0).fit(X, y, groups=groups))
    assert {len(set(held[groups == g])) for g in range(30)} == {1}
    assert held.sum() == 60


def test_base_estimator_that_memorises_gets_little_weight() -> None:
    X, y = classes()
    fresh, truth = classes(seed=1)
    members = [("memory", Memory()), MEMBERS[0]]
    blend = BlendingClassifier(members, random_state=0).fit(X, y)
    assert blend.score(fresh, truth) >= MEMBERS[0][1].fit(X, y).score(fresh, truth) - 0.02


@pytest.mark.parametrize("final", [None, "nonnegative", "greedy"])
def test_noise_is_not_fitted(final) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    members = [("memory", Memory()), ("deep", DecisionTreeClassifier())]
    blend = BlendingClassifier(members, final, random_state=0).fit(X, y)
    fresh, truth = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    assert abs(roc_auc_score(truth, blend.predict_proba(fresh)[:, 1]) - 0.5) < 0.04
    known = held_out(blend)
    assert abs(roc_auc_score(y[known], blend.out_of_fold_[known, 1]) - 0.5) < 0.15


def test_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 2 * (X[:, 1] > 0) + rng.normal(size=300) / 4
    members = [("tree", DecisionTreeRegressor(max_depth=3)), ("line", LinearRegression())]
    for final in (None, "nonnegative", "greedy", LinearRegression(positive=True)):
        blend = BlendingRegressor(members, final, random_state=0, validation_fraction=0.3)
        assert blend.fit(X[:250], y[:250]).score(X[250:], y[250:]) > 0.8
        assert held_out(blend).sum() == 75
    blend.refit_final("nonnegative")
    assert blend.disagreement(X).shape == (300,)


def test_equal_rows_are_split_like_any_others() -> None:
    members = [("tree", DecisionTreeRegressor())]
    blend = BlendingRegressor(members, "nonnegative", random_state=0, validation_fraction=0.4)
    assert held_out(blend.fit(np.ones((5, 2)), np.ones(5))).sum() == 2
    X, y = classes()
    twice = np.concatenate([X, X]), np.concatenate([y, y])
    held = held_out(BlendingClassifier(MEMBERS, random_state=0).fit(*twice))
    assert held.sum() == 2 * round(0.2 * np.sum(y == 0)) + 2 * round(0.2 * np.sum(y == 1))
    assert (held[:300] != held[300:]).sum() > 50


def test_the_order_of_weighted_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    X, y = classes(100)
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    weight, order = rng.integers(1, 4, 200), rng.permutation(200)
    blend = BlendingClassifier(OURS, "nonnegative", random_state=0)
    first = blend.fit(X, y, sample_weight=weight).fingerprint()
    second = blend.fit(X[order], y[order], sample_weight=weight[order])
    assert second.fingerprint() == first


@pytest.mark.parametrize("groups", [None, np.zeros(5)])
def test_rows_that_cannot_be_split(groups) -> None:
    n = 1 if groups is None else 5
    members = [("tree", DecisionTreeRegressor())]
    with pytest.raises(ValueError, match=rf"to hold out and others to fit on.*n_samples = {n}\."):
        BlendingRegressor(members).fit(np.ones((n, 2)), np.ones(n), groups=groups)
