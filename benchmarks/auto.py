"""AutoEnsemble at 10 s and 60 s beside flaml, AutoGluon and weald's boosters: errors, time, size.

All systems get the same tables and outer folds, the metric of the comparison and, if they have one,
the same time limit. Each fit runs in a process of its own (auto_systems.py), pinned to `--threads`
cores of its own; `--jobs` of them at once. Results are written to `--out` as they come, and those
already there are not measured again. A system that fails on a table is a row with its error; it
gets the last rank. Systems that are not installed are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pandas as pd

import accuracy_fits
from auto_systems import SYSTEMS

# Tables of each task in the comparison.
_OF_EACH_TASK = 6

# A fit that has not ended after so many times its limit, and so many seconds, counts as failed.
_PATIENCE, _MORE_SECONDS = 5, 600


def chosen_tables(part: str) -> list[str]:
    """Of each task the six tables of the part whose names have the smallest SHA-256."""
    of_task: dict[str, list[str]] = {}
    names = [name for name in accuracy_fits.table_names() if accuracy_fits.part_of(name) == part]
    for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest()):
        _, _, task = accuracy_fits.load(name)
        of_task.setdefault(task, []).append(name)
    return sorted(name for names in of_task.values() for name in names[:_OF_EACH_TASK])


class Results:
    """The results of all fits, in a JSON file that is written after each of them."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._lock = path, threading.Lock()
        has_some = path is not None and path.exists()
        self.rows: list[dict[str, Any]] = json.loads(path.read_text()) if has_some else []

    def has(self, fit: tuple[str, int, str]) -> bool:
        return any((row["table"], row["fold"], row["system"]) == fit for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        with self._lock:
            self.rows.append(row)
            if self.path is not None:
                written = self.path.with_suffix(".part")
                written.write_text(json.dumps(self.rows, indent=1))
                written.replace(self.path)
            figures = "  ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in row.items()
                if name not in ("table", "fold", "system")
            )
            print(f"{row['table']} {row['fold']} {row['system']}: {figures}", flush=True)


def run_all(
    fits: list[tuple[str, int, str]], results: Results, jobs: int, threads: int, seconds: float
) -> None:
    """Measure all fits, several at once, each on cores of its own; start none after `seconds`."""
    begin = time.perf_counter()
    cores = sorted(os.sched_getaffinity(0))
    if jobs * threads > len(cores):
        raise SystemExit(f"{jobs} jobs of {threads} threads need more than {len(cores)} cores")
    free: SimpleQueue[set[int]] = SimpleQueue()
    for job in range(jobs):
        free.put(set(cores[job * threads : (job + 1) * threads]))

    def run(fit: tuple[str, int, str]) -> None:
        if time.perf_counter() - begin > seconds:
            return
        own = free.get()
        try:
            os.sched_setaffinity(0, own)  # of this thread, and so of the process it starts
            results.add(run_one(*fit, threads))
        finally:
            free.put(own)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, fits))


def run_one(table: str, fold: int, system: str, threads: int) -> dict[str, Any]:
    """The result of one fit in a process of its own, or its error."""
    row: dict[str, Any] = {"table": table, "fold": fold, "system": system}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads)) | {"CUDA_VISIBLE_DEVICES": ""}
    script = str(Path(__file__).with_name("auto_systems.py"))
    command = [sys.executable, script, system, table, str(fold), str(threads)]
    most = _PATIENCE * (SYSTEMS[system][1] or 0.0) + _MORE_SECONDS
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=most, check=False
        )
    except subprocess.TimeoutExpired:
        return row | {"failed": f"not finished after {most:g} s"}
    try:
        return row | json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return row | {"failed": f"exit {done.returncode}: {last}"[:300]}


# ---- summary ----


def summary(results: pd.DataFrame, against: str) -> Iterator[str]:
    """Mean ranks, wins and relative errors over tables, and medians of the other figures.

    Failures have the largest error. Only tables that all systems were run on count.
    """
    errors = results.assign(error=results["error"].fillna(np.inf)).pivot_table(
        index=["table", "fold"], columns="system", values="error", dropna=False
    )
    errors = errors.dropna()
    ranks = errors.rank(axis=1)
    figures = pd.DataFrame({"mean rank": ranks.mean(), "first": (ranks == 1).sum()})
    if against in errors:
        own = errors[[against]].to_numpy()
        wins = (errors > own).mean() + 0.5 * (errors == own).mean()
        finite = np.where(np.isfinite(errors), errors, np.nan)
        ratio = np.log(np.maximum(own, 1e-6) / np.maximum(finite, 1e-6))
        figures[f"beaten by {against}"] = wins.drop(against)
        figures[f"error of {against} to it"] = np.exp(np.nanmean(ratio, axis=0))
    others = results.groupby("system")
    for name in ("seconds", "prediction", "megabytes"):
        figures[name] = others[name].median()
    figures["most seconds"] = others["seconds"].max()
    figures["failed"] = others["error"].agg(lambda found: int(found.isna().sum()))
    yield f"{len(errors)} folds of {errors.index.get_level_values(0).nunique()} tables"
    yield figures.sort_values("mean rank").round(3).to_string()
    yield errors.round(5).to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="default: 18 of the part, by chosen_tables")
    parser.add_argument("--part", choices=("choose", "confirm"), default="confirm")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--against", default="auto 60 s")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="fits at once")
    parser.add_argument("--threads", type=int, default=2, help="cores of each fit")
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no fit after these")
    given = parser.parse_args()
    systems = [one for one in given.systems if importlib.util.find_spec(SYSTEMS[one][0])]
    for absent in set(given.systems) - set(systems):
        print(f"{absent}: not installed")
    results = Results(given.out)
    tables = given.tables or chosen_tables(given.part)
    fits = [(t, fold, s) for fold in range(given.folds) for t in tables for s in systems]
    todo = [fit for fit in fits if not results.has(fit)]
    run_all(todo, results, given.jobs, given.threads, given.seconds)
    frame = pd.DataFrame(results.rows).reindex(columns=[*_COLUMNS])
    print("\n".join(summary(frame, given.against)))


_COLUMNS = ("table", "fold", "system", "error", "seconds", "prediction", "megabytes")

if __name__ == "__main__":
    main()
