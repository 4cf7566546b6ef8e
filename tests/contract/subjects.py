"""Every estimator of the public face, settings that make it work differently, and small tasks."""

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import weald

EVERY_ESTIMATOR = [
    thing
    for name in weald.__all__
    if inspect.isclass(thing := getattr(weald, name)) and issubclass(thing, BaseEstimator)
]

EVERY_CLASSIFIER = [thing for thing in EVERY_ESTIMATOR if is_classifier(thing())]
EVERY_REGRESSOR = [thing for thing in EVERY_ESTIMATOR if is_regressor(thing())]

# What is drawn, binned and limited; an estimator gets those of its own parameters.
VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "small leaves": {"min_samples_leaf": 1},
    "subsample": {"subsample": 0.5},
    "early stopping": {"early_stopping": True},
    "few bins": {"max_bins": 4},
    "weighting": {"reweight": "weighting"},
    "resampling": {"reweight": "resampling"},
    "depth-wise": {"growth": "depth_wise", "max_leaf_nodes": 7},
    "all together": {
        "min_samples_leaf": 1,
        "subsample": 0.5,
        "early_stopping": True,
        "max_bins": 4,
        "growth": "depth_wise",
    },
}


# A first member that is no better than guessing is an error, as in scikit-learn.
NEEDS_AN_EDGE = [weald.AdaBoostClassifier]


def has(estimator: type, parameter: str) -> bool:
    return parameter in inspect.signature(estimator).parameters


def settings(estimator: type, **wanted: Any) -> dict[str, Any]:
    """Those of the wanted parameters that the estimator has."""
    return {name: value for name, value in wanted.items() if has(estimator, name)}


def quick(estimator: type, **parameters: Any) -> BaseEstimator:
    """A model that fits in milliseconds and splits a hundred rows."""
    fast = settings(
        estimator,
        n_estimators=6,
        min_samples_leaf=3,
        reweight="weighting",  # draws nothing
        random_state=0,
        n_jobs=1,
    )
    return estimator(**{**fast, **settings(estimator, **parameters)})


def variants_of(estimator: type) -> dict[str, dict[str, Any]]:
    """The variants that change a parameter of the estimator, each only once."""
    mine: dict[str, dict[str, Any]] = {}
    for name, wanted in VARIANTS.items():
        parameters = settings(estimator, **wanted)
        if parameters not in mine.values():
            mine[name] = parameters
    return mine


EVERY_VARIANT = [
    (estimator, name) for estimator in EVERY_ESTIMATOR for name in variants_of(estimator)
]


def variant_id(value: Any) -> str:
    return value.__name__ if inspect.isclass(value) else str(value).replace(" ", "_")


def table(n: int = 120, n_columns: int = 4, seed: int = 0, *, missing: float = 0.0) -> np.ndarray:
    """Numbers without ties, exact in float32."""
    rng = np.random.default_rng(seed)
    values = rng.permuted(np.arange(n * n_columns).reshape(n_columns, n), axis=1).T / 8 - n
    return np.where(rng.random((n, n_columns)) < missing, np.nan, values)


def target(estimator: type, X: np.ndarray, n_classes: int = 3, seed: int = 0) -> np.ndarray:
    """Something to learn from the first two columns, with noise; labels for a classifier."""
    rng = np.random.default_rng(seed)
    columns = np.nan_to_num(X[:, :2].astype(np.float64))
    number = columns[:, 0] + np.abs(columns[:, -1]) + rng.integers(-3, 4, len(X))
    if not is_classifier(estimator()):
        return number
    ranks = np.argsort(np.argsort(number))
    return ranks * n_classes // len(X)


def task(
    estimator: type, n: int = 120, n_columns: int = 4, seed: int = 0, *, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, n_columns, seed, missing=missing)
    return X, target(estimator, X, seed=seed)


def answers(model: Any, X: Any) -> np.ndarray:
    """What a model says: probabilities of a classifier, numbers of a regressor."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)
