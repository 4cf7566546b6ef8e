"""One fit of the accuracy benchmark: a table, a system at its default settings, a fold."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from peers import package_version
from tables import Absent

MAX_ROWS = 10_000
N_FOLDS = 3
# Duplicates of other tables, or too wide or too easy to tell systems apart.
LEFT_OUT = {"optdigits_test", "mnist_5k", "hiva", "breast_cancer", "iris"}

# Distribution, module, prefix of the estimators' names.
PEERS = {
    "lightgbm": ("lightgbm", "lightgbm", "LGBM"),
    "xgboost": ("xgboost", "xgboost", "XGB"),
    "catboost": ("catboost", "catboost", "CatBoost"),
    "hgb": ("scikit-learn", "sklearn.ensemble", "HistGradientBoosting"),
}
HGB_MAX_CATEGORIES = 254


def data_folder() -> Path:
    """The folder of the tables, from the environment variable WEALD_DATA."""
    folder = os.environ.get("WEALD_DATA")
    if not folder or not Path(folder).is_dir():
        where = f"{folder} is not a folder" if folder else "WEALD_DATA is not set"
        raise Absent(f"{where}; set WEALD_DATA to a folder of parquet files with a column target")
    return Path(folder)


def table_names() -> list[str]:
    """Names of the tables in the data folder, without those left out."""
    names = sorted(file.stem for file in data_folder().glob("*.parquet"))
    return [name for name in names if name not in LEFT_OUT]


def part_of(table: str) -> str:
    """Whether a table is for choosing settings or only for confirming them, by hash of its name."""
    return "choose" if hashlib.sha256(table.encode()).digest()[0] % 2 else "confirm"


def load(table: str, *, dates: bool = False) -> tuple[pd.DataFrame, pd.Series, str]:
    """Features, target and task of a table: binary, multiclass or regression.

    Dates are seconds, unless `dates`: then they stay dates.
    """
    X = pd.read_parquet(data_folder() / f"{table}.parquet")
    if len(X) > MAX_ROWS:
        X = X.sample(MAX_ROWS, random_state=1).reset_index(drop=True)
    y = X.pop("target")
    for name in X.columns:
        X[name] = _prepared_column(X[name], dates=dates)
    is_count = pd.api.types.is_integer_dtype(y) and y.nunique() > 30
    if pd.api.types.is_float_dtype(y) or is_count:
        return X, y.astype(float), "regression"
    counts = y.value_counts()
    kept = y.isin(counts[counts >= 2 * N_FOLDS].index)  # every fold needs rows of every class
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    y = pd.Series(pd.factorize(y.astype(str), sort=True)[0])
    return X, y, "binary" if y.nunique() == 2 else "multiclass"


def _prepared_column(values: pd.Series, *, dates: bool) -> pd.Series:
    """Text as categories, dates as seconds, everything else as floats with NaN for missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.remove_unused_categories()
    known = values.dropna()
    is_object = values.dtype == object
    is_date_object = is_object and len(known) > 0 and hasattr(known.iloc[0], "toordinal")
    if pd.api.types.is_datetime64_any_dtype(values) or is_date_object:
        moments = pd.to_datetime(values)
        if dates:
            return moments.astype("datetime64[ns]")
        seconds = moments.astype("datetime64[s]").astype("int64")
        return seconds.astype(float).where(values.notna())
    if is_object or pd.api.types.is_string_dtype(values):
        return values.astype("category")
    return values.astype(float)


def categorical_columns(X: pd.DataFrame) -> list[str]:
    """Names of the columns of categorical dtype."""
    return [name for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]


def parsed(system: str) -> tuple[str, dict[str, Any]]:
    """Split a system into its name and, for `weald:{json}`, its parameters."""
    name, _, text = system.partition(":")
    if name != "weald" and (name not in PEERS or text):
        known = ", ".join([*PEERS, "weald"])
        raise ValueError(f"system {system!r}: expected one of {known}, or weald:{{json}}")
    try:
        parameters = json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"system {system!r}: the parameters are not JSON: {error}") from error
    if not isinstance(parameters, dict):
        raise ValueError(f"system {system!r}: expected a JSON object of parameters after the colon")
    return name, parameters


def settings(
    system: str, threads: Any, categories: Any = "the categorical columns"
) -> dict[str, Any]:
    """Arguments of the system's estimator; all others keep their defaults."""
    name, parameters = parsed(system)
    if name == "lightgbm":
        return {"n_jobs": threads, "verbose": -1, "random_state": 0}
    if name == "xgboost":
        return {"n_jobs": threads, "enable_categorical": True, "random_state": 0}
    if name == "catboost":
        quiet = {"verbose": 0, "allow_writing_files": False}
        return {"thread_count": threads, "random_seed": 0, "cat_features": categories, **quiet}
    if name == "hgb":
        return {"random_state": 0, "categorical_features": "from_dtype"}
    parameters.pop("class", None)
    return {"random_state": 0, "n_jobs": threads} | parameters


def estimator(system: str, task: str, threads: int, categories: list[str]) -> Any:
    """An unfitted estimator of the system for the task."""
    name, parameters = parsed(system)
    weald_class = parameters.get("class", "BoostedTrees")
    _, module, prefix = PEERS.get(name, ("weald", "weald", weald_class))
    suffix = "Regressor" if task == "regression" else "Classifier"
    made = getattr(importlib.import_module(module), prefix + suffix)
    return made(**settings(system, threads, categories))


def prepared(system: str, X: pd.DataFrame) -> pd.DataFrame:
    """The features as the system's documentation asks for them."""
    if system == "catboost":  # categories must be text, none of them missing
        text = {
            name: X[name].astype(object).where(X[name].notna(), "missing").astype(str)
            for name in categorical_columns(X)
        }
        return X.assign(**text)
    if system == "hgb":  # ordinal codes where there are more categories than it supports
        many = [name for name in categorical_columns(X) if X[name].nunique() > HGB_MAX_CATEGORIES]
        return X.assign(**{name: X[name].cat.codes.astype(float) for name in many})
    return X


def installed(system: str) -> bool:
    """Whether the system can be imported here."""
    name, _ = parsed(system)
    module = PEERS[name][1] if name in PEERS else name
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def version(system: str) -> str:
    """The installed version of the system's library."""
    name, _ = parsed(system)
    if name in PEERS:
        return package_version(PEERS[name][0])
    return str(importlib.import_module(name).__version__)  # also right for a source tree


def fit(system: str, table: str, fold: int, threads: int) -> dict[str, Any]:
    """Fit on all folds but one and measure the error on that one."""
    X, y, task = load(table)
    categories = categorical_columns(X)
    splitter = KFold if task == "regression" else StratifiedKFold
    splits = splitter(N_FOLDS, shuffle=True, random_state=7).split(X, y)
    train, test = list(splits)[fold]
    model, X = estimator(system, task, threads, categories), prepared(system, X)
    X_train, y_train = X.iloc[train].reset_index(drop=True), y.iloc[train].reset_index(drop=True)
    with threadpool_limits(threads, user_api="openmp"):  # hgb has no parameter for threads
        begin, cpu_begin = time.perf_counter(), time.process_time()
        model.fit(X_train, y_train)
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    error = _error(model, task, X.iloc[test].reset_index(drop=True), y.iloc[test], y.nunique())
    return {
        "task": task,
        "rows": len(y),
        "levels": len(categories),
        "error": error,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "version": version(system),
        "threads": threads,
    }


def _error(model: Any, task: str, X: pd.DataFrame, y: pd.Series, n_classes: int) -> float:
    """1 - AUC for two classes, log loss for more, RMSE for regression."""
    if task == "regression":
        return float(mean_squared_error(y, np.ravel(model.predict(X))) ** 0.5)
    probabilities = model.predict_proba(X)
    if task == "binary":
        return float(1 - roc_auc_score(y, probabilities[:, 1]))
    return float(log_loss(y, probabilities, labels=np.arange(n_classes)))


def fit_or_failure(system: str, table: str, fold: int, threads: int) -> dict[str, Any]:
    """The result of a fit, or its error message: one failure must not end a long run."""
    warnings.filterwarnings("ignore")
    try:
        return fit(system, table, fold, threads)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
