"""Boosted trees with every loss: estimates, edge cases, and comparison with other libraries."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, mean_tweedie_deviance
from threadpoolctl import threadpool_limits

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.losses import BuiltinLoss

AMOUNTS = ["poisson", "gamma", "tweedie"]
NUMBERS = ["squared_error", "absolute_error", "huber", "quantile"]


def model_of(loss: str, **parameters):
    own = {"quantile": {"quantile": 0.8}}.get(loss, {})
    return BoostedTreesRegressor(quality="fast", loss=loss, **own, **parameters)


def counts(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, (n, 4)) / 10.0
    return X, rng.poisson(np.exp(X[:, 0] - 1 + (X[:, 1] > 1.5))).astype(float)


# ---- what is estimated ----


def test_one_leaf_predicts_the_best_constant() -> None:
    X, y = np.zeros((101, 1)), np.random.default_rng(0).normal(size=101)
    for level in (0.1, 0.5, 0.9):
        model = BoostedTreesRegressor(
            quality="fast", loss="quantile", quantile=level, n_estimators=3
        ).fit(X, y)
        expected = np.quantile(y, level, method="inverted_cdf")
        assert model.predict([[0.0]])[0] == pytest.approx(expected, abs=1e-12)
    assert model_of("absolute_error").fit(X, y).predict([[0.0]])[0] == np.median(y)
    for loss in AMOUNTS:
        mean = np.exp(y).mean()
        assert model_of(loss).fit(X, np.exp(y)).predict([[0.0]])[0] == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_leaves_are_refined_with_the_residuals_of_their_rows(loss: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.standard_cauchy(200)
    weight = rng.integers(0, 4, 200)
    model = model_of(loss, n_estimators=1, learning_rate=1.0, max_leaf_nodes=4, min_samples_leaf=20)
    model.fit(X, y, weight)
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    base, leaves = model.forest_.base_score[0], model._leaves(X)[:, 0]
    level = {"absolute_error": 0.5, "quantile": 0.8}.get(loss)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        value = base + model.forest_.value[leaf, 0]
        if level is not None:
            expected = np.quantile(y[rows], level, method="inverted_cdf")
        else:
            width = np.quantile(np.abs(y - base), 0.9, method="inverted_cdf")
            expected = BuiltinLoss("huber", 1, 1, width).base_scores(y[rows], None, None)[0]
        assert value == pytest.approx(expected, abs=1e-9)


def test_quantiles_cover_their_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 1))
    y = X[:, 0] * (1 + rng.exponential(size=3000))
    for level in (0.1, 0.5, 0.9):
        model = BoostedTreesRegressor(
            quality="fast", loss="quantile", quantile=level, max_leaf_nodes=8
        )
        below = (y[2000:] <= model.fit(X[:2000], y[:2000]).predict(X[2000:])).mean()
        assert below == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("share", [0.045, 0.06])
def test_counts_that_start_at_their_quantile_are_separated(share: float) -> None:
    """Gradients do not depend on whether the score has moved: trees follow the counts only."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 8, (4000, 3)).astype(float)
    y = (rng.random(4000) < share * (0.5 + (X[:, 0] > 3))).astype(float)
    model = BoostedTreesRegressor(
        quality="fast", loss="quantile", quantile=0.95, n_estimators=100
    ).fit(X, y)
    assert model.forest_.base_score[0] == float(share > 0.05)
    forest = model.forest_
    first, second = (slice(*forest.first_node[t : t + 2]) for t in range(2))
    assert np.array_equal(forest.feature[first], forest.feature[second])
    assert np.array_equal(forest.threshold[first], forest.threshold[second])
    found, best = model.predict(X), (X[:, 0] > 3).astype(float)
    assert mean_pinball_loss(y, found, alpha=0.95) < 1.02 * mean_pinball_loss(y, best, alpha=0.95)


@pytest.mark.parametrize("more", [{}, {"subsample": 0.6, "early_stopping": True}, {"n_bags": 2}])
def test_rare_counts_give_the_same_bits(more: dict) -> None:
    rng = np.random.default_rng(3)
    X, copies = rng.integers(0, 8, (600, 3)).astype(float), rng.integers(0, 4, 600)
    y, order = rng.poisson(0.03 * (1 + X[:, 0])).astype(float), rng.permutation(600)
    settings = {"loss": "quantile", "quantile": [0.5, 0.9, 0.99], "random_state": 0, **more}
    settings["min_child_weight"] = 0.0  # is in units of weight

    def fitted(X: np.ndarray, y: np.ndarray, weight=None, **own) -> str:
        model = BoostedTreesRegressor(quality="fast", **settings, **{"n_estimators": 12, **own})
        return model.fit(X, y, weight).fingerprint()

    expected = fitted(X, y, copies)
    assert fitted(X[order], y[order], copies[order], n_jobs=3) == expected
    assert fitted(X, y, copies * 4) == expected
    if not more:
        alike = {"min_samples_leaf": 1}
        repeated = fitted(np.repeat(X, copies, axis=0), np.repeat(y, copies), **alike)
        assert fitted(X, y, copies, **alike) == repeated
        model = BoostedTreesRegressor(quality="fast", n_estimators=5, warm_start=True, **settings)
        again = model.fit(X, y, copies).set_params(n_estimators=12).fit(X, y, copies)
        assert again.fingerprint() == expected


def test_huber_is_robust_where_the_squared_error_is_not() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    clean = np.sin(6 * X[:, 0])
    y = np.where(rng.random(600) < 0.05, 100.0, clean)
    errors = {
        loss: np.abs(model_of(loss).fit(X, y).predict(X) - clean).mean()
        for loss in ("squared_error", "huber", "absolute_error")
    }
    assert errors["huber"] < 0.2 * errors["squared_error"]
    assert errors["absolute_error"] < 0.1 * errors["squared_error"]


def test_huber_of_a_wide_width_is_the_squared_error() -> None:
    X, y = counts(300)
    wide = BoostedTreesRegressor(quality="fast", loss="huber", huber_alpha=1.0, n_estimators=5).fit(
        X, y
    )
    plain = BoostedTreesRegressor(quality="fast", n_estimators=5).fit(X, y)
    assert wide.predict(X) == pytest.approx(plain.predict(X), rel=1e-9)
    # Most residuals are 0: a width of zero would give no splits.
    mostly = np.where(np.arange(300) % 20 == 0, 5.0 + X[:, 0], 0.0)
    assert len(set(model_of("huber").fit(X, mostly).predict(X))) > 1


# ---- beside scikit-learn ----


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_amounts_beside_scikit_learn(loss: str) -> None:
    X, y = counts()
    y = y + 1.0
    settings = {"learning_rate": 0.1, "max_leaf_nodes": 8, "min_samples_leaf": 20}
    ours = model_of(loss, n_estimators=10, **settings).fit(X, y)
    with threadpool_limits(1):
        theirs = HistGradientBoostingRegressor(
            loss=loss, max_iter=10, early_stopping=False, **settings
        ).fit(X, y)
    # They keep gradients in single precision.
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-3)


def test_deviances_fall() -> None:
    X, y = counts()
    flat = np.full(len(y), y.mean())
    poisson = model_of("poisson").fit(X[:600], y[:600]).predict(X[600:])
    assert mean_poisson_deviance(y[600:], poisson) < 0.7 * mean_poisson_deviance(
        y[600:], flat[600:]
    )
    for power in (1.1, 1.5, 1.9):
        model = BoostedTreesRegressor(quality="fast", loss="tweedie", tweedie_power=power).fit(X, y)
        predicted = model.predict(X)
        assert (predicted > 0).all()
        assert mean_tweedie_deviance(y, predicted, power=power) < 0.7 * mean_tweedie_deviance(
            y, flat, power=power
        )
    quantile = model_of("quantile").fit(X[:600], y[:600]).predict(X[600:])
    constant = np.quantile(y[:600], 0.8)
    assert mean_pinball_loss(y[600:], quantile, alpha=0.8) < 0.8 * mean_pinball_loss(
        y[600:], np.full(200, constant), alpha=0.8
    )


# ---- edges ----


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("early", [False, True])
def test_counts_that_are_all_zero(loss: str, early: bool) -> None:
    X, _ = counts(100)
    model = model_of(loss, early_stopping=early, random_state=0).fit(X, np.zeros(100))
    predicted = model.predict(X)
    assert np.isfinite(predicted).all() and (predicted >= 0).all() and predicted.max() < 1e-100
    one = np.zeros(100)
    one[3] = 7.0
    assert np.isfinite(model_of(loss, min_samples_leaf=1).fit(X, one).predict(X)).all()


@pytest.mark.parametrize("loss", AMOUNTS)
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("more", [{}, {"early_stopping": True, "subsample": 0.7}])
def test_amounts_of_any_scale_are_fitted(loss: str, scale: float, more: dict) -> None:
    X, y = counts()
    y = (y + 1) / 40
    more = {"n_estimators": 30, "random_state": 0, "min_child_weight": 0.0, **more}
    plain = model_of(loss, **more).fit(X, y)
    scaled = model_of(loss, **more).fit(X, y * scale)
    # Draws go by what rows hold, so those of other amounts are others.
    near = {"rel": 0.1} if "subsample" not in more else {"rel": 0.7, "abs": 0.1}
    assert scaled.predict(X) / scale == pytest.approx(plain.predict(X), **near)


@pytest.mark.parametrize("loss", NUMBERS)
@pytest.mark.parametrize("power", [-990, 300, 990])
def test_predictions_scale_with_the_target(loss: str, power: int) -> None:
    X, y = counts(200)
    y = y - 3.0
    plain = model_of(loss, n_estimators=5).fit(X, y)
    scaled = model_of(loss, n_estimators=5).fit(X, np.ldexp(y, power))
    assert np.array_equal(scaled.predict(X), np.ldexp(plain.predict(X), power))


@pytest.mark.parametrize("loss", [*NUMBERS, *AMOUNTS])
@pytest.mark.parametrize("constant", [1e-300, 0.1, 7.0, 1e300])
def test_a_constant_target_is_predicted(loss: str, constant: float) -> None:
    X, _ = counts(100)
    predicted = model_of(loss).fit(X, np.full(100, constant)).predict(X)
    assert len(set(predicted)) == 1
    near = 0.0 if loss in NUMBERS else 1e-12
    assert predicted[0] == pytest.approx(constant, rel=near, abs=0)


@pytest.mark.parametrize("loss", AMOUNTS)
def test_one_huge_amount_does_not_explode(loss: str) -> None:
    X, y = counts(300)
    y = y + 1
    y[17] = 1e12
    model = model_of(loss, n_estimators=200, learning_rate=1.0, min_samples_leaf=1).fit(X, y)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all() and predicted.max() < 1e14
    assert np.abs(model.forest_.value).max() <= 40


@pytest.mark.parametrize(
    ("loss", "wrong", "fragment"),
    [
        ("poisson", -1.0, "loss='poisson' requires non-negative y; got -1.0"),
        ("tweedie", -1e-9, "requires non-negative y"),
        ("gamma", 0.0, "loss='gamma' requires strictly positive y; got 0.0"),
        ("gamma", -2.0, r"strictly positive y; got -2.0 \(1 of 100 rows\)"),
    ],
)
def test_targets_that_a_loss_does_not_take(loss: str, wrong: float, fragment: str) -> None:
    X, y = counts(100)
    y = y + 1
    y[5] = wrong
    with pytest.raises(ValueError, match=fragment):
        model_of(loss).fit(X, y)
    # A row without weight is no row.
    model_of(loss).fit(X, y, np.where(np.arange(100) == 5, 0.0, 1.0))
    with pytest.raises(ValueError, match="convert|numeric"):
        model_of(loss).fit(X, np.array(["few", "many"] * 50))


# ---- parameters ----


def test_parameters_of_losses_belong_to_their_loss() -> None:
    X, y = counts(60)
    for parameter, value in ("quantile", 0.5), ("huber_alpha", 0.9), ("tweedie_power", 1.5):
        with pytest.raises(ValueError, match=f"{parameter}={value} is only used with loss="):
            BoostedTreesRegressor(quality="fast", **{parameter: value}).fit(X, y)
    with pytest.raises(ValueError, match="loss='quantile' needs the parameter quantile"):
        BoostedTreesRegressor(quality="fast", loss="quantile").fit(X, y)
    plain = BoostedTreesRegressor(quality="fast", loss="tweedie", n_estimators=3).fit(X, y)
    same = BoostedTreesRegressor(
        quality="fast", loss="tweedie", tweedie_power=1.5, n_estimators=3
    ).fit(X, y)
    assert plain.fingerprint() == same.fingerprint()


def test_setting_another_loss_after_fit_changes_no_prediction() -> None:
    X, y = counts(60)
    model = model_of("poisson", n_estimators=3).fit(X, y)
    before = model.predict(X)
    assert np.array_equal(model.set_params(loss="squared_error").predict(X), before)


# ---- classes ----


def test_exponential_loss_is_of_two_classes() -> None:
    X, y = counts(300)
    labels = np.array(["few", "many"])[(y > 2).astype(int)]
    model = BoostedTreesClassifier(quality="fast", loss="exponential", n_estimators=30).fit(
        X, labels
    )
    assert model.score(X, labels) > 0.75
    odds = model.decision_function(X)
    shares = model.predict_proba(X)
    assert shares[:, 1] == pytest.approx(1 / (1 + np.exp(-2 * odds)), rel=1e-12)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        BoostedTreesClassifier(quality="fast", loss="exponential").fit(X, np.arange(300) % 3)
    only = BoostedTreesClassifier(quality="fast", loss="exponential").fit(X, np.zeros(300))
    assert only.predict_proba(X).tolist() == [[1.0]] * 300


def test_exponential_loss_of_hopeless_rows_stays_finite() -> None:
    X, _ = counts(300)
    labels = (X[:, 0] > 1).astype(int)
    labels[::50] = 1 - labels[::50]
    model = BoostedTreesClassifier(
        quality="fast", loss="exponential", n_estimators=400, learning_rate=1.0, min_samples_leaf=1
    ).fit(X, labels)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.forest_.gain).all()
