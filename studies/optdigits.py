"""Errors on the 1,797 test digits of optdigits: four boosters, 100 rounds, all else by default.

    python studies/optdigits.py [--threads 2]

Chance alone moves such a count by a standard deviation of about 8, so it is no target for tuning.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import time
from typing import Any

import numpy as np

import report
from weald.datasets import load_optdigits

# Package, module, class, and how each says 100 rounds and threads; all else is its default.
SYSTEMS: dict[str, tuple[str, str, str, str, dict[str, Any]]] = {
    "weald": (
        "weald",
        "weald",
        "BoostedTreesClassifier",
        "n_estimators",
        {"n_jobs": None, "quality": "fast"},
    ),
    "xgboost": ("xgboost", "xgboost", "XGBClassifier", "n_estimators", {"n_jobs": None}),
    "lightgbm": (
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        "n_estimators",
        {"n_jobs": None, "verbosity": -1},
    ),
    "sklearn-hgb": (
        "scikit-learn",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "max_iter",
        {},
    ),
}


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return getattr(importlib.import_module(package), "__version__", "unknown")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    train, test = (load_optdigits(part=part, as_frame=False) for part in ("train", "test"))
    print("# optdigits, 3,823 training and 1,797 test rows, 64 columns, ten classes\n")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()) + "\n")
    print("| system | settings beside the defaults | errors of 1,797 | accuracy | fit, s |")
    print("|---|---|---|---|---|")
    for name, (package, module, kind, rounds, more) in SYSTEMS.items():
        settings = {rounds: 100, **{k: threads if k == "n_jobs" else v for k, v in more.items()}}
        model = getattr(importlib.import_module(module), kind)(**settings)
        begin = time.perf_counter()
        model.fit(train.data, train.target)
        seconds = time.perf_counter() - begin
        errors = int(np.sum(np.asarray(model.predict(test.data)).ravel() != test.target))
        accuracy = 100 * (1 - errors / len(test.target))
        print(
            f"| {name} {version(package)} | {settings} | {errors} | {accuracy:.2f} % "
            f"| {seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
