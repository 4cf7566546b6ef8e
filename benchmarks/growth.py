"""How the time of a fit grows with rows, columns, trees and threads: tables and a picture."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import peers
import report
import tables
from rows import seconds, short, warm_up

# weald and the two fastest of the peers that grow trees leaf by leaf (row fit_1m).
SYSTEMS = (peers.OURS, "lightgbm-quantised", "xgboost")
LIMIT = 540.0  # seconds: no further fit is begun that would probably end after this
PICTURES = Path(__file__).parents[1] / "docs" / "guide" / "pictures"


@dataclass(frozen=True)
class Growth:
    """Fits that differ in one thing: `axis` is rows, columns, trees or threads."""

    axis: str
    points: tuple[int, ...]
    table: str
    size: dict[str, int]
    trees: int = 50

    def size_at(self, point: int) -> dict[str, int]:
        """What the table is asked for; no held-out rows are needed."""
        along = {self.axis: point} if self.axis in {"rows", "columns"} else {}
        return {"test_rows": 100} | self.size | along

    def trees_at(self, point: int) -> int:
        """How many trees are grown."""
        return point if self.axis == "trees" else self.trees

    def threads_at(self, point: int, threads: int) -> int:
        """How many threads grow them."""
        return point if self.axis == "threads" else threads

    def fixed(self, threads: int) -> str:
        """What is the same at all points, in words."""
        said = [f"{count:,} {what}" for what, count in self.size.items()]
        said += [f"{self.trees} trees"] if self.axis != "trees" else []
        said += [f"{threads} threads"] if self.axis != "threads" else []
        return ", ".join(["table " + self.table, *said])


# 50 trees everywhere, so that the largest points end in time and all can be compared.
GROWTH: dict[str, Growth] = {
    "growth_rows": Growth(
        "rows", (10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000), "higgs_like", {}
    ),
    "growth_columns": Growth("columns", (10, 30, 100, 300, 1_000, 2_000), "wide", {"rows": 20_000}),
    "growth_trees": Growth("trees", (10, 30, 100, 300, 1_000), "higgs_like", {"rows": 100_000}),
    "growth_threads": Growth("threads", (1, 2), "higgs_like", {"rows": 1_000_000}),
    "growth_threads_small": Growth("threads", (1, 2), "higgs_like", {"rows": 10_000}),
}


@dataclass
class Point:
    """The seconds every system took at one point of the axis, run by run."""

    at: int
    runs: dict[str, list[float]]
    others: float = 0.0  # cores used by other processes, at worst

    def middle(self, system: str) -> float | None:
        """The median of a system's runs."""
        return median(self.runs[system]) if self.runs[system] else None


def measure(growth: Growth, systems: Sequence[str], threads: int, repeats: int) -> list[Point]:
    """Every point in turn, the systems interleaved at each."""
    begin, points, data, size = time.perf_counter(), [], None, None
    for system in systems:
        warm_up(system, threads)
    for at in growth.points:
        if size != growth.size_at(at):
            data = None  # two large tables need not be there at once
            size = growth.size_at(at)
            data = tables.load(growth.table, **size)
        point = Point(at, {system: [] for system in systems})
        work = growth.trees_at(at), growth.threads_at(at, threads)
        for repeat in range(repeats):
            turn = repeat % len(systems)
            for system in (*systems[turn:], *systems[:turn]):
                last = max(point.runs[system], default=0.0)
                if time.perf_counter() - begin + last < LIMIT:
                    run_once(point, system, data, *work)
        points.append(point)
        # An interrupted run has shown what it has.
        took = ", ".join(f"{s} {point.middle(s) or math.nan:.3g} s" for s in systems)
        print(f"{at:,} {growth.axis}: {took}", file=sys.stderr, flush=True)
    return points


def run_once(point: Point, system: str, data: Any, trees: int, threads: int) -> None:
    """Add one run of one system; a fit too short to be timed once is timed several times."""
    others = report.Others()
    model = peers.make(system, data.task, threads, trees=trees)
    took = seconds(lambda: model.fit(data.X, data.y))
    if took < 0.2:
        took = short(lambda: model.fit(data.X, data.y), most=9)
    point.runs[system].append(took)
    point.others = max(point.others, others.cores() or 0.0)


def exponent(before: Point | None, point: Point, system: str) -> float | None:
    """The slope of log time against log of the axis: 1 is linear."""
    if before is None or before.middle(system) is None or point.middle(system) is None:
        return None
    return math.log(point.middle(system) / before.middle(system)) / math.log(point.at / before.at)


def markdown(growth: Growth, points: Sequence[Point], systems: Sequence[str]) -> str:
    """A line a point: median and spread of each system, and how fast it grew since the last."""
    header = [growth.axis]
    for system in systems:
        header += [f"{system} s", "min..max", "exponent"]
    header += ["to fastest peer", "others"]
    body = []
    for before, point in zip([None, *points[:-1]], points, strict=True):
        cells = [f"{point.at:,}"]
        for system in systems:
            runs = point.runs[system]
            spread = f"{min(runs):.3g}..{max(runs):.3g}" if runs else "-"
            slope = exponent(before, point, system)
            middle = point.middle(system)
            cells += ["time was up" if middle is None else f"{middle:.3g}", spread]
            cells.append("-" if slope is None else f"{slope:.2f}")
        peers_ = [point.middle(s) for s in systems if not peers.is_ours(s) and point.runs[s]]
        ours = point.middle(peers.OURS) if peers.OURS in systems else None
        cells.append(f"{ours / min(peers_):.2f}" if ours and peers_ else "-")
        body.append([*cells, f"{point.others:.2f}"])
    return report.aligned(header, body)


def keep(name: str, points: Sequence[Point], machine: dict[str, Any], threads: int) -> Path:
    """Write the medians beside those of the other axes, and draw them all anew."""
    import picture

    file = PICTURES / "growth.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    # A picture shows one machine.
    known = {n: old for n, old in known.items() if old["machine"]["cpu"] == machine["cpu"]}
    systems = list(points[0].runs)
    known[name] = {
        "machine": machine,
        "threads": threads,
        "versions": {system: peers.version(system) for system in systems},
        "points": [point.at for point in points],
        "seconds": {system: [point.middle(system) for point in points] for system in systems},
    }
    PICTURES.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known, indent=1) + "\n")
    return picture.draw(known, GROWTH, PICTURES / "growth.png")


def run(name: str, systems: Sequence[str], threads: int, repeats: int) -> None:
    """Measure, print and draw one axis."""
    growth, machine = GROWTH[name], report.machine()
    points = measure(growth, systems, threads, repeats)
    print(f"## {name}: time of a fit against {growth.axis}; {growth.fixed(threads)}\n")
    print(markdown(growth, points, systems) + "\n")
    print(report.quietness([{"others": point.others} for point in points]) + "\n")
    work = {"trees": growth.trees_at(growth.points[-1])}
    print("Settings, of the last point:")
    print(report.settings_list("binary", work, systems, threads) + "\n")
    if all(point.others < report.QUIET for point in points):
        print(f"Drawn in {keep(name, points, machine, threads)}.\n", flush=True)
    else:
        print("Not drawn: a picture shows runs of a quiet machine only.\n", flush=True)
