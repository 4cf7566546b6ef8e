"""AutoEnsemble at 10 s and 60 s beside flaml, AutoGluon and weald's boosters: errors, time, size.

All systems get the same outer folds and, if they have one, the same time limit. Systems that are
not installed are left out. The errors are those of benchmarks/accuracy.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import pickle
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

import accuracy_fits
import weald

# Name: library, seconds (None: no limit).
SYSTEMS: dict[str, tuple[str, float | None]] = {
    "auto 10 s": ("weald", 10.0),
    "auto 60 s": ("weald", 60.0),
    "booster": ("weald", None),
    "best booster": ("weald", None),
    "flaml 60 s": ("flaml", 60.0),
    "autogluon 60 s": ("autogluon", 60.0),
}


def weald_model(system: str, seconds: float | None, task: str, threads: int) -> Any:
    kind = "Regressor" if task == "regression" else "Classifier"
    if seconds is not None:
        made = getattr(weald, f"AutoEnsemble{kind}")
        return made(time_limit=seconds, n_jobs=threads)
    quality = "best" if system == "best booster" else "default"
    return getattr(weald, f"BoostedTrees{kind}")(quality=quality, n_jobs=threads)


class Flaml:
    """flaml.AutoML with the interface of an estimator."""

    def __init__(self, seconds: float, task: str, threads: int) -> None:
        from flaml import AutoML

        self.model = AutoML()
        metric = {"regression": "rmse", "binary": "roc_auc"}.get(task, "log_loss")
        self.settings = {
            "task": "regression" if task == "regression" else "classification",
            "metric": metric,
            "time_budget": seconds,
            "n_jobs": threads,
            "verbose": 0,
        }

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X_train=X, y_train=y, **self.settings)
        self.predict, self.predict_proba = self.model.predict, self.model.predict_proba

    def size(self) -> int:
        return len(pickle.dumps(self.model))


class AutoGluon:
    """autogluon.tabular with the interface of an estimator."""

    def __init__(self, seconds: float, task: str, threads: int) -> None:
        metric = {"regression": "root_mean_squared_error", "binary": "roc_auc"}
        self.seconds, self.metric = seconds, metric.get(task, "log_loss")
        self.threads, self.folder = threads, tempfile.mkdtemp()

    def fit(self, X: Any, y: Any) -> None:
        from autogluon.tabular import TabularPredictor

        made = TabularPredictor("target", eval_metric=self.metric, path=self.folder, verbosity=0)
        self.model = made.fit(
            X.assign(target=np.asarray(y)),
            time_limit=self.seconds,
            presets="best_quality",
            num_cpus=self.threads,
        )

    def predict(self, X: Any) -> Any:
        return self.model.predict(X).to_numpy()

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X).to_numpy()

    def size(self) -> int:
        return sum(file.stat().st_size for file in Path(self.folder).rglob("*") if file.is_file())


def made(system: str, task: str, threads: int) -> Any:
    library, seconds = SYSTEMS[system]
    if library == "weald":
        return weald_model(system, seconds, task, threads)
    assert seconds is not None
    return (Flaml if library == "flaml" else AutoGluon)(seconds, task, threads)


def measured(system: str, table: str, fold: int, threads: int, most_rows: int) -> dict[str, float]:
    """Error, seconds of the fit and of the prediction of 1,000 rows, bytes of one fold."""
    X, y, task = accuracy_fits.load(table)
    if len(X) > most_rows:
        chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:most_rows])
        X, y = _rows(X, chosen), _rows(y, chosen)
    splitter = KFold if task == "regression" else StratifiedKFold
    splits = splitter(accuracy_fits.N_FOLDS, shuffle=True, random_state=7).split(X, y)
    train, test = list(splits)[fold]
    model = made(system, task, threads)
    begin, processor = time.perf_counter(), time.process_time()
    model.fit(_rows(X, train), _rows(y, train))
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    begin = time.perf_counter()
    predict = model.predict if task == "regression" else model.predict_proba
    predicted = np.asarray(predict(_rows(X, test)))
    prediction = (time.perf_counter() - begin) * 1000 / len(test)
    size = model.size() if hasattr(model, "size") else len(pickle.dumps(model))
    return {
        "error": error(task, y.iloc[test].to_numpy(), predicted),
        "seconds": seconds,
        "processor": processor,
        "prediction": prediction,
        "megabytes": size / 1e6,
    }


def error(task: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """1 - AUC for two classes, log loss for more, RMSE for regression."""
    if task == "regression":
        return float(mean_squared_error(y, predicted) ** 0.5)
    if task == "binary":
        return float(1 - roc_auc_score(y, predicted[:, 1]))
    return float(log_loss(y, predicted, labels=np.arange(predicted.shape[1])))


def _rows(data: Any, rows: np.ndarray) -> Any:
    return data.iloc[rows].reset_index(drop=True)


def summary(results: pd.DataFrame, against: str) -> pd.DataFrame:
    """Mean rank and wins of a system's errors over tables, and medians of the other figures."""
    errors = results.pivot_table(index=["table", "fold"], columns="system", values="error")
    ranks = errors.rank(axis=1).mean()
    others = results.groupby("system")[["seconds", "processor", "prediction", "megabytes"]]
    figures = others.median()
    figures["most seconds"] = results.groupby("system")["seconds"].max()
    figures.insert(0, "mean rank", ranks)
    ties = 0.5 * errors.eq(errors[against], axis=0).mean()
    wins = errors.gt(errors[against], axis=0).mean() + ties
    figures.insert(1, f"beaten by {against}", wins.drop(against))
    return figures.sort_values("mean rank")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="default: those of the part")
    parser.add_argument("--part", choices=("choose", "confirm"), default="confirm")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--against", default="auto 10 s")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, default=accuracy_fits.MAX_ROWS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    systems = [one for one in given.systems if importlib.util.find_spec(SYSTEMS[one][0])]
    for absent in set(given.systems) - set(systems):
        print(f"{absent}: not installed")
    tables = given.tables or [
        name for name in accuracy_fits.table_names() if accuracy_fits.part_of(name) == given.part
    ]
    results = []
    for table in tables:
        for fold in range(given.folds):
            for system in systems:
                found = measured(system, table, fold, given.threads, given.rows)
                results.append({"table": table, "fold": fold, "system": system, **found})
                figures = "  ".join(f"{name} {value:.4g}" for name, value in found.items())
                print(f"{table} {fold} {system}: {figures}", flush=True)
    print(summary(pd.DataFrame(results), given.against).round(3).to_string())


if __name__ == "__main__":
    main()
