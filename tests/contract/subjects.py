"""All public estimators, variants of their parameters, and small tasks."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    OutlierMixin,
    RegressorMixin,
    is_classifier,
)

import weald
from weald.ensembles.auto.portfolio import NAMES
from weald.ensembles.base import TreeModel
from weald.ensembles.forests.rotated import RotationModel
from weald.parameters import ClassWeight, NoneOr
from weald.resampling import ContentKFold

# They need queries beside X and y: see test_rankers.py.
RANKERS = [weald.BoostedTreesRanker]

_EVERY_CLASS = [
    thing
    for name in weald.__all__
    if inspect.isclass(thing := getattr(weald, name))
    and issubclass(thing, BaseEstimator)
    and thing not in RANKERS
]

# Their y is structured: tests/ensembles/survival/test_every_survival_model.py.
EVERY_SURVIVAL_MODEL = [
    thing for thing in _EVERY_CLASS if hasattr(thing, "predict_survival_function")
]
# Those that are fitted without a target: tests/contract/test_detectors.py.
EVERY_DETECTOR = [thing for thing in _EVERY_CLASS if issubclass(thing, OutlierMixin)]

_OF_OTHER_TARGETS = [*EVERY_SURVIVAL_MODEL, *EVERY_DETECTOR]
EVERY_ESTIMATOR = [thing for thing in _EVERY_CLASS if thing not in _OF_OTHER_TARGETS]

EVERY_CLASSIFIER = [thing for thing in EVERY_ESTIMATOR if issubclass(thing, ClassifierMixin)]
EVERY_REGRESSOR = [thing for thing in EVERY_ESTIMATOR if issubclass(thing, RegressorMixin)]

# Estimators whose model is one forest that splits the input columns: they have `apply`, `text` and
# importances. Rotated trees split on combinations of columns: see
# tests/ensembles/forests/test_rotation_forest.py.
EVERY_TREE_MODEL = [
    thing
    for thing in EVERY_ESTIMATOR
    if issubclass(thing, TreeModel) and not issubclass(thing, RotationModel)
]

# Variants of sampling, binning and limits; an estimator gets those of its own parameters.
VARIANTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "small leaves": {"min_samples_leaf": 1},
    "subsample": {"subsample": 0.5},
    "early stopping": {"early_stopping": True},
    "few bins": {"max_bins": 4},
    "many bins": {"max_bins": 1000},
    "exact": {"exact": True},
    "weighting": {"reweight": "weighting"},
    "resampling": {"reweight": "resampling"},
    "depth-wise": {"growth": "depth_wise", "max_leaf_nodes": 7},
    "symmetric": {"growth": "symmetric", "max_leaf_nodes": 16},
    "learnt out of fold": {"weights": "oof", "cv": ContentKFold(2)},
    "not refitted": {"refit": False},
    "drawn columns of a tree": {
        "feature_sampling": "tree",
        "max_features": 0.8,
        "bootstrap": True,
        "max_samples": 0.7,
    },
    "drawn columns of a level": {"feature_sampling": "level", "max_features": 0.5},
    "pruned": {"min_gain": 0.5, "prune": "after", "l1_regularization": 0.1},
    "no interactions": {"interaction_cst": "no_interactions"},
    "drawn rows, few subsets": {"bootstrap": True, "n_subsets": 2, "replace": False},
    "balanced": {"class_weight": "balanced_subsample", "bootstrap": True},
    "vector leaves": {"multi_class": "vector_leaves"},
    "balanced classes": {"class_weight": "balanced"},
    "drawn columns of a member": {"bootstrap_features": True, "weights": "oob"},
    "without replacement": {"bootstrap_features": False, "bootstrap": False, "max_samples": 0.7},
    "drawn once": {"bootstrap": False, "max_samples": 0.7},
    "medians": {"criterion": "absolute_error"},
    "counts": {"criterion": "poisson"},
    "rising": {"monotonic_cst": {0: 1}, "min_impurity_decrease": 0.0},
    "bags": {"n_bags": 3},
    "bags that stop early": {
        "n_bags": 2,
        "early_stopping": True,
        "subsample": 0.7,
        "learning_rate": 0.3,
        "min_samples_leaf": 5,
    },
    "bags of drawn columns": {
        "n_bags": 2,
        "max_features": 0.5,
        "class_weight": "balanced",
        "learning_rate": 0.3,
    },
    "all together": {
        "min_samples_leaf": 1,
        "subsample": 0.5,
        "early_stopping": True,
        "max_bins": 4,
        "growth": "depth_wise",
    },
    # An estimator gets the losses it supports.
    "absolute error": {"loss": "absolute_error", "learning_rate": 0.3},
    "huber": {"loss": "huber"},
    "quantile": {"loss": "quantile", "quantile": 0.3, "alpha": 0.3},
    "quantiles": {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]},
    "poisson": {"loss": "poisson"},
    "gamma": {"loss": "gamma"},
    "tweedie": {"loss": "tweedie"},
    "exponential": {"loss": "exponential"},
}


# A first base estimator that is no better than chance is an error, as in scikit-learn.
NEEDS_AN_EDGE = [weald.AdaBoostClassifier]


@cache
def parameters_of(estimator: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(estimator).parameters


def has(estimator: type, parameter: str) -> bool:
    return parameter in parameters_of(estimator)


def settings(estimator: type, **wanted: Any) -> dict[str, Any]:
    """Select the parameters that the estimator has."""
    return {name: value for name, value in wanted.items() if has(estimator, name)}


def takes_several_targets(estimator: type) -> bool:
    """Whether y may have several columns."""
    return bool(getattr(estimator, "_takes_several", False))


def takes_members(estimator: type) -> bool:
    """Whether it combines named base estimators."""
    return has(estimator, "estimators")


def searches(estimator: type) -> bool:
    """Whether it trains a portfolio of models within a time limit."""
    return has(estimator, "portfolio")


def always_draws(estimator: type) -> bool:
    """Whether every fit of `quick` splits rows at random by content, targets included."""
    return has(estimator, "final_estimator") or searches(estimator)


def chooses_settings(estimator: type) -> bool:
    """Whether settings are selected by default on rows drawn by content, targets included."""
    return admits(estimator, "min_samples_leaf", "auto")


def draws_columns(estimator: type) -> bool:
    """Whether columns, or rows by content, are drawn in every fit."""
    parameters = parameters_of(estimator)
    if "feature_sampling" in parameters:
        return parameters["max_features"].default is not None
    if searches(estimator):
        return True
    return "bootstrap_features" in parameters or "subset_size" in parameters


def members_of(estimator: type) -> list[tuple[str, BaseEstimator]]:
    """Two small base estimators of the same type (classifier or regressor)."""
    if issubclass(estimator, ClassifierMixin):
        kinds = (weald.DecisionTreeClassifier, weald.BoostedTreesClassifier)
    else:
        kinds = (weald.DecisionTreeRegressor, weald.BoostedTreesRegressor)
    # No limits in units of weights.
    free = {"min_samples_leaf": 1, "min_child_weight": 0.0}
    return [("tree", quick(kinds[0], **free)), ("boosted", quick(kinds[1], **free))]


def made(estimator: type, **parameters: Any) -> BaseEstimator:
    """Make an estimator with default parameters and the required ones."""
    required: dict[str, Any] = {}
    if takes_members(estimator):
        required = {"estimators": members_of(estimator)}
    elif searches(estimator):
        # One model, the cheapest: extra trees.
        dropped = [(name, "drop") for name in NAMES if name != "extra trees"]
        required = {"time_limit": None, "max_models": 1, "portfolio": dropped}
    return estimator(**{**required, **parameters})


def quick(estimator: type, **parameters: Any) -> BaseEstimator:
    """Make a model that fits in milliseconds and splits a hundred rows, all parts from weald."""
    fast = settings(
        estimator,
        quality="fast",
        n_estimators=6,
        min_samples_leaf=3,
        reweight="weighting",  # no sampling
        random_state=0,
        n_jobs=1,
        voting="soft",
        final_estimator="nonnegative",
        cv=ContentKFold(2),
    )
    return made(estimator, **{**fast, **settings(estimator, **parameters)})


def same_parameters(one: BaseEstimator, other: BaseEstimator) -> bool:
    """Compare parameters; base estimators and splitters are compared by their repr."""
    return repr(sorted(one.get_params().items())) == repr(sorted(other.get_params().items()))


# Limit of a parameter that an estimator does not have.
ANY = NoneOr(ClassWeight(()))


def is_fitted(model: BaseEstimator) -> bool:
    return any(name.endswith("_") for name in vars(model))


def is_admitted(estimator: type, parameters: dict[str, Any]) -> bool:
    """Whether the estimator supports the loss."""
    if "loss" not in parameters:
        return False
    return all(estimator._limits[name].admits(value) for name, value in parameters.items())


def admits(estimator: type, parameter: str, value: Any) -> bool:
    """Whether the estimator has the parameter and accepts the value."""
    return has(estimator, parameter) and estimator._limits[parameter].admits(value)


# A variant with one of these is used only for estimators that have the parameter.
OWN_PARAMETERS = (
    "growth",
    "bootstrap_features",
    "n_bags",
    "n_subsets",
    "monotonic_cst",
    "min_impurity_decrease",
)


@cache
def variants_of(estimator: type) -> dict[str, dict[str, Any]]:
    """The variants that change a parameter of the estimator, each only once."""
    mine: dict[str, dict[str, Any]] = {}
    for name, wanted in VARIANTS.items():
        parameters = settings(estimator, **wanted)
        if name == "quantiles" and not has(estimator, "quantile"):
            continue
        if not estimator._limits.get("class_weight", ANY).admits(parameters.get("class_weight")):
            continue
        needed = [name for name in OWN_PARAMETERS if name in wanted]
        if not all(has(estimator, name) for name in needed):
            continue
        if "weights" in parameters and not estimator._limits["weights"].admits(wanted["weights"]):
            continue
        if "loss" in wanted and not is_admitted(estimator, parameters):
            continue
        if not all(estimator._limits[name].admits(value) for name, value in parameters.items()):
            continue
        if parameters not in mine.values():
            mine[name] = parameters
    return mine


EVERY_VARIANT = [
    (estimator, name) for estimator in EVERY_ESTIMATOR for name in variants_of(estimator)
]


def variant_id(value: Any) -> str:
    return value.__name__ if inspect.isclass(value) else str(value).replace(" ", "_")


def why_weights_are_no_repetitions(model: BaseEstimator) -> str | None:
    """Why a row of weight 3 may give another model than the row repeated three times.

    Weights are factors in sums over rows; sampling and counts refer to rows. None: the models are
    bit-identical.
    """
    is_set = model.get_params(deep=False).get
    if isinstance(model, RotationModel):
        return "the axes of a tree come from a share of the rows"
    if is_set("n_bags") is not None:
        return "boosters are fitted on as many draws as there are rows"
    if is_set("reweight") == "resampling":
        return "a round draws as many rows as there are"
    if is_set("subsample", 1.0) != 1.0:
        return "a round sees a share of the rows"
    if is_set("early_stopping") is True:
        return "a share of the rows is held out"
    if has(type(model), "final_estimator") or searches(type(model)):
        return "rows are held out, or dealt out to folds"
    if is_set("weights") in ("oof", "oob"):
        return "weights are fitted on rows that the base estimators were not trained on"
    limits = (is_set("min_samples_leaf", 1), is_set("min_samples_split", 2))
    if is_set("bootstrap"):
        if is_set("max_samples") is None:
            return "as many draws are made as there are rows"
        chooses = limits[0] == "auto" or is_set("max_features") == "auto"
        return "settings are chosen by the out-of-bag error" if chooses else None
    if is_set("max_samples") is not None:
        return "rows are drawn without replacement"
    if limits[0] not in (1, "auto") or limits[1] != 2:
        return "min_samples_leaf or min_samples_split counts rows"
    parts = [part for _, part in is_set("estimators", [])]
    return next(filter(None, map(why_weights_are_no_repetitions, parts)), None)


def table(n: int = 120, n_columns: int = 4, seed: int = 0, *, missing: float = 0.0) -> np.ndarray:
    """Numbers without ties, exact in float32."""
    rng = np.random.default_rng(seed)
    values = rng.permuted(np.arange(n * n_columns).reshape(n_columns, n), axis=1).T / 8 - n
    return np.where(rng.random((n, n_columns)) < missing, np.nan, values)


def target(estimator: type, X: np.ndarray, n_classes: int = 3, seed: int = 0) -> np.ndarray:
    """Target that depends on the first two columns, with noise; labels for a classifier."""
    rng = np.random.default_rng(seed)
    columns = np.nan_to_num(X[:, :2].astype(np.float64))
    number = columns[:, 0] + np.abs(columns[:, -1]) + rng.integers(-3, 4, len(X))
    if not issubclass(estimator, ClassifierMixin):
        return number
    ranks = np.argsort(np.argsort(number))
    return ranks * n_classes // len(X)


def task(
    estimator: type,
    n: int = 120,
    n_columns: int = 4,
    seed: int = 0,
    *,
    missing: float = 0.0,
    variant: str = "defaults",
) -> tuple[np.ndarray, np.ndarray]:
    """Table and target that the loss of the variant supports."""
    X = table(n, n_columns, seed, missing=missing)
    if issubclass(estimator, ClassifierMixin) and variant in ("exponential", "rising"):
        return X, target(estimator, X, n_classes=2, seed=seed)
    y = target(estimator, X, seed=seed)
    if variant in ("poisson", "gamma", "tweedie", "counts"):
        y = y - y.min() + 1
    return X, y


def answers(model: Any, X: Any) -> np.ndarray:
    """Predictions of a model: probabilities of a classifier, values of a regressor."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)
