"""Large trees are grown by several threads: the result does not depend on the schedule."""

from typing import Any

import numpy as np
import pytest

from weald import (
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

ROWS = 40_000  # large enough that idle threads help with a tree


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)).round(3)
    X[:, 3] = X[:, 3].round()
    X[::7, 4] = np.nan
    X[:, 5] = rng.integers(0, 40, ROWS)
    y = X[:, 0] + np.abs(X[:, 1]) + (X[:, 5] % 3) + rng.normal(size=ROWS)
    return X, y


def classes(y: np.ndarray, n: int) -> np.ndarray:
    return np.searchsorted(np.quantile(y, np.arange(1, n) / n), y)


def outputs(y: np.ndarray) -> np.ndarray:
    return np.column_stack([y, np.sin(3 * y)])


def fitted(kind: type, X: np.ndarray, y: np.ndarray, n_jobs: int, **named: Any) -> Any:
    settings = {"n_estimators": 3, "random_state": 0} | named
    return kind(**settings, n_jobs=n_jobs).fit(X, y)


NAMED = {"min_samples_leaf": 1, "max_features": 3}
CLASSES = {
    "plain": NAMED,
    "limits": NAMED | {"min_samples_leaf": 4, "max_depth": 14},
    "gini": NAMED | {"criterion": "gini"},
    "left out": NAMED | {"oob_score": True, "bootstrap": True},
    "columns of a tree": NAMED
    | {"feature_sampling": "tree", "oob_score": True, "bootstrap": True, "n_estimators": 6},
    "balanced": NAMED | {"class_weight": "balanced_subsample", "bootstrap": True},
    "categories": NAMED | {"categorical_features": [5]},
}
NUMBERS = {
    "plain": NAMED,
    "left out": NAMED | {"oob_score": True, "bootstrap": True},
    "directions": NAMED | {"monotonic_cst": {0: 1, 1: -1}},
    "categories": NAMED | {"categorical_features": [5]},
    "poisson": NAMED | {"criterion": "poisson"},
    "medians": NAMED | {"criterion": "absolute_error", "max_depth": 5, "n_estimators": 1},
}


def check_threads(kind: type, X: np.ndarray, y: np.ndarray, named: dict[str, Any]) -> None:
    alone = fitted(kind, X, y, 1, **named)
    for n_jobs in (2, 5) if named is NAMED else (5,):
        together = fitted(kind, X, y, n_jobs, **named)
        assert together.fingerprint() == alone.fingerprint()
        if "oob_score" in named:
            assert together.oob_score_ == alone.oob_score_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_threads_do_not_matter_for_classes(kind: type, name: str, n_classes: int) -> None:
    X, y = table()
    check_threads(kind, X, classes(y, n_classes), CLASSES[name])


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_threads_do_not_matter_for_numbers(kind: type, name: str) -> None:
    X, y = table()
    y = y - y.min() if name == "poisson" else y
    check_threads(kind, X, y, NUMBERS[name])


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_threads_do_not_matter_for_several_outputs(kind: type) -> None:
    X, y = table()
    check_threads(kind, X, outputs(y), NAMED)


def test_threads_do_not_matter_for_several_classes_at_once() -> None:
    X, y = table()
    both = np.column_stack([classes(y, 3), classes(-y, 2)])
    check_threads(RandomForestClassifier, X, both, NAMED)


def test_a_single_tree() -> None:
    X, y = table()
    check_threads(RandomForestRegressor, X, y, NAMED | {"n_estimators": 1})
    one = RandomForestRegressor(1, random_state=0, bootstrap=False, n_jobs=4, **NAMED).fit(X, y)
    alone = RandomForestRegressor(1, random_state=0, bootstrap=False, n_jobs=1, **NAMED).fit(X, y)
    assert np.array_equal(one.predict(X), alone.predict(X))


# ---- rows that are repeated ----


def repeated(n_copies: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(n_copies)), n_copies)


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (ExtraTreesClassifier, {}),
        (ExtraTreesClassifier, {"criterion": "entropy", "min_samples_leaf": 3}),
        (ExtraTreesRegressor, {}),
        (ExtraTreesRegressor, {"criterion": "poisson"}),
        (ExtraTreesRegressor, {"criterion": "absolute_error", "max_depth": 4}),
        (DecisionTreeRegressor, {"splitter": "random"}),
    ],
)
@pytest.mark.parametrize("share", [0.0005, 0.5])
def test_copies_weights_and_order(kind: type, named: dict[str, Any], share: float) -> None:
    """Some rows twice, in any order; equal to weights of two unless a limit counts rows."""
    rng = np.random.default_rng(1)
    X, y = (part[:6000] for part in table())
    y = classes(y, 3) if kind is ExtraTreesClassifier else np.round(y - y.min(), 2)
    copies = 1 + (rng.random(len(X)) < share)
    rows = repeated(copies)
    if kind is not DecisionTreeRegressor:
        named = {"n_estimators": 3, "n_jobs": 2} | named
    model = kind(random_state=0, **named)
    whole = model.fit(X[rows], y[rows]).fingerprint()
    shuffled = rng.permutation(rows)
    assert model.fit(X[shuffled], y[shuffled]).fingerprint() == whole
    weighted = model.fit(X, y, sample_weight=copies).fingerprint()
    assert (weighted == whole) == (named.get("min_samples_leaf", 1) == 1)
    order = rng.permutation(len(X))
    assert model.fit(X[order], y[order], 4 * copies[order]).fingerprint() == weighted
