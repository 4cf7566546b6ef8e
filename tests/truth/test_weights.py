"""Estimates of weighted rows: counts, importance weights, and weights of any scale."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from truth.agreement import (
    ALLOWED_BIAS,
    assert_agrees,
    effective_size,
    losses_of,
    losses_of_shares,
)
from truth.populations import CONTINUOUS, FEW_VALUES, N_TEST
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
)

BIAS = ALLOWED_BIAS  # as in test_out_of_bag.py
OOB: dict[str, Any] = {"oob_score": True, "random_state": 0}

CLASSIFIERS = {
    "forest": RandomForestClassifier(60, min_samples_leaf=2, max_features="sqrt", **OOB),
    "forest, auto": RandomForestClassifier(60, **OOB),
    "extra trees": ExtraTreesClassifier(60, bootstrap=True, **OOB),
    "rotation forest": RotationForestClassifier(60, bootstrap=True, **OOB),
    "bagged trees": BaggingClassifier(n_estimators=60, **OOB),
    "pasted trees": BaggingClassifier(n_estimators=60, bootstrap=False, max_samples=0.6, **OOB),
    "naive Bayes": BaggingClassifier(GaussianNB(), 40, **OOB),
    "boosters": BoostedTreesClassifier(
        quality="fast", n_bags=20, n_estimators=20, min_child_weight=0.0, random_state=0
    ),
}
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)

# ---- counts: every row stands for so many measurements that were equal ----


def counted(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Different rows, each with a random count from 1 to 6."""
    X, y = CONTINUOUS.labels(n, seed)
    return X, y, np.random.default_rng(seed).integers(1, 7, size=n)


@every_classifier
def test_counts_of_different_rows(name: str) -> None:
    X, y, count = counted(1500, 1)
    model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=count)
    new, true = CONTINUOUS.labels(N_TEST, seed=2)
    for loss in ("zero_one", "brier"):
        losses = losses_of(model, new, true, loss)
        assert_agrees(model.oob_.error(loss), losses, effective_size(count), bias=BIAS)


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.7}], ids=str)
def test_validation_loss_of_counts(settings: dict[str, Any]) -> None:
    X, y, count = counted(3000, 1)
    new, true = CONTINUOUS.labels(N_TEST, seed=2)
    model = BoostedTreesClassifier(
        quality="fast",
        early_stopping=True,
        validation_fraction=0.25,
        n_estimators=60,
        random_state=0,
        **settings,
    ).fit(X, y, sample_weight=count)
    assert model.n_estimators_ > 5
    for stage, shares in enumerate(model.staged_predict_proba(new), start=1):
        if stage in (1, 5, model.n_estimators_):
            losses = losses_of_shares(shares, true, "log_loss")
            # The last stage is the best by the held-out rows: a little too good there.
            n = 0.25 * effective_size(count)
            assert_agrees(model.validation_loss_[stage], losses, n, bias=BIAS)


def test_gradient_boosting_of_counts_stops_as_that_of_rows() -> None:
    X, y, count = counted(1500, 1)
    settings: dict[str, Any] = {"n_iter_no_change": 5, "validation_fraction": 0.25}
    model = GradientBoostingClassifier(random_state=0, **settings).fit(X, y, sample_weight=count)
    plain = GradientBoostingClassifier(random_state=0, **settings).fit(X, y)
    assert 0.4 < model.n_estimators_ / plain.n_estimators_ < 2.5


def compressed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of few values, its equal rows written once with their count."""
    X, y = FEW_VALUES.labels(n, seed)
    table, count = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    return table[:, :-1], table[:, -1].astype(np.int64), count


SETTLED: dict[str, Any] = {"min_samples_leaf": 3, "random_state": 0}
WITH_REPLACEMENT = {
    "forest": RandomForestClassifier(10, max_features=1, **SETTLED),
    "entropy": RandomForestClassifier(10, max_features=2, criterion="entropy", **SETTLED),
    "extra trees": ExtraTreesClassifier(10, bootstrap=True, **SETTLED),
    "numbers": RandomForestRegressor(10, max_features=1, **SETTLED),
    "extra numbers": ExtraTreesRegressor(10, bootstrap=True, **SETTLED),
    "bagged trees": BaggingClassifier(n_estimators=10, random_state=0),
    "bagged numbers": BaggingRegressor(n_estimators=10, random_state=0),
    "bagged boosters": BaggingClassifier(
        BoostedTreesClassifier(quality="fast", n_estimators=3, min_child_weight=0.0),
        5,
        random_state=0,
    ),
}


@pytest.mark.parametrize("name", WITH_REPLACEMENT)
@pytest.mark.parametrize("n_draws", [500, 2000])
def test_counts_are_repeated_rows_when_the_number_of_draws_is_given(
    name: str, n_draws: int
) -> None:
    X, y, count = compressed(2000, 1)
    repeated = np.repeat(np.arange(len(y)), count)
    model = clone(WITH_REPLACEMENT[name]).set_params(max_samples=n_draws)
    whole = clone(model).fit(X[repeated], y[repeated]).fingerprint()
    assert model.fit(X, y, sample_weight=count).fingerprint() == whole


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 2.5}], ids=str)
def test_class_weights_beside_counts(class_weight: Any) -> None:
    """Columns of more values than bins: thresholds follow the counts, not the class weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 1).astype(np.int64)
    count = rng.integers(1, 4, size=400)
    repeated = np.repeat(np.arange(400), count)
    model = BoostedTreesClassifier(
        quality="fast", class_weight=class_weight, min_samples_leaf=1, n_estimators=10
    )
    expected = clone(model).fit(X[repeated], y[repeated]).fingerprint()
    assert model.fit(X, y, sample_weight=count).fingerprint() == expected


@pytest.mark.parametrize("name", ["forest", "extra trees", "bagged trees"])
def test_counts_that_leave_nothing_out_are_reported(name: str) -> None:
    """2,000 draws from 200 rows: the heavy ones are in every sample, and no estimate covers them.

    To evaluate a model of counts, repeat the rows; then the copies are drawn one by one.
    """
    X, y, count = compressed(2000, 1)
    model = clone(WITH_REPLACEMENT[name]).set_params(max_samples=int(count.sum()), oob_score=True)
    with pytest.warns(UserWarning, match="(?i)out-of-bag|OOB"):
        model.fit(X, y, sample_weight=count)
    assert count[model.oob_.unscored].sum() > 0.01 * count.sum()
    repeated = np.repeat(np.arange(len(y)), count)
    model.set_params(max_samples=None, n_estimators=60).fit(X[repeated], y[repeated])
    new, true = FEW_VALUES.labels(N_TEST, seed=2)
    losses = losses_of(model, new, true, "zero_one")
    assert_agrees(model.oob_.error(), losses, count.sum(), bias=BIAS)


# ---- importance weights: the sample is of one population, the estimate of another ----


def shifted(n: int, seed: int, *, to: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the training population, or (`to`) of the target population, and their weights.

    The first column is uniform there, with density 2x here: the weight of a row is 2x.
    """
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(size=(n, 3))
    if to:
        X[:, 0] = np.sqrt(X[:, 0])
    noise = (0.1 + X[:, 0]) * rng.normal(size=n)
    y = (4 * X[:, 1] - 2 + 1.5 * noise > 0).astype(np.int64)
    return X, y, 2 * X[:, 0]


@every_classifier
def test_importance_weights_estimate_the_error_on_the_target_population(name: str) -> None:
    X, y, weight = shifted(3000, 1, to=False)
    new, true, _ = shifted(N_TEST, 2, to=True)
    model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=weight)
    for loss in ("zero_one", "brier"):
        losses = losses_of(model, new, true, loss)
        assert_agrees(model.oob_.error(loss), losses, effective_size(weight), bias=BIAS)


def test_intervals_of_importance_weights() -> None:
    X, _, weight = shifted(3000, 1, to=False)
    new, _, _ = shifted(N_TEST, 2, to=True)
    rng = np.random.default_rng(3)

    def numbers(X: np.ndarray) -> np.ndarray:
        return 4 * X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=len(X))

    y, true = numbers(X), numbers(new)
    for model in (
        RandomForestRegressor(60, min_samples_leaf=5, max_features=None, **OOB),
        BoostedTreesRegressor(quality="fast", n_bags=20, n_estimators=30, random_state=0),
    ):
        lower, upper = model.fit(X, y, sample_weight=weight).predict_interval(new, 0.9).T
        held = float(((lower <= true) & (true <= upper)).mean())
        off = 3 * np.sqrt(0.09 * (1 / effective_size(weight) + 1 / N_TEST))
        assert 0.9 - off <= held <= 0.93 + off


@pytest.mark.parametrize("name", ["forest", "extra trees", "bagged trees", "naive Bayes"])
def test_standard_error_of_weighted_rows(name: str) -> None:
    """The n of a standard error is (Σw)² / Σw²: light rows beside a heavy one count little."""
    X, y, weight = shifted(1500, 1, to=False)
    model = clone(CLASSIFIERS[name]).fit(X, y, sample_weight=weight)
    known = ~np.isnan(model.oob_.predictions[:, 0])
    losses = losses_of_shares(model.oob_.predictions[known], y[known], "brier")
    own = weight[known]
    mean = np.average(losses, weights=own)
    assert model.oob_.error("brier") == pytest.approx(mean)
    spread = np.sqrt(np.average((losses - mean) ** 2, weights=own))
    expected = spread / np.sqrt(effective_size(own))
    assert model.oob_.standard_error("brier") == pytest.approx(expected, rel=1e-6)
    curve = model.oob_.curve("brier")
    assert curve.upper[-1] - curve.error[-1] == pytest.approx(1.96 * expected, rel=1e-6)


# ---- scale ----


def estimates_of(model: Any, X: np.ndarray, y: np.ndarray, weight: Any) -> list[float]:
    model = clone(model).fit(X, y, sample_weight=weight)
    return [model.oob_.error(loss) for loss in ("zero_one", "brier")]


@every_classifier
def test_the_scale_of_weights_has_no_effect(name: str) -> None:
    X, y, weight = shifted(800, 1, to=False)
    expected = estimates_of(CLASSIFIERS[name], X, y, weight)
    for factor in (2.0**-20, 8.0, 2.0**20):
        assert estimates_of(CLASSIFIERS[name], X, y, weight * factor) == expected
    for factor in (1e-6, 1e6):
        found = estimates_of(CLASSIFIERS[name], X, y, weight * factor)
        assert found == pytest.approx(expected, rel=1e-6)


@every_classifier
def test_uniform_weights_of_any_size_are_none(name: str) -> None:
    X, y = CONTINUOUS.labels(500, seed=1)
    expected = estimates_of(CLASSIFIERS[name], X, y, None)
    for weight in (1e-6, 0.5, 1.0, 10.0, 20.5, 1e6):
        assert estimates_of(CLASSIFIERS[name], X, y, np.full(len(y), weight)) == expected


def test_the_scale_of_weights_stops_nothing() -> None:
    """Neither boosting with early stopping nor trees added until they are enough."""
    X, y, weight = shifted(1500, 1, to=False)
    rounds, trees = set(), set()
    for factor in (1e-6, 1.0, 1e6):
        model = BoostedTreesClassifier(
            quality="fast", early_stopping=True, min_child_weight=0.0, random_state=0
        )
        rounds.add(model.fit(X, y, sample_weight=weight * factor).n_estimators_)
        forest = ExtraTreesClassifier("auto", bootstrap=True, random_state=0)
        trees.add(len(forest.fit(X, y, sample_weight=weight * factor).estimators_))
    assert len(rounds) == len(trees) == 1
    assert rounds.pop() > 0


def test_whole_and_other_weights_are_the_same_kind() -> None:
    """Weights of 1, 2 and 3 and the same times 0.3: one model, one estimate."""
    X, y = FEW_VALUES.labels(1000, seed=1)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    for model in CLASSIFIERS.values():
        found = [estimates_of(model, X, y, weight * factor) for factor in (1.0, 0.3, 3.0)]
        assert found[0] == pytest.approx(found[1], rel=1e-6)
        assert found[0] == pytest.approx(found[2], rel=1e-6)
