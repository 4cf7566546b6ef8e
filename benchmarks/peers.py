"""Every system under comparison, with its full settings for one and the same work."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from threadpoolctl import threadpool_limits

OURS = "weald"
SERVICE = "weald-predictor"  # the same model through its predictor(), in rows that ask it
HGB = "sklearn-hgb"


@dataclass(frozen=True)
class Work:
    """What all systems are asked to do; each `_settings` function says it in its own words."""

    trees: int = 100
    leaves: int = 31
    learning_rate: float = 0.1
    bins: int = 255
    leaf_rows: int = 20
    categories: tuple[str, ...] = ()  # columns of a frame


@dataclass(frozen=True)
class System:
    """Where a system's estimators live, and its words for (work, task, threads)."""

    package: str
    module: str
    classifier: str
    regressor: str
    settings: Callable[[Work, str, int], dict[str, Any]]
    leaves_per_tree: Callable[[Any], float] | None = None


def is_ours(system: str) -> bool:
    """Whether the system is weald, which is no peer of itself."""
    return system in {OURS, SERVICE}


def installed(system: str) -> bool:
    """Whether the system can be imported here."""
    root = SYSTEMS[system].module.partition(".")[0]
    return importlib.util.find_spec(root) is not None


def version(system: str) -> str:
    """The version of the installed package, or `absent`."""
    if not installed(system):
        return "absent"
    return package_version(SYSTEMS[system].package)


def package_version(package: str) -> str:
    """The version a package was installed as."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def settings(system: str, task: str, threads: int, **work: Any) -> dict[str, Any]:
    """All settings the system's estimator is made with."""
    return SYSTEMS[system].settings(Work(**work), task, threads)


def make(system: str, task: str, threads: int, **work: Any) -> Any:
    """An unfitted estimator of the system; task is binary, multiclass or regression."""
    peer = SYSTEMS[system]
    module = importlib.import_module(peer.module)
    if system == HGB:
        # It has no parameter for threads: it takes what OpenMP allows, from here on.
        threadpool_limits(threads, user_api="openmp")
    estimator = getattr(module, peer.regressor if task == "regression" else peer.classifier)
    return estimator(**settings(system, task, threads, **work))


def prepared(system: str, X: Any, **work: Any) -> Any:
    """A frame as the system takes it; weald, lightgbm, xgboost and scikit-learn take categories and
    what is missing as they are. Dates only weald takes: the others get the columns it makes of
    them. None of this is timed."""
    if not hasattr(X, "select_dtypes"):
        return X
    X = X if system == OURS else _with_parts_of_dates(X)
    if system == "catboost":
        # Categories must be text or whole numbers there, and none may be missing.
        text = {name: X[name].astype(object).fillna("missing") for name in work["categories"]}
        X = X.assign(**text)
    return X


def _with_parts_of_dates(X: Any) -> Any:
    for name in X.select_dtypes("datetime").columns:
        date = X[name].dt
        X = X.drop(columns=name).assign(
            **{
                f"{name} seconds": X[name].astype("datetime64[us]").astype("int64") / 1e6,
                f"{name} year": date.year,
                f"{name} month": date.month,
                f"{name} day of year": date.dayofyear,
                f"{name} weekday": date.weekday,
                f"{name} hour": date.hour,
            }
        )
    return X


def leaves_per_tree(system: str, model: Any) -> float | None:
    """Mean number of leaves really grown, where the system tells it: matched limits can hide
    unmatched work."""
    count = SYSTEMS[system].leaves_per_tree
    return None if count is None else count(model)


def _weald(work: Work, task: str, threads: int) -> dict[str, Any]:
    # quality="fast": one booster without sampling or early stopping, as the others.
    return {
        "quality": "fast",
        "n_estimators": work.trees,
        "max_leaf_nodes": work.leaves,
        "learning_rate": work.learning_rate,
        "max_bins": work.bins,
        "min_samples_leaf": work.leaf_rows,
        "n_jobs": threads,
    }


def _lightgbm(work: Work, task: str, threads: int) -> dict[str, Any]:
    # force_row_wise and force_col_wise are left out: lightgbm times both at the start of a fit
    # and keeps the faster, which no fixed choice of ours would beat on every table.
    return {
        "boosting_type": "gbdt",
        "n_estimators": work.trees,
        "num_leaves": work.leaves,
        "max_depth": -1,
        "learning_rate": work.learning_rate,
        "max_bin": work.bins,
        "min_child_samples": work.leaf_rows,
        "min_child_weight": 1e-3,
        "reg_lambda": 0.0,
        "random_state": 0,
        "verbosity": -1,
        "n_jobs": threads,
    }


def _lightgbm_quantised(work: Work, task: str, threads: int) -> dict[str, Any]:
    # Four gradient levels and no renewal of leaves are lightgbm's own defaults for this mode;
    # neither renewal nor 16 levels raised the AUC on 200,000 rows of higgs_like.
    return _lightgbm(work, task, threads) | {
        "use_quantized_grad": True,
        "num_grad_quant_bins": 4,
        "quant_train_renew_leaf": False,
        "stochastic_rounding": True,
    }


def _xgboost(work: Work, task: str, threads: int) -> dict[str, Any]:
    # A least weight of 1 is xgboost's default. It limits the sum of hessians, so no value means
    # "20 rows": 20 * 1/4 = 5 is that for undecided rows only and stops growth early once rows are
    # well predicted. With 5 the small tables take less time, for trees about half as large (see
    # `leaves/tree`); the metric fell on breast_cancer and rose on digits. On 200,000 rows of
    # higgs_like the two did not differ.
    return {
        "tree_method": "hist",
        "device": "cpu",
        "grow_policy": "lossguide",
        "n_estimators": work.trees,
        "max_leaves": work.leaves,
        "max_depth": 0,
        "learning_rate": work.learning_rate,
        "max_bin": work.bins + 1,  # xgboost keeps no bin for missing values; 256 still fit a byte
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "random_state": 0,
        "verbosity": 0,
        "n_jobs": threads,
        **({"enable_categorical": True} if work.categories else {}),
    }


def _catboost(work: Work, task: str, threads: int) -> dict[str, Any]:
    # Symmetric trees are what catboost is built for (its Lossguide took three times as long on
    # 200,000 rows), so `leaves` becomes the depth of the next power of two. Without sampling and
    # score noise, and with one Newton step a leaf, it does what the others do; on that table it
    # was also faster and more accurate than with its defaults.
    return {
        "grow_policy": "SymmetricTree",
        "boosting_type": "Plain",
        "n_estimators": work.trees,
        "depth": math.ceil(math.log2(work.leaves)),
        "learning_rate": work.learning_rate,
        "border_count": work.bins - 1,
        "bootstrap_type": "No",
        "random_strength": 0.0,
        "leaf_estimation_method": "Newton",
        "leaf_estimation_iterations": 1,
        "l2_leaf_reg": 3.0,
        "random_seed": 0,
        "logging_level": "Silent",
        "allow_writing_files": False,
        "thread_count": threads,
        **({"cat_features": list(work.categories)} if work.categories else {}),
    }


def _sklearn_hgb(work: Work, task: str, threads: int) -> dict[str, Any]:
    return {
        "max_iter": work.trees,
        "max_leaf_nodes": work.leaves,
        "max_depth": None,
        "learning_rate": work.learning_rate,
        "max_bins": work.bins,
        "min_samples_leaf": work.leaf_rows,
        "l2_regularization": 0.0,
        "early_stopping": False,  # on by default above 10,000 rows, where it would cut the work
        "random_state": 0,
        **({"categorical_features": "from_dtype"} if work.categories else {}),
    }


def _weald_leaves(model: Any) -> float:
    return float(model.forest_.first_leaf[-1] / model.forest_.n_trees)


def _lightgbm_leaves(model: Any) -> float:
    trees = model.booster_.dump_model()["tree_info"]
    return fmean(tree["num_leaves"] for tree in trees)


def _xgboost_leaves(model: Any) -> float:
    trees = model.get_booster().get_dump()
    return fmean(tree.count("leaf=") for tree in trees)


def _catboost_leaves(model: Any) -> float:
    return fmean(model.get_tree_leaf_counts())


def _sklearn_leaves(model: Any) -> float:
    # A private attribute, and only here: scikit-learn offers no public count.
    trees = [tree for round_ in model._predictors for tree in round_]
    return fmean(tree.get_n_leaf_nodes() for tree in trees)


SYSTEMS: Mapping[str, System] = {
    OURS: System(
        "weald", "weald", "BoostedTreesClassifier", "BoostedTreesRegressor", _weald, _weald_leaves
    ),
    SERVICE: System(
        "weald", "weald", "BoostedTreesClassifier", "BoostedTreesRegressor", _weald, _weald_leaves
    ),
    "lightgbm": System(
        "lightgbm", "lightgbm", "LGBMClassifier", "LGBMRegressor", _lightgbm, _lightgbm_leaves
    ),
    "lightgbm-quantised": System(
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        "LGBMRegressor",
        _lightgbm_quantised,
        _lightgbm_leaves,
    ),
    "xgboost": System(
        "xgboost", "xgboost", "XGBClassifier", "XGBRegressor", _xgboost, _xgboost_leaves
    ),
    "catboost": System(
        "catboost",
        "catboost",
        "CatBoostClassifier",
        "CatBoostRegressor",
        _catboost,
        _catboost_leaves,
    ),
    HGB: System(
        "scikit-learn",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        _sklearn_hgb,
        _sklearn_leaves,
    ),
}
