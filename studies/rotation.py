"""Rotation forests beside aeon's class of the same name, our random forest and our boosted trees:
the same trees and subsets, on every classification table of numbers in the folder WEALD_DATA.

aeon divides columns by their range, so "weald, scale='range'" is the row to compare with it;
"weald" is the method as it is written, without a scale. With --save FILE tables may be run in
several goes: the summary is of all tables in the file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import peers
import report
import whole_trees
from weald import BoostedTreesClassifier, RandomForestClassifier, RotationForestClassifier

MOST_ROWS, SUBSET = 60_000, 3
PREDICTIONS = 5  # of each model; their median counts
SMALLEST = 1e-15  # probability in a logarithm


@dataclass(frozen=True)
class Figures:
    """One system on one table: seconds by the clock and of the processor, and two metrics."""

    fit: float
    fit_cpu: float
    predict: float
    predict_cpu: float
    accuracy: float
    log_loss: float


def ours(n_trees: int, threads: int, **more: Any) -> Any:
    return RotationForestClassifier(
        n_trees, subset_size=SUBSET, random_state=0, n_jobs=threads, **more
    )


def theirs(n_trees: int, threads: int) -> Any:
    from aeon.classification.sklearn import RotationForestClassifier as Theirs

    return Theirs(
        n_estimators=n_trees, min_group=SUBSET, max_group=SUBSET, random_state=0, n_jobs=threads
    )


AS_AEON = {"scale": "range", "criterion": "entropy", "sample_fraction": 0.5, "replace": False}

SYSTEMS: dict[str, Callable[[int, int], Any]] = {
    "aeon": theirs,
    "weald, scale='range'": lambda n, threads: ours(n, threads, scale="range"),
    "weald, all as aeon": lambda n, threads: ours(n, threads, **AS_AEON),
    "weald": ours,
    "weald random forest": lambda n, threads: RandomForestClassifier(
        n, random_state=0, n_jobs=threads, **whole_trees.OF_CLASSES
    ),
    "weald boosted trees": lambda n, threads: BoostedTreesClassifier(
        quality="fast", random_state=0, n_jobs=threads
    ),
}


def names_of_tables(folder: Path) -> list[str]:
    """Classification tables of numbers without missing values, smallest first."""
    found = []
    for line in (folder / "INDEX.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 6 or cells[1] not in ("binary", "multiclass"):
            continue
        is_numeric = cells[3].endswith("/0/0") and float(cells[5]) == 0.0
        if is_numeric and int(cells[2]) <= MOST_ROWS:
            found.append((int(cells[2]), cells[0]))
    return [name for _, name in sorted(found)]


def load(folder: Path, name: str, most_rows: int | None) -> tuple[np.ndarray, ...]:
    """Seven rows of ten to learn from, three to be judged by, every class in both."""
    frame = pq.read_table(folder / f"{name}.parquet").to_pandas()
    X = frame.drop(columns="target").to_numpy(dtype=np.float64)
    y = np.unique(frame["target"].to_numpy().astype(str), return_inverse=True)[1]
    counts = np.bincount(y)
    kept = counts[y] >= 4
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    if most_rows is not None and len(X) > most_rows:
        X, _, y, _ = train_test_split(X, y, train_size=most_rows, random_state=0, stratify=y)
        kept = np.bincount(y)[y] >= 4
        X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    return tuple(train_test_split(X, y, test_size=0.3, random_state=0, stratify=y))


def measure(model: Any, data: tuple[np.ndarray, ...]) -> Figures:
    X, X_test, y, y_test = data
    clock, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    fit, fit_cpu = time.perf_counter() - clock, time.process_time() - cpu
    asked = []
    for _ in range(PREDICTIONS):
        clock, cpu = time.perf_counter(), time.process_time()
        shares = np.asarray(model.predict_proba(X_test))
        asked.append((time.perf_counter() - clock, time.process_time() - cpu))
    return Figures(
        fit,
        fit_cpu,
        median(clock for clock, _ in asked),
        median(cpu for _, cpu in asked),
        float((shares.argmax(axis=1) == y_test).mean()),
        float(log_loss(y_test, np.clip(shares, SMALLEST, 1), labels=np.arange(shares.shape[1]))),
    )


def run(
    data: tuple[np.ndarray, ...], systems: list[str], n_trees: int, threads: int, repeats: int
) -> dict[str, Figures]:
    """Each repeat asks all systems in turn; times are medians."""
    runs: dict[str, list[Figures]] = {system: [] for system in systems}
    for repeat in range(repeats):
        for system in systems if repeat % 2 == 0 else systems[::-1]:
            runs[system].append(measure(SYSTEMS[system](n_trees, threads), data))
    times = ("fit", "fit_cpu", "predict", "predict_cpu")
    return {
        system: Figures(
            *(median(getattr(one, name) for one in figures) for name in times),
            figures[0].accuracy,
            figures[0].log_loss,
        )
        for system, figures in runs.items()
    }


def saved(file: Path | None, systems: list[str]) -> dict[str, dict[str, Figures]]:
    """Tables that an earlier run has measured, with all these systems."""
    if file is None or not file.exists():
        return {}
    tables = json.loads(file.read_text()).items()
    return {
        name: {system: Figures(**row[system]) for system in systems}
        for name, row in tables
        if set(systems) <= set(row)
    }


def _plain(row: dict[str, Figures]) -> dict[str, dict[str, float]]:
    return {system: asdict(figures) for system, figures in row.items()}


def print_summary(results: dict[str, dict[str, Figures]], systems: list[str]) -> None:
    """Means over tables; ratios of times are geometric means against aeon's."""
    print(f"\nMeans of {len(results)} tables:\n")
    print(
        "| system | accuracy | log loss | best or equal | fit | fit CPU | predict | predict CPU |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for system in systems:
        mine = [row[system] for row in results.values()]
        best = [max(one.accuracy for one in row.values()) for row in results.values()]
        wins = sum(one.accuracy >= most for one, most in zip(mine, best, strict=True))
        ratios = ""
        for name in ("fit", "fit_cpu", "predict", "predict_cpu"):
            if "aeon" not in systems:
                ratios += " |  "
                continue
            of = [
                getattr(row[system], name) / getattr(row["aeon"], name) for row in results.values()
            ]
            ratios += f" | {np.exp(np.mean(np.log(of))):.3f}"
        print(
            f"| {system} | {np.mean([one.accuracy for one in mine]):.4f} "
            f"| {np.mean([one.log_loss for one in mine]):.4f} | {wins}{ratios} |"
        )
    print("\nTimes are ratios to aeon's (fit to stay below 0.15, predict below 0.1).")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="TABLE", help="all by default")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--save", type=Path, help="a JSON file to add the figures to")
    parser.add_argument("--quick", action="store_true", help="20 trees, 2000 rows, 100 columns")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    given = parser.parse_args()
    folder = Path(os.environ.get("WEALD_DATA", ""))
    if not (folder / "INDEX.md").exists():
        print("The folder that WEALD_DATA names has no INDEX.md: nothing to measure.")
        return 1
    warnings.filterwarnings("ignore")  # scikit-learn's, of what aeon passes on
    n_trees = 20 if given.quick else given.trees
    print("# Rotation forests\n\n" + json.dumps(report.machine()))
    versions = ", ".join(f"{name} {peers.package_version(name)}" for name in ("weald", "aeon"))
    print(f"\n{versions}; {n_trees} trees, subsets of {SUBSET}, {given.threads} threads\n")
    print("| table | train | columns | classes | " + " | ".join(given.systems) + " |")
    print("|---|---:|---:|---:|" + "---|" * len(given.systems))
    results, others = saved(given.save, given.systems), report.Others()
    for name in given.what or names_of_tables(folder):
        if name in results:
            continue
        data = load(folder, name, 2000 if given.quick else None)
        if given.quick and data[0].shape[1] > 100:
            continue
        found = results[name] = run(data, given.systems, n_trees, given.threads, given.repeats)
        cells = [
            f"{one.accuracy:.4f}, {one.fit_cpu:.3g} s, {1e3 * one.predict_cpu:.3g} ms"
            for one in found.values()
        ]
        if given.save:
            given.save.write_text(json.dumps({n: _plain(row) for n, row in results.items()}))
        shape = f"{len(data[0])} | {data[0].shape[1]} | {len(np.unique(data[2]))}"
        print(f"| {name} | {shape} | " + " | ".join(cells) + " |", flush=True)
    print("\nCells: accuracy, CPU seconds of the fit, CPU milliseconds of predict_proba.")
    print_summary(results, given.systems)
    print(f"Other processes used {others.cores() or 0:.2f} cores.")
    for system in given.systems:
        print(f"- {system}: {SYSTEMS[system](n_trees, given.threads).get_params()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
