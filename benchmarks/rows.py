"""The rows of the suite: what each measures, on which table, by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import pace
import peers
import tables

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Figure:
    """One measurement of one system: the value (less is better), and proof of the work done."""

    value: float
    metric: float | None = None
    leaves: float | None = None
    trees: int | None = None  # fewer than asked for, because all would have taken too long
    others: float | None = None  # cores used by other processes meanwhile


Measure = Callable[[str], Figure]


@dataclass(frozen=True)
class Row:
    """`start(threads)` makes what all systems share and returns the measurement of one system."""

    what: str
    unit: str
    start: Callable[[int], Measure]
    task: str = "binary"
    metric: str = "AUC"
    work: dict[str, Any] = field(default_factory=dict)
    against: str | None = None
    least_repeats: int = 1
    fits: bool = True
    service: bool = False  # our predictor() is asked too

    def distinct(self, systems: Sequence[str]) -> list[str]:
        """The systems this row can tell apart: without a fit, one a module."""
        if self.service and peers.OURS in systems:
            systems = [peers.SERVICE, *systems]
        if self.fits:
            return list(systems)
        return list({peers.SYSTEMS[s].module: s for s in reversed(systems)}.values())[::-1]


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of one call."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def short(action: Callable[[], Any], most: int = 10, enough: float = 1.0) -> float:
    """Median of several calls, for work too short to be timed once."""
    times: list[float] = []
    while len(times) < most and sum(times) < enough:
        times.append(seconds(action))
    return median(times)


def warm_up(system: str, threads: int) -> None:
    """One small fit and predict, so that no row pays for imports and first-use set-up."""
    small = tables.load("higgs_like", rows=2_000, test_rows=100)
    peers.make(system, "binary", threads, trees=5).fit(small.X, small.y).predict(small.X_test)


def fit_row(
    what: str,
    table: str,
    *,
    size: dict[str, int] | None = None,
    unit: str = "s",
    task: str = "binary",
    metric: str = "AUC",
    **work: Any,
) -> Row:
    """Time of a whole fit, binning included, and the metric on held-out rows.

    A row in milliseconds is a short one: each run is the median of several fits.
    """
    trees = peers.Work(**work).trees

    def start(threads: int) -> Measure:
        data = tables.load(table, **(size or {}))
        affordable: dict[str, int] = {}

        def fit(system: str, trees: int) -> tuple[Any, float]:
            model = peers.make(system, task, threads, **(work | {"trees": trees}))
            X = peers.prepared(system, data.X, **work)
            return model, seconds(lambda: model.fit(X, data.y))

        def measure_short(system: str) -> Figure:
            model = peers.make(system, task, threads, **work)
            value = short(lambda: model.fit(data.X, data.y))
            return proven(system, model, data, Figure(value * 1e3))

        def measure(system: str) -> Figure:
            if system not in affordable:
                affordable[system] = pace.affordable(lambda few: fit(system, few)[1], trees)
            model, value = fit(system, affordable[system])
            fewer = None if affordable[system] == trees else affordable[system]
            prepare = partial(peers.prepared, system, **work)
            return proven(system, model, data, Figure(value, trees=fewer), prepare)

        return measure_short if unit == "ms" else measure

    return Row(what, unit, start, task=task, metric=metric, work=work)


def proven(
    system: str,
    model: Any,
    data: tables.Table,
    figure: Figure,
    prepare: Callable[[Any], Any] = lambda X: X,
) -> Figure:
    """The figure with what shows that the work was done."""
    leaves = peers.leaves_per_tree(system, model)
    return replace(figure, metric=data.score(model, prepare), leaves=leaves)


def fitted_once(data: tables.Table, threads: int) -> Callable[[str], tuple[Any, Figure]]:
    """A fitted model of each system with its metric, made when first asked for."""
    known: dict[str, tuple[Any, Figure]] = {}

    def model_of(system: str) -> tuple[Any, Figure]:
        if system not in known:
            model = peers.make(system, data.task, threads).fit(data.X, data.y)
            known[system] = (model, proven(system, model, data, Figure(0.0)))
        return known[system]

    return model_of


def start_predict_batch(threads: int, *, rows: int) -> Measure:
    """Time of a batch through predict_proba; the fit before it is not timed."""
    data = tables.load("higgs_like", rows=200_000, test_rows=rows)
    model_of = fitted_once(data, threads)

    def measure(system: str) -> Figure:
        model, proof = model_of(system)
        value = short(lambda: model.predict_proba(data.X_test), most=5)
        return Figure(value * 1e3, proof.metric, proof.leaves)

    return measure


def start_predict_row(threads: int) -> Measure:
    """Latency of one row through predict_proba; the fit before it is not timed."""
    data = tables.load("higgs_like", rows=100_000, test_rows=20_000)
    model_of = fitted_once(data, threads)

    def measure(system: str) -> Figure:
        service = system == peers.SERVICE
        model, proof = model_of(peers.OURS if service else system)
        asked = model.predictor() if service else model
        # Another row each time: the same one again would be answered from warm branches.
        times = [
            seconds(partial(asked.predict_proba, row)) for row in np.split(data.X_test[:2000], 2000)
        ]
        return Figure(median(times) * 1e6, proof.metric, proof.leaves)

    return measure


def child(*arguments: str) -> Any:
    """What a fresh Python process prints as JSON; its errors become ours."""
    # A source tree is compiled once, as an installed package is, not at every import.
    own = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=HERE,
        env=own,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise RuntimeError(last[0])
    return json.loads(done.stdout.strip().splitlines()[-1])


# All memory is taken by the first trees: more of them would only make the row longer.
MEMORY_WORK = {"trees": 10}


def start_memory(threads: int) -> Measure:
    """Peak memory of a fit in a fresh process; the table is saved once and loaded by each."""
    data = tables.load("higgs_like", rows=4_000_000, test_rows=100_000)
    folder = tempfile.TemporaryDirectory(prefix="bench-")
    for name in ("X", "y", "X_test", "y_test"):
        np.save(Path(folder.name) / f"{name}.npy", getattr(data, name))
    del data  # the children need the memory

    def measure(system: str) -> Figure:
        arguments = (system, "binary", str(threads), json.dumps(MEMORY_WORK), folder.name)
        answer = child("memory.py", *arguments)
        return Figure(answer["megabytes"], answer["metric"], answer["leaves"])

    return measure


IMPORT = """
import time, numpy, sklearn.base, sklearn.utils.validation
begin = time.perf_counter()
{statement}
print(time.perf_counter() - begin)
"""


def start_import(threads: int) -> Measure:
    """Time of the import alone, what every system needs anyway being loaded already."""
    del threads

    def measure(system: str) -> Figure:
        module = peers.SYSTEMS[system].module
        statement = f"import {module}"
        if module == "weald":  # imports nothing before a class is used
            statement = "from weald import BoostedTreesClassifier"
        return Figure(child("-c", IMPORT.format(statement=statement)) * 1e3)

    return measure


ROWS: dict[str, Row] = {
    "fit_1m": fit_row(
        "fit 1,000,000 x 28 float32, binning included", "higgs_like", size={"rows": 1_000_000}
    ),
    "fit_1m_255": fit_row(
        "fit 1,000,000 x 28 float32, large trees, binning included",
        "higgs_like",
        size={"rows": 1_000_000},
        leaves=255,
    ),
    "fit_200k": fit_row(
        "fit 200,000 x 28 float32, binning included", "higgs_like", size={"rows": 200_000}
    ),
    "fit_100k_200": fit_row(
        "fit 100,000 x 200 float32, binning included",
        "wide",
        size={"rows": 100_000, "columns": 200},
    ),
    "fit_20k_2000": fit_row(
        "fit 20,000 x 2,000 float32, binning included",
        "wide",
        size={"rows": 20_000, "test_rows": 10_000, "columns": 2_000},
    ),
    "covertype": fit_row(
        "fit 464,809 x 54 float32, 44 columns binary, seven classes: a round is seven trees",
        "covertype",
        task="multiclass",
        metric="accuracy",
    ),
    "sparse": fit_row(
        "fit 200,000 x 100 float32, mostly zeros, heavy tails, missing values",
        "sparse",
        size={"rows": 200_000},
    ),
    "predict_1m": Row(
        "predict_proba of 1,000,000 x 28 float32",
        "ms",
        partial(start_predict_batch, rows=1_000_000),
        against="xgboost",
    ),
    "predict_200k": Row(
        "predict_proba of 200,000 x 28 float32",
        "ms",
        partial(start_predict_batch, rows=200_000),
        against="xgboost",
    ),
    "predict_row": Row(
        "predict_proba of one row x 28 float32, median of 2,000 calls",
        "us",
        start_predict_row,
        service=True,
    ),
    "rss_4m": Row(
        "peak RSS of a fit of 4,000,000 x 28 float32 in a fresh process, less RSS before it",
        "MB",
        start_memory,
        work=MEMORY_WORK,
        against="lightgbm",
    ),
    "adult": fit_row(
        "fit adult, 32,561 x 14, a pandas frame with 8 categorical columns",
        "adult",
        categories=tables.ADULT_CATEGORIES,
    ),
    "flights": fit_row(
        "fit flights, 800,000 x 4, a pandas frame with a date and two categorical columns",
        "flights",
        categories=tables.FLIGHTS_CATEGORIES,
    ),
    "small_breast_cancer": fit_row("fit 426 x 30 float64", "breast_cancer", unit="ms"),
    "small_digits": fit_row(
        "fit 1,347 x 64 float64, ten classes",
        "digits",
        unit="ms",
        task="multiclass",
        metric="accuracy",
    ),
    "import_time": Row(
        "import in a fresh process, numpy, sklearn.base and sklearn.utils.validation loaded",
        "ms",
        start_import,
        least_repeats=10,
        fits=False,
    ),
}

GROUPS: dict[str, list[str]] = {
    "default": ["fit_1m", "predict_1m"],
    "fits": [name for name in ROWS if name.startswith("fit_")] + ["covertype", "sparse"],
    "frames": ["adult", "flights"],
    "small": ["small_breast_cancer", "small_digits"],
    "all": list(ROWS),
}
