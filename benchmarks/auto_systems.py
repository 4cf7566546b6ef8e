"""One fit of benchmarks/auto.py, in a process of its own: a system, a table, a fold.

The last line of the output is the result as JSON. Every system gets the table as it is: categories
as categorical columns, dates as dates, missing values as they are.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

import accuracy_fits

# Name: library, seconds (None: no limit).
SYSTEMS: dict[str, tuple[str, float | None]] = {
    "auto 10 s": ("weald", 10.0),
    "auto 60 s": ("weald", 60.0),
    "booster": ("weald", None),
    "best booster": ("weald", None),
    "flaml 60 s": ("flaml", 60.0),
    "flaml ensemble 60 s": ("flaml", 60.0),
    "autogluon 60 s": ("autogluon", 60.0),
}

# Names of the metric of the comparison, which all systems that have a metric are told.
METRICS = {
    "weald": {
        "regression": "neg_root_mean_squared_error",
        "binary": "roc_auc",
        "multiclass": "neg_log_loss",
    },
    "flaml": {"regression": "rmse", "binary": "roc_auc", "multiclass": "log_loss"},
    "autogluon": {
        "regression": "root_mean_squared_error",
        "binary": "roc_auc",
        "multiclass": "log_loss",
    },
}

_TIMED_ROWS, _TIMINGS = 1_000, 3


class Weald:
    """AutoEnsemble* or BoostedTrees*."""

    def __init__(self, system: str, seconds: float | None, task: str, threads: int) -> None:
        import weald

        kind = "Regressor" if task == "regression" else "Classifier"
        if seconds is not None:
            made = getattr(weald, f"AutoEnsemble{kind}")
            metric = METRICS["weald"][task]
            self.model = made(time_limit=seconds, metric=metric, n_jobs=threads)
        else:
            quality = "best" if system == "best booster" else "default"
            self.model = getattr(weald, f"BoostedTrees{kind}")(quality=quality, n_jobs=threads)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def ready(self) -> Any:
        return self.model

    def size(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.weald"
            self.model.save(path)
            return path.stat().st_size


class Flaml:
    """flaml.AutoML, also with a stacked ensemble of its best models."""

    def __init__(self, system: str, seconds: float | None, task: str, threads: int) -> None:
        from flaml import AutoML

        self.model = AutoML()
        self.settings = {
            "task": "regression" if task == "regression" else "classification",
            "metric": METRICS["flaml"][task],
            "time_budget": seconds,
            "n_jobs": threads,
            "ensemble": "ensemble" in system,
            "verbose": 0,
            "seed": 0,
        }

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X_train=X, y_train=y, **self.settings)

    def ready(self) -> Any:
        return self.model

    def size(self) -> int:
        return len(pickle.dumps(self.model))


class AutoGluon:
    """autogluon.tabular with presets="best_quality".

    Without ray its bags are fitted one fold after the other, each with all threads. Before
    predictions are timed, the models are loaded into memory (`persist`), and the size is that of
    its clone for deployment, without the models that are not used.
    """

    def __init__(self, system: str, seconds: float | None, task: str, threads: int) -> None:
        from autogluon.tabular import TabularPredictor

        self.folder = tempfile.TemporaryDirectory()
        # Whole numbers as class labels would else be guessed to be a regression target.
        self.predictor = TabularPredictor(
            "target",
            problem_type=task,
            eval_metric=METRICS["autogluon"][task],
            path=str(Path(self.folder.name) / "models"),
            verbosity=0,
        )
        self.seconds, self.threads, self.task = seconds, threads, task

    def fit(self, X: Any, y: Any) -> None:
        self.predictor.fit(
            X.assign(target=np.asarray(y)),
            time_limit=self.seconds,
            presets="best_quality",
            num_cpus=self.threads,
            num_gpus=0,
        )

    def ready(self) -> AutoGluon:
        self.predictor.persist()
        return self

    def predict(self, X: Any) -> Any:
        return self.predictor.predict(X).to_numpy()

    def predict_proba(self, X: Any) -> Any:
        return self.predictor.predict_proba(X).to_numpy()

    def size(self) -> int:
        clone = Path(self.folder.name) / "clone"
        self.predictor.clone_for_deployment(path=str(clone))
        return sum(file.stat().st_size for file in clone.rglob("*") if file.is_file())


_MADE = {"weald": Weald, "flaml": Flaml, "autogluon": AutoGluon}


def measured(system: str, table: str, fold: int, threads: int) -> dict[str, Any]:
    """Error, seconds of the fit, of the prediction of 1,000 rows, megabytes."""
    X, y, task = accuracy_fits.load(table, dates=True)
    splitter = KFold if task == "regression" else StratifiedKFold
    splits = splitter(accuracy_fits.N_FOLDS, shuffle=True, random_state=7).split(X, y)
    train, test = list(splits)[fold]
    library, limit = SYSTEMS[system]
    model = _MADE[library](system, limit, task, threads)
    X_train, y_train = _rows(X, train), _rows(y, train)
    begin, processor = time.perf_counter(), time.process_time()
    model.fit(X_train, y_train)
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    fitted = model.ready()
    predict = fitted.predict if task == "regression" else fitted.predict_proba
    predicted = np.asarray(predict(_rows(X, test)))
    return {
        "task": task,
        "rows": len(train),
        "columns": X.shape[1],
        "error": error(task, y.iloc[test].to_numpy(), predicted, y.nunique()),
        "seconds": seconds,
        "processor": processor,
        "prediction": _prediction_seconds(predict, X, test),
        "megabytes": model.size() / 1e6,
        "peak memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "threads": threads,
        "version": _version(library),
    }


def _version(library: str) -> str:
    module = "autogluon.tabular" if library == "autogluon" else library
    return str(importlib.import_module(module).__version__)


def _prediction_seconds(predict: Any, X: Any, test: np.ndarray) -> float:
    """Seconds of the prediction of 1,000 test rows (repeated, if fewer), after one as warm-up."""
    rows = _rows(X, np.resize(test, _TIMED_ROWS))
    seconds = []
    for _ in range(1 + _TIMINGS):
        begin = time.perf_counter()
        predict(rows)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[1:]))


def error(task: str, y: np.ndarray, predicted: np.ndarray, n_classes: int) -> float:
    """1 - AUC for two classes, log loss for more, RMSE for regression."""
    if task == "regression":
        return float(mean_squared_error(y, np.ravel(predicted)) ** 0.5)
    if task == "binary":
        return float(1 - roc_auc_score(y, predicted[:, 1]))
    return float(log_loss(y, predicted, labels=np.arange(n_classes)))


def _rows(data: Any, rows: np.ndarray) -> Any:
    return data.iloc[rows].reset_index(drop=True)


def main() -> None:
    system, table, fold, threads = sys.argv[1:]
    warnings.simplefilter("ignore")
    try:
        result = measured(system, table, int(fold), int(threads))
    except Exception as problem:  # a failure is a result, too
        result = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
    print("\n" + json.dumps(result), flush=True)
    os._exit(0)  # threads of the libraries may hold up the end of the process


if __name__ == "__main__":
    main()
