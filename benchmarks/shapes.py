"""Fits of tables of twenty shapes and of many threads, beside the peers: time, memory, metric.

Each fit runs in a process of its own, which makes the table and fits once; systems take turns.
Results are written to `--json` as they come. `--threads` takes several numbers, and `--seconds` a
time after which no fit is started.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.metrics import log_loss, roc_auc_score

import memory
import peers

SYSTEMS = ("weald", "lightgbm", "lightgbm-quantised", "xgboost")

# A fit that takes longer counts as failed.
_MOST_SECONDS = 300


@dataclass(frozen=True)
class Shape:
    """A table by its size, and the trees that are fitted to it."""

    rows: int
    columns: int
    classes: int = 2
    make: Callable[[np.random.Generator, Shape], Any] = lambda rng, shape: _numbers(rng, shape)
    levels: int = 0
    density: float = 1.0
    work: dict[str, Any] = field(default_factory=dict)


def _numbers(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    return rng.standard_normal((shape.rows, shape.columns), dtype=np.float32)


def _counts(rng: np.random.Generator, shape: Shape) -> Any:
    entries = int(shape.rows * shape.columns * shape.density)
    where = rng.integers(0, shape.rows, entries), rng.integers(0, shape.columns, entries)
    counts = 1 + rng.poisson(1.0, entries).astype(np.float32)
    return sparse.csr_matrix((counts, where), shape=(shape.rows, shape.columns))


def _categories(rng: np.random.Generator, shape: Shape) -> pd.DataFrame:
    columns = {}
    for i in range(shape.columns):
        codes = (shape.levels * rng.random(shape.rows) ** 2).astype(np.int32)  # uneven
        columns[f"c{i}"] = pd.Categorical.from_codes(codes, [f"l{k}" for k in range(shape.levels)])
    return pd.DataFrame(columns)


# Names say what is unusual about the shape.
SHAPES: dict[str, Shape] = {
    "rows_100": Shape(100, 10),
    "rows_1k": Shape(1_000, 20),
    "rows_10k": Shape(10_000, 28),
    "rows_20k": Shape(20_000, 28),
    "rows_100k": Shape(100_000, 28),
    "rows_1m": Shape(1_000_000, 28),
    "rows_10m": Shape(10_000_000, 28),
    "columns_1": Shape(100_000, 1),
    "columns_3": Shape(1_000_000, 3),
    "columns_200": Shape(50_000, 200),
    "columns_2k": Shape(10_000, 2_000, work={"trees": 30}),
    "columns_20k": Shape(2_000, 20_000, work={"trees": 10}),
    "columns_100k": Shape(1_000, 100_000, work={"trees": 5}),
    "sparse_1k": Shape(100_000, 1_000, make=_counts, density=0.01),
    "sparse_50k": Shape(20_000, 50_000, make=_counts, density=0.001, work={"trees": 30}),
    "classes_10": Shape(20_000, 28, classes=10, work={"trees": 30}),
    "classes_300": Shape(20_000, 28, classes=300, work={"trees": 3}),
    "classes_1000": Shape(20_000, 28, classes=1_000, work={"trees": 1}),
    "levels_100": Shape(200_000, 10, make=_categories, levels=100),
    "levels_100k": Shape(500_000, 3, make=_categories, levels=100_000, work={"trees": 30}),
    "bins_1000": Shape(100_000, 28, work={"bins": 1_000}),
}


def table_of(shape: Shape) -> tuple[Any, np.ndarray]:
    """Random columns, and a target that a few of them explain in part; every class occurs."""
    rng = np.random.default_rng(0)
    X = shape.make(rng, shape)
    first = np.zeros((shape.rows, 3))
    for i in range(min(3, shape.columns)):
        if isinstance(X, pd.DataFrame):
            first[:, i] = rng.normal(size=shape.levels)[X.iloc[:, i].cat.codes]
        else:
            column = X[:, [i]]
            first[:, i] = np.asarray(column.todense() if sparse.issparse(X) else column)[:, 0]
    score = first[:, 0] + np.sin(2 * first[:, 1]) + first[:, 0] * first[:, 2]
    order = np.argsort(score + rng.normal(size=shape.rows), kind="stable")
    y = np.empty(shape.rows, dtype=np.int64)
    y[order] = np.arange(shape.rows) * shape.classes // shape.rows
    return X, y


def fit_once(name: str, system: str, threads: int) -> dict[str, Any]:
    """Seconds and additional memory of one fit, and the metric on the training rows."""
    shape = SHAPES[name]
    X, y = table_of(shape)
    work = dict(shape.work)
    if isinstance(X, pd.DataFrame):
        work["categories"] = tuple(X.columns)
    task = "binary" if shape.classes == 2 else "multiclass"
    peers.make(system, "binary", threads).fit(np.eye(64), np.arange(64) % 2)  # imports, threads
    model = peers.make(system, task, threads, **work)
    memory.RESET.write_text("5")
    before = memory.kilobytes("VmRSS")
    begin, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    found = {
        "seconds": time.perf_counter() - begin,
        "processor": time.process_time() - processor,
        "megabytes": (memory.kilobytes("VmHWM") - before) * 1024 / 1e6,
    }
    some = slice(0, 20_000)
    probabilities = model.predict_proba(X[some])
    if shape.classes == 2:
        return found | {"metric": roc_auc_score(y[some], probabilities[:, 1])}
    return found | {"metric": log_loss(y[some], probabilities, labels=model.classes_)}


def measured(name: str, system: str, threads: int) -> dict[str, Any]:
    """The same in a process of its own, or its error."""
    command = [sys.executable, __file__, "--child", name, system, str(threads)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
        return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {_MOST_SECONDS} s"}
    except (IndexError, ValueError):
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}


def summary(results: pd.DataFrame) -> Iterator[str]:
    """Medians by shape and threads; `ratio` is that of weald's figure to the best peer's.

    Processor time is what to compare with one thread on a machine that does other work, too.
    """
    for figure in ("seconds", "processor", "megabytes", "metric"):
        if figure not in results:
            continue
        middle = results.pivot_table(
            index=["shape", "threads"],
            columns="system",
            values=figure,
            aggfunc="median",
            sort=False,
        )
        others = middle.drop(columns="weald", errors="ignore")
        if figure != "metric" and "weald" in middle and others.shape[1]:
            middle["ratio"] = middle["weald"] / others.min(axis=1)
        yield f"{figure}\n{middle.round(4).to_string()}"
    if "failed" in results:
        yield results[results["failed"].notna()].to_string()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", choices=[[], *SHAPES], help="default: all")
    parser.add_argument("--threads", type=int, nargs="*", default=[2])
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no fit after these")
    parser.add_argument("--json", type=Path, help="file of all results")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, system, threads = given.child
        print(json.dumps(fit_once(name, system, int(threads))))
        return
    systems = [one for one in given.systems if peers.installed(one)]
    print({one: peers.version(one) for one in systems})
    rows: list[dict[str, Any]] = []
    begin = time.perf_counter()
    for _ in range(given.repeats):
        for name in given.shapes or SHAPES:
            for threads in given.threads:
                for system in systems:
                    if time.perf_counter() - begin > given.seconds:
                        continue
                    row = {"shape": name, "threads": threads, "system": system}
                    rows.append(row | measured(name, system, threads))
                    print(rows[-1], flush=True)
                    if given.json:
                        given.json.write_text(json.dumps(rows, indent=1))
    print("\n\n".join(summary(pd.DataFrame(rows))))


if __name__ == "__main__":
    main()
