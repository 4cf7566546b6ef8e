"""AdaBoost beside scikit-learn's class of the same name: both in turn, one table a row."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier as Theirs

import peers
import report
import tables
from rows import seconds, short
from weald import AdaBoostClassifier as Ours

SYSTEMS = ("weald", "scikit-learn")


@dataclass(frozen=True)
class Row:
    """What is timed, and how many seconds of a figure one second is."""

    what: str
    unit: str
    scale: float
    table: tuple[str, dict[str, int]]
    n_estimators: int
    time_of: Callable[[Any, tables.Table], float]
    target: float  # the ratio to stay below


def fit_once(model: Any, data: tables.Table) -> float:
    return seconds(partial(model.fit, data.X, data.y))


def fit_often(model: Any, data: tables.Table) -> float:
    return short(partial(model.fit, data.X, data.y))


def predict_rows(model: Any, data: tables.Table) -> float:
    """Latency of one row through predict_proba, another row each time; the fit is not timed."""
    model.fit(data.X, data.y)
    rows = np.split(data.X_test[:100], len(data.X_test[:100]))
    return median(seconds(partial(model.predict_proba, row)) for row in rows)


BREAST = ("breast_cancer", {})
HIGGS = ("higgs_like", {"rows": 100_000, "test_rows": 20_000})
ROWS = {
    "adaboost_small": Row("fit 426 x 30 float64", "ms", 1e3, BREAST, 100, fit_often, 0.1),
    "adaboost_100k": Row("fit 100,000 x 28 float32", "s", 1.0, HIGGS, 50, fit_once, 0.05),
    "adaboost_row": Row("predict_proba of one row", "us", 1e6, BREAST, 100, predict_rows, 0.02),
}


def make(system: str, n_estimators: int, threads: int) -> Any:
    if system == "weald":
        return Ours(n_estimators=n_estimators, random_state=0, n_jobs=threads)
    return Theirs(n_estimators=n_estimators, random_state=0)


def run(name: str, threads: int, repeats: int) -> None:
    """Each repeat runs both and begins with the other one."""
    row = ROWS[name]
    data = tables.load(row.table[0], **row.table[1])
    times: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    metric, others = {}, report.Others()
    for repeat in range(repeats):
        for system in SYSTEMS if repeat % 2 == 0 else SYSTEMS[::-1]:
            model = make(system, row.n_estimators, threads)
            times[system].append(row.time_of(model, data) * row.scale)
            metric[system] = data.score(model)
    theirs = median(times["scikit-learn"])
    print(f"## {name}: {row.what}, {row.n_estimators} stumps, {threads} threads\n")
    print(f"| system | version | median {row.unit} | min..max | runs | AUC | ratio |")
    print("|---|---|---:|---|---:|---:|---:|")
    for system in SYSTEMS:
        figures = times[system]
        print(
            f"| {system} | {peers.package_version(system)} | {median(figures):.4g} "
            f"| {min(figures):.4g}..{max(figures):.4g} | {len(figures)} "
            f"| {metric[system]:.4f} | {median(figures) / theirs:.4f} |"
        )
    print(f"\nTo stay below: {row.target}. Other processes used {others.cores() or 0:.2f} cores.")
    for system in SYSTEMS:
        print(f"- {system}: {make(system, row.n_estimators, threads).get_params()}")
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    unknown = [name for name in given.what if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; there are {', '.join(ROWS)}")
    here = report.machine()
    print("# AdaBoost\n\n" + ", ".join(f"{name}: {value}" for name, value in here.items()) + "\n")
    for name in given.what or ROWS:
        run(name, given.threads, given.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
