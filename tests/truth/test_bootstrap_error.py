"""The .632 and .632+ estimates are the error, on new rows, of one learner trained on all rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from truth.agreement import ALLOWED_BIAS, assert_agrees, losses_of
from truth.populations import CONTINUOUS, FEW_VALUES, N_TEST, OF_NUMBERS, Population
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.theory import error_632, error_632plus

# .632 is how many rows a bootstrap sample holds, and mixes an error that is too low with one that
# is too high: right only for learners whose error falls as fast as that mixture assumes.
BIAS = ALLOWED_BIAS
N = 1000

of_numbers = pytest.mark.parametrize("population", OF_NUMBERS, ids=str)

LEARNERS = {
    "tree": (
        DecisionTreeClassifier(min_samples_leaf=20),
        DecisionTreeRegressor(min_samples_leaf=20),
    ),
    "no tree": (GaussianNB(), LinearRegression()),
}


@pytest.mark.parametrize("estimate", [error_632, error_632plus])
@pytest.mark.parametrize("name", LEARNERS)
@of_numbers
def test_any_learner(name: str, population: Population, estimate: Any) -> None:
    of_labels, of_numbers = LEARNERS[name]
    X, y = population.labels(N, seed=1)
    losses = losses_of(clone(of_labels).fit(X, y), *population.labels(N_TEST, seed=2), "zero_one")
    found = estimate(of_labels, X, y, n_repeats=40, random_state=0)
    assert_agrees(found.error, losses, N, bias=BIAS)
    X, y = population.numbers(N, seed=1)
    new = population.numbers(N_TEST, seed=2)
    losses = losses_of(clone(of_numbers).fit(X, y), *new, "squared_error")
    found = estimate(of_numbers, X, y, n_repeats=40, random_state=0)
    assert_agrees(found.error, losses, N, bias=BIAS)


# Base estimators that do not fit their rows perfectly: the apparent error of full trees is 0, and
# both estimates are too low for them (docs/guide/bagging.md, Measured).
MODEST: dict[str, Any] = {"min_samples_leaf": 20, "random_state": 0}
OF_LABELS = {
    "forest": (
        RandomForestClassifier(60, max_features=None, criterion="gini", **MODEST),
        DecisionTreeClassifier(min_samples_leaf=20),
    ),
    "bag": (BaggingClassifier(GaussianNB(), 60, random_state=0), GaussianNB()),
    "bag of trees": (
        BaggingClassifier(DecisionTreeClassifier(min_samples_leaf=20), 60, random_state=0),
        DecisionTreeClassifier(min_samples_leaf=20),
    ),
}
OF_NUMBERS_ = {
    "forest": (
        RandomForestRegressor(60, max_features=None, **MODEST),
        DecisionTreeRegressor(min_samples_leaf=20),
    ),
    "bag": (BaggingRegressor(LinearRegression(), 60, random_state=0), LinearRegression()),
}


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("name", OF_LABELS)
@of_numbers
def test_one_base_estimator_of_a_classifier(name: str, population: Population, plus: bool) -> None:
    bag, member = OF_LABELS[name]
    X, y = population.labels(N, seed=1)
    losses = losses_of(clone(member).fit(X, y), *population.labels(N_TEST, seed=2), "zero_one")
    found = clone(bag).fit(X, y).member_error_632(X, y, plus=plus)
    assert found.n_unscored == 0
    assert_agrees(found.error, losses, N, bias=BIAS)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("name", OF_NUMBERS_)
@of_numbers
def test_one_base_estimator_of_a_regressor(name: str, population: Population, plus: bool) -> None:
    bag, member = OF_NUMBERS_[name]
    X, y = population.numbers(N, seed=1)
    new = population.numbers(N_TEST, seed=2)
    losses = losses_of(clone(member).fit(X, y), *new, "squared_error")
    found = clone(bag).fit(X, y).member_error_632(X, y, plus=plus)
    assert_agrees(found.error, losses, N, bias=BIAS)


# ---- what the formulas do not hold for ----


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES], ids=str)
@pytest.mark.parametrize(
    "bag",
    [RandomForestClassifier(20), BaggingClassifier(GaussianNB(), 20)],
    ids=lambda bag: type(bag).__name__,
)
def test_rows_drawn_unequally_are_refused(bag: Any, population: Population) -> None:
    X, y = population.labels(N, seed=1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=N)
    bag = clone(bag).set_params(random_state=0).fit(X, y, weight)
    with pytest.raises(ValueError, match="weight"):
        bag.member_error_632(X, y)


@pytest.mark.parametrize(
    "settings",
    [{"max_samples": 0.5}, {"max_samples": N // 2}, {"bootstrap": False, "max_samples": 0.6}],
    ids=str,
)
@pytest.mark.parametrize(
    "bag",
    [ExtraTreesClassifier(20), BaggingClassifier(GaussianNB(), 20)],
    ids=lambda bag: type(bag).__name__,
)
def test_other_samples_than_the_bootstrap_are_refused(bag: Any, settings: dict[str, Any]) -> None:
    """.632 of the rows are in a sample of n draws from n rows, and in no other."""
    X, y = CONTINUOUS.labels(N, seed=1)
    bag = clone(bag).set_params(random_state=0, **{"bootstrap": True, **settings}).fit(X, y)
    with pytest.raises(ValueError, match=r"max_samples|bootstrap|\.632"):
        bag.member_error_632(X, y)


def test_uniform_weights_are_none() -> None:
    X, y = CONTINUOUS.labels(N, seed=1)
    forest = RandomForestClassifier(20, random_state=0)
    expected = forest.fit(X, y).member_error_632(X, y).error
    for weight in (3.0, 0.1):
        assert forest.fit(X, y, np.full(N, weight)).member_error_632(X, y).error == expected
