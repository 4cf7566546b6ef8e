"""Rankings beside lightgbm, xgboost and catboost: all in turn, on generated or real queries.

The generated table is like those of web search: about 120 rows a query, grades 0 to 4 of which few
are 4, and 136 columns: informative and noisy ones, counts, columns that are constant in a query and
columns that are shifted by query. A real one, lectures that students rated, is in WEALD_DATA; more
are read from files in the LETOR format.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np

import peers
import report
from weald import BoostedTreesRanker
from weald.ranking import ndcg_score

N_COLUMNS, ROUNDS, LEAVES, RATE = 136, 100, 31, 0.1


@dataclass(frozen=True)
class Queries:
    """Rows, grades and number of rows of each query, whose rows are adjacent."""

    X: Any  # an array, or a frame with categories
    y: np.ndarray
    group: np.ndarray

    @property
    def qid(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.group)), self.group)

    def some(self, queries: np.ndarray) -> Queries:
        """The queries of these numbers."""
        rows = np.isin(self.qid, queries)
        X = self.X[rows] if isinstance(self.X, np.ndarray) else self.X[rows].reset_index(drop=True)
        return Queries(X, self.y[rows], self.group[np.sort(queries)])

    def split(self, test_fraction: float, seed: int) -> tuple[Queries, Queries]:
        """Random queries to train on, and the others."""
        shuffled = np.random.default_rng(seed).permutation(len(self.group))
        n_test = round(len(shuffled) * test_fraction)
        return self.some(shuffled[n_test:]), self.some(shuffled[:n_test])


def generated(n_queries: int, seed: int) -> Queries:
    """Queries whose relevance depends on hidden numbers, some of them only in some queries."""
    rng, world = np.random.default_rng(seed), np.random.default_rng(12_345)
    group = np.clip(rng.lognormal(np.log(120), 0.5, n_queries).astype(int), 10, 600)
    query = np.repeat(np.arange(n_queries), group)
    n, n_hidden = len(query), 12
    Z = rng.normal(size=(n, n_hidden))
    kinds = rng.normal(size=(n_queries, 4))
    Q = kinds[query]
    relevance = Z[:, 0] + 0.8 * np.tanh(1.5 * Z[:, 1]) + 0.7 * Z[:, 2] * (Q[:, 0] > 0)
    relevance += 0.6 * Z[:, 3] * Z[:, 4] + 0.5 * np.maximum(Z[:, 5], 0)
    relevance += 0.5 * np.sin(2 * Z[:, 6]) * (Q[:, 1] > -0.5) + 0.4 * Z[:, 7] * Q[:, 2]
    relevance += 0.9 * rng.normal(size=n) + 0.8 * rng.normal(size=n_queries)[query]
    y = np.digitize(relevance, [0.4, 1.6, 2.9, 4.0])
    mixed = world.normal(size=(n_hidden, N_COLUMNS)) * (world.random((n_hidden, N_COLUMNS)) < 0.15)
    X = Z @ mixed + rng.normal(size=(n, N_COLUMNS)) * world.uniform(0.3, 2, N_COLUMNS)
    third = N_COLUMNS // 3
    X[:, third : 2 * third] = np.round(np.exp(np.clip(X[:, third : 2 * third], -6, 6)))
    X[:, 2 * third :] += rng.normal(size=(n_queries, N_COLUMNS - 2 * third))[query]
    X[:, :4] = Q
    return Queries(X.astype(np.float32), y, group)


def lectures() -> Queries:
    """Which lectures a student rates best."""
    import pandas

    folder = os.environ.get("WEALD_DATA")
    if not folder:
        sys.exit("WEALD_DATA is not set; set it to the folder of insteval.parquet")
    frame = pandas.read_parquet(Path(folder) / "insteval.parquet")
    frame["student"] = frame["student"].astype(int)
    frame = frame.sort_values("student", kind="stable").reset_index(drop=True)
    group = frame.groupby("student", sort=True).size().to_numpy()
    X = frame.drop(columns=["student", "target"])
    return Queries(X, frame["target"].to_numpy() - 1, group)


def read(path: Path) -> Queries:
    """A file of lines `grade qid:number column:value …`, the rows of a query side by side."""
    from sklearn.datasets import load_svmlight_file

    X, y, qid = load_svmlight_file(str(path), query_id=True, zero_based="auto")
    group = np.diff(np.append(np.flatnonzero(np.diff(qid, prepend=qid[0] - 1)), len(qid)))
    return Queries(X.toarray().astype(np.float32), y.astype(int), group)


# A system: its model of the training queries, with so many threads.
Fit = Callable[[Queries, int], Any]


def weald(**parameters: Any) -> Fit:
    def fit(data: Queries, threads: int) -> Any:
        model = BoostedTreesRanker(n_jobs=threads, **parameters)
        return model.fit(data.X, data.y, group=data.group)

    return fit


def lightgbm(**parameters: Any) -> Fit:
    def fit(data: Queries, threads: int) -> Any:
        import lightgbm as package

        model = package.LGBMRanker(n_jobs=threads, verbose=-1, **parameters)
        return model.fit(data.X, data.y, group=data.group)

    return fit


def xgboost(**parameters: Any) -> Fit:
    def fit(data: Queries, threads: int) -> Any:
        import xgboost as package

        model = package.XGBRanker(n_jobs=threads, enable_categorical=True, **parameters)
        # Its average precision takes 0 and 1 only.
        y = data.y > 0 if parameters.get("objective") == "rank:map" else data.y
        return model.fit(data.X, y, group=data.group)

    return fit


def catboost(**parameters: Any) -> Fit:
    def fit(data: Queries, threads: int) -> Any:
        import catboost as package

        is_frame = hasattr(data.X, "columns")
        model = package.CatBoostRanker(
            thread_count=threads,
            verbose=False,
            allow_writing_files=False,
            cat_features=list(data.X.columns) if is_frame else None,
            **parameters,
        )
        return model.fit(data.X, data.y, group_id=data.qid)

    return fit


OURS = {"quality": "fast", "n_estimators": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE}
ALONE = {"pairwise_weight": 0.0, "truncation_level": 30}  # LambdaMART as in lightgbm
LGBM = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE}
XGB = {
    "n_estimators": ROUNDS,
    "max_leaves": LEAVES,
    "max_depth": 0,
    "grow_policy": "lossguide",
    "learning_rate": RATE,
}
CAT = {"iterations": ROUNDS, "depth": 5, "learning_rate": RATE}

ROWS: dict[str, dict[str, Fit]] = {
    "ndcg": {
        "weald": weald(**OURS, **ALONE),
        "weald, with pairs": weald(**OURS),
        "lightgbm": lightgbm(**LGBM),
        "xgboost": xgboost(objective="rank:ndcg", **XGB),
        "catboost": catboost(**CAT),
    },
    "map": {
        "weald": weald(loss="map", **OURS, **ALONE),
        "weald, with pairs": weald(loss="map", **OURS),
        "xgboost": xgboost(objective="rank:map", **XGB),
    },
    "pairwise": {
        "weald": weald(loss="pairwise", **OURS),
        "xgboost": xgboost(objective="rank:pairwise", **XGB),
    },
    "xendcg": {
        "weald": weald(loss="xendcg", **OURS),
        "lightgbm": lightgbm(objective="rank_xendcg", **LGBM),
    },
    "defaults": {
        "weald": weald(),
        "weald, pairwise": weald(loss="pairwise"),
        "weald, xendcg": weald(loss="xendcg"),
        "lightgbm": lightgbm(),
        "xgboost": xgboost(),
        "catboost": catboost(),
    },
}


@dataclass(frozen=True)
class Measured:
    """One fit."""

    wall: float
    processor: float
    ndcg_10: float
    ndcg: float


def measured(fit: Fit, train: Queries, test: Queries, threads: int) -> Measured:
    wall, processor = time.perf_counter(), time.process_time()
    model = fit(train, threads)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    scores = np.asarray(model.predict(test.X), dtype=np.float64)
    return Measured(
        wall,
        processor,
        ndcg_score(test.y, scores, group=test.group, k=10),
        ndcg_score(test.y, scores, group=test.group),
    )


# The training and test queries of a repeat.
Draw = Callable[[int], tuple[Queries, Queries]]


def draws(given: argparse.Namespace) -> Draw:
    """Each repeat has queries of its own, so that differences have a standard error."""
    if given.lectures or given.files:
        table = lectures() if given.lectures else joined([read(path) for path in given.files])
        return lambda repeat: table.split(given.test_fraction, repeat)
    test = generated(600, 2)
    return lambda repeat: (generated(given.queries, 1 if repeat == 0 else 2 + repeat), test)


def joined(parts: list[Queries]) -> Queries:
    X, y, group = (
        np.concatenate([getattr(part, f) for part in parts]) for f in ("X", "y", "group")
    )
    return Queries(X, y, group)


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean, and its standard error."""
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return mean(values), error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=["ndcg"], help=", ".join(ROWS))
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--lectures", action="store_true", help="the table of WEALD_DATA")
    parser.add_argument("--files", type=Path, nargs="+", help="rows in the LETOR format")
    parser.add_argument("--test-fraction", type=float, default=0.25, help="of the queries")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="each on other training queries")
    parser.add_argument("--systems", nargs="*")
    given = parser.parse_args()
    draw = draws(given)
    train, _ = draw(0)
    here = ", ".join(f"{name}: {value}" for name, value in report.machine().items())
    n, k = train.X.shape
    print(
        f"# {len(train.group):,} queries of {n:,} rows x {k}, {given.threads} threads\n\n{here}\n"
    )
    print(
        "| row | system | version | processor s | s | NDCG@10 | more than weald's | error | NDCG |"
    )
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for row in given.rows:
        systems = {s: fit for s, fit in ROWS[row].items() if s in (given.systems or ROWS[row])}
        fits: dict[str, list[Measured]] = {system: [] for system in systems}
        for repeat in range(given.repeats):
            train, test = draw(repeat)
            for system in list(systems)[:: 1 if repeat % 2 == 0 else -1]:
                fits[system].append(measured(systems[system], train, test, given.threads))
        first = next(iter(fits.values()))
        for system, own in fits.items():
            version = peers.package_version(system.partition(",")[0])
            gap, error = mean_and_error(
                [b.ndcg_10 - a.ndcg_10 for a, b in zip(first, own, strict=True)]
            )
            print(
                f"| {row} | {system} | {version} | {median(one.processor for one in own):.2f} "
                f"| {median(one.wall for one in own):.2f} | {mean(one.ndcg_10 for one in own):.4f} "
                f"| {gap:+.4f} | {error:.4f} | {mean(one.ndcg for one in own):.4f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
