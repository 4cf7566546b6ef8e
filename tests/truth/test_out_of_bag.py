"""The out-of-bag error is the error on new rows, for every bag and every kind of table."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truth.agreement import ALLOWED_BIAS, assert_agrees, losses_of
from truth.populations import (
    CONTINUOUS,
    EVERY_POPULATION,
    FEW_VALUES,
    IMBALANCED,
    N_TEST,
    OF_NUMBERS,
    Population,
)
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
)

# A row is predicted by the base estimators that did not see it, two in five (of five boosters one):
# the mean of so few is a little worse than that of all, so the error is a little too high.
BIAS = ALLOWED_BIAS

OOB: dict[str, Any] = {"oob_score": True, "random_state": 0}
BAGS: dict[str, Any] = {"n_bags": 20, "n_estimators": 20, "random_state": 0}
PASTED = {"bootstrap": False, "max_samples": 0.6}

CLASSIFIERS = {
    "forest": RandomForestClassifier(60, min_samples_leaf=2, max_features="sqrt", **OOB),
    "forest, auto": RandomForestClassifier(60, **OOB),
    "extra trees": ExtraTreesClassifier(120, bootstrap=True, **OOB),
    "rotation forest": RotationForestClassifier(120, bootstrap=True, **OOB),
    "bagged trees": BaggingClassifier(n_estimators=60, **OOB),
    "pasted trees": BaggingClassifier(n_estimators=60, **PASTED, **OOB),
    "bagged boosters": BaggingClassifier(
        BoostedTreesClassifier(quality="fast", n_estimators=8), 30, **OOB
    ),
    "boosters": BoostedTreesClassifier(quality="fast", **BAGS),
    # Five boosters; the rows that they leave out choose the number of rounds, too.
    "boosters, default": BoostedTreesClassifier(random_state=0),
}
REGRESSORS = {
    "forest": RandomForestRegressor(60, min_samples_leaf=2, max_features=0.5, **OOB),
    "forest, auto": RandomForestRegressor(60, **OOB),
    "extra trees": ExtraTreesRegressor(120, bootstrap=True, **OOB),
    "rotation forest": RotationForestRegressor(120, bootstrap=True, **OOB),
    "bagged trees": BaggingRegressor(n_estimators=60, **OOB),
    "pasted trees": BaggingRegressor(n_estimators=60, **PASTED, **OOB),
    "bagged boosters": BaggingRegressor(
        BoostedTreesRegressor(quality="fast", n_estimators=8), 30, **OOB
    ),
    "boosters": BoostedTreesRegressor(quality="fast", **BAGS),
    "boosters, default": BoostedTreesRegressor(random_state=0),
}
FOREIGN_CLASSIFIERS = {
    "trees": BaggingClassifier(DecisionTreeClassifier(max_depth=6), 30, **OOB),
    "naive Bayes": BaggingClassifier(GaussianNB(), 30, **OOB),
}
FOREIGN_REGRESSORS = {
    "trees": BaggingRegressor(DecisionTreeRegressor(max_depth=6), 30, **OOB),
    "line": BaggingRegressor(LinearRegression(), 30, **OOB),
}
TREES = ["forest", "extra trees", "bagged trees"]
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("name", REGRESSORS)
every_population = pytest.mark.parametrize("population", EVERY_POPULATION, ids=str)
of_numbers = pytest.mark.parametrize("population", OF_NUMBERS, ids=str)


def assert_labels_agree(model: Any, population: Population, losses: tuple[str, ...]) -> None:
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    model = clone(model).fit(X, y)
    assert len(model.oob_.unscored) < 0.01 * len(y)
    for loss in losses:
        assert_agrees(model.oob_.error(loss), losses_of(model, new, true, loss), len(y), bias=BIAS)
    if hasattr(model, "oob_score_"):
        assert model.oob_score_ == pytest.approx(1 - model.oob_.error(), abs=1e-12)


def assert_numbers_agree(model: Any, population: Population) -> None:
    X, y = population.numbers(population.n, seed=1)
    new, true = population.numbers(N_TEST, seed=2)
    model = clone(model).fit(X, y)
    assert len(model.oob_.unscored) < 0.01 * len(y)
    losses = losses_of(model, new, true, "squared_error")
    assert_agrees(model.oob_.error(), losses, len(y), bias=BIAS)
    if hasattr(model, "oob_score_"):
        # R² in the units of the error: the share of the variance that is left.
        assert_agrees((1 - model.oob_score_) * y.var(), losses, len(y), bias=BIAS)


@every_classifier
@every_population
def test_labels(name: str, population: Population) -> None:
    assert_labels_agree(CLASSIFIERS[name], population, ("zero_one", "brier"))


@pytest.mark.parametrize("name", FOREIGN_CLASSIFIERS)
@of_numbers
def test_labels_by_foreign_base_estimators(name: str, population: Population) -> None:
    assert_labels_agree(FOREIGN_CLASSIFIERS[name], population, ("zero_one", "brier"))


@every_classifier
@pytest.mark.parametrize("population", IMBALANCED, ids=str)
def test_a_rare_class(name: str, population: Population) -> None:
    assert_labels_agree(CLASSIFIERS[name], population, ("zero_one", "brier"))


@every_regressor
@every_population
def test_numbers(name: str, population: Population) -> None:
    assert_numbers_agree(REGRESSORS[name], population)


@pytest.mark.parametrize("name", FOREIGN_REGRESSORS)
@of_numbers
def test_numbers_by_foreign_base_estimators(name: str, population: Population) -> None:
    assert_numbers_agree(FOREIGN_REGRESSORS[name], population)


@pytest.mark.parametrize("population", OF_NUMBERS, ids=str)
def test_misses_of_a_rare_class(population: Population) -> None:
    """A loss of one's own: how often a row of the rare class is missed."""
    population = dict(zip(OF_NUMBERS, IMBALANCED, strict=True))[population]
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    forest = RandomForestClassifier(60, class_weight="balanced", **OOB).fit(X, y)
    missed = losses_of(forest, new, true, "zero_one") * (true == 1)
    found = forest.oob_.error(lambda y, label: (y == 1) & (label != 1))
    assert_agrees(found, missed, len(y), bias=BIAS)


@pytest.mark.parametrize("name", [*TREES, "boosters", "boosters, default"])
@of_numbers
def test_standard_error(name: str, population: Population) -> None:
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    model = clone(CLASSIFIERS[name]).fit(X, y)
    for loss in ("zero_one", "brier"):
        expected = losses_of(model, new, true, loss).std() / np.sqrt(len(y))
        assert model.oob_.standard_error(loss) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("name", TREES)
@of_numbers
def test_both_ends_of_the_curve(name: str, population: Population) -> None:
    """It begins with the error of the first base estimator on its out-of-bag rows."""
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    found, losses = [], []
    for seed in range(5):
        model = clone(CLASSIFIERS[name]).set_params(random_state=seed).fit(X, y)
        curve = model.oob_.curve()
        found.append(curve.error[0])
        losses.append(losses_of(model.estimators_[0], new, true, "zero_one"))
    assert_agrees(np.mean(found), np.mean(losses, axis=0), 0.368 * len(y))
    assert_agrees(curve.error[-1], losses_of(model, new, true, "zero_one"), len(y), bias=BIAS)


def tiny(population: Population, kind: str, seed: int) -> tuple[Any, np.ndarray]:
    return getattr(population, kind)(40, seed)


@pytest.mark.parametrize("name", [*TREES, "boosters, default"])
@of_numbers
def test_tiny_tables(name: str, population: Population) -> None:
    """An estimate from 40 rows is noisy; the mean over 40 tables must be right.

    Trees that answer a row of so small a table have not seen it, of 40 rows one in forty more than
    those that answer a new row: too high by construction.
    """
    new, true = population.labels(N_TEST, seed=2)
    gaps, errors = [], []
    for seed in range(40):
        X, y = tiny(population, "labels", 100 + seed)
        model = clone(CLASSIFIERS[name]).set_params(random_state=seed).fit(X, y)
        truth = losses_of(model, new, true, "zero_one").mean()
        gaps.append(model.oob_.error() - truth)
        errors.append(truth)
    standard_error = np.std(gaps) / np.sqrt(len(gaps))
    assert abs(np.mean(gaps)) < 3 * standard_error + BIAS * np.mean(errors)


def test_few_unscored_rows_give_no_warning() -> None:
    """Of 3,000 rows a handful is in all 15 bags: below one in a hundred, and reported."""
    X, y = CONTINUOUS.labels(3000, seed=1)
    forest = RandomForestClassifier(15, min_samples_leaf=5, max_features=1.0, **OOB).fit(X, y)
    assert 0 < len(forest.oob_.unscored) < 30
    with pytest.warns(UserWarning, match="(?i)out-of-bag|OOB"):
        forest.set_params(n_estimators=4).fit(X, y)


@pytest.mark.parametrize("weights", ["oob", None])
def test_base_estimators_weighted_by_their_error(weights: Any) -> None:
    """weights='oob': ln((1 - e) / e) of two classes, e the out-of-bag error of a base estimator."""
    X, y = FEW_VALUES.labels(FEW_VALUES.n, seed=1)
    new, true = FEW_VALUES.labels(N_TEST, seed=2)
    bag = BaggingClassifier(GaussianNB(), 30, weights=weights, **OOB).fit(X, y)
    assert_agrees(bag.oob_.error(), losses_of(bag, new, true, "zero_one"), len(y), bias=BIAS)
    if weights == "oob":
        errors = 1 / (1 + np.exp(bag.weights_))
        losses = np.mean([losses_of(one, new, true, "zero_one") for one in bag.estimators_], axis=0)
        assert_agrees(errors.mean(), losses, len(y))
