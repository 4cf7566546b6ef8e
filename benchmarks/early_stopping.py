"""Default fits of many rows, with early stopping, beside lightgbm's: both in turn."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import lightgbm
from sklearn.model_selection import train_test_split

import peers
import report
import tables
from weald import BoostedTreesClassifier

SYSTEMS = ("weald", "lightgbm")
PATIENCE = 50  # that of weald's defaults


@dataclass(frozen=True)
class Fit:
    """One fit, the split into training and validation rows included."""

    wall: float
    processor: float
    rounds: int
    metric: float


def fitted(system: str, data: tables.Table, threads: int) -> tuple[Any, int]:
    """A model and its number of rounds; each system holds out a tenth of the rows."""
    if system == "weald":
        model = BoostedTreesClassifier(n_jobs=threads).fit(data.X, data.y)
        return model, model.n_estimators_
    X, X_val, y, y_val = train_test_split(data.X, data.y, test_size=0.1, random_state=0)
    model = lightgbm.LGBMClassifier(n_estimators=5_000, n_jobs=threads, verbose=-1)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=[stop])
    return model, model.best_iteration_


def measured(system: str, data: tables.Table, threads: int) -> Fit:
    wall, processor = time.perf_counter(), time.process_time()
    model, rounds = fitted(system, data, threads)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Fit(wall, processor, rounds, data.score(model))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    data = tables.load("higgs_like", rows=given.rows, test_rows=200_000)
    fits: dict[str, list[Fit]] = {system: [] for system in SYSTEMS}
    others = report.Others()
    for repeat in range(given.repeats):
        for system in SYSTEMS if repeat % 2 == 0 else SYSTEMS[::-1]:
            fits[system].append(measured(system, data, given.threads))
    here = ", ".join(f"{name}: {value}" for name, value in report.machine().items())
    print(f"# Early stopping on {given.rows:,} x 28 float32, {given.threads} threads\n\n{here}\n")
    print("| system | version | s | least s | processor s | rounds | AUC |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for system, own in fits.items():
        walls, first = [fit.wall for fit in own], own[0]
        print(
            f"| {system} | {peers.package_version(system)} | {median(walls):.2f} "
            f"| {min(walls):.2f} | {median(fit.processor for fit in own):.2f} "
            f"| {first.rounds} | {first.metric:.5f} |"
        )
    print(f"\n{given.repeats} runs. Other processes used {others.cores() or 0:.2f} cores.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
