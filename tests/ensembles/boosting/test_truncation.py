"""Fewer rounds of a fitted model: `truncate`, and `n_rounds` of the predictions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from weald import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=200) / 5
THREE = np.digitize(Y, [-0.5, 0.5])
TWO = (Y > 0).astype(int)

FAST = {"quality": "fast", "min_samples_leaf": 5, "random_state": 0}
FOLDS = {"n_bags": 3, "min_samples_leaf": 5, "random_state": 0}

# A model without n_estimators, and its target.
SUBJECTS: dict[str, tuple[Any, Any]] = {
    "numbers": (BoostedTreesRegressor(**FAST), Y),
    "rows drawn": (BoostedTreesRegressor(**FAST, subsample=0.5), Y),
    "quantiles": (BoostedTreesRegressor(**FAST, loss="quantile", quantile=[0.2, 0.8]), Y),
    "two classes": (BoostedTreesClassifier(**FAST), TWO),
    "three classes": (BoostedTreesClassifier(**FAST), THREE),
    "vector leaves": (BoostedTreesClassifier(**FAST, multi_class="vector_leaves"), THREE),
    "folds": (BoostedTreesRegressor(**FOLDS), Y),
    "folds of classes": (BoostedTreesClassifier(**FOLDS, multi_class="tree_per_class"), THREE),
    "folds of vectors": (BoostedTreesClassifier(**FOLDS, multi_class="vector_leaves"), THREE),
    "descent": (GradientBoostingRegressor(random_state=0), Y),
    "descent, rows drawn": (GradientBoostingRegressor(random_state=0, subsample=0.5), Y),
    "descent of classes": (GradientBoostingClassifier(random_state=0), THREE),
    "descent of lines": (GradientBoostingRegressor(estimator=Ridge(), random_state=0), Y),
    "stumps": (AdaBoostClassifier(form="half-log"), TWO),
    "stumps of three": (AdaBoostClassifier(store_weights=True), THREE),
    "foreign votes": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2)), THREE),
    "medians": (AdaBoostRegressor(random_state=0, store_weights=True), Y),
    "foreign medians": (
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), random_state=0),
        Y,
    ),
}
ANSWERS = ("predict", "predict_proba", "decision_function", "predict_log_proba")


def fitted(name: str, n_estimators: int) -> Any:
    model, y = SUBJECTS[name]
    return copy.deepcopy(model).set_params(n_estimators=n_estimators).fit(X, y)


def same(a: Any, b: Any) -> bool:
    """Whether two fitted attributes are equal."""
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and a.dtype != object:
        return np.array_equal(a, b, equal_nan=True)
    return bool(a == b)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_is_the_model_of_a_shorter_fit(name: str) -> None:
    whole, short = fitted(name, 9), fitted(name, 4)
    before = pickle.dumps(whole)
    part = whole.truncate(4)
    assert pickle.dumps(whole) == before
    for method in ANSWERS:
        if not hasattr(short, method):
            continue
        expected = getattr(short, method)(X)
        assert np.array_equal(getattr(part, method)(X), expected)
        assert np.array_equal(getattr(whole, method)(X, n_rounds=4), expected)
        assert np.array_equal(getattr(whole, method)(X, n_rounds=9), getattr(whole, method)(X))
    assert len(list(part.staged_predict(X))) == 4
    if not name.startswith(("descent of lines", "foreign")):
        assert part.fingerprint() == short.fingerprint()
        assert np.array_equal(part.feature_importances_, short.feature_importances_)


# Why the fit ended, and parameters.
DIFFERENT = {"stopped_by_", "n_estimators", "auto_settings_", "estimators_", "estimator_"}


@pytest.mark.parametrize("name", SUBJECTS)
def test_fitted_attributes_are_those_of_the_shorter_fit(name: str) -> None:
    short, part = fitted(name, 4), fitted(name, 9).truncate(4)
    names = {key for key in vars(short) if key.endswith("_")} - DIFFERENT - {"forest_"}
    if not getattr(part, "store_weights", True):
        names -= {"row_weights_"}
        assert not hasattr(part, "row_weights_")
    for key in names:
        assert same(getattr(part, key), getattr(short, key)), key
    assert {key for key in vars(part) if key.endswith("_")} - DIFFERENT - {"forest_"} == names
    if hasattr(part, "estimators_"):
        assert len(part.estimators_) == len(short.estimators_) == 4
    if hasattr(part, "auto_settings_"):
        assert part.auto_settings_ == short.auto_settings_
        assert part.stopped_by_ == "truncate"


@pytest.mark.parametrize(
    "name", [name for name in SUBJECTS if hasattr(SUBJECTS[name][0], "warm_start")]
)
def test_a_warm_start_continues_from_it(name: str) -> None:
    whole = fitted(name, 9)
    part = whole.truncate(4).set_params(warm_start=True, n_estimators=9)
    again = part.fit(X, SUBJECTS[name][1])
    assert np.array_equal(again.predict(X), whole.predict(X))


@pytest.mark.parametrize("name", SUBJECTS)
def test_first_rounds_truncated_models_and_stages_are_equal_bit_for_bit(name: str) -> None:
    check_stages(fitted(name, 6))


def check_stages(model: Any) -> None:
    n_rounds = len(list(model.staged_predict(X)))
    assert n_rounds == model._n_rounds > 1
    some = {1, 2, n_rounds, *range(1, n_rounds, max(1, n_rounds // 10))}
    for method in ANSWERS:
        if not hasattr(model, f"staged_{method}"):
            continue
        for n, stage in enumerate(getattr(model, f"staged_{method}")(X), start=1):
            if n not in some:
                continue
            first, part = getattr(model, method)(X, n_rounds=n), model.truncate(n)
            assert np.array_equal(first, stage, equal_nan=True), (method, n)
            assert np.array_equal(getattr(part, method)(X), stage, equal_nan=True), (method, n)
        assert np.array_equal(getattr(model, method)(X), stage, equal_nan=True)


# Settings that are "auto" by default: folds, early stopping, leaves estimated again.
STOPPED: dict[str, tuple[Any, Any]] = {
    "numbers, default": (BoostedTreesRegressor(), Y),
    "two classes, default": (BoostedTreesClassifier(), TWO),
    "three classes, default": (BoostedTreesClassifier(), THREE),
    "counts": (BoostedTreesRegressor(loss="poisson", n_iter_no_change=5), np.rint(np.exp(Y))),
    "medians": (BoostedTreesRegressor(loss="absolute_error", n_iter_no_change=5), Y),
    "quantiles": (
        BoostedTreesRegressor(loss="quantile", quantile=[0.2, 0.8], n_iter_no_change=5),
        Y,
    ),
    "held-out rows": (
        BoostedTreesClassifier(
            **FAST, early_stopping=True, n_estimators=200, multi_class="vector_leaves"
        ),
        THREE,
    ),
    "a tree per class": (
        BoostedTreesClassifier(**FOLDS, early_stopping=True, multi_class="tree_per_class"),
        THREE,
    ),
    "descent": (GradientBoostingRegressor(n_iter_no_change=3, random_state=0), Y),
    "descent of classes": (
        GradientBoostingClassifier(n_iter_no_change=2, subsample=0.5, random_state=0),
        THREE,
    ),
    "half-log": (AdaBoostClassifier(form="half-log", n_estimators=9), TWO),
    "log": (AdaBoostClassifier(form="log", n_estimators=9, reweight="resampling"), TWO),
    "m1": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), form="m1"), THREE),
    "R2": (AdaBoostRegressor(reweight="weighting", loss="square"), Y),
}


@pytest.mark.parametrize("name", STOPPED)
def test_stages_of_fits_that_choose_their_rounds(name: str) -> None:
    model, y = STOPPED[name]
    model = copy.deepcopy(model).fit(X, y)
    if hasattr(model, "stopped_by_"):
        assert model.stopped_by_ == "early_stopping"
    check_stages(model)


def test_after_early_stopping_the_refitted_trees_are_used() -> None:
    settings = {**FAST, "early_stopping": True, "n_iter_no_change": 5, "n_estimators": 60}
    for more in ({}, {"n_bags": 3}):
        model = BoostedTreesRegressor(**settings, **more).fit(X, Y)
        assert model.stopped_by_ == "early_stopping"
        for n, stage in enumerate(model.staged_predict(X), start=1):
            assert np.array_equal(model.predict(X, n_rounds=n), stage)
        part = model.truncate(5)
        assert len(part.validation_loss_) == 6 < len(model.validation_loss_)
        assert np.array_equal(part.train_loss_, model.train_loss_[:6])
        assert len(part.forest_) == 5 * (part.n_bags_ or 1)


def test_rounds_of_several_boosters_are_counted_not_trees() -> None:
    model = fitted("folds of classes", 9)
    assert len(model.forest_) == 9 * 3 * 3
    part = model.truncate(2)
    assert len(part.forest_) == 2 * 3 * 3 and part.n_estimators_ == 2
    mean, std = model.predict_proba(X, return_std=True, n_rounds=2)
    assert np.array_equal(mean, part.predict_proba(X))
    assert np.array_equal(std, part.predict_proba(X, return_std=True)[1])
    assert len(part.oob_.in_bag) == 3
    with pytest.raises(ValueError, match="some rounds of another, by truncate .* n_estimators=2"):
        part.predict_set(X)


def test_row_weights_of_truncated_adaboost() -> None:
    stored = fitted("stumps of three", 9)
    assert np.array_equal(stored.truncate(4).row_weights_, stored.round_weights_[4])
    assert len(stored.truncate(4).hardest_rows(3).rows) == 3
    with pytest.raises(AttributeError, match="store_weights=True"):
        fitted("stumps", 9).truncate(4).hardest_rows()


@pytest.mark.parametrize("n_rounds", [0, -1, 10, 2.5, "all", True, np.nan])
@pytest.mark.parametrize("name", ["numbers", "folds", "descent", "stumps"])
def test_wrong_numbers_of_rounds(name: str, n_rounds: Any) -> None:
    model = fitted(name, 9)
    message = r"n_rounds must be an int from 1 to .* has 9 rounds"
    with pytest.raises(ValueError, match=message):
        model.truncate(n_rounds)
    with pytest.raises(ValueError, match=message):
        model.predict(X, n_rounds=n_rounds)
    assert np.array_equal(model.predict(X, n_rounds=np.int64(9)), model.predict(X))


def test_a_model_without_rounds_or_fit() -> None:
    model = BoostedTreesClassifier().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="has 0 rounds"):
        model.predict(X, n_rounds=1)
    for kind in (BoostedTreesRegressor, GradientBoostingClassifier, AdaBoostRegressor):
        with pytest.raises(NotFittedError):
            kind().truncate(3)
        with pytest.raises(NotFittedError):
            kind().predict(X, n_rounds=3)
