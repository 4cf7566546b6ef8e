"""GradientBoosting* with our own trees beside scikit-learn's classes: time, and what it buys.

    python studies/gradient_boosting.py [--repeats 3] [--threads 2]

The same parameters for both (each class's defaults, 100 trees of depth 3); scikit-learn looks at
every distinct value and knows no threads, ours cuts columns into at most 255 bins. Systems take
turns. CPU seconds count all threads, and suffer less from other work on the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import sklearn
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, make_classification, make_friedman1
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

import report
import weald

SETTINGS: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3}


def friedman() -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(20_000 + 5_000, n_features=20, noise=1.0, random_state=0)


def two_classes() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        20_000 + 5_000, n_features=20, n_informative=10, flip_y=0.05, random_state=0
    )


def cancer() -> tuple[np.ndarray, np.ndarray]:
    return load_breast_cancer(return_X_y=True)


Task = tuple[Callable[[], tuple[np.ndarray, np.ndarray]], str, dict[str, Any]]
TASKS: dict[str, Task] = {
    "regression, 20,000 x 20": (friedman, "Regressor", {}),
    "regression, huber, 20,000 x 20": (friedman, "Regressor", {"loss": "huber"}),
    "regression, half of the rows, 20,000 x 20": (friedman, "Regressor", {"subsample": 0.5}),
    "two classes, 20,000 x 20": (two_classes, "Classifier", {}),
    "breast_cancer, 426 x 30": (cancer, "Classifier", {}),
}


def systems(kind: str, more: dict[str, Any], threads: int) -> dict[str, Callable[[], Any]]:
    """An unfitted model of each."""
    name = f"GradientBoosting{kind}"
    settings = {**SETTINGS, **more, "random_state": 0}
    return {
        "weald": lambda: getattr(weald, name)(**settings, n_jobs=threads),
        "scikit-learn": lambda: getattr(sklearn.ensemble, name)(**settings),
    }


def score(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    if hasattr(model, "predict_proba"):
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return float(r2_score(y, model.predict(X)))


Figures = tuple[list[float], list[float], float]


def measure(task: Task, repeats: int, threads: int) -> dict[str, Figures]:
    """Wall and CPU seconds of every fit, systems in turn, and the score on held-out rows."""
    make, kind, more = task
    X, y = make()
    share = 0.2 if len(X) > 1000 else 0.25
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, random_state=0)
    makers = systems(kind, more, threads)
    times: dict[str, list[float]] = {name: [] for name in makers}
    work: dict[str, list[float]] = {name: [] for name in makers}
    scores: dict[str, float] = {}
    for _ in range(repeats):
        for name, maker in makers.items():
            model = maker()
            begin, begin_work = time.perf_counter(), time.process_time()
            model.fit(X, y)
            times[name].append(time.perf_counter() - begin)
            work[name].append(time.process_time() - begin_work)
            scores[name] = score(model, X_test, y_test)
    return {name: (times[name], work[name], scores[name]) for name in makers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print("# GradientBoosting* beside scikit-learn\n")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()))
    print(f"weald {weald.__version__}, scikit-learn {sklearn.__version__}; {SETTINGS};")
    print(f"weald with {given.threads} threads; median of {given.repeats} fits\n")
    print("| task | system | seconds | min..max | CPU seconds | R2 or AUC | to scikit-learn, CPU |")
    print("|---|---|---|---|---|---|---|")
    for name, task in TASKS.items():
        found = measure(task, given.repeats, given.threads)
        base, base_work = (median(found["scikit-learn"][i]) for i in (0, 1))
        for system, (times, work, value) in found.items():
            span = f"{min(times):.3f}..{max(times):.3f}"
            ratio = f"{median(times) / base:.3f}, {median(work) / base_work:.3f}"
            print(
                f"| {name} | {system} | {median(times):.3f} | {span} | {median(work):.3f} "
                f"| {value:.4f} | {ratio} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
