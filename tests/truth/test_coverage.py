"""Prediction intervals and sets hold the share of new rows that they promise.

The promise is marginal: of all new rows together, not of every kind of row.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from truth.populations import (
    CONTINUOUS,
    EVERY_POPULATION,
    FEW_VALUES,
    N_TEST,
    OF_TEXT,
    Population,
)
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestRegressor,
)

OOB: dict[str, Any] = {"oob_score": True, "random_state": 0}
# Out-of-bag residuals are those of two base estimators in five, a little larger than of all: the
# coverage is a little above the nominal one. It must not be below.
MORE = 0.03

REGRESSORS = {
    "forest": RandomForestRegressor(60, **OOB),
    "extra trees": ExtraTreesRegressor(60, bootstrap=True, min_samples_leaf=3, **OOB),
    "rotation forest": RotationForestRegressor(60, bootstrap=True, min_samples_leaf=3, **OOB),
    "bagged trees": BaggingRegressor(n_estimators=60, **OOB),
    "boosters": BoostedTreesRegressor(quality="fast", n_bags=20, n_estimators=30, random_state=0),
}
CLASSIFIERS = {
    "forest": RandomForestClassifier(60, **OOB),
    "bagged trees": BaggingClassifier(n_estimators=60, **OOB),
    "boosters": BoostedTreesClassifier(quality="fast", n_bags=20, n_estimators=20, random_state=0),
}
every_population = pytest.mark.parametrize("population", EVERY_POPULATION, ids=str)


def assert_holds(
    held: np.ndarray, coverage: float, n: int, *, more: float, less: float = 0.0
) -> None:
    """Coverage is nominal or a little above, within three standard errors."""
    off = 3 * np.sqrt(coverage * (1 - coverage) * (1 / n + 1 / len(held)))
    share = float(held.mean())
    assert coverage - less - off <= share <= coverage + more + off, (
        f"{share:.3f} of {len(held)} new rows are held; asked for {coverage}, ± {off:.3f}"
    )


def less_for(population: Population) -> float:
    """What may be missing where levels of text are many.

    Which of them are told apart is decided by counting all rows: training rows are more often of a
    level that was frequent enough than new rows are.
    """
    return 0.02 if population in OF_TEXT else 0.0


@pytest.mark.parametrize("name", REGRESSORS)
@every_population
def test_intervals(name: str, population: Population) -> None:
    X, y = population.numbers(population.n, seed=1)
    new, true = population.numbers(N_TEST, seed=2)
    model = clone(REGRESSORS[name]).fit(X, y)
    for coverage in (0.8, 0.9):
        lower, upper = model.predict_interval(new, coverage).T
        held = (lower <= true) & (true <= upper)
        assert_holds(held, coverage, len(y), more=MORE, less=less_for(population))


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES], ids=str)
@pytest.mark.parametrize("name", ["forest", "line"])
def test_intervals_by_jackknife(name: str, population: Population) -> None:
    """Small tables, for its time grows with the training rows; the mean over eight of them."""
    line = BaggingRegressor(LinearRegression(), 40, **OOB)
    model = line if name == "line" else REGRESSORS[name]
    held = []
    for seed in range(8):
        X, y = population.numbers(300, seed=10 + seed)
        new, true = population.numbers(1500, seed=50 + seed)
        lower, upper = clone(model).fit(X, y).predict_interval(new, 0.9, method="jackknife+").T
        held.append((lower <= true) & (true <= upper))
    assert_holds(np.concatenate(held), 0.9, 8 * 300, more=MORE)


@pytest.mark.parametrize("name", REGRESSORS)
def test_quantiles(name: str) -> None:
    X, y = CONTINUOUS.numbers(CONTINUOUS.n, seed=1)
    new, true = CONTINUOUS.numbers(N_TEST, seed=2)
    levels = [0.1, 0.5, 0.9]
    found = clone(REGRESSORS[name]).fit(X, y).predict_quantiles(new, levels)
    for level, quantile in zip(levels, found.T, strict=True):
        below = float((true <= quantile).mean())
        off = 3 * np.sqrt(level * (1 - level) * (1 / len(y) + 1 / N_TEST))
        assert abs(below - level) <= off + MORE


@pytest.mark.parametrize("name", CLASSIFIERS)
@every_population
def test_sets(name: str, population: Population) -> None:
    """Four classes that overlap: the most probable one alone would not be enough."""
    X, y = population.classes(population.n, seed=1)
    new, true = population.classes(N_TEST, seed=2)
    model = clone(CLASSIFIERS[name]).fit(X, y)
    assert model.score(new, true) < 0.8
    # Where x has few values so have the shares: rows whose share is the threshold are in or out
    # together.
    together = 0.02
    more, less = MORE + together, less_for(population) + together
    for coverage in (0.8, 0.9):
        held = model.predict_set(new, coverage)[np.arange(N_TEST), true]
        assert_holds(held, coverage, len(y), more=more, less=less)


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES], ids=str)
def test_tiny_tables(population: Population) -> None:
    """50 rows, many times: nominal coverage on average."""
    shares = []
    new, true = population.numbers(2000, seed=2)
    for seed in range(60):
        X, y = population.numbers(50, seed=100 + seed)
        forest = RandomForestRegressor(
            50, min_samples_leaf=2, max_features=None, oob_score=True, random_state=seed
        )
        lower, upper = forest.fit(X, y).predict_interval(new, 0.8).T
        shares.append(((lower <= true) & (true <= upper)).mean())
    off = 3 * np.std(shares) / np.sqrt(len(shares))
    assert 0.8 - off <= np.mean(shares) <= 0.8 + MORE + off


def test_coverage_is_marginal_and_not_of_every_kind_of_row() -> None:
    """Why the promise is about all rows together: noise that grows along a column."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(22_000, 1))
    y = x[:, 0] + np.where(x[:, 0] > 0.5, 2.0, 0.2) * rng.normal(size=len(x))
    forest = RandomForestRegressor(60, min_samples_leaf=20, max_features=None, **OOB)
    forest.fit(x[:2000], y[:2000])
    lower, upper = forest.predict_interval(x[2000:], 0.9).T
    held = (lower <= y[2000:]) & (y[2000:] <= upper)
    assert_holds(held, 0.9, 2000, more=MORE)
    noisy = x[2000:, 0] > 0.5
    assert held[~noisy].mean() > 0.93 > 0.88 > held[noisy].mean()
