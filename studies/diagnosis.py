"""Alarms of `weald.diagnose` on made tables: false ones, and flipped labels that are missed.

python studies/diagnosis.py [--seeds N]
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.linear_model import LinearRegression, LogisticRegression

import weald

Rows = tuple[np.ndarray, np.ndarray]


def friedman(seed: int) -> Rows:
    return make_friedman1(500, noise=1 + seed % 3, random_state=seed)


def classes(seed: int, n: int = 600, k: int = 2) -> Rows:
    return make_classification(
        n, 15, n_informative=6, n_classes=k, n_clusters_per_class=2 if k == 2 else 1,
        class_sep=1.2, flip_y=0, random_state=seed,
    )  # fmt: skip


def overlapping(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 5))
    return X, rng.random(500) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))


def heavy_tails(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 5))
    return X, X[:, 0] + 2 * X[:, 1] + rng.standard_t(3, 500)


def moons(seed: int, n: int = 500, noise: float = 0.25) -> Rows:
    return make_moons(n, noise=noise, random_state=seed)


def forest(seed: int) -> Any:
    return weald.RandomForestClassifier(random_state=seed)


def number_forest(seed: int) -> Any:
    return weald.RandomForestRegressor(random_state=seed)


# A model that suits the table.
GOOD: dict[str, tuple[Callable[[int], Rows], Callable[[int], Any]]] = {
    "friedman, forest": (friedman, number_forest),
    "two classes, forest": (classes, forest),
    "four classes, forest": (lambda seed: classes(seed, k=4), forest),
    "moons, forest": (moons, forest),
    "overlapping classes, forest": (overlapping, forest),
    "overlapping classes, logistic": (overlapping, lambda seed: LogisticRegression()),
    "heavy tails, forest": (heavy_tails, number_forest),
    "heavy tails, linear": (heavy_tails, lambda seed: LinearRegression()),
}
FLIPPED: dict[str, Callable[[int], Rows]] = {
    "two classes": lambda seed: classes(seed, 1500),
    "moons": lambda seed: moons(seed, 1500, 0.2),
}


def alarms(found: Any) -> list[str]:
    return [one.topic for one in found.findings if one.severity != "info"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=15)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    for name, (rows, make) in GOOD.items():
        counted: Counter[str] = Counter()
        for seed in seeds:
            X, y = rows(seed)
            counted.update(alarms(weald.diagnose(make(seed).fit(X, y), X, y, n_repeats=5)))
        print(f"{name}: {dict(counted) or 'no false alarm'} in {len(seeds)}", flush=True)
    for name, rows in FLIPPED.items():
        n_found, precision, recall = 0, [], []
        for seed in seeds:
            X, y = rows(seed)
            is_wrong = np.random.default_rng(seed).random(len(y)) < 0.1
            noisy = np.where(is_wrong, 1 - y, y)
            found = weald.diagnose(forest(seed).fit(X, noisy), X, noisy, n_repeats=0)
            n_found += "labels in doubt" in alarms(found)
            precision.append(is_wrong[found.doubtful.rows].mean())
            recall.append(is_wrong[found.doubtful.rows].sum() / is_wrong.sum())
        print(
            f"{name}, 10 % of the labels flipped: alarm in {n_found} of {len(seeds)}, precision "
            f"{np.mean(precision):.2f}, recall {np.mean(recall):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
