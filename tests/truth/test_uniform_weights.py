"""Uniform weights give the model without weights, whatever they are; rows are counted as given."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from truth.populations import CONTINUOUS, FEW_VALUES, Population
from weald import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    OptionTreeClassifier,
    OptionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
)

WEIGHTS = (1e-3, 1.0, 2.0, 20.0, 20.5, 1e6)
POWERS_OF_TWO = (2.0**-10, 1.0, 2.0, 4.0, 2.0**20)

LEAF: dict[str, Any] = {"min_samples_leaf": 5, "random_state": 0}
# Penalties are in units of weight: without any.
FREE: dict[str, Any] = {"n_estimators": 5, "min_child_weight": 0.0, "max_leaf_nodes": 8}
DRAWN: dict[str, Any] = {**FREE, "random_state": 0}

MODELS: dict[str, Any] = {
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
    "tree of numbers": DecisionTreeRegressor(min_samples_leaf=5),
    "tree, exact": DecisionTreeRegressor(min_samples_leaf=5, exact=True),
    "tree, shares": DecisionTreeRegressor(min_samples_leaf=0.01, min_samples_split=0.05),
    "tree, of medians": DecisionTreeRegressor(min_samples_leaf=5, criterion="absolute_error"),
    "option tree": OptionTreeClassifier(min_samples_leaf=10),
    "option tree of numbers": OptionTreeRegressor(min_samples_leaf=10),
    "forest": RandomForestClassifier(8, max_features=1, **LEAF),
    "forest, auto": RandomForestClassifier(8, random_state=0),
    "forest of numbers": RandomForestRegressor(8, max_features=1, **LEAF),
    "forest, shares": RandomForestRegressor(
        8, max_features=1, min_samples_leaf=0.01, min_samples_split=0.05, random_state=0
    ),
    "forest, balanced": RandomForestClassifier(8, class_weight="balanced", **LEAF),
    "extra trees": ExtraTreesClassifier(8, **LEAF),
    "extra trees, bootstrap": ExtraTreesClassifier(8, bootstrap=True, **LEAF),
    "extra trees of numbers": ExtraTreesRegressor(8, **LEAF),
    "rotation forest": RotationForestClassifier(8, **LEAF),
    "rotation forest, bootstrap": RotationForestRegressor(8, bootstrap=True, **LEAF),
    "bag": BaggingClassifier(n_estimators=8, random_state=0),
    "bag of numbers": BaggingRegressor(n_estimators=8, random_state=0),
    "pastes": BaggingClassifier(n_estimators=8, bootstrap=False, max_samples=0.6, random_state=0),
    "bag of leaves": BaggingClassifier(
        DecisionTreeClassifier(min_samples_leaf=5), 8, random_state=0
    ),
    "AdaBoost": AdaBoostClassifier(n_estimators=8),
    "AdaBoost by resampling": AdaBoostClassifier(
        n_estimators=8, reweight="resampling", random_state=0
    ),
    "AdaBoost of numbers": AdaBoostRegressor(n_estimators=8, random_state=0),
    "gradient boosting": GradientBoostingClassifier(n_estimators=5, min_samples_leaf=5),
    "gradient boosting of numbers": GradientBoostingRegressor(n_estimators=5, min_samples_leaf=5),
    "gradient boosting, subsample": GradientBoostingRegressor(
        n_estimators=5, subsample=0.5, n_iter_no_change=3, random_state=0
    ),
    "boosted trees": BoostedTreesClassifier(quality="fast", **FREE),
    "boosted trees of numbers": BoostedTreesRegressor(quality="fast", **FREE),
    "boosted trees, subsample": BoostedTreesClassifier(quality="fast", subsample=0.5, **DRAWN),
    "boosted trees, early stopping": BoostedTreesRegressor(
        quality="fast", early_stopping=True, **DRAWN
    ),
    "boosted trees, bags": BoostedTreesClassifier(quality="fast", n_bags=3, **DRAWN),
    "boosted trees, balanced": BoostedTreesClassifier(
        quality="fast", class_weight="balanced", **FREE
    ),
    "boosted trees, medians": BoostedTreesRegressor(quality="fast", loss="absolute_error", **FREE),
}

every_model = pytest.mark.parametrize("name", MODELS)
populations = pytest.mark.parametrize("population", [CONTINUOUS, FEW_VALUES], ids=str)


def task(model: Any, population: Population) -> tuple[np.ndarray, np.ndarray]:
    return (population.labels if is_classifier(model) else population.numbers)(400, seed=1)


def answers(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def structure(model: Any) -> list[np.ndarray]:
    """The splits of all trees, if the model has one forest."""
    forest = getattr(model, "forest_", None)
    return [] if forest is None else [forest.feature, forest.threshold]


@every_model
@populations
def test_any_uniform_weight(name: str, population: Population) -> None:
    X, y = task(MODELS[name], population)
    new, _ = task(MODELS[name], population)
    plain = clone(MODELS[name]).fit(X, y)
    for weight in WEIGHTS:
        model = clone(MODELS[name]).fit(X, y, sample_weight=np.full(len(y), weight))
        for mine, expected in zip(structure(model), structure(plain), strict=True):
            assert np.array_equal(mine, expected), f"weight {weight}"
        # Sums of weights are rounded once: beyond twelve digits they may differ.
        said, expected = answers(model, new), answers(plain, new)
        assert np.allclose(said, expected, rtol=1e-9, atol=1e-12), f"weight {weight}"


@every_model
@populations
def test_powers_of_two_to_the_bit(name: str, population: Population) -> None:
    X, y = task(MODELS[name], population)
    expected = clone(MODELS[name]).fit(X, y).fingerprint()
    for weight in POWERS_OF_TWO:
        model = clone(MODELS[name]).fit(X, y, sample_weight=np.full(len(y), weight))
        assert model.fingerprint() == expected, f"weight {weight}"


# ---- what counts as a row ----


@pytest.mark.parametrize("weight", [0.3, 1.0, 2.0, 20.0, 20.5, 1000.0])
def test_leaves_of_a_tree_count_rows(weight: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = X[:, 0] + rng.normal(size=1000)
    expected = DecisionTreeRegressor(min_samples_leaf=20).fit(X, y).forest_.value.size
    model = DecisionTreeRegressor(min_samples_leaf=20).fit(X, y, np.full(1000, weight))
    assert model.forest_.value.size == expected


@pytest.mark.parametrize("weight", [1.0, 0.5, 0.3, 2.0])
@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(1, min_samples_leaf=2, random_state=0),
        RotationForestClassifier(1, min_samples_leaf=2, random_state=0),
        DecisionTreeClassifier(min_samples_leaf=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_two_equal_rows_are_two_rows(model: Any, weight: float) -> None:
    X, y = np.repeat([[0.0], [1.0]], 2, axis=0), [0, 0, 1, 1]
    model = clone(model).fit(X, y, sample_weight=np.full(4, weight))
    assert model.predict_proba(X)[:, 1].tolist() == [0, 0, 1, 1]


COUNTING: dict[str, Any] = {
    "extra trees": ExtraTreesRegressor(5, min_samples_leaf=5, random_state=0),
    "rotation forest": RotationForestRegressor(5, min_samples_leaf=5, random_state=0),
    "boosted trees": BoostedTreesRegressor(
        quality="fast", subsample=0.5, min_samples_leaf=5, **DRAWN
    ),
    "forest": RandomForestRegressor(5, max_features=None, **LEAF),
    "tree": DecisionTreeRegressor(min_samples_leaf=5),
}


@pytest.mark.parametrize("name", COUNTING)
def test_equal_rows_of_any_weights_count_one_by_one(name: str) -> None:
    """Few different rows, weights between 0.1 and 0.2: leaves hold five rows, not five units."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(2000, 2)).astype(float)
    y = rng.integers(0, 3, size=2000).astype(float)
    constant = clone(COUNTING[name]).fit(X, y).forest_.value.size
    assert clone(COUNTING[name]).fit(X, y, np.full(2000, 0.5)).forest_.value.size == constant
    unlike = rng.choice([0.125, 0.1875], size=2000)
    found = clone(COUNTING[name]).fit(X, y, unlike).forest_.value.size
    assert 0.8 * constant < found < 1.25 * constant


def test_class_weights_enter_no_count() -> None:
    X, y = FEW_VALUES.labels(1000, seed=1)
    for kind in (DecisionTreeClassifier, ExtraTreesClassifier):
        model = kind(min_samples_leaf=50, class_weight={0: 0.001, 1: 1000.0})
        model.set_params(
            **({"n_estimators": 1, "random_state": 0} if kind is ExtraTreesClassifier else {})
        )
        leaves = model.fit(X, y).apply(X).reshape(len(y), -1)[:, 0]
        assert np.unique(leaves, return_counts=True)[1].min() >= 50
