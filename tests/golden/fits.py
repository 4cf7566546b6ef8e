"""Fits whose fingerprints are kept: one for every way a model can come about.

The data are bundled tables, or whole numbers and exact fractions of them: no floating-point
function stands between this file and the fit. Run it to print the fingerprints as JSON.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from weald import (
    BlendingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from weald.datasets import load_optdigits, load_pima
from weald.resampling import ContentKFold

N = 6000


def scrambled(n: int, step: int) -> np.ndarray:
    """Numbers 0 .. 4093 in an order that looks random, n of them."""
    return np.arange(1, n + 1, dtype=np.int64) ** 2 * step % 4093


def table() -> np.ndarray:
    """Ten columns: many values, few, one, a copy, missing ones."""
    columns = [scrambled(N, 37 + 2 * k) / 16 - 100 for k in range(6)]
    columns += [scrambled(N, 101) % 5 - 2.0, np.full(N, 7.0), columns[0]]
    gaps = np.where(scrambled(N, 13) % 3 == 0, np.nan, scrambled(N, 77) / 3)
    return np.column_stack([*columns, gaps])


def values() -> np.ndarray:
    x = table()
    return (x[:, 0] * x[:, 1] + 64 * np.abs(x[:, 2]) + scrambled(N, 59)) / 7


def labels(n_classes: int) -> np.ndarray:
    return (values() // 500).astype(np.int64) % n_classes


def pima() -> tuple[np.ndarray, np.ndarray]:
    bunch = load_pima(as_frame=False)
    return bunch.data, bunch.target


def digits() -> tuple[np.ndarray, np.ndarray]:
    bunch = load_optdigits(part="test", as_frame=False)
    return bunch.data, bunch.target


def classifiers(p: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeClassifier(max_leaf_nodes=12, **p)),
        ("boosted", BoostedTreesClassifier(n_estimators=3, **p)),
    ]


def regressors(p: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeRegressor(max_leaf_nodes=20, **p)),
        ("boosted", BoostedTreesRegressor(n_estimators=4, **p)),
    ]


FOLDS = ContentKFold(3, stratify=True)
DRAWS = {"subsample": 0.6, "early_stopping": True, "n_iter_no_change": 3}

FITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "regressor": lambda p: BoostedTreesRegressor(n_estimators=8, **p).fit(table(), values()),
    "regressor, drawn": lambda p: BoostedTreesRegressor(
        n_estimators=8, random_state=3, max_bins=20, **DRAWS, **p
    ).fit(table(), values()),
    "regressor, whole weights": lambda p: BoostedTreesRegressor(
        n_estimators=4, subsample=0.5, random_state=1, **p
    ).fit(table(), values(), scrambled(N, 5) % 4),
    "regressor, fractional weights": lambda p: BoostedTreesRegressor(
        n_estimators=4, l2_regularization=0.5, growth="depth_wise", **p
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "two classes": lambda p: BoostedTreesClassifier(n_estimators=8, **p).fit(*pima()),
    "two classes, drawn": lambda p: BoostedTreesClassifier(
        n_estimators=20, random_state=0, min_samples_leaf=1, **DRAWS, **p
    ).fit(*pima()),
    "many classes": lambda p: BoostedTreesClassifier(n_estimators=3, **p).fit(*digits()),
    "many classes, drawn": lambda p: BoostedTreesClassifier(
        n_estimators=3, random_state=7, **DRAWS, **p
    ).fit(table(), np.array(["a", "b", "c"])[labels(3)]),
    "regression tree": lambda p: DecisionTreeRegressor(**p).fit(table(), values()),
    "regression tree, weighted": lambda p: DecisionTreeRegressor(
        max_leaf_nodes=40, min_samples_leaf=4, **p
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "gini tree": lambda p: DecisionTreeClassifier(**p).fit(*digits()),
    "entropy tree": lambda p: DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=60, **p
    ).fit(table(), labels(5)),
    "entropy tree, weighted": lambda p: DecisionTreeClassifier(
        criterion="entropy", max_depth=6, **p
    ).fit(*pima(), (1 + scrambled(768, 5)) / 3),
    "random forest of numbers": lambda p: RandomForestRegressor(5, random_state=0, **p).fit(
        table(), values()
    ),
    "random forest of classes": lambda p: RandomForestClassifier(5, random_state=0, **p).fit(
        *digits()
    ),
    "random forest, entropy, balanced": lambda p: RandomForestClassifier(
        5, criterion="entropy", class_weight="balanced_subsample", random_state=1, **p
    ).fit(table(), labels(3), (1 + scrambled(N, 5)) / 3),
    "extra trees of numbers": lambda p: ExtraTreesRegressor(5, random_state=0, **p).fit(
        table(), values()
    ),
    "extra trees of classes": lambda p: ExtraTreesClassifier(5, random_state=0, **p).fit(*pima()),
    "hard vote, learnt": lambda p: VotingClassifier(classifiers(p), weights="oof", cv=FOLDS).fit(
        table(), labels(3)
    ),
    "soft vote, learnt, ranked": lambda p: VotingClassifier(
        classifiers(p), voting="soft", rule="rank_mean", weights="oof", cv=FOLDS
    ).fit(*pima()),
    "blend of numbers": lambda p: BlendingRegressor(
        regressors(p), "nonnegative", random_state=0
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "stack of two layers": lambda p: StackingClassifier(
        classifiers(p),
        "nonnegative",
        cv=FOLDS,
        layers=[[("second", DecisionTreeClassifier(max_depth=3, **p))]],
    ).fit(table(), labels(3)),
    "stack of fold models, greedy": lambda p: StackingClassifier(
        classifiers(p), "greedy", cv=FOLDS, refit=False
    ).fit(*pima()),
}


def fingerprints(n_jobs: int | None = None) -> dict[str, str]:
    return {name: fit({"n_jobs": n_jobs}).fingerprint() for name, fit in FITS.items()}


if __name__ == "__main__":
    jobs = os.environ.get("GOLDEN_JOBS")
    json.dump(fingerprints(None if jobs is None else int(jobs)), sys.stdout)
