"""Spread (R4), intervals, quantiles and sets of every kind of bag, against naive code."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestRegressor,
)
from weald.ensembles.out_of_bag.conformal import conformal_quantile, jackknife_bounds

REGRESSORS = [
    RandomForestRegressor(60, oob_score=True, random_state=0),
    ExtraTreesRegressor(60, bootstrap=True, oob_score=True, random_state=0),
    BaggingRegressor(n_estimators=60, oob_score=True, random_state=0),
    BaggingRegressor(LinearRegression(), 60, oob_score=True, random_state=0),
]
CLASSIFIERS = [
    RandomForestClassifier(60, oob_score=True, random_state=0),
    BaggingClassifier(GaussianNB(), 60, oob_score=True, random_state=0),
]
every_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)


def task(n: int = 1000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The noise grows with the third column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + (0.05 + np.abs(X[:, 2])) * rng.normal(size=n)


X, Y = task()
NEW, TRUE = task(2000, seed=1)


@every_regressor
def test_std_of_regression(model) -> None:
    model.fit(X, Y)
    said = np.array([m.predict(NEW) for m in model.estimators_])
    mean, std = model.predict(NEW, return_std=True)
    assert np.array_equal(mean, model.predict(NEW)) or mean == pytest.approx(model.predict(NEW))
    squares = (said - model.predict(NEW)) ** 2
    assert std == pytest.approx(np.sqrt(squares.sum(axis=0) / (len(said) - 1)), rel=1e-9)


@every_classifier
def test_std_of_classification(model) -> None:
    model.fit(X, Y > 1)
    said = np.array([m.predict_proba(NEW) for m in model.estimators_])
    mean, std = model.predict_proba(NEW, return_std=True)
    assert mean == pytest.approx(model.predict_proba(NEW), abs=1e-12)
    assert std == pytest.approx(said.std(axis=0, ddof=1), abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(7, random_state=0),
        ExtraTreesRegressor(7, random_state=0),
        BaggingRegressor(n_estimators=7, random_state=0),
        RotationForestRegressor(7, bootstrap=True, random_state=0),
        BoostedTreesRegressor(quality="fast", n_estimators=5, n_bags=3, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_mean_with_std_equals_prediction_bit_by_bit(model) -> None:
    model.fit(X, Y)
    assert np.array_equal(model.predict(NEW, return_std=True)[0], model.predict(NEW))


def test_one_base_estimator_has_no_std() -> None:
    for model in (RandomForestRegressor(1), BaggingRegressor(LinearRegression(), 1)):
        with pytest.raises(ValueError, match="requires at least two base estimators"):
            model.fit(X, Y).predict(NEW, return_std=True)


@every_regressor
@pytest.mark.parametrize("method", ["conformal", "jackknife+"])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_intervals_have_the_stated_coverage(model, method: str, coverage: float) -> None:
    model.fit(X, Y)
    lower, upper = model.predict_interval(NEW, coverage, method=method).T
    measured = ((lower <= TRUE) & (upper >= TRUE)).mean()
    # Three standard deviations of a share of 1000 calibrating rows and of 2000 new ones.
    off = 3 * math.sqrt(coverage * (1 - coverage) * (1 / 1000 + 1 / 2000))
    assert coverage - off < measured < coverage + off + 0.01
    assert (lower < upper).all()


def test_intervals_are_wide_where_the_noise_is() -> None:
    forest = REGRESSORS[0].fit(X, Y)
    lower, upper = forest.predict_interval(NEW, 0.9).T
    loud = np.abs(NEW[:, 2]) > 1
    assert (upper - lower)[loud].mean() > 1.4 * (upper - lower)[~loud].mean()
    plain = forest.predict_interval(NEW, 0.9, method="jackknife+")
    assert (upper - lower).mean() < (plain[:, 1] - plain[:, 0]).mean()


def test_jackknife_against_naive_code() -> None:
    model = REGRESSORS[0].fit(X[:150], Y[:150])
    said = np.array([m.predict(NEW[:20]) for m in model.estimators_])
    seen, coverage = model.oob_.in_bag.toarray() > 0, 0.85
    left = np.abs(Y[:150] - model.oob_.predictions)
    rank = math.ceil(151 * coverage)
    for x, (lower, upper) in enumerate(
        model.predict_interval(NEW[:20], coverage, method="jackknife+")
    ):
        centres = np.array([said[~seen[:, i], x].mean() for i in range(150)])
        assert lower == pytest.approx(np.sort(centres - left)[150 - rank])
        assert upper == pytest.approx(np.sort(centres + left)[rank - 1])


@every_regressor
def test_quantiles_never_cross_and_are_calibrated(model) -> None:
    model.fit(X, Y)
    levels = np.linspace(0.02, 0.98, 49)
    found = model.predict_quantiles(NEW, levels)
    assert (np.diff(found, axis=1) >= 0).all()
    measured = (TRUE[:, np.newaxis] <= found).mean(axis=0)
    assert np.abs(measured - levels).max() < 0.06
    turned = model.predict_quantiles(NEW, levels[::-1])
    assert np.array_equal(turned[:, ::-1], found)


@pytest.mark.parametrize("kind", [RandomForestRegressor, BaggingRegressor])
def test_quantile_regression_forest_against_naive_code(kind) -> None:
    """Weights of training rows that share a leaf, tree by tree."""
    model = kind(n_estimators=40, oob_score=True, random_state=0).fit(X[:150], Y[:150])
    levels = [0.05, 0.3, 0.5, 0.95]
    found = model.predict_quantiles(NEW[:10], levels, method="leaves", X_fit=X[:150])
    order = np.argsort(Y[:150])
    for x, row in zip(NEW[:10], found, strict=True):
        weight = np.zeros(150)
        for number, tree in enumerate(model.estimators_):
            here = tree.apply(X[:150]) == tree.apply([x])[0]
            own = model.oob_.in_bag[number] * here
            weight += own / own.sum() / 40
        ends = np.cumsum(weight[order])
        expected = [Y[:150][order][np.searchsorted(ends, level - 1e-9)] for level in levels]
        assert row.tolist() == expected
    assert (np.diff(found, axis=1) >= 0).all()


def test_leaf_quantiles_require_trees_and_the_rows_of_the_fit() -> None:
    forest = REGRESSORS[0].fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="requires X_fit"):
        forest.predict_quantiles(NEW, method="leaves")
    with pytest.raises(ValueError, match="must be the 100 rows of the fit"):
        forest.predict_quantiles(NEW, method="leaves", X_fit=X)
    with pytest.raises(ValueError, match="method='leaves' requires a forest"):
        REGRESSORS[3].fit(X, Y).predict_quantiles(NEW, method="leaves", X_fit=X)
    with pytest.raises(ValueError, match="'residuals', 'leaves'"):
        forest.predict_quantiles(NEW, method="trees")


@every_classifier
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_sets_have_the_stated_coverage(model, coverage: float) -> None:
    y, true = np.digitize(Y, [0.3, 1.3]), np.digitize(TRUE, [0.3, 1.3])
    model.fit(X, y)
    chosen = model.predict_set(NEW, coverage)
    assert chosen.shape == (2000, 3) and chosen.any(axis=1).all()
    assert chosen[np.arange(2000), true].mean() > coverage - 0.04
    assert chosen.sum() <= model.predict_set(NEW, 0.99).sum()
    assert chosen.mean() < 0.9


# ---- what cannot be promised ----


def test_coverage_that_the_rows_cannot_support() -> None:
    model = RandomForestRegressor(100, oob_score=True, random_state=0).fit(X[:30], Y[:30])
    assert model.predict_interval(NEW, 0.95).shape == (2000, 2)
    for method in ("conformal", "jackknife+"):
        with pytest.raises(ValueError, match=r"coverage=0.99 requires at least 99 rows .*are 30"):
            model.predict_interval(NEW, 0.99, method=method)
    with pytest.raises(ValueError, match=r"The quantile 0.01 requires at least 99 rows"):
        model.predict_quantiles(NEW, [0.5, 0.01])
    sets = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X[:30], Y[:30] > 1)
    with pytest.raises(ValueError, match=r"coverage=0.97 requires at least 33 rows"):
        sets.predict_set(NEW, 0.97)


@pytest.mark.parametrize("coverage", [0, 1, 1.0, -0.1, 90, "0.9", None, np.nan, True])
def test_bad_coverage(coverage) -> None:
    model = REGRESSORS[0].fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match=r"coverage must be a float in the range \(0, 1\)"):
        model.predict_interval(NEW, coverage)


@pytest.mark.parametrize("quantiles", [0.5, [], [0.0], [1.5], [[0.5]], [np.nan]])
def test_bad_quantiles(quantiles) -> None:
    model = REGRESSORS[0].fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="quantiles must be a list of floats"):
        model.predict_quantiles(NEW, quantiles)


def test_intervals_require_out_of_bag_predictions() -> None:
    with pytest.raises(ValueError, match="oob_score=True"):
        RandomForestRegressor(5).fit(X, Y).predict_interval(NEW)
    with pytest.raises(AttributeError, match="bootstrap=True"):
        ExtraTreesRegressor(5).fit(X, Y).predict_interval(NEW)
    with pytest.raises(ValueError, match="'conformal', 'jackknife\\+'"):
        REGRESSORS[0].fit(X, Y).predict_interval(NEW, method="naive")


def test_order_and_scale_of_weights_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    some, weight = rng.integers(0, 150, 200), rng.integers(0, 3, 200)
    order = rng.permutation(200)
    table, target = X[some], Y[some]
    model = RandomForestRegressor(80, oob_score=True, random_state=0)
    expected = model.fit(table, target, weight).predict_interval(NEW)
    scaled = model.fit(table, target, weight * 4).predict_interval(NEW)
    assert scaled == pytest.approx(expected, rel=1e-12)
    shuffled = model.fit(table[order], target[order], weight[order]).predict_interval(NEW)
    assert shuffled == pytest.approx(expected, rel=1e-9)


def test_intervals_have_the_stated_weighted_coverage() -> None:
    """Noisy rows have three times the weight: new ones are that much more frequent."""
    loud, many = np.abs(X[:, 2]) > 0.7, np.abs(NEW[:, 2]) > 0.7
    weight, often = np.where(loud, 3.0, 1.0), np.where(many, 3.0, 1.0)
    model = RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, Y, weight)
    lower, upper = model.predict_interval(NEW, 0.9).T
    held = (lower <= TRUE) & (upper >= TRUE)
    # Three standard deviations of a share, for the effective number of weighted rows.
    sizes = [w.sum() ** 2 / (w**2).sum() for w in (weight, often)]
    off = 3 * math.sqrt(0.9 * 0.1 * sum(1 / n for n in sizes))
    assert 0.9 - off < np.average(held, weights=often) < 0.9 + off + 0.01


def test_jackknife_is_for_rows_of_equal_weight() -> None:
    model = RandomForestRegressor(80, oob_score=True, random_state=0)
    model.fit(X[:200], Y[:200], np.full(200, 3.0))
    equal = model.predict_interval(NEW, method="jackknife+")
    plain = model.fit(X[:200], Y[:200]).predict_interval(NEW, method="jackknife+")
    assert np.array_equal(equal, plain)
    model.fit(X[:200], Y[:200], np.arange(1, 201))
    with pytest.raises(ValueError, match="requires rows of equal weight"):
        model.predict_interval(NEW, method="jackknife+")


def test_weighted_conformal_quantile_against_naive_code() -> None:
    rng = np.random.default_rng(0)
    for level in (0.3, 0.8, 0.95):
        scores, weight = rng.exponential(size=120), rng.integers(1, 5, 120).astype(float)
        n = weight.sum() ** 2 / (weight**2).sum()
        left = (n + 1) * level
        for one in np.argsort(scores):
            left -= weight[one] * n / weight.sum()
            if left <= 1e-9:
                break
        for scale in (1.0, 4.0, 0.3):
            found = conformal_quantile(scores, weight * scale, level, what="")
            assert found == scores[one]
        with pytest.raises(ValueError, match=f"there are {n:g}"):
            conformal_quantile(scores, weight, 1 - 1 / (2 * n), what="")


@pytest.mark.parametrize("draws", [{"max_samples": 120}, {"bootstrap": False, "max_samples": 60}])
def test_weighted_quantile_regression_forest_against_naive_code(draws: dict) -> None:
    """Rows drawn by weight have equal weights; those drawn without replacement keep theirs."""
    table, target = X[:100], Y[:100]
    own = np.random.default_rng(0).integers(1, 20, 100).astype(float)
    model = RandomForestRegressor(
        60, min_samples_leaf=5, max_features=2, oob_score=True, random_state=0, **draws
    )
    model.fit(table, target, own)
    levels, order = [0.05, 0.3, 0.5, 0.95], np.argsort(target)
    found = model.predict_quantiles(NEW[:10], levels, method="leaves", X_fit=table)
    for x, row in zip(NEW[:10], found, strict=True):
        weight = np.zeros(100)
        for number, tree in enumerate(model.estimators_):
            here = tree.apply(table) == tree.apply([x])[0]
            mass = model.oob_.in_bag[number] * here
            mass = mass if model.bootstrap else mass * own
            weight += mass / mass.sum() / 60
        ends = np.cumsum(weight[order])
        expected = [target[order][np.searchsorted(ends, level - 1e-9)] for level in levels]
        assert row.tolist() == expected


def test_the_conformal_quantile() -> None:
    scores = np.arange(1.0, 100.0)
    assert conformal_quantile(scores, None, 0.9, what="") == 90
    assert conformal_quantile(scores, np.full(99, 0.3), 0.9, what="") == 90
    assert conformal_quantile(scores, np.full(99, 3.0), 0.9, what="") == 90
    bounds = jackknife_bounds(np.zeros((2, 1)), np.ones((2, 9), dtype=bool), scores[:9], 0.8)
    assert bounds.tolist() == [[-8.0, 8.0]]
