"""Values other than the default for every parameter of every estimator.

`values_of` gives, for one estimator, the values that its limits admit. A value that works only with
another parameter brings that one along (`NEEDS`). A parameter without values here must be named in
`LEFT_OUT`, with the reason: tests/fuzz/test_pairs.py finds new parameters.
"""

import inspect
from typing import Any

from sklearn.base import ClassifierMixin

import weald
from contract.subjects import members_of
from weald.ensembles.bagging.diversifiers import Features, Noise, Seeds
from weald.resampling import ContentKFold

LEFT_OUT = {
    "checkpoint": "writes files",
    "estimators": "members that are given to all",
    "metric": "those of one task are refused for the other",
    "n_jobs": "is varied by an invariant",
    "portfolio": "models that are given to all",
    "prefit": "needs fitted members",
    "random_state": "is drawn for every case",
    "time_limit": "makes a fit depend on the clock",
    "verbose": "prints",
    "warm_start": "means nothing in a first fit",
}

VALUES: dict[str, list[Any]] = {
    "alpha": [0.3],
    "bootstrap": [True, False],
    "bootstrap_features": [True],
    "categorical_features": [[1]],
    "ccp_alpha": [0.002, 0.05],
    "class_weight": ["balanced", "balanced_subsample", {0: 0.5, 1: 2.5, 2: 1.0}],
    "cv": [ContentKFold(3)],
    "diversifiers": [[Noise(0.1)], [Features(0.5)], [Seeds()]],
    "early_stopping": [True],
    "target_statistics": [True, False],
    "exact": [True],
    "feature_sampling": ["node", "tree", "level"],
    "final_estimator": ["nonnegative", "greedy"],
    "flatten_transform": [False],
    "form": ["half-log", "log", "m1", "samme"],
    "growth": ["depth_wise", "symmetric"],
    "huber_alpha": [0.8],
    "init": ["zero"],
    "interaction_cst": ["pairwise", "no_interactions", [[0, 1]]],
    "keep_models": [True],
    "l1_regularization": [0.3],
    "l2_regularization": [1.5],
    "learning_rate": [0.05, 0.7],
    "max_bins": [3, 40, 1000],
    "max_depth": [1, 4],
    "max_features": [1, 0.5, "sqrt", "log2", "third", None],
    "max_leaf_nodes": [2, 9, None],
    "max_models": [2],
    "max_options": [1, 2],
    "max_samples": [40, 700, 0.5],
    "min_child_weight": [0.0, 3.0],
    "metrics": [("loss",)],
    "min_gain": [0.05],
    "min_impurity_decrease": [0.003],
    "min_samples_leaf": [1, 9, 0.03, "auto"],
    "min_samples_split": [12, 0.1],
    "min_weight_fraction_leaf": [0.03],
    "monotonic_cst": [{0: 1}, {0: -1}],
    "multi_class": ["vector_leaves"],
    "multi_output": ["vector_leaves"],
    "n_bags": [2],
    "n_estimators": [1, 11],
    "n_folds": [3],
    "n_iter_no_change": [2],
    "n_subsets": [2],
    "on_bad_member": ["flip"],
    "oob_score": [True],
    "option_depth": [0, 1],
    "option_ratio": [0.9],
    "passthrough": [True],
    "prune": ["after"],
    "quantile": [0.2, [0.1, 0.6]],
    "refit": [False],
    "replace": [False],
    "reweight": ["weighting", "resampling"],
    "sample_fraction": [0.4],
    "quality": ["default", "best"],
    "scale": ["range", "deviation"],
    "scoring": [None],
    "splitter": ["random"],
    "stack_method": ["predict"],
    "step": ["leaf", "line_search", "constant"],
    "store_weights": [True],
    "subsample": [0.6],
    "subset_size": [2],
    "tol": [0.01],
    "tweedie_power": [1.7],
    "validation_fraction": [0.3],
    "voting": ["hard", "soft"],
    "weights": ["oob", "oof", [2.0, 1.0]],
}

# What a value needs beside it, in those estimators that have the other parameter.
NEEDS: dict[tuple[str, Any], dict[str, Any]] = {
    ("alpha", 0.3): {"loss": "quantile"},
    ("early_stopping", True): {"n_iter_no_change": 2},
    ("huber_alpha", 0.8): {"loss": "huber"},
    ("max_samples", 0.5): {"bootstrap": True},
    ("max_samples", 40): {"bootstrap": True},
    ("max_samples", 700): {"bootstrap": True},
    ("metrics", ("loss",)): {"early_stopping": True},
    ("min_gain", 0.05): {"prune": "after"},
    ("n_iter_no_change", 2): {"early_stopping": True},
    ("oob_score", True): {"bootstrap": True},
    ("prune", "after"): {"min_gain": 0.05},
    ("scoring", None): {"early_stopping": True},
    ("tol", 0.01): {"early_stopping": True, "n_iter_no_change": 2},
    ("tweedie_power", 1.7): {"loss": "tweedie"},
    ("validation_fraction", 0.3): {"early_stopping": True, "n_iter_no_change": 2},
}


def default_of(estimator: type, name: str) -> Any:
    return inspect.signature(estimator).parameters[name].default


def values_of(estimator: type) -> dict[str, list[Any]]:
    """What each parameter may be besides its default."""
    found = {}
    for name, limit in estimator._limits.items():
        if name in LEFT_OUT:
            continue
        given = [*VALUES.get(name, ()), *_own_values(estimator, name)]
        admitted = [value for value in given if limit.admits(value)]
        others = [value for value in admitted if not _is(value, default_of(estimator, name))]
        if others:
            found[name] = others
    return found


def _own_values(estimator: type, name: str) -> list[Any]:
    """Words that differ from estimator to estimator, and base estimators of its kind."""
    if name in ("loss", "criterion", "rule"):
        limit: Any = estimator._limits[name]
        limits = [limit, getattr(limit, "limit", limit), *getattr(limit, "limits", ())]
        return [value for one in limits for value in getattr(one, "values", ())]
    if name == "estimator":
        is_regression = not issubclass(estimator, ClassifierMixin) or "init" in estimator._limits
        kind = weald.DecisionTreeRegressor if is_regression else weald.DecisionTreeClassifier
        return [kind(max_depth=3)]
    if name == "layers":
        return [[[(f"second {name}", member) for name, member in members_of(estimator)]]]
    return []


def needed(estimator: type, name: str, value: Any) -> dict[str, Any]:
    """What a value needs beside it."""
    if isinstance(value, list | dict):
        found = {"loss": "quantile"} if name == "quantile" else {}
    elif name == "quantile":
        found = {"loss": "quantile"}
    elif (name, value) == ("loss", "quantile"):
        found = {"quantile": 0.3}
    elif name == "feature_sampling":
        found = {"max_features": 0.5}
    elif name == "rule" and estimator is weald.VotingClassifier:
        found = {"voting": "soft"}
    else:
        found = NEEDS.get((name, value), {}) if _is_hashable(value) else {}
    limits = estimator._limits
    return {key: one for key, one in found.items() if key in limits and limits[key].admits(one)}


def _is(value: Any, other: Any) -> bool:
    return type(value) is type(other) and repr(value) == repr(other)


def _is_hashable(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | None)
