"""Stacking beside scikit-learn's: the same members and folds, the same out-of-fold answers, time.

    python studies/stacking_time.py [--repeats 3]

Runs are interleaved and every one begins with the other system; the table gives medians.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import numpy as np
import sklearn.ensemble
from sklearn.linear_model import LogisticRegression

import report
import weald

SIZES = ((1_000, 10), (5_000, 20), (20_000, 20), (100_000, 28))


def table(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)


def members(**more: Any) -> list[tuple[str, Any]]:
    settings = {"quality": "fast", "n_estimators": 50}
    return [
        ("boosted", weald.BoostedTreesClassifier(**settings, **more)),
        ("small", weald.BoostedTreesClassifier(**settings, max_leaf_nodes=8, **more)),
        ("tree", weald.DecisionTreeClassifier(min_samples_leaf=20, **more)),
    ]


class Keeper(LogisticRegression):
    """A final model that keeps the table it was fitted on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Keeper:
        self.table_ = X
        return super().fit(X, y, sample_weight)


def seconds(library: Any, given: list[tuple[str, Any]], X: np.ndarray, y: np.ndarray) -> Any:
    begin = time.perf_counter()
    stack = library.StackingClassifier(given, Keeper()).fit(X, y)
    return time.perf_counter() - begin, stack.final_estimator_.table_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()))
    print(f"weald {weald.__version__}, scikit-learn {sklearn.__version__}; 3 members, 5 folds\n")
    print(
        "| rows by columns | threads of a member | scikit-learn, s | weald, s | ratio | answers |"
    )
    print("|---|---|---:|---:|---:|---|", flush=True)
    libraries = {"scikit-learn": sklearn.ensemble, "weald": weald}
    for n, columns in SIZES:
        X, y = table(n, columns)
        for threads in (None, 1):
            times: dict[str, list[float]] = {name: [] for name in libraries}
            found: dict[str, np.ndarray] = {}
            for repeat in range(repeats):
                for name in list(libraries)[:: 1 if repeat % 2 else -1]:
                    took, found[name] = seconds(libraries[name], members(n_jobs=threads), X, y)
                    times[name].append(took)
            theirs, ours = median(times["scikit-learn"]), median(times["weald"])
            equal = "equal" if np.array_equal(*found.values()) else "DIFFERENT"
            print(
                f"| {n} by {columns} | {threads or 'all cores'} | {theirs:.3f} | {ours:.3f} "
                f"| {ours / theirs:.2f} | {equal} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
