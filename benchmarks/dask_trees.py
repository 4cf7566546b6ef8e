"""Boosted trees on Dask collections: weald, xgboost.dask and lightgbm.dask in turn.

Each worker is a process with one thread. The table lies in the workers' memory before the first
fit. Processor time is that of the client and of all workers. Then the same table is fitted on other
numbers of workers, to see whether the model changes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import dask
import dask.array as da
import distributed
import lightgbm.dask
import numpy as np
import xgboost.dask
from sklearn.metrics import roc_auc_score

import peers
import report
import tables
from weald import BoostedTreesClassifier

LEAVES, RATE = 31, 0.1

# Partitions, whatever the number of workers.
PARTITIONS = 8


@dataclass(frozen=True)
class Fit:
    """One fit: seconds, processor seconds of the client and of the workers, and predictions."""

    wall: float
    client: float
    workers: float
    scores: np.ndarray

    @property
    def processor(self) -> float:
        return self.client + self.workers


def weald_scores(client: Any, X: Any, y: Any, rounds: int, unseen: Any) -> Callable[[], Any]:
    given = {"n_estimators": rounds, "max_leaf_nodes": LEAVES, "learning_rate": RATE}
    model = BoostedTreesClassifier(quality="fast", **given).fit(X, y)
    return lambda: model.predict_proba(unseen)[:, 1]


def xgboost_scores(client: Any, X: Any, y: Any, rounds: int, unseen: Any) -> Callable[[], Any]:
    model = xgboost.dask.DaskXGBClassifier(
        n_estimators=rounds,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=RATE,
        max_bin=255,
        tree_method="hist",
    )
    model.client = client
    model.fit(X, y)
    return lambda: model.get_booster().inplace_predict(unseen)


def lightgbm_scores(client: Any, X: Any, y: Any, rounds: int, unseen: Any) -> Callable[[], Any]:
    model = lightgbm.dask.DaskLGBMClassifier(
        client=client,
        n_estimators=rounds,
        num_leaves=LEAVES,
        learning_rate=RATE,
        max_bin=255,
        verbose=-1,
    ).fit(X, y)
    return lambda: model.to_local().predict_proba(unseen)[:, 1]


SYSTEMS = {"weald": weald_scores, "xgboost": xgboost_scores, "lightgbm": lightgbm_scores}


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs="ERROR",
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


def in_workers(client: Any, data: tables.Table) -> tuple[Any, Any]:
    """The table as Dask arrays, whose partitions the workers hold, one after the other."""
    names = sorted(client.nthreads())
    points = np.linspace(0, len(data.y), PARTITIONS + 1).astype(int)
    blocks: tuple[list[Any], list[Any]] = ([], [])
    for i, (begin, end) in enumerate(pairwise(points)):
        for whole, own in zip((data.X, data.y), blocks, strict=True):
            held = client.scatter(whole[begin:end], workers=[names[i * len(names) // PARTITIONS]])
            shape = (end - begin, *whole.shape[1:])
            own.append(da.from_delayed(dask.delayed(held), shape, dtype=whole.dtype))
    return da.concatenate(blocks[0]), da.concatenate(blocks[1])


def measured(
    system: str, client: Any, X: Any, y: Any, data: tables.Table, rounds: int, warm: bool = True
) -> Fit:
    """One fit; before it, a fit of one round loads the library in all workers."""
    if warm:
        SYSTEMS[system](client, X, y, 1, data.X_test)

    def spent() -> tuple[float, float]:
        return time.process_time(), sum(client.run(time.process_time).values())

    before, begin = spent(), time.perf_counter()
    scores = SYSTEMS[system](client, X, y, rounds, data.X_test)
    wall, after = time.perf_counter() - begin, spent()
    return Fit(wall, after[0] - before[0], after[1] - before[1], np.asarray(scores()))


def compared(data: tables.Table, given: argparse.Namespace) -> None:
    """The table of times."""
    fits: dict[str, list[Fit]] = {system: [] for system in given.systems}
    with cluster(given.workers) as client:
        X, y = in_workers(client, data)
        for repeat in range(given.repeats):
            for system in given.systems if repeat % 2 == 0 else given.systems[::-1]:
                warm = repeat == 0
                fits[system].append(measured(system, client, X, y, data, given.rounds, warm))
    print("| system | version | processor s | of the client | of the workers | s | AUC |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for system, own in fits.items():
        times = [
            median(getattr(fit, name) for fit in own)
            for name in ("processor", "client", "workers", "wall")
        ]
        numbers = " | ".join(f"{one:.2f}" for one in times)
        auc = roc_auc_score(data.y_test, own[0].scores)
        print(f"| {system} | {peers.package_version(system)} | {numbers} | {auc:.5f} |")


def same_models(data: tables.Table, given: argparse.Namespace) -> None:
    """Whether predictions depend on the number of workers."""
    seen: dict[str, list[np.ndarray]] = {system: [] for system in given.systems}
    for n_workers in given.same:
        with cluster(n_workers) as client:
            X, y = in_workers(client, data)
            for system in given.systems:
                fit = measured(system, client, X, y, data, given.rounds, warm=False)
                seen[system].append(fit.scores)
    print("\n| system | workers | digest of predictions | most they differ from the first |")
    print("|---|---:|---|---:|")
    for system, all_scores in seen.items():
        for n_workers, scores in zip(given.same, all_scores, strict=True):
            digest = hashlib.sha256(np.ascontiguousarray(scores).tobytes()).hexdigest()[:12]
            most = float(np.abs(scores - all_scores[0]).max())
            print(f"| {system} | {n_workers} | {digest} | {most:.2g} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--same", nargs="*", type=int, default=[1, 2, 4], metavar="WORKERS")
    parser.add_argument("--same-rows", type=int, default=200_000)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm|distributed|xgboost")
    others = report.Others()
    here = ", ".join(f"{name}: {value}" for name, value in report.machine().items())
    print(
        f"# {given.rows:,} x 28 float32, {given.rounds} trees of {LEAVES} leaves, learning rate "
        f"{RATE}, 255 bins, {given.workers} workers of one thread\n\n{here}, dask "
        f"{peers.package_version('dask')}\n"
    )
    if given.repeats:
        compared(tables.load("higgs_like", rows=given.rows, test_rows=200_000), given)
    if given.same:
        same_models(tables.load("higgs_like", rows=given.same_rows, test_rows=50_000), given)
    print(f"\nOther processes used {others.cores() or 0:.2f} cores.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
