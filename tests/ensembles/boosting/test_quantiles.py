"""Several quantiles at once: in order in every row, whatever the input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from originals import original
from weald import BoostedTreesRegressor

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def quick(**parameters) -> BoostedTreesRegressor:
    fast = {"loss": "quantile", "quantile": LEVELS, "n_estimators": 12, "min_samples_leaf": 3}
    return BoostedTreesRegressor(quality="fast", **{**fast, **parameters})


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.standard_cauchy(n) * np.abs(X[:, 1])


def pinball(y: np.ndarray, predicted: np.ndarray, levels: list[float]) -> float:
    beyond = y[:, np.newaxis] - predicted
    return float(np.maximum(np.array(levels) * beyond, (np.array(levels) - 1) * beyond).mean())


def are_in_order(predictions: np.ndarray) -> bool:
    return bool((np.diff(predictions, axis=1) >= 0).all())


def crossings(model: BoostedTreesRegressor, X: np.ndarray) -> int:
    scores = model.forest_.predict(np.asarray(X, dtype=np.float64), n_threads=1)
    return int((np.diff(scores, axis=1) < 0).sum())


@pytest.mark.parametrize(
    "own", [{}, {"subsample": 0.6, "random_state": 1}, {"growth": "depth_wise"}, {"exact": True}]
)
def test_each_is_the_model_of_its_level_put_in_order(own) -> None:
    """The naive twin: a model for each level, and a sort."""
    X, y = data()
    together = quick(**own).fit(X, y).predict(X)
    apart = [quick(quantile=level, **own).fit(X, y).predict(X) for level in LEVELS]
    assert together.shape == (300, 5)
    assert np.array_equal(together, np.sort(np.column_stack(apart), axis=1))


def test_order_never_raises_the_pinball_loss() -> None:
    X, y = data(120)
    model = quick(n_estimators=60, learning_rate=0.5).fit(X, y)
    asked, target = data(4000, seed=1)
    assert crossings(model, asked) > 0  # otherwise the test would be vacuous
    scores = model.forest_.predict(asked, n_threads=1)
    ordered = model.predict(asked)
    assert are_in_order(ordered)
    row_by_row = [
        pinball(target[i : i + 1], ordered[i : i + 1], LEVELS)
        <= pinball(target[i : i + 1], scores[i : i + 1], LEVELS) * (1 + 1e-12)
        for i in range(len(target))
    ]
    assert all(row_by_row)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    levels=st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6, unique=True),
    rate=st.sampled_from([0.1, 1.0, 3.0]),
    exponent=st.sampled_from([-300, 0, 300]),
)
def test_they_never_cross(seed: int, n: int, levels, rate: float, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 2)) < 0.2, np.nan, rng.integers(-3, 4, (n, 2)))
    y = rng.integers(-5, 6, n) * 10.0**exponent
    model = quick(quantile=sorted(levels), learning_rate=rate, min_samples_leaf=1).fit(X, y)
    asked = np.vstack([X, rng.standard_cauchy((50, 2)), [[np.nan, np.inf], [-np.inf, 1e308]]])
    predictions = model.predict(asked)
    assert predictions.shape == (len(asked), len(levels))
    assert np.isfinite(predictions).all() and are_in_order(predictions)
    assert np.array_equal(model.predictor().predict(asked), predictions)


def test_quantiles_have_nominal_coverage() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((4000, 1))
    y = X[:, 0] * (1 + rng.exponential(size=4000))
    model = quick(n_estimators=60, min_samples_leaf=40, max_leaf_nodes=8).fit(X, y)
    below = (y[:, np.newaxis] <= model.predict(X)).mean(axis=0)
    assert below == pytest.approx(LEVELS, abs=0.02)


def test_the_score_is_the_share_of_the_loss_saved() -> None:
    X, y = data()
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 4, len(y))
    model = quick(quantile=[0.2, 0.7]).fit(X, y)
    for w in (None, weight):
        times = np.ones(len(y), int) if w is None else w
        shown, target = np.repeat(X, times, axis=0), np.repeat(y, times)
        constant = np.quantile(target, [0.2, 0.7], method="inverted_cdf")
        best = pinball(target, np.repeat(constant[np.newaxis], len(target), axis=0), [0.2, 0.7])
        expected = 1 - pinball(target, model.predict(shown), [0.2, 0.7]) / best
        assert model.score(X, y, w) == pytest.approx(expected, rel=1e-12)
    constant = np.ones(len(y))
    assert quick().fit(X, constant).score(X, constant) == 1.0
    with pytest.raises(ValueError, match="inconsistent"):
        model.score(X, y[:-1])


def test_copies_pickles_and_predictors_predict_the_same() -> None:
    X, y = data()
    model = quick().fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert other.fingerprint() == model.fingerprint()
        assert np.array_equal(other.predict(X), model.predict(X))
    predictor = model.predictor()
    assert np.array_equal(predictor.predict(X), model.predict(X))
    assert np.array_equal(predictor.predict(X[7]), model.predict(X)[7])
    assert np.array_equal(pickle.loads(pickle.dumps(predictor)).predict(X), model.predict(X))
    assert model.forest_.n_trees == 12 * len(LEVELS)
    assert model.n_estimators_ == 12
    assert "column 0" in model.text(4) or "column 1" in model.text(4)


def test_a_list_of_one_level_is_a_column() -> None:
    X, y = data()
    model = quick(quantile=[0.5]).fit(X, y)
    assert model.predict(X).shape == (300, 1)
    assert np.array_equal(model.predict(X)[:, 0], quick(quantile=0.5).fit(X, y).predict(X))
    assert model.predictor().predict(X).shape == (300, 1)
    # Predictions follow the fitted loss, not the current parameter.
    assert model.set_params(quantile=0.5).predict(X).shape == (300, 1)


def test_weights_are_repetitions_where_no_row_is_counted() -> None:
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = quick(min_samples_leaf=1).fit(X, y, weight)
    repeated = quick(min_samples_leaf=1, n_jobs=3)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert repeated.fingerprint() == weighted.fingerprint()


def test_threads_order_and_scale_of_weights_do_not_matter() -> None:
    X, y = data()
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])
    rng = np.random.default_rng(1)
    weight, order = rng.integers(0, 4, len(y)), rng.permutation(len(y))
    for own in ({}, {"subsample": 0.5, "early_stopping": True, "random_state": 0}):
        own = {"min_child_weight": 0.0, **own}
        expected = quick(**own).fit(X, y, weight).fingerprint()
        shuffled = quick(n_jobs=2, **own).fit(X[order], y[order], weight[order])
        scaled = quick(n_jobs=3, **own).fit(X, y, weight * 4)
        assert scaled.fingerprint() == shuffled.fingerprint() == expected


def test_early_stopping_keeps_the_best_round_of_all_quantiles() -> None:
    X, y = data(600)
    model = quick(
        early_stopping=True, n_estimators=80, learning_rate=0.5, n_iter_no_change=5, random_state=0
    ).fit(X, y)
    assert model.n_estimators_ == np.argmin(model.validation_loss_)
    assert model.forest_.n_trees == 5 * model.n_estimators_


@pytest.mark.parametrize(
    "levels", [[], [0.5, 0.5], [0.9, 0.1], [0.0, 0.5], [0.5, 1.0], [0.5, np.nan], "0.5", [True]]
)
def test_levels_must_increase_between_0_and_1(levels) -> None:
    with pytest.raises(ValueError, match=r"quantile.*strictly increasing floats in the range"):
        quick(quantile=levels).fit(*data(40))
    with pytest.raises(ValueError, match="only used with loss='quantile'"):
        BoostedTreesRegressor(quality="fast", quantile=[0.1, 0.9]).fit(*data(40))


def tables() -> list[str]:
    """Every regression table of the index."""
    return [
        "fremtpl2_freq",
        "us_births",
        "sgemm_gpu",
        "bemtpl97",
        "insteval",
        "cps_earnings",
        "diamonds",
        "vic_electricity",
        "blog_feedback",
        "metro_traffic",
        "beijing_pm25",
        "gss_wages",
        "nlswork_wage",
        "house_8l",
        "house_16h",
        "california_housing",
        "appliances_energy",
        "bike_sharing",
        "elevators",
        "hotel_rates",
        "ailerons",
        "cran_check_times",
        "loans_interest",
        "employee_salaries",
        "cpu_act",
        "wine_quality",
        "nyc_taxis",
        "chicago_ridership",
        "abalone",
        "wage",
        "ames",
        "concrete",
        "diabetes_regression",
        "auto_mpg",
        "hitters",
        "autos_price",
    ]


@pytest.mark.parametrize("name", tables())
def test_on_every_regression_table(name: str) -> None:
    """Fitted on a thousand rows, predicted for five thousand."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    file = parquet.ParquetFile(original(f"{name}.parquet"))
    frame = next(file.iter_batches(6000)).to_pandas()
    frame = frame.sample(frac=1, random_state=0)
    y = frame.pop("target").to_numpy(dtype=np.float64)
    model = quick(n_estimators=10, learning_rate=0.3, n_jobs=1).fit(frame[:1000], y[:1000])
    assert are_in_order(model.predict(frame))
    known = slice(0, 1000)
    assert model.score(frame[known], y[known]) > 0 or np.ptp(y[known]) == 0
