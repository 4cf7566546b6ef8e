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
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BlendingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRanker,
    BoostedTreesRegressor,
    BoostedTreesSurvival,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    OptionTreeClassifier,
    OptionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
    RotationForestClassifier,
    RotationForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from weald.datasets import load_optdigits, load_pima
from weald.ensembles.bagging.diversifiers import BayesianBootstrap, HyperParameters, Noise
from weald.losses.ranking import RANKINGS
from weald.resampling import ContentKFold
from weald.survival import target

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
        ("boosted", BoostedTreesClassifier(quality="fast", n_estimators=3, **p)),
    ]


def regressors(p: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        ("tree", DecisionTreeRegressor(max_leaf_nodes=20, **p)),
        ("boosted", BoostedTreesRegressor(quality="fast", n_estimators=4, **p)),
    ]


FOLDS = ContentKFold(3, stratify=True)


def amounts() -> np.ndarray:
    return scrambled(N, 59) // 9 * (np.abs(table()[:, 2]) > 20) / 8


def boosted(loss: str, **own: Any) -> Callable[[dict[str, Any]], Any]:
    """Boosted trees of a loss, on drawn rows of whole weights."""
    y = amounts if loss in ("poisson", "tweedie") else values
    return lambda p: BoostedTreesRegressor(
        quality="fast", loss=loss, n_estimators=4, subsample=0.7, random_state=2, **own, **p
    ).fit(table(), y() + (1 + abs(y().min()) if loss == "gamma" else 0), scrambled(N, 5) % 4)


def descent(loss: str, **own: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda p: GradientBoostingRegressor(loss=loss, n_estimators=6, **own, **p).fit(
        table(), values(), (1 + scrambled(N, 5)) / 3
    )


def mixed() -> np.ndarray:
    """Numbers, text of four and of three hundred levels, and dates, some of each missing."""
    columns = np.empty((N, 4), dtype=object)
    columns[:, 0] = scrambled(N, 37) / 16
    columns[:, 1] = np.array(["Bonn", "Köln", "Ulm", None], dtype=object)[scrambled(N, 41) % 4]
    columns[:, 2] = [f"level {i}" for i in scrambled(N, 43) % 300]
    days = np.array("2001-02-03T04:05", dtype="M8[s]") + (scrambled(N, 47) * 9001).astype("m8[s]")
    columns[:, 3] = days.tolist()
    return columns


def times() -> np.ndarray:
    """Times that depend on the first columns, a third of them censored."""
    order = np.argsort(values() + scrambled(N, 61), kind="stable")
    ranks = np.argsort(order, kind="stable")
    return target(scrambled(N, 53) % 3 > 0, 1.0 + ranks // 7)


# Forests without a choice to make: whole trees.
SQRT = {"min_samples_leaf": 1, "max_features": "sqrt"}
GINI_SQRT = {**SQRT, "criterion": "gini"}
HALF = {"min_samples_leaf": 1, "max_features": 0.5}

DRAWS = {"subsample": 0.6, "early_stopping": True, "n_iter_no_change": 3}

FITS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "regressor": lambda p: BoostedTreesRegressor(quality="fast", n_estimators=8, **p).fit(
        table(), values()
    ),
    "regressor, drawn": lambda p: BoostedTreesRegressor(
        quality="fast", n_estimators=8, random_state=3, max_bins=20, **DRAWS, **p
    ).fit(table(), values()),
    "regressor, whole weights": lambda p: BoostedTreesRegressor(
        quality="fast", n_estimators=4, subsample=0.5, random_state=1, **p
    ).fit(table(), values(), scrambled(N, 5) % 4),
    "regressor, fractional weights": lambda p: BoostedTreesRegressor(
        quality="fast", n_estimators=4, l2_regularization=0.5, growth="depth_wise", **p
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "two classes": lambda p: BoostedTreesClassifier(quality="fast", n_estimators=8, **p).fit(
        *pima()
    ),
    "two classes, drawn": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=20, random_state=0, min_samples_leaf=1, **DRAWS, **p
    ).fit(*pima()),
    "many classes": lambda p: BoostedTreesClassifier(quality="fast", n_estimators=3, **p).fit(
        *digits()
    ),
    "many classes, vector leaves": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, multi_class="vector_leaves", **p
    ).fit(*digits()),
    "many classes, drawn": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, random_state=7, **DRAWS, **p
    ).fit(table(), np.array(["a", "b", "c"])[labels(3)]),
    "absolute error": boosted("absolute_error"),
    "huber": boosted("huber", huber_alpha=0.7),
    "quantile": boosted("quantile", quantile=0.3),
    "quantiles": boosted("quantile", quantile=[0.1, 0.3, 0.9]),
    "quantiles of rare counts": lambda p: BoostedTreesRegressor(
        quality="fast", loss="quantile", quantile=[0.05, 0.15], n_estimators=4, **p
    ).fit(table(), np.floor(amounts() / 3), (1 + scrambled(N, 5)) / 3),
    "poisson": boosted("poisson"),
    "gamma": boosted("gamma", early_stopping=True),
    "tweedie": boosted("tweedie", tweedie_power=1.3),
    "exponential": lambda p: BoostedTreesClassifier(
        quality="fast", loss="exponential", n_estimators=8, **p
    ).fit(*pima()),
    "penalties, pruned": boosted(
        "squared_error", l1_regularization=300.0, l2_regularization=2.5, min_gain=5e5, prune="after"
    ),
    "monotone": boosted("absolute_error", monotonic_cst=[1, -1, 0, 0, 1, 0, 0, 0, 0, -1]),
    "monotone, two classes": lambda p: BoostedTreesClassifier(
        quality="fast",
        n_estimators=6,
        monotonic_cst=[1, 1, 0, -1, 0, 1, 0, 0],
        interaction_cst="pairwise",
        **p,
    ).fit(*pima()),
    "drawn columns": boosted(
        "squared_error", max_features="sqrt", interaction_cst=[[0, 1, 2], [2, 9]]
    ),
    "drawn columns of levels": boosted(
        "poisson", max_features=0.4, feature_sampling="level", growth="symmetric", max_leaf_nodes=16
    ),
    "survival, cox": lambda p: BoostedTreesSurvival(
        n_estimators=6, n_bags=2, early_stopping=True, random_state=1, **p
    ).fit(table(), times(), (1 + scrambled(N, 5)) / 3),
    "survival, aft": lambda p: BoostedTreesSurvival(
        loss="aft", n_estimators=4, early_stopping=False, random_state=1, **p
    ).fit(table(), times()),
    "survival, Weibull": lambda p: BoostedTreesSurvival(
        loss="aft", distribution="extreme", scale=0.5, n_estimators=4, quality="fast", **p
    ).fit(table(), times(), scrambled(N, 5) % 4),
    "survival forest": lambda p: RandomSurvivalForest(4, random_state=1, **p).fit(
        mixed(), times(), (1 + scrambled(N, 5)) / 3
    ),
    "descent, drawn columns": descent("squared_error", max_features=3, random_state=1),
    "descent": descent("squared_error"),
    "descent, huber": descent("huber", subsample=0.5, random_state=4),
    "descent, line search": descent("absolute_error", step="line_search"),
    "descent, pruned": descent("squared_error", ccp_alpha=300.0, max_depth=5),
    "descent, two classes": lambda p: GradientBoostingClassifier(
        n_estimators=8, n_iter_no_change=3, random_state=1, **p
    ).fit(*pima()),
    "descent, many classes": lambda p: GradientBoostingClassifier(n_estimators=3, **p).fit(
        table(), labels(4)
    ),
    "descent, shares": lambda p: GradientBoostingClassifier(
        loss="kl", n_estimators=3, subsample=0.5, random_state=1, **p
    ).fit(table(), (np.eye(3)[labels(3)] + np.array([1.0, 1.0, 2.0]) / 4) / 2),
    "regression tree": lambda p: DecisionTreeRegressor(**p).fit(table(), values()),
    "regression tree, weighted": lambda p: DecisionTreeRegressor(
        max_leaf_nodes=40, min_samples_leaf=4, **p
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "gini tree": lambda p: DecisionTreeClassifier(**p).fit(*digits()),
    "entropy tree": lambda p: DecisionTreeClassifier(
        criterion="entropy", max_leaf_nodes=60, **p
    ).fit(table(), labels(5)),
    "categories": lambda p: BoostedTreesRegressor(
        quality="fast", n_estimators=4, categorical_features=[2, 6], **p
    ).fit(np.floor(table()), values()),
    "text and dates": lambda p: BoostedTreesClassifier(quality="fast", n_estimators=4, **p).fit(
        mixed(), labels(2)
    ),
    "text and dates, drawn": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, random_state=5, **DRAWS, **p
    ).fit(mixed(), labels(3), scrambled(N, 5) % 4),
    "gini tree of sets": lambda p: DecisionTreeClassifier(max_leaf_nodes=50, **p).fit(
        mixed(), labels(5)
    ),
    "exact trees of sets": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, exact=True, **p
    ).fit(mixed(), labels(3), (1 + scrambled(N, 5)) / 3),
    "many bins and sets": lambda p: DecisionTreeRegressor(
        max_bins=1000, max_leaf_nodes=50, **p
    ).fit(mixed(), values(), scrambled(N, 5) % 4),
    "symmetric trees of sets": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, growth="symmetric", max_depth=5, **p
    ).fit(mixed(), labels(3), (1 + scrambled(N, 5)) / 3),
    "symmetric gini tree of sets": lambda p: DecisionTreeClassifier(
        growth="symmetric", max_depth=5, **p
    ).fit(mixed(), labels(5)),
    "stumps of sets": lambda p: AdaBoostClassifier(n_estimators=6, **p).fit(mixed(), labels(3)),
    "stumps of sets, drawn": lambda p: AdaBoostClassifier(
        n_estimators=6, form="log", reweight="resampling", random_state=1, **p
    ).fit(mixed(), labels(2), scrambled(N, 5) % 4),
    "trees of sets of AdaBoost": lambda p: AdaBoostRegressor(
        n_estimators=4, random_state=1, **p
    ).fit(mixed(), values()),
    "entropy tree, weighted": lambda p: DecisionTreeClassifier(
        criterion="entropy", max_depth=6, **p
    ).fit(*pima(), (1 + scrambled(768, 5)) / 3),
    "option tree": lambda p: OptionTreeClassifier(**p).fit(*digits()),
    "option tree of sets, weighted": lambda p: OptionTreeClassifier(
        criterion="entropy", voting="hard", max_leaf_nodes=80, option_ratio=0.2, **p
    ).fit(mixed(), labels(3), (1 + scrambled(N, 5)) / 3),
    "option tree of numbers": lambda p: OptionTreeRegressor(
        max_options=3, ccp_alpha=100.0, min_samples_leaf=4, **p
    ).fit(table(), values(), scrambled(N, 5) % 4),
    "option tree, a test added": lambda p: (
        OptionTreeClassifier(max_depth=4, **p).fit(*pima()).add_option(0, 7, 30.0, *pima())
    ),
    "random forest of numbers": lambda p: RandomForestRegressor(5, random_state=0, **HALF, **p).fit(
        table(), values()
    ),
    "random forest of classes": lambda p: RandomForestClassifier(
        5, random_state=0, **GINI_SQRT, **p
    ).fit(*digits()),
    "random forest of numbers that chooses": lambda p: RandomForestRegressor(
        30, random_state=0, **p
    ).fit(table(), values(), scrambled(N, 5) % 4),
    "random forest of several classes that chooses, fractional weights": lambda p: (
        RandomForestClassifier(
            12, max_depth=6, class_weight="balanced_subsample", random_state=0, **p
        ).fit(table(), np.column_stack([labels(3), labels(2)]), (1 + scrambled(N, 5)) / 3)
    ),
    "random forest of several numbers": lambda p: RandomForestRegressor(
        5, random_state=0, **HALF, **p
    ).fit(table(), np.column_stack([values(), values()[::-1]])),
    "random forest of several classes, fractional weights": lambda p: RandomForestClassifier(
        5, random_state=0, class_weight="balanced_subsample", **GINI_SQRT, **p
    ).fit(table(), np.column_stack([labels(3), labels(2)]), (1 + scrambled(N, 5)) / 3),
    "several targets": lambda p: BoostedTreesRegressor(n_bags=2, n_estimators=4, **p).fit(
        table(), np.column_stack([values(), amounts()]), scrambled(N, 5) % 4
    ),
    "several targets, vector leaves": lambda p: BoostedTreesRegressor(
        quality="fast", n_estimators=6, multi_output="vector_leaves", **p
    ).fit(table(), np.column_stack([values(), amounts()])),
    "isolation forest": lambda p: IsolationForest(random_state=0, contamination=0.1, **p).fit(
        table()
    ),
    "isolation forest of mixed columns": lambda p: IsolationForest(
        n_estimators=20, bootstrap=True, max_samples=1000, max_features=5, random_state=1, **p
    ).fit(mixed(), sample_weight=scrambled(N, 5) % 4),
    "isolation forest, drawn by weight": lambda p: IsolationForest(
        n_estimators=20, random_state=2, **p
    ).fit(table(), sample_weight=(1 + scrambled(N, 5)) / 3),
    "extra trees of several classes": lambda p: ExtraTreesClassifier(
        3, criterion="entropy", max_leaf_nodes=40, random_state=0, **p
    ).fit(table(), np.column_stack([labels(3), labels(2)])),
    "tree of several numbers": lambda p: DecisionTreeRegressor(max_leaf_nodes=40, **p).fit(
        table(), np.column_stack([values(), values()[::-1]])
    ),
    "tree of several classes, exact": lambda p: DecisionTreeClassifier(
        max_leaf_nodes=40, exact=True, **p
    ).fit(table(), np.column_stack([labels(3), labels(2)])),
    "random forest, entropy, balanced": lambda p: RandomForestClassifier(
        5, criterion="entropy", class_weight="balanced_subsample", random_state=1, **SQRT, **p
    ).fit(table(), labels(3), (1 + scrambled(N, 5)) / 3),
    "extra trees of numbers": lambda p: ExtraTreesRegressor(5, random_state=0, **p).fit(
        table(), values()
    ),
    "extra trees of classes": lambda p: ExtraTreesClassifier(5, random_state=0, **p).fit(*pima()),
    "random forest of sets": lambda p: RandomForestClassifier(
        4, random_state=2, **GINI_SQRT, **p
    ).fit(mixed(), labels(3), scrambled(N, 5) % 4),
    "random forest of sets, few leaves": lambda p: RandomForestRegressor(
        4, max_leaf_nodes=40, random_state=2, **HALF, **p
    ).fit(mixed(), values()),
    "extra trees of sets": lambda p: ExtraTreesRegressor(4, random_state=2, **p).fit(
        mixed(), values(), (1 + scrambled(N, 5)) / 3
    ),
    "poisson tree that rises": lambda p: DecisionTreeRegressor(
        criterion="poisson", monotonic_cst={0: 1, 3: -1}, min_samples_leaf=5, **p
    ).fit(table(), np.abs(values())),
    "forest of medians": lambda p: RandomForestRegressor(
        3, criterion="absolute_error", min_samples_leaf=3, random_state=0, max_features=0.5, **p
    ).fit(table(), values(), (1 + scrambled(N, 5)) / 3),
    "forest of subsamples that falls": lambda p: RandomForestClassifier(
        5, bootstrap=False, max_samples=0.6, monotonic_cst={1: -1}, random_state=2, **GINI_SQRT, **p
    ).fit(*pima(), scrambled(768, 5) % 4),
    "rotation forest of numbers": lambda p: RotationForestRegressor(5, random_state=0, **p).fit(
        table(), values()
    ),
    "rotation forest of classes": lambda p: RotationForestClassifier(5, random_state=0, **p).fit(
        *pima()
    ),
    "rotation forest of mixed columns, drawn": lambda p: RotationForestClassifier(
        5, bootstrap=True, scale="deviation", n_subsets=2, random_state=1, **p
    ).fit(mixed(), labels(3), (1 + scrambled(N, 5)) / 3),
    "bag of trees": lambda p: BaggingRegressor(n_estimators=4, random_state=0, **p).fit(
        table(), values(), scrambled(N, 5) % 4
    ),
    "bag of columns, weighed": lambda p: BaggingClassifier(
        DecisionTreeClassifier(max_leaf_nodes=30),
        4,
        max_samples=0.4,
        bootstrap=False,
        max_features=0.5,
        weights="oob",
        diversifiers=[Noise(0.1), HyperParameters(criterion=["gini", "entropy"])],
        random_state=1,
        **p,
    ).fit(np.nan_to_num(table()), labels(3), (1 + scrambled(N, 5)) / 3),
    "bag of posterior samples": lambda p: BaggingRegressor(
        DecisionTreeRegressor(max_leaf_nodes=20),
        3,
        diversifiers=[BayesianBootstrap()],
        random_state=0,
        **p,
    ).fit(table(), values()),
    "bag of boosters": lambda p: BoostedTreesClassifier(
        quality="fast", n_estimators=3, n_bags=2, random_state=3, **DRAWS, **p
    ).fit(mixed(), labels(3), scrambled(N, 5) % 4),
    "bag of boosters on drawn columns": lambda p: BoostedTreesRegressor(
        n_estimators=3, n_bags=5, max_features=0.6, **p
    ).fit(table(), values()),
    "target statistics": lambda p: BoostedTreesClassifier(n_estimators=3, n_bags=5, **p).fit(
        mixed(), labels(3), scrambled(N, 5) % 4
    ),
    **{
        f"ranking, {loss}": lambda p, loss=loss: BoostedTreesRanker(
            loss=loss, quality="fast", n_estimators=3, **p
        ).fit(table(), labels(5), qid=scrambled(N, 5) % 211)
        for loss in RANKINGS
    },
    "ranking that stops early, weighted": lambda p: BoostedTreesRanker(
        n_estimators=30, early_stopping=True, n_bags=2, **p
    ).fit(table(), labels(3), (1 + scrambled(120, 5)) / 3, group=[20, 80] * 60),
    "forest of enough trees, pruned": lambda p: (
        RandomForestClassifier(
            "auto", max_leaf_nodes=12, oob_score=True, random_state=0, **GINI_SQRT, **p
        )
        .fit(*pima())
        .prune_oob(*pima())
        .model
    ),
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
    "adaboost": lambda p: AdaBoostClassifier(n_estimators=20, **p).fit(table(), labels(2)),
    "adaboost, many classes": lambda p: AdaBoostClassifier(
        n_estimators=8, criterion="entropy", **p
    ).fit(*digits(), scrambled(1797, 5) % 4),
    "adaboost, half-log, fractional weights": lambda p: AdaBoostClassifier(
        n_estimators=20, form="half-log", learning_rate=0.75, **p
    ).fit(*pima(), (1 + scrambled(768, 5)) / 3),
    "adaboost, m1, drawn": lambda p: AdaBoostClassifier(
        n_estimators=10, form="m1", reweight="resampling", random_state=2, **p
    ).fit(*pima()),
    "adaboost.r2": lambda p: AdaBoostRegressor(n_estimators=8, random_state=1, **p).fit(
        table(), values()
    ),
    "adaboost.r2, weighted": lambda p: AdaBoostRegressor(
        n_estimators=6, loss="exponential", reweight="weighting", **p
    ).fit(table(), values(), scrambled(N, 5) % 4),
}


def fingerprints(n_jobs: int | None = None) -> dict[str, str]:
    return {name: fit({"n_jobs": n_jobs}).fingerprint() for name, fit in FITS.items()}


if __name__ == "__main__":
    jobs = os.environ.get("GOLDEN_JOBS")
    json.dump(fingerprints(None if jobs is None else int(jobs)), sys.stdout)
