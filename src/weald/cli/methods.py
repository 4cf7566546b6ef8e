"""Estimators by the names that the command line gives them."""

import inspect
import json
from collections.abc import Iterable
from typing import Any

import click

from weald.cli.tables import nearest

# The name before "Classifier" or "Regressor".
METHODS = {
    "boosted_trees": "BoostedTrees",
    "random_forest": "RandomForest",
    "extra_trees": "ExtraTrees",
    "rotation_forest": "RotationForest",
    "gradient_boosting": "GradientBoosting",
    "adaboost": "AdaBoost",
    "bagging": "Bagging",
    "stacking": "Stacking",
    "voting": "Voting",
    "option_tree": "OptionTree",
    "decision_tree": "DecisionTree",
    "auto": "AutoEnsemble",
}
# Settings with which a method keeps what prediction intervals are computed from.
_INTERVALS: dict[str, dict[str, Any]] = {
    "boosted_trees": {"n_bags": 5},
    "random_forest": {"oob_score": True},
    "extra_trees": {"oob_score": True, "bootstrap": True},
    "rotation_forest": {"oob_score": True, "bootstrap": True},
    "bagging": {"oob_score": True},
    "auto": {},
}
_COMBINED = ("boosted_trees", "random_forest", "extra_trees")
CONSTANT = "constant"  # predicts the same for all rows: what every method has to beat
_WORDS = {"None": None, "True": True, "False": False}


def make(method: str, task: str, settings: dict[str, Any], seed: int, jobs: int | None) -> Any:
    """Make an estimator with settings; raise UsageError for an unknown method or parameter.

    >>> make("random_forest", "regression", {"n_estimators": 50}, seed=1, jobs=None)
    RandomForestRegressor(n_estimators=50, random_state=1)
    """
    if method == CONSTANT:
        return _constant(task)
    if method not in METHODS:
        known = ", ".join(nearest(METHODS, method))
        raise click.UsageError(f"there is no method {method!r}; there are: {known}")
    kind = _class(method, task)
    known_parameters = inspect.signature(kind).parameters
    given: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    given = {name: one for name, one in given.items() if name in known_parameters}
    if "estimators" in known_parameters:
        given["estimators"] = [(one, make(one, task, {}, seed, jobs)) for one in _COMBINED]
    try:
        return kind(**{**given, **settings})
    except TypeError as error:
        raise click.UsageError(f"--set: {error}") from error


def interval_settings(method: str, task: str) -> dict[str, Any]:
    """Settings for prediction intervals; raise UsageError if there are none."""
    if task == "classification":
        raise click.UsageError(
            "--intervals is for numbers (--task regression), but the target has classes; "
            "predict --proba gives their probabilities"
        )
    if method not in _INTERVALS:
        raise click.UsageError(
            f"{method} has no prediction intervals (--intervals); these methods have: "
            f"{', '.join(_INTERVALS)}"
        )
    return dict(_INTERVALS[method])


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Read settings such as "max_depth=3"; values are JSON, or else text.

    >>> parse_settings(["max_depth=3", "loss=huber", "max_features=None", "learning_rate=0.1"])
    {'max_depth': 3, 'loss': 'huber', 'max_features': None, 'learning_rate': 0.1}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--set {text!r} is not understood; expected NAME=VALUE")
        if name in settings:
            raise click.UsageError(f"--set {name}= is given twice")
        settings[name] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _class(method: str, task: str) -> Any:
    import weald

    suffix = "Classifier" if task == "classification" else "Regressor"
    return getattr(weald, METHODS[method] + suffix)


def _constant(task: str) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
