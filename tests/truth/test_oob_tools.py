"""What else is worked out from out-of-bag rows: importance, pruning, and settings left to them."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from truth.agreement import ALLOWED_BIAS, assert_agrees, losses_of
from truth.populations import (
    CONTINUOUS,
    FEW_VALUES,
    LEVELS,
    N_TEST,
    OF_NUMBERS,
    OF_TEXT,
    Population,
)
from weald import (
    BaggingClassifier,
    BoostedTreesClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

OOB: dict[str, Any] = {"oob_score": True, "random_state": 0}
BIAS = ALLOWED_BIAS  # as in test_out_of_bag.py

of_numbers = pytest.mark.parametrize("population", OF_NUMBERS, ids=str)


# ---- permutation importance ----


BAGS = {
    "forest": RandomForestClassifier(40, **OOB),
    "whole trees": RandomForestClassifier(40, min_samples_leaf=1, max_features="sqrt", **OOB),
    "extra trees": ExtraTreesClassifier(40, bootstrap=True, **OOB),
    "bagged trees": BaggingClassifier(n_estimators=40, **OOB),
    "boosters": BoostedTreesClassifier(quality="fast", n_bags=20, n_estimators=15, random_state=0),
}


def with_noise(X: np.ndarray, seed: int) -> np.ndarray:
    """Two more columns of noise, of few values: some equal rows stay equal."""
    rng = np.random.default_rng(seed)
    return np.column_stack([X, rng.integers(0, 2, len(X)), rng.integers(0, 3, len(X))])


@pytest.mark.parametrize("name", BAGS)
@of_numbers
def test_noise_is_worth_nothing(name: str, population: Population) -> None:
    """Zero on average over tables: in one of them noise may go with the target by chance."""
    noise = []
    for seed in range(12):
        X, y = population.labels(400, seed=10 + seed)
        X = with_noise(X, 3 + seed)
        model = clone(BAGS[name]).set_params(random_state=seed).fit(X, y)
        found = model.oob_permutation_importance(X, y, loss="brier", n_repeats=2)
        assert (found.importances_mean[:2] > 2 * found.standard_error[:2]).all()
        noise.append(found.importances_mean[-2:])
    mean, error = np.mean(noise, axis=0), np.std(noise, axis=0) / np.sqrt(len(noise))
    # Of twelve tables: as seldom as three standard errors that are known (Student's t).
    assert (np.abs(mean) <= 3.9 * error).all(), (mean, error)


@pytest.mark.parametrize("name", ["forest", "boosters"])
@of_numbers
def test_importance_of_a_column_is_what_new_rows_lose(name: str, population: Population) -> None:
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    model = clone(BAGS[name]).fit(X, y)
    found = model.oob_permutation_importance(X, y, loss="brier", n_repeats=3)
    before = losses_of(model, new, true, "brier")
    for column in (0, 1):
        shuffled = new.copy()
        shuffled[:, column] = np.random.default_rng(5).permutation(shuffled[:, column])
        lost = losses_of(model, shuffled, true, "brier") - before
        assert_agrees(found.importances_mean[column], lost, len(y), bias=BIAS)


# ---- pruning ----


@pytest.mark.parametrize("population", OF_NUMBERS, ids=str)
@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_errors_of_pruned_forests(population: Population, kind: str) -> None:
    """Half of the out-of-bag rows choose the pruning, the other half scores both forests."""
    draw = getattr(population, kind)
    X, y = draw(population.n, seed=1)
    new, true = draw(N_TEST, seed=2)
    X, new = with_noise(X, 3), with_noise(new, 4)
    forests = {"labels": RandomForestClassifier, "numbers": RandomForestRegressor}
    loss = {"labels": "brier", "numbers": "squared_error"}[kind]
    forest = forests[kind](60, min_samples_leaf=1, max_features=0.5, **OOB).fit(X, y)
    found = forest.prune_oob(X, y)
    assert found.n_leaves_after < found.n_leaves_before
    before, after = losses_of(forest, new, true, loss), losses_of(found.model, new, true, loss)
    assert_agrees(found.error_before, before, len(y) / 2, bias=BIAS)
    # Rows similar to those that score a tree have chosen its pruning: a little too low.
    assert_agrees(found.error_after, after, len(y) / 2, bias=2 * BIAS)


# ---- settings left to the out-of-bag error ----


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES, *OF_TEXT], ids=str)
def test_extrapolated_error_of_each_trial(population: Population) -> None:
    """`auto_trials_` holds what a forest of 100 trees of these settings will err."""
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    assert len(forest.auto_trials_) >= 2
    for tried in forest.auto_trials_:
        settings = {name: tried[name] for name in ("min_samples_leaf", "max_features")}
        large = RandomForestClassifier(100, random_state=1, **settings).fit(X, y)
        losses = losses_of(large, new, true, "brier")
        assert_agrees(tried["oob_error"], losses, len(y), bias=BIAS)


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES, *OF_TEXT], ids=str)
@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_settings_chosen_are_nearly_the_best(population: Population, kind: str) -> None:
    draw = getattr(population, kind)
    X, y = draw(population.n, seed=1)
    new, true = draw(N_TEST, seed=2)
    forests = {"labels": RandomForestClassifier, "numbers": RandomForestRegressor}
    loss = {"labels": "brier", "numbers": "squared_error"}[kind]
    chosen = forests[kind](60, random_state=0).fit(X, y)
    errors = [
        losses_of(
            forests[kind](60, random_state=0, min_samples_leaf=leaf, max_features=columns).fit(
                X, y
            ),
            new,
            true,
            loss,
        ).mean()
        for leaf in (1, 5)
        for columns in chosen._column_choices
    ]
    mine = losses_of(chosen, new, true, loss).mean()
    assert mine <= 1.1 * min(errors), (mine, errors)


@pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES, *OF_TEXT], ids=str)
@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_as_many_trees_as_are_worth_it(forest: type, population: Population) -> None:
    """n_estimators='auto': a noisy table of few values needs no more trees than any other."""
    numbers = []
    for seed in range(4):
        X, y = population.labels(population.n // 2, seed=10 + seed)
        model = forest("auto", bootstrap=True, oob_score=True, random_state=seed).fit(X, y)
        numbers.append(len(model.estimators_))
    # How soon the curve is flat differs from table to table; it is not flat in none of them.
    assert min(numbers) < 1000
    assert population in (CONTINUOUS, LEVELS) or np.median(numbers) < 600
    new, true = population.labels(N_TEST, seed=2)
    losses = losses_of(model, new, true, "zero_one")
    assert_agrees(model.oob_.error(), losses, len(y), bias=BIAS)


def test_whole_numbers_need_few_trees() -> None:
    X, y = FEW_VALUES.numbers(FEW_VALUES.n, seed=1)
    for kind in (RandomForestRegressor, ExtraTreesRegressor):
        assert len(kind("auto", bootstrap=True, **OOB).fit(X, y).estimators_) <= 300
