"""Bags of boosters together with what else a fit may be asked for: against boosters alone."""

from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor

SMALL = {"n_estimators": 12, "min_samples_leaf": 3, "random_state": 0, "n_jobs": 1}

# Few values, which every bag holds: a booster alone on its rows has the bins of the shared ones.
RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(400, 3)).astype(np.float64)
Y = X[:, 0] + np.abs(X[:, 1] - 2) + RNG.integers(-2, 3, size=400) / 4
LABELS = np.digitize(Y, [1.5, 3.0])
NEW = RNG.integers(0, 4, size=(60, 3)).astype(np.float64)
NEW_Y = NEW[:, 0] + np.abs(NEW[:, 1] - 2)


def drawn(model: Any, counts: np.ndarray) -> np.ndarray:
    """The rows of a bag, each as often as it was drawn."""
    return np.repeat(np.arange(len(X)), counts[model._draws.place])


def members(model: Any, table: np.ndarray) -> np.ndarray:
    return np.concatenate(list(model._estimator_predictions(table)), axis=1)


# ---- who judges ----


@pytest.mark.parametrize("scoring", ["loss", "neg_mean_absolute_error"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_booster_is_judged_by_all_held_out_rows(scoring: str, weighted: bool) -> None:
    settings = {**SMALL, "early_stopping": True, "learning_rate": 0.5, "n_iter_no_change": 3}
    weight = np.random.default_rng(1).random(len(X)) + 0.5 if weighted else None
    model = BoostedTreesRegressor(quality="fast", n_bags=4, scoring=scoring, **settings).fit(
        X, Y, weight
    )
    draws = model._draws
    held = (draws.held.mass > 0)[draws.place]
    alone = BoostedTreesRegressor(quality="fast", scoring=scoring, **settings)
    for number in range(4):
        rows = drawn(model, draws.train.drawn(number))
        assert not held[rows].any()
        judges = {"X_val": X[held], "y_val": Y[held]}
        if weighted:
            judges["sample_weight_val"] = weight[held]
        alone.fit(X[rows], Y[rows], **judges)
        n = len(alone.validation_score_)
        assert model.validation_score_[number, :n] == pytest.approx(alone.validation_score_)
        assert model.validation_loss_[number, :n] == pytest.approx(alone.validation_loss_)
        assert np.isnan(model.validation_score_[number, n:]).all()
        assert model._parts[number].n_trees == alone.n_estimators_
    assert model.n_estimators_ == max(part.n_trees for part in model._parts)


def test_leaves_learn_from_the_held_out_rows_that_a_booster_drew() -> None:
    settings = {**SMALL, "n_estimators": 1, "max_depth": 1, "learning_rate": 1.0}
    model = BoostedTreesRegressor(quality="fast", n_bags=3, early_stopping=True, **settings).fit(
        X, Y
    )
    for number, part in enumerate(model._parts):
        rows = drawn(model, model._draws.sample(number))
        held = (model._draws.held.mass > 0)[model._draws.place]
        assert held[rows].any()
        leaf = part.apply(X[rows], n_threads=1)[:, 0]
        means = [Y[rows][leaf == one].mean() for one in range(2)]
        assert part.base_score[0] + part.value[:, 0] == pytest.approx(means)


def test_rows_that_the_user_gave_judge_every_booster() -> None:
    judges = {"X_val": NEW, "y_val": NEW_Y, "sample_weight_val": np.linspace(0.1, 1, len(NEW))}
    settings = {**SMALL, "early_stopping": True, "learning_rate": 0.5, "n_iter_no_change": 2}
    model = BoostedTreesRegressor(quality="fast", n_bags=3, **settings).fit(X, Y, **judges)
    for number, counts in enumerate(model.oob_.in_bag):
        assert counts.shape == (len(X),)
        rows = drawn(model, model._draws.drawn(number))
        alone = BoostedTreesRegressor(quality="fast", **settings).fit(X[rows], Y[rows], **judges)
        n = len(alone.validation_loss_)
        assert model.validation_loss_[number, :n] == pytest.approx(alone.validation_loss_)
        assert members(model, NEW)[number, :, 0] == pytest.approx(alone.predict(NEW))
    assert not model.oob_.unscored.size or model.oob_.n_out[model.oob_.unscored].max() == 0


# ---- what is weighed and drawn ----


def test_classes_weigh_in_every_booster() -> None:
    wanted = {0: 5.0, 2: 0.25}
    model = BoostedTreesClassifier(quality="fast", n_bags=3, class_weight=wanted, **SMALL).fit(
        X, LABELS
    )
    plain = BoostedTreesClassifier(quality="fast", n_bags=3, **SMALL).fit(X, LABELS)
    assert np.array_equal(model.oob_.in_bag.toarray(), plain.oob_.in_bag.toarray())
    for number, counts in enumerate(model.oob_.in_bag):
        rows = np.repeat(np.arange(len(X)), counts)
        alone = BoostedTreesClassifier(quality="fast", class_weight=wanted, **SMALL).fit(
            X[rows], LABELS[rows]
        )
        assert members(model, NEW)[number] == pytest.approx(alone.predict_proba(NEW))
    assert model.predict_proba(NEW)[:, 0].mean() > plain.predict_proba(NEW)[:, 0].mean()


def test_a_class_without_weight_is_in_no_bag() -> None:
    weight = np.where(np.arange(len(X)) < 50, 0.0, 1.0)
    model = BoostedTreesClassifier(quality="fast", n_bags=12, class_weight={1: 0.0}, **SMALL)
    model.fit(X, LABELS, weight)
    gone = (LABELS == 1) | (weight == 0)
    assert (model.oob_.in_bag.toarray()[:, gone] == 0).all()
    assert np.isnan(model.oob_.predictions[gone]).all()
    assert not np.isin(np.flatnonzero(gone), model.oob_.unscored).any()
    assert model.oob_.in_bag[0].shape == (len(X),)


@pytest.mark.parametrize("sampling", ["tree", "level", "node"])
def test_each_booster_draws_columns_of_its_own(sampling: str) -> None:
    settings = {**SMALL, "max_features": 1, "feature_sampling": sampling, "n_bags": 3}
    model = BoostedTreesRegressor(quality="fast", **settings).fit(X, Y)
    roots = [tuple(part.feature[part.first_node[:-1]]) for part in model._parts]
    assert len(set(roots)) == 3
    again = BoostedTreesRegressor(quality="fast", **{**settings, "n_jobs": 2}).fit(X[::-1], Y[::-1])
    assert again.fingerprint() == model.fingerprint()


# ---- several quantiles ----


def test_several_quantiles_are_averaged_and_do_not_cross() -> None:
    levels = [0.1, 0.5, 0.9]
    model = BoostedTreesRegressor(
        quality="fast", loss="quantile", quantile=levels, n_bags=4, **SMALL
    ).fit(X, Y)
    said = members(model, NEW)
    assert said.shape == (4, len(NEW), 3)
    answers, std = model.predict(NEW, return_std=True)
    assert answers == pytest.approx(said.mean(axis=0))
    assert std == pytest.approx(said.std(axis=0, ddof=1), abs=1e-12)
    assert (np.diff(answers, axis=1) >= 0).all()
    assert np.array_equal(model.predictor().predict(NEW), answers)
    assert model.score(X, Y) > 0.5
    assert list(model.staged_predict(NEW))[-1] == pytest.approx(answers)


def test_several_quantiles_have_no_ledger() -> None:
    settings = {"loss": "quantile", "quantile": [0.1, 0.9], "n_bags": 2, **SMALL}
    model = BoostedTreesRegressor(quality="fast", **settings).fit(X, Y)
    asked = [
        lambda: model.oob_,
        lambda: model.predict_interval(NEW),
        lambda: model.predict_quantiles(NEW),
        lambda: model.oob_permutation_importance(X, Y),
        lambda: model.member_error_632(X, Y),
    ]
    for one in asked:
        with pytest.raises(AttributeError, match="one prediction per row; this model predicts 2"):
            one()


# ---- stages and going on ----


def test_stages_are_means_of_stages() -> None:
    model = BoostedTreesRegressor(quality="fast", loss="poisson", n_bags=3, **SMALL).fit(
        X, Y - Y.min() + 1
    )
    stages = list(model.staged_predict(NEW))
    assert len(stages) == 12
    assert stages[-1] == pytest.approx(model.predict(NEW))
    shorter = BoostedTreesRegressor(
        quality="fast", loss="poisson", n_bags=3, **{**SMALL, "n_estimators": 5}
    )
    assert stages[4] == pytest.approx(shorter.fit(X, Y - Y.min() + 1).predict(NEW))


def test_a_booster_that_ended_keeps_its_answer() -> None:
    settings = {**SMALL, "early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.3}
    model = BoostedTreesRegressor(quality="fast", n_bags=3, **settings).fit(
        X, Y, X_val=NEW, y_val=NEW_Y
    )
    assert len({part.n_trees for part in model._parts}) > 1
    stages = list(model.staged_predict(NEW))
    assert len(stages) == model.n_estimators_
    assert stages[-1] == pytest.approx(model.predict(NEW))


@pytest.mark.parametrize("labels", [LABELS, LABELS > 0])
def test_stages_of_classes(labels: np.ndarray) -> None:
    model = BoostedTreesClassifier(quality="fast", n_bags=3, **SMALL).fit(X, labels)
    *_, shares = model.staged_predict_proba(NEW)
    assert shares == pytest.approx(model.predict_proba(NEW))
    *_, scores = model.staged_decision_function(NEW)
    assert scores == pytest.approx(model.decision_function(NEW))
    *_, found = model.staged_predict(NEW)
    assert np.array_equal(found, model.predict(NEW))


def test_bags_cannot_be_gone_on_with() -> None:
    model = BoostedTreesRegressor(quality="fast", n_bags=2, warm_start=True, **SMALL)
    with pytest.raises(ValueError, match="n_bags=2 cannot be combined with warm_start.*Set warm_s"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="n_bags=2 cannot be combined with warm_start=True"):
        BoostedTreesClassifier(quality="fast", n_bags=2, warm_start=True).fit(X, np.zeros(len(X)))
    model.set_params(warm_start=False).fit(X, Y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="continues a single booster; the previous fit trained 2"):
        model.set_params(warm_start=True, n_bags=None).fit(X, Y)
    assert model.fingerprint() == before


def test_a_fit_of_one_booster_forgets_the_bags() -> None:
    model = BoostedTreesRegressor(quality="fast", n_bags=2, early_stopping=True, **SMALL).fit(X, Y)
    model.set_params(n_bags=None, early_stopping=False).fit(X, Y)
    assert (
        model.fingerprint()
        == BoostedTreesRegressor(quality="fast", **SMALL).fit(X, Y).fingerprint()
    )
    assert not hasattr(model, "oob_") and not hasattr(model, "validation_loss_")
    assert model.predict(X).shape == (len(X),)
