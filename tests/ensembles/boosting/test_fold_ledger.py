"""Out-of-bag ledger, standard deviations and intervals of boosters on folds."""

import pickle
from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor, GradientBoostingRegressor

SMALL: dict[str, Any] = {
    "quality": "fast",
    "n_estimators": 12,
    "min_samples_leaf": 3,
    "random_state": 0,
    "n_jobs": 1,
}


def task(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n) / 2


X, Y = task(200, 0)
X, Y = np.r_[X, X[:20]], np.r_[Y, Y[:20]]  # some rows occur twice
THREE = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
NEW, NEW_Y = task(4000, 1)


def out_of_bag(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each row's predictions by the boosters that left it out."""
    of_boosters = np.concatenate(list(model._out_of_bag_predictions(X)), axis=1)
    out = model.oob_.in_bag.toarray() == 0
    pairs = list(zip(np.moveaxis(of_boosters, 1, 0), out.T, strict=True))
    mean = np.array([one[rows].mean(axis=0) for one, rows in pairs])
    return mean, np.array([one[rows].std(axis=0, ddof=1) for one, rows in pairs])


# ---- the ledger ----


@pytest.mark.parametrize("more", [{}, {"loss": "poisson"}, {"early_stopping": True}])
def test_out_of_bag_predictions_are_those_of_boosters_that_left_the_row_out(more) -> None:
    model = BoostedTreesRegressor(n_bags=10, **more, **SMALL).fit(X, Y - Y.min())
    mean, std = out_of_bag(model)
    assert model.oob_.predictions == pytest.approx(mean[:, 0], rel=1e-12)
    assert model.oob_.std == pytest.approx(std[:, 0], rel=1e-9)
    assert (model.oob_.n_out == 2).all() and model.oob_.unscored.size == 0
    assert len(model.oob_.curve().error) == 10
    error = ((Y - Y.min() - model.oob_.predictions) ** 2).mean()
    assert model.oob_.error() == pytest.approx(error)


def test_the_ledger_is_of_leaves_before_they_are_refitted() -> None:
    settings = {**SMALL, "n_bags": 5, "learning_rate": 1.0, "n_estimators": 3}
    model = BoostedTreesRegressor(**settings).fit(X, Y)
    boosters = model._boosters_of(model._unrefitted)
    refitted = model._boosters_of(model.forest_)
    for k in range(5):
        out = model.oob_.in_bag[k] == 0
        assert model.oob_.predictions[out] == pytest.approx(
            boosters[k].predict(X[out], n_threads=1)[:, 0]
        )
        after = refitted[k].predict(X[out], n_threads=1)[:, 0]
        # Refitted leaves were estimated on these rows: their errors are smaller.
        assert ((after - Y[out]) ** 2).mean() < ((model.oob_.predictions - Y)[out] ** 2).mean()


def test_probabilities_of_the_ledger() -> None:
    model = BoostedTreesClassifier(n_bags=10, **SMALL).fit(X, THREE)
    mean, _ = out_of_bag(model)
    assert model.oob_.predictions == pytest.approx(mean, rel=1e-12)
    assert model.predict_set(X, 0.9).shape == (len(X), 3)
    one_class = BoostedTreesClassifier(n_bags=5, **SMALL).fit(X, np.zeros(len(X)))
    assert (one_class.predict_proba(X) == 1).all() and not hasattr(one_class, "oob_")


@pytest.mark.parametrize("n_bags", [5, 10])
def test_out_of_bag_error_agrees_with_a_test_set(n_bags: int) -> None:
    """It is that of models of four fifths of the rows: rather too large than too small."""
    train, y = task(1500, 2)
    settings = {"n_bags": n_bags, "min_samples_leaf": 10, "n_estimators": 60, "random_state": 0}
    model = BoostedTreesRegressor(quality="fast", **settings).fit(train, y)
    losses = (NEW_Y - model.predict(NEW)) ** 2
    own = (y - model.oob_.predictions) ** 2
    spread = np.hypot(losses.std() / np.sqrt(len(losses)), own.std() / np.sqrt(len(own)))
    assert model.oob_.error() == pytest.approx(own.mean())
    assert abs(own.mean() - losses.mean()) < 4 * spread
    labels = y > 0.8
    model = BoostedTreesClassifier(quality="fast", **settings).fit(train, labels)
    wrong = (model.predict(NEW) != (NEW_Y > 0.8)).mean()
    own_wrong = (model.oob_.predictions.argmax(axis=1) != labels).mean()
    assert abs(own_wrong - wrong) < 4 * np.sqrt(wrong / len(y) + wrong / len(NEW))


def test_the_default_has_a_ledger() -> None:
    model = BoostedTreesRegressor(n_iter_no_change=5, random_state=0).fit(X, Y)
    assert (model.oob_.n_out == 1).all()
    assert model.oob_.error() == pytest.approx(2 * model.validation_loss_.min())


def test_permutation_importance_of_boosters() -> None:
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(X, Y)
    found = model.oob_permutation_importance(X, Y)
    assert found.importances_mean.argmax() == 0
    assert abs(found.importances_mean[2]) < 0.1 * found.importances_mean[0]


# ---- deviations and intervals ----


@pytest.mark.parametrize("more", [{}, {"loss": "poisson"}, {"loss": "quantile"}])
def test_standard_deviation_of_the_boosters(more) -> None:
    if "quantile" in more.values():
        more = {**more, "quantile": [0.1, 0.5, 0.9]}
    model = BoostedTreesRegressor(n_bags=4, **more, **SMALL).fit(X, Y - Y.min())
    mean, std = model.predict(NEW, return_std=True)
    assert np.array_equal(mean, model.predict(NEW))
    of_boosters = np.concatenate(list(model._estimator_predictions(NEW)), axis=1)
    expected = of_boosters.std(axis=0, ddof=1)
    assert std == pytest.approx(expected if std.ndim == 2 else expected[:, 0], abs=1e-12)
    link = np.exp if more.get("loss") == "poisson" else np.sort
    boosters = model._boosters_of(model.forest_)
    for one, booster in zip(of_boosters, boosters, strict=True):
        scores = booster.predict(NEW, n_threads=1)
        assert one == pytest.approx(link(scores), rel=1e-12)


def test_standard_deviation_of_probabilities() -> None:
    model = BoostedTreesClassifier(n_bags=4, **SMALL).fit(X, THREE)
    mean, std = model.predict_proba(NEW, return_std=True)
    assert np.array_equal(mean, model.predict_proba(NEW))
    of_boosters = np.concatenate(list(model._estimator_predictions(NEW)), axis=1)
    assert std == pytest.approx(of_boosters.std(axis=0, ddof=1), abs=1e-12)
    again = pickle.loads(pickle.dumps(model.predictor()))
    assert np.array_equal(again.predict_proba(NEW), mean)


@pytest.mark.parametrize("n_bags", [5, 10])
def test_intervals_cover_new_rows(n_bags: int) -> None:
    train, y = task(2000, 3)
    model = BoostedTreesRegressor(quality="fast", n_bags=n_bags, random_state=0).fit(train, y)
    for coverage in (0.8, 0.9, 0.95):
        lower, upper = model.predict_interval(NEW, coverage).T
        share = ((lower <= NEW_Y) & (upper >= NEW_Y)).mean()
        assert coverage - 0.03 < share < coverage + 0.05
    assert (np.diff(model.predict_quantiles(NEW, [0.1, 0.5, 0.9]), axis=1) >= 0).all()


@pytest.mark.parametrize("n_bags", [5, 30])
def test_intervals_cover_new_rows_whose_noise_differs(n_bags: int) -> None:
    """The spread of few boosters before the refit is no estimate of that of all after it."""

    def made(n: int, seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 6, (n, 1))
        return x, np.sin(x[:, 0]) + (0.1 + 0.2 * x[:, 0]) * rng.normal(size=n)

    model = BoostedTreesRegressor(quality="fast", n_bags=n_bags).fit(*made(2000, 0))
    new, true = made(5000, 1)
    lower, upper = model.predict_interval(new, 0.9).T
    assert abs(((lower <= true) & (true <= upper)).mean() - 0.9) < 0.025


def test_jackknife_is_of_boosters_that_left_the_row_out() -> None:
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(X, Y)
    new = NEW[:50]
    of_boosters = [
        one.predict(new, n_threads=1)[:, 0] for one in model._boosters_of(model._unrefitted)
    ]
    out = (model.oob_.in_bag.toarray() == 0).argmax(axis=0)  # the one booster of each row
    residual = np.abs(Y - model.oob_.predictions)
    centre = np.array(of_boosters)[out].T
    rank = int(np.ceil(0.9 * (len(Y) + 1)))
    lower = np.sort(centre - residual, axis=1)[:, len(Y) - rank]
    upper = np.sort(centre + residual, axis=1)[:, rank - 1]
    bounds = model.predict_interval(new, 0.9, method="jackknife+")
    assert bounds == pytest.approx(np.stack([lower, upper], axis=1))


# ---- what there is not ----


def test_several_quantiles_have_no_ledger() -> None:
    settings = {"loss": "quantile", "quantile": [0.1, 0.9], "n_bags": 2, **SMALL}
    model = BoostedTreesRegressor(**settings).fit(X, Y)
    assert (np.diff(model.predict(NEW), axis=1) >= 0).all()
    assert np.array_equal(model.predictor().predict(NEW), model.predict(NEW))
    calls = [
        lambda: model.oob_,
        lambda: model.predict_interval(NEW),
        lambda: model.predict_quantiles(NEW),
        lambda: model.oob_permutation_importance(X, Y),
        lambda: model.member_error_632(X, Y),
    ]
    for call in calls:
        with pytest.raises(AttributeError, match="one prediction per row; this model predicts 2"):
            call()


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_632_estimates_need_bootstrap_samples(kind) -> None:
    y = Y if kind is BoostedTreesRegressor else THREE
    model = kind(n_bags=5, **SMALL).fit(X, y)
    with pytest.raises(ValueError, match=r"\.632 estimates require plain bootstrap samples"):
        model.member_error_632(X, y)


def test_one_booster_has_no_ledger() -> None:
    alone = BoostedTreesRegressor(**SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"terms of a sum.*n_bags=5"):
        alone.predict(X, return_std=True)
    drawn = BoostedTreesRegressor(subsample=0.5, **SMALL).fit(X, Y)
    auto = BoostedTreesRegressor(n_estimators=5).fit(X, Y)  # draws rows, too
    reasons = ("every round saw every row", "is seen by the next", "is seen by the next")
    for model, reason in zip((alone, drawn, auto), reasons, strict=True):
        with pytest.raises(AttributeError, match=rf"leaves out a fold.*no .* ledger: .*{reason}"):
            _ = model.oob_
        with pytest.raises(AttributeError, match="n_bags=5"):
            model.predict_interval(X)
    other = GradientBoostingRegressor(subsample=0.5, n_estimators=3).fit(X, Y)
    assert len(other.oob_improvement_) == len(other.oob_scores_) == 3
    with pytest.raises(AttributeError, match="a row that one round left out is seen by the next"):
        _ = other.oob_
