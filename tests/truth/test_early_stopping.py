"""The validation loss is the loss on new rows, and early stopping ends where that is least."""

from typing import Any

import numpy as np
import pytest

from truth.agreement import ALLOWED_BIAS, assert_agrees, losses_of, losses_of_shares
from truth.populations import EVERY_POPULATION, FEW_VALUES, IMBALANCED, N_TEST, Population
from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

N = 4000
HELD = 0.2
STOPPING: dict[str, Any] = {
    "early_stopping": True,
    "validation_fraction": HELD,
    "n_estimators": 60,
    "random_state": 0,
}
DESCENT: dict[str, Any] = {"n_iter_no_change": 5, "validation_fraction": HELD, "random_state": 0}

every_population = pytest.mark.parametrize("population", EVERY_POPULATION, ids=str)


def stages_of(model: Any) -> list[int]:
    """Rounds to compare: some of those that the model kept, fixed before looking at any loss."""
    return sorted({1, max(1, model.n_estimators_ // 2), model.n_estimators_})


def assert_curve_of_labels(model: Any, population: Population) -> None:
    new, true = population.labels(N_TEST, seed=2)
    assert model.n_estimators_ > 0
    staged = list(model.staged_predict_proba(new))
    for stage in stages_of(model):
        losses = losses_of_shares(staged[stage - 1], true, "log_loss")
        # The last stage is the best of all by the held-out rows: a little too good there.
        assert_agrees(model.validation_loss_[stage], losses, HELD * N, bias=ALLOWED_BIAS)


@every_population
@pytest.mark.parametrize("settings", [{}, {"subsample": 0.7}, {"growth": "depth_wise"}], ids=str)
def test_validation_loss_of_labels(population: Population, settings: dict[str, Any]) -> None:
    X, y = population.labels(N, seed=1)
    assert_curve_of_labels(
        BoostedTreesClassifier(quality="fast", **STOPPING, **settings).fit(X, y), population
    )


@pytest.mark.parametrize("population", IMBALANCED, ids=str)
def test_validation_loss_of_a_rare_class(population: Population) -> None:
    X, y = population.labels(N, seed=1)
    assert_curve_of_labels(BoostedTreesClassifier(quality="fast", **STOPPING).fit(X, y), population)


@every_population
def test_validation_loss_of_numbers(population: Population) -> None:
    X, y = population.numbers(N, seed=1)
    new, true = population.numbers(N_TEST, seed=2)
    model = BoostedTreesRegressor(quality="fast", **STOPPING).fit(X, y)
    assert model.n_estimators_ > 0
    staged = list(model.staged_predict(new))
    for stage in stages_of(model):
        losses = np.square(staged[stage - 1] - true) / 2
        assert_agrees(model.validation_loss_[stage], losses, HELD * N, bias=ALLOWED_BIAS)


@every_population
def test_validation_score(population: Population) -> None:
    """Another measure than the loss: the accuracy of held-out rows."""
    X, y = population.labels(N, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    model = BoostedTreesClassifier(quality="fast", **STOPPING, scoring="accuracy").fit(X, y)
    assert model.n_estimators_ > 0
    staged = list(model.staged_predict(new))
    for stage in stages_of(model):
        wrong = (staged[stage - 1] != true).astype(float)
        assert_agrees(1 - model.validation_score_[stage], wrong, HELD * N, bias=ALLOWED_BIAS)


def assert_near_the_best(model: Any, population: Population, whole: Any, loss: str) -> None:
    """A model that stopped is nearly as good, on new rows, as the best of all its rounds."""
    draw = population.numbers if loss == "squared_error" else population.labels
    new, true = draw(N_TEST, seed=2)
    stages = whole.staged_predict if loss == "squared_error" else whole.staged_predict_proba
    if loss == "squared_error":
        every = [np.square(said - true) for said in stages(new)]
    else:
        every = [losses_of_shares(shares, true, loss) for shares in stages(new)]
    best = min(every, key=np.mean)
    gap = losses_of(model, new, true, loss) - best
    # A tenth above: held-out rows are missing from the stages, and choose with an error.
    allowed = 0.1 * float(best.mean()) + 3 * float(gap.std()) / np.sqrt(len(gap))
    lost = float(gap.mean())
    assert lost <= allowed, f"{model.n_estimators_} rounds lose {lost:.4f}; {allowed:.4f} may be"


@every_population
def test_boosted_trees_stop_where_new_rows_would(population: Population) -> None:
    X, y = population.labels(N, seed=1)
    whole = BoostedTreesClassifier(quality="fast", n_estimators=60).fit(X, y)
    stopped = BoostedTreesClassifier(quality="fast", **STOPPING).fit(X, y)
    assert_near_the_best(stopped, population, whole, "log_loss")


@every_population
def test_gradient_boosting_stops_where_new_rows_would(population: Population) -> None:
    X, y = population.labels(N, seed=1)
    whole = GradientBoostingClassifier(n_estimators=100).fit(X, y)
    stopped = GradientBoostingClassifier(n_estimators=100, **DESCENT).fit(X, y)
    assert_near_the_best(stopped, population, whole, "log_loss")
    X, y = population.numbers(N, seed=1)
    whole = GradientBoostingRegressor(n_estimators=100).fit(X, y)
    stopped = GradientBoostingRegressor(n_estimators=100, **DESCENT).fit(X, y)
    assert_near_the_best(stopped, population, whole, "squared_error")


def test_auto_above_ten_thousand_rows() -> None:
    X, y = FEW_VALUES.labels(12_000, seed=1)
    model = BoostedTreesClassifier(quality="fast", early_stopping="auto", random_state=0).fit(X, y)
    whole = BoostedTreesClassifier(quality="fast").fit(X, y)
    assert_near_the_best(model, FEW_VALUES, whole, "log_loss")


@every_population
def test_boosters_of_a_bag_that_stop_early(population: Population) -> None:
    """They stop by the rows that they leave out, which also give the out-of-bag error."""
    X, y = population.labels(N, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    settings = {name: one for name, one in STOPPING.items() if name != "validation_fraction"}
    model = BoostedTreesClassifier(quality="fast", n_bags=20, **settings).fit(X, y)
    assert len(model.validation_loss_) > 1
    losses = losses_of(model, new, true, "zero_one")
    # Out of bag, four boosters predict a row, each trained on four fifths of the rows.
    assert_agrees(model.oob_.error(), losses, N, bias=ALLOWED_BIAS)
