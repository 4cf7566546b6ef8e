"""Forests beside scikit-learn's classes of the same names and ydf: in turn, one table a row."""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

import peers
import report
import tables
from rows import seconds, short


@dataclass(frozen=True)
class Row:
    """What is measured (less is better), on which table, and the ratio to stay below."""

    what: str
    unit: str
    scale: float
    load: Callable[[], tables.Table]
    kind: str  # of the class: RandomForest or ExtraTrees
    trees: int
    measure: Callable[[Any, tables.Table], float]
    target: float
    columns: int | None = None  # of a node, judged by entropy; None: the square root, by Gini


def fit_once(model: Any, data: tables.Table) -> float:
    return seconds(partial(model.fit, data.X, data.y))


def fit_often(model: Any, data: tables.Table) -> float:
    return short(partial(model.fit, data.X, data.y))


def predict_row(model: Any, data: tables.Table) -> float:
    """Latency of one row through predict_proba, another row each time; the fit is not timed."""
    model.fit(data.X, data.y)
    rows = np.split(data.X_test[:100], len(data.X_test[:100]))
    return median(seconds(partial(model.predict_proba, row)) for row in rows)


def predict_many(model: Any, data: tables.Table) -> float:
    model.fit(data.X, data.y)
    return short(partial(model.predict_proba, data.X_test))


def bytes_a_node(model: Any, data: tables.Table) -> float:
    """Size of the pickle for each node; what out-of-bag estimates need is in it."""
    model.fit(data.X, data.y)
    forest = getattr(model, "forest_", None)
    n = len(forest.feature) if forest else sum(t.tree_.node_count for t in model.estimators_)
    return len(pickle.dumps(model)) / n


def higgs(rows: int = 100_000, test_rows: int = 200_000) -> tables.Table:
    return tables.load("higgs_like", rows=rows, test_rows=test_rows)


def covertype() -> tables.Table:
    whole = tables.load("covertype")
    n = 100_000
    return tables.Table(
        "covertype", whole.task, whole.X[:n], whole.y[:n], whole.X_test, whole.y_test
    )


def california() -> tables.Table:
    """Numeric columns only: scikit-learn's forests take no text."""
    import pandas

    file = Path(os.environ.get("WEALD_DATA", ".")) / "california_housing.parquet"
    if not file.exists():
        raise tables.Absent(f"no {file}; set WEALD_DATA to the folder that has it")
    frame = pandas.read_parquet(file)
    y = frame.pop("target").to_numpy(dtype=np.float64)
    X = frame.select_dtypes("number").to_numpy(dtype=np.float64)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[: len(X) // 5], order[len(X) // 5 :]
    return tables.Table("california", "regression", X[train], y[train], X[test], y[test])


def three_outputs() -> tables.Table:
    """Three targets of 5,000 x 8 normal numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 8))
    y = np.column_stack([X[:, 0] * X[:, 1], np.sin(2 * X[:, 2]), X[:, 3] + X[:, 4]])
    y += 0.3 * rng.standard_normal(y.shape)
    return tables.Table("outputs", "regression", X[:5_000], y[:5_000], X[5_000:], y[5_000:])


def _fits(kind: str, name: str) -> dict[str, Row]:
    def row(what: str, load: Any, trees: int, most: float, often: bool = False) -> Row:
        unit, scale, measure = ("ms", 1e3, fit_often) if often else ("s", 1.0, fit_once)
        return Row(what, unit, scale, load, kind, trees, measure, most)

    most = 0.15 if name == "forest" else 0.2
    return {
        f"{name}_100k": row("fit 100,000 x 28", higgs, 100, most),
        f"{name}_1m": row("fit 1,000,000 x 28", partial(higgs, 1_000_000, 20_000), 5, 0.2),
        f"{name}_covertype": row("fit 100,000 rows of covertype", covertype, 100, 0.2),
        f"{name}_california": row("fit california_housing", california, 100, 0.2),
        f"{name}_cancer": row(
            "fit breast_cancer", partial(tables.load, "breast_cancer"), 100, most, True
        ),
        f"{name}_digits": row("fit digits", partial(tables.load, "digits"), 100, most, True),
    }


ROWS = {
    **_fits("RandomForest", "forest"),
    "forest_100k_entropy": Row(
        "fit 100,000 x 28 by entropy, eight columns a node", "s", 1.0, higgs, "RandomForest", 100,
        fit_once, 0.15, columns=8,
    ),
    **_fits("ExtraTrees", "extra_trees"),
    "forest_outputs": Row(
        "fit 5,000 x 8, three outputs", "s", 1.0, three_outputs, "RandomForest", 100,
        fit_once, 0.3,
    ),
    "forest_row": Row(
        "predict_proba of one row", "us", 1e6, partial(higgs, 20_000, 1000), "RandomForest", 100,
        predict_row, 0.05,
    ),
    "forest_200k": Row(
        "predict_proba of 200,000 rows", "s", 1.0, partial(higgs, 20_000), "RandomForest", 100,
        predict_many, 0.2,
    ),
    "forest_pickle": Row(
        "pickle, bytes a node", "B", 1.0, partial(higgs, 100_000, 1000), "RandomForest", 20,
        bytes_a_node, 0.25,
    ),
}  # fmt: skip
SYSTEMS = ("weald", "scikit-learn")


class Ydf:
    """ydf's random forest behind scikit-learn's two verbs; whole trees, as the others."""

    def __init__(
        self, trees: int, is_regression: bool, columns: int | None, threads: int, seed: int
    ) -> None:
        self.settings = {
            "num_trees": trees, "num_threads": threads, "max_depth": -1, "min_examples": 1,
            "compute_oob_performances": False, "winner_take_all": False, "random_seed": seed,
        }  # fmt: skip
        if columns is not None:
            self.settings["num_candidate_attributes"] = columns
        self.is_regression = is_regression

    def get_params(self) -> dict[str, Any]:
        return self.settings

    @staticmethod
    def _frame(X: Any) -> dict[str, Any]:
        return {f"c{i}": np.asarray(X[:, i], dtype=np.float32) for i in range(X.shape[1])}

    def fit(self, X: Any, y: Any) -> Ydf:
        ydf: Any = importlib.import_module("ydf")
        ydf.verbose(0)
        task = ydf.Task.REGRESSION if self.is_regression else ydf.Task.CLASSIFICATION
        settings = dict(self.settings)
        if self.is_regression:
            del settings["winner_take_all"]
        learner = ydf.RandomForestLearner(label="y", task=task, **settings)
        self.model = learner.train(self._frame(X) | {"y": np.asarray(y)})
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(self._frame(X))

    def predict_proba(self, X: Any) -> Any:
        shares = self.predict(X)
        return np.column_stack([1 - shares, shares]) if shares.ndim == 1 else shares


def make(system: str, row: Row, data: tables.Table, threads: int, seed: int = 0) -> Any:
    is_regression = data.task == "regression"
    if system == "ydf":
        return Ydf(row.trees, is_regression, row.columns, threads, seed)
    module = importlib.import_module("weald" if system == "weald" else "sklearn.ensemble")
    named = getattr(module, row.kind + ("Regressor" if is_regression else "Classifier"))
    # Defaults differ (weald's random forests choose theirs): both grow the same whole trees.
    alike: dict[str, Any] = {"min_samples_leaf": 1, "max_features": 1 / 3}
    if not is_regression:
        alike |= {"criterion": "gini", "max_features": "sqrt"}
    if row.columns is not None:
        alike |= {"criterion": "entropy", "max_features": row.columns}
    return named(row.trees, random_state=seed, n_jobs=threads, **alike)


def score(model: Any, data: tables.Table) -> float:
    if data.task == "regression":
        return float(r2_score(data.y_test, model.predict(data.X_test)))
    shares = model.predict_proba(data.X_test)
    if data.task == "binary":
        return float(roc_auc_score(data.y_test, shares[:, 1]))
    return float(accuracy_score(data.y_test, np.unique(data.y)[shares.argmax(axis=1)]))


def run(name: str, threads: int, repeats: int) -> None:
    """Each repeat, of a seed of its own, runs every system once and begins with another."""
    row = ROWS[name]
    data = row.load()
    others = report.Others()
    fits_only = row.measure in (fit_once, fit_often)
    for_ydf = row.kind == "RandomForest" and fits_only and data.y.ndim == 1
    with_ydf = for_ydf and find_spec("ydf") is not None
    systems = [*SYSTEMS, "ydf"] if with_ydf else list(SYSTEMS)
    figures: dict[str, list[float]] = {system: [] for system in systems}
    metric: dict[str, list[float]] = {system: [] for system in systems}
    for repeat in range(repeats):
        turn = repeat % len(systems)
        for system in systems[turn:] + systems[:turn]:
            model = make(system, row, data, threads, repeat)
            figures[system].append(row.measure(model, data) * row.scale)
            metric[system].append(score(model, data))
    best = min(median(figures[system]) for system in systems[1:])
    print(f"## {name}: {row.what}, {row.kind}, {row.trees} trees, {threads} threads\n")
    print(f"| system | version | median {row.unit} | min..max | runs | metric | to fastest peer |")
    print("|---|---|---:|---|---:|---:|---:|")
    for system in systems:
        ours = figures[system]
        print(
            f"| {system} | {peers.package_version(system)} | {median(ours):.4g} "
            f"| {min(ours):.4g}..{max(ours):.4g} | {len(ours)} "
            f"| {mean(metric[system]):.4f} | {median(ours) / best:.3f} |"
        )
    print(
        f"\nThe metric is the mean of all runs, a seed each. To stay below: {row.target}. "
        f"Other processes used {others.cores() or 0:.2f} cores."
    )
    for system in systems:
        print(f"- {system}: {make(system, row, data, threads).get_params()}")
    print(flush=True)


GROUPS = {
    "forests": list(ROWS),
    "forest_fits": [name for name, row in ROWS.items() if row.measure in (fit_once, fit_often)],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="ROW", help=", ".join([*ROWS, *GROUPS]))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    names = [row for name in given.what or ["forests"] for row in GROUPS.get(name, [name])]
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; there are {', '.join(ROWS)}")
    here = report.machine()
    print("# Forests\n\n" + ", ".join(f"{name}: {value}" for name, value in here.items()) + "\n")
    for name in names:
        try:
            run(name, given.threads, given.repeats)
        except tables.Absent as absent:
            print(f"## {name}: skipped: {absent}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
