"""Voting: rules, out-of-fold weights, prefit estimators, standard deviations."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from ensembles.members.foreign import Memory, MemoryRegressor
from weald import (
    BoostedTreesClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    VotingClassifier,
    VotingRegressor,
    aggregation,
)
from weald.ensembles.combining.vote_weights import vote_weights
from weald.resampling import ContentKFold


def classes(n: int = 240, n_classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) / 2
    ranks = np.argsort(np.argsort(score))
    return X, np.array(["low", "mid", "top"])[ranks * n_classes // n]


MEMBERS = [
    ("tree", DecisionTreeClassifier(max_depth=4)),
    ("linear", LogisticRegression()),
    ("bayes", GaussianNB()),
]


@pytest.mark.parametrize(
    "rule", ["mean", "product", "geometric_mean", "minimum", "maximum", "median"]
)
def test_rules_are_those_of_aggregation(rule: str) -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, voting="soft", rule=rule).fit(X, y)
    said = np.stack([member.predict_proba(X) for member in model.estimators_])
    expected = aggregation.shares(getattr(aggregation, rule)(said))
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


def test_a_hard_vote_is_a_majority() -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, weights=[1, 1, 1.5]).fit(X, y)
    said = np.stack([member.predict(X) for member in model.estimators_])
    expected = aggregation.weighted_majority(said, [1, 1, 1.5], 3)
    assert np.array_equal(model.predict(X), model.classes_[expected])
    assert not hasattr(model, "predict_proba")


def test_rules_and_weights_that_do_not_go_together() -> None:
    X, y = classes()
    with pytest.raises(ValueError, match="rule='product' requires voting='soft'"):
        VotingClassifier(MEMBERS, rule="product").fit(X, y)
    with pytest.raises(ValueError, match="rule='median' does not support weights"):
        VotingClassifier(MEMBERS, voting="soft", rule="median", weights=[1, 2, 3]).fit(X, y)
    with pytest.raises(ValueError, match="must be equal; got 2 weights, 3 estimators"):
        VotingClassifier(MEMBERS, weights=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="not all zero"):
        VotingClassifier(MEMBERS, weights=[0, 0, 1]).set_params(bayes="drop").fit(X, y)


def test_weights_of_dropped_estimators_are_dropped() -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, voting="soft", weights=[1, 5, 2]).set_params(linear="drop")
    assert model.fit(X, y).weights_.tolist() == [1, 2]


# ---- uncertainty ----


def test_std_of_regressors() -> None:
    X, _ = classes()
    y = X[:, 0] + X[:, 1] ** 2
    members = [("a", DecisionTreeRegressor(max_depth=k)) for k in (1, 3, 5)]
    members = [(f"{name}{i}", member) for i, (name, member) in enumerate(members)]
    model = VotingRegressor(members).fit(X, y)
    got, std = model.predict(X, return_std=True)
    said = model.transform(X)
    assert np.array_equal(got, model.predict(X))
    assert std == pytest.approx(said.std(axis=1, ddof=1), abs=1e-12)
    # About the prediction of the ensemble, whatever its rule.
    low, about_low = VotingRegressor(members, rule="minimum").fit(X, y).predict(X, return_std=True)
    expected = np.sqrt(((said - low[:, np.newaxis]) ** 2).sum(axis=1) / 2)
    assert about_low == pytest.approx(expected, abs=1e-12)


def test_std_of_probabilities() -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, voting="soft").fit(X, y)
    got, std = model.predict_proba(X, return_std=True)
    said = np.stack([member.predict_proba(X) for member in model.estimators_])
    assert std.shape == got.shape == (240, 3)
    assert std == pytest.approx(said.std(axis=0, ddof=1), abs=1e-12)


# ---- out-of-fold weights ----


def test_hard_weights_by_their_formula() -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, weights="oof", cv=4).fit(X, y)
    errors = [np.mean(cross_val_predict(member, X, y, cv=4) != y) for _, member in MEMBERS]
    expected = [math.log((1 - e) / e) if e < 0.5 else 0.0 for e in errors]
    assert model.weights_ == pytest.approx(expected, rel=1e-12)


def test_weights_of_errors() -> None:
    assert vote_weights([0.1, 0.4], 1000) == pytest.approx([2.197225, 0.405465], abs=1e-6)
    assert vote_weights([0.0], 50) == pytest.approx([math.log(99)])
    assert vote_weights([0.5, 0.7, 0.2], 50)[:2].tolist() == [0, 0]
    assert vote_weights([0.5, 0.7], 50).tolist() == [1, 1]


def test_soft_weights_have_the_least_log_loss() -> None:
    X, y = classes()
    model = VotingClassifier(MEMBERS, voting="soft", weights="oof", cv=4).fit(X, y)
    said = np.stack([cross_val_predict(m, X, y, cv=4, method="predict_proba") for _, m in MEMBERS])
    true = np.searchsorted(model.classes_, y)
    likely = np.maximum(said[:, np.arange(len(y)), true], 1e-12)

    def loss(weights: np.ndarray) -> float:
        return -np.log(weights @ likely).mean()

    assert model.weights_.sum() == pytest.approx(1) and (model.weights_ >= 0).all()
    best = min(
        loss(np.array([a, b, 1 - a - b]))
        for a in np.linspace(0, 1, 41)
        for b in np.linspace(0, 1 - a, 41)
    )
    assert loss(model.weights_) <= best + 1e-9


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_base_estimator_that_memorises_gets_no_weight(voting: str) -> None:
    """It predicts its training rows perfectly; only out-of-fold predictions may count."""
    X, y = classes(n_classes=2)
    members = [("memory", Memory()), ("tree", DecisionTreeClassifier(max_depth=3))]
    model = VotingClassifier(members, voting=voting, weights="oof").fit(X, y)
    assert model.named_estimators_["memory"].score(X, model.le_.transform(y)) == 1
    # Its predictions for unseen rows are uniform: useful only to shrink those of a tree.
    assert model.weights_[0] < (0.05 if voting == "hard" else 0.5) * model.weights_[1]
    fresh, truth = classes(n_classes=2, seed=1)
    alone = model.named_estimators_["tree"].predict(fresh)
    assert np.array_equal(model.predict(fresh), model.classes_[alone])
    assert model.score(fresh, truth) > 0.7


def test_in_sample_predictions_would_give_it_all_weight() -> None:
    X, y = classes(n_classes=2)
    fitted = [
        ("memory", Memory().fit(X, y)),
        ("tree", DecisionTreeClassifier(max_depth=3).fit(X, y)),
    ]
    model = VotingClassifier(fitted, voting="soft", weights="oof", prefit=True).fit(X, y)
    assert model.weights_[0] > 0.99


def test_a_regressor_that_memorises_gets_no_weight() -> None:
    X, _ = classes()
    y = 3 + X[:, 0] + np.random.default_rng(1).normal(size=len(X)) / 4
    members = [("memory", MemoryRegressor()), ("line", LinearRegression())]
    model = VotingRegressor(members, weights="oof").fit(X, y)
    assert model.weights_.sum() == pytest.approx(1)
    assert model.weights_[0] < 0.1


def test_groups_reach_the_splitter() -> None:
    X, y = classes()
    groups = np.arange(len(y)) // 8
    # All rows of a group are equal: only folds by group reveal memorisation.
    X = X[groups * 8]
    y = y[groups * 8]
    members = [("memory", Memory()), ("tree", DecisionTreeClassifier(max_depth=2))]
    by_group = VotingClassifier(members, weights="oof", cv=GroupKFold(4)).fit(X, y, groups=groups)
    shuffled = KFold(4, shuffle=True, random_state=0)
    by_row = VotingClassifier(members, weights="oof", cv=shuffled).fit(X, y)
    assert by_group.weights_[0] < by_group.weights_[1]
    assert by_row.weights_[0] > by_row.weights_[1]


def test_oof_weights_do_not_depend_on_row_order() -> None:
    X, y = classes()
    order = np.random.default_rng(0).permutation(len(y))
    members = [MEMBERS[0], ("boosted", BoostedTreesClassifier(quality="fast", n_estimators=5))]
    for voting in ("hard", "soft"):
        model = VotingClassifier(members, voting=voting, weights="oof", cv=ContentKFold(3))
        first = model.fit(X, y).fingerprint()
        assert model.fit(X[order], y[order]).fingerprint() == first


# ---- ranks ----


def test_ranks_are_taken_among_out_of_fold_scores_not_in_the_batch() -> None:
    X, y = classes(n_classes=2)
    model = VotingClassifier(MEMBERS, voting="soft", rule="rank_mean", cv=4).fit(X, y)
    together = model.predict_proba(X[:50])
    for row in (0, 7, 49):
        assert np.array_equal(model.predict_proba(X[row : row + 1])[0], together[row])
    known = np.stack(
        [cross_val_predict(m, X, y, cv=4, method="predict_proba")[:, 1] for _, m in MEMBERS]
    )
    said = np.stack([member.predict_proba(X[:50])[:, 1] for member in model.estimators_])
    assert together[:, 1] == pytest.approx(aggregation.rank_mean(said, known), abs=1e-12)


# ---- prefit estimators ----


def test_prefit_estimators_are_not_refitted() -> None:
    X, y = classes()
    fitted = [(name, member.fit(X[:150], y[:150])) for name, member in MEMBERS]
    model = VotingClassifier(fitted, voting="soft", prefit=True).fit(X[150:], y[150:])
    assert model.estimators_ == [member for _, member in fitted]
    said = np.mean([member.predict_proba(X) for _, member in fitted], axis=0)
    assert model.predict_proba(X) == pytest.approx(said, abs=1e-12)
    hard = VotingClassifier(fitted, prefit=True).fit(X, y)
    assert set(hard.predict(X)) <= set(y)


def test_prefit_estimators_may_have_more_classes() -> None:
    X, y = classes()
    fitted = [(name, member.fit(X, y)) for name, member in MEMBERS]
    some = y != "low"
    model = VotingClassifier(fitted, voting="soft", prefit=True, weights="oof").fit(
        X[some], y[some]
    )
    assert model.classes_.tolist() == ["low", "mid", "top"]
    assert model.predict_proba(X).shape == (240, 3)
    other = DecisionTreeClassifier().fit(X, y == "low")
    with pytest.raises((ValueError, TypeError)):
        VotingClassifier([("other", other)], prefit=True).fit(X, y).predict(X)


def test_weights_of_prefit_estimators_use_the_given_rows() -> None:
    X, y = classes(n_classes=2)
    fitted = [("memory", Memory().fit(X, y)), ("tree", MEMBERS[0][1].fit(X, y))]
    fresh, truth = classes(n_classes=2, seed=1)
    model = VotingClassifier(fitted, weights="oof", prefit=True).fit(fresh, truth)
    assert model.weights_[0] < model.weights_[1]


# ---- fingerprints ----


def test_other_estimators_have_no_fingerprint() -> None:
    X, y = classes()
    with pytest.raises(TypeError, match="'linear' is a LogisticRegression"):
        VotingClassifier(MEMBERS).fit(X, y).fingerprint()


def test_fingerprint_covers_estimators_weights_and_rule() -> None:
    X, y = classes()
    members = [MEMBERS[0], ("boosted", BoostedTreesClassifier(quality="fast", n_estimators=3))]
    found = {
        VotingClassifier(members, voting="soft", **more).fit(X, y).fingerprint()
        for more in ({}, {"rule": "product"}, {"weights": [1, 2]}, {"rule": "rank_mean"})
    }
    found.add(VotingClassifier(members[:1], voting="soft").fit(X, y).fingerprint())
    found.add(VotingClassifier(members).fit(X, y).fingerprint())
    assert len(found) == 6
