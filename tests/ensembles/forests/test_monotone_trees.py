"""Monotonic constraints of trees and forests."""

import numpy as np
import pytest

from weald import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor]
CST = [1, -1, 0, 1]


def task(seed: int, n: int = 250, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Targets that are not monotonic in any column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] + 0.5 * X[:, 3] + rng.normal(size=n)
    return np.where(rng.random(X.shape) < missing, np.nan, X), y


def made(kind: type, **parameters) -> object:
    if kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        return kind(random_state=0, n_jobs=1, **parameters)
    return kind(7, random_state=0, n_jobs=1, **parameters)


def predictions(model, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)


def steps(model, X: np.ndarray, column: int) -> np.ndarray:
    """Changes of the predictions along one column, with the others as in many rows."""
    grid = np.linspace(-4, 4, 41)
    many = np.repeat(X[:60], len(grid), axis=0)
    many[:, column] = np.tile(grid, 60)
    return np.diff(predictions(model, many).reshape(60, len(grid)), axis=1)


def assert_monotone(model, X: np.ndarray) -> None:
    """Without tolerance for rounding."""
    for column, direction in enumerate(CST):
        if direction:
            assert (steps(model, X, column) * direction >= 0).all(), column


SETTINGS: list[dict] = [
    {},
    {"max_leaf_nodes": 20},
    {"min_samples_leaf": 5},
    {"ccp_alpha": 0.002},
    {"max_depth": 6, "max_features": 2},
]


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_numbers(kind: type, criterion: str, setting: dict) -> None:
    for seed in range(2):
        X, y = task(seed, 150, missing=0.1 * seed)
        y = np.floor(np.exp(y)) if criterion == "poisson" else y
        model = made(kind, criterion=criterion, monotonic_cst=CST, **setting).fit(X, y)
        assert_monotone(model, X)
        assert np.ptp(model.predict(X)) > 0


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("setting", [*SETTINGS, {"class_weight": "balanced"}], ids=str)
def test_two_classes(kind: type, criterion: str, setting: dict) -> None:
    for seed in range(2):
        X, y = task(seed, 150, missing=0.1 * seed)
        weight = np.random.default_rng(seed).exponential(size=150) if seed else None
        model = made(kind, criterion=criterion, monotonic_cst=CST, **setting)
        model.fit(X, np.where(y > 0.5, "yes", "no"), weight)
        assert_monotone(model, X)
        shares = model.predict_proba(X)
        assert shares.sum(axis=1) == pytest.approx(np.ones(150), abs=1e-12)
        assert np.ptp(shares[:, 1]) > 0


def test_without_constraints_predictions_are_not_monotonic() -> None:
    X, y = task(0)
    model = made(RandomForestRegressor).fit(X, y)
    assert (steps(model, X, 0) < 0).any()


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesClassifier])
def test_a_warm_start_keeps_the_constraints(kind: type) -> None:
    X, y = task(3)
    y = (y > 0.5).astype(int) if kind is ExtraTreesClassifier else y
    settings = {"monotonic_cst": CST, "min_samples_leaf": 1, "max_features": 0.5}
    whole = made(kind, **settings).fit(X, y)
    model = kind(3, random_state=0, warm_start=True, **settings).fit(X, y)
    model.set_params(n_estimators=7).fit(X, y)
    assert model.fingerprint() == whole.fingerprint()
    assert_monotone(model, X)


@pytest.mark.parametrize("setting", [{"exact": True}, {"growth": "symmetric"}, {"max_bins": 8}])
def test_other_ways_to_grow(setting: dict) -> None:
    X, y = task(4)
    assert_monotone(made(DecisionTreeRegressor, monotonic_cst=CST, **setting).fit(X, y), X)


def test_hard_votes() -> None:
    X, y = task(5)
    model = made(RandomForestClassifier, monotonic_cst=CST, voting="hard").fit(X, y > 0.5)
    assert_monotone(model, X)


def test_columns_by_name() -> None:
    pd = pytest.importorskip("pandas")
    X, y = task(6)
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_name = made(RandomForestRegressor, monotonic_cst={"a": 1, "b": -1, "d": 1})
    by_place = made(RandomForestRegressor, monotonic_cst=CST)
    assert by_name.fit(frame, y).fingerprint() == by_place.fit(frame, y).fingerprint()


def test_a_tree_beside_categories() -> None:
    """Splits on categories are unconstrained, but their leaves respect the bounds above them."""
    pd = pytest.importorskip("pandas")
    X, y = task(7)
    colour = np.random.default_rng(7).choice(["red", "green", "blue"], len(y))
    frame = pd.DataFrame({"x": X[:, 0], "colour": colour})
    model = DecisionTreeRegressor(monotonic_cst={"x": 1}).fit(frame, y + (colour == "red"))
    grid = np.linspace(-4, 4, 200)
    for name in ("red", "green", "blue"):
        predicted = model.predict(pd.DataFrame({"x": grid, "colour": name}))
        assert (np.diff(predicted) >= 0).all()
        assert np.ptp(predicted) > 0


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_invalid_constraints_are_refused(kind: type) -> None:
    X, y = task(0, 30)
    if issubclass(kind, tuple(CLASSIFIERS)):
        with pytest.raises(ValueError, match="binary classification only; got 3 classes"):
            made(kind, monotonic_cst=CST).fit(X, np.arange(30) % 3)
        y = y > 0
        one = made(kind, monotonic_cst=CST).fit(X, np.zeros(30, dtype=int))
        assert (one.predict(X) == 0).all()
    with pytest.raises(ValueError, match="monotonic_cst has 2 entries, but X has 4 columns"):
        made(kind, monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        made(kind, monotonic_cst=[2, 0, 0, 0]).fit(X, y)


def test_zeros_are_no_constraint() -> None:
    X, y = task(8)
    free = made(RandomForestRegressor).fit(X, y)
    assert (
        free.fingerprint()
        == made(RandomForestRegressor, monotonic_cst=[0] * 4).fit(X, y).fingerprint()
    )
