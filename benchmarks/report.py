"""How a row's figures are printed: a table that names every system, its settings, the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import peers
from rows import Row

QUIET = 0.2  # cores; less cannot be told from the clock ticks of a short run


def machine() -> dict[str, Any]:
    """What the figures depend on besides the systems."""
    return {
        "cpu": _cpu_model(),
        "usable_cores": _usable_cores(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": peers.package_version("numpy"),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Others:
    """Cores that other processes use from now on: with two busy threads on two cores, a compiler
    beside them can slow a fit fifty-fold, so a row must be able to say it was not alone."""

    def __init__(self) -> None:
        self._begin = self._spent()
        self._clock = time.perf_counter()

    @staticmethod
    def _spent() -> float | None:
        """CPU seconds of the whole machine less our own and our ended children's."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        # user, nice, system, idle, waiting, two kinds of interrupt, stolen by the host
        ticks = [int(field) for field in stat.read_text().split(maxsplit=9)[1:9]]
        busy = sum(ticks) - ticks[3] - ticks[4]
        return busy / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])

    def cores(self) -> float | None:
        """The mean number of cores used by others so far; None where the system does not tell."""
        now = self._spent()
        if now is None or self._begin is None:
            return None
        return max(0.0, now - self._begin) / (time.perf_counter() - self._clock)


def quietness(lines: list[dict[str, Any]]) -> str:
    """A sentence on how far the systems had the machine to themselves."""
    known = [line["others"] for line in lines if line["others"] is not None]
    if not known:
        return "How busy the machine was otherwise is not known."
    if max(known) < QUIET:
        return f"A quiet machine: other processes used less than {QUIET} cores during every run."
    return (
        f"NOT A QUIET MACHINE: other processes used up to {max(known):.1f} cores during a run "
        "(column others); do not quote these times."
    )


def summary(row: Row, outcomes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a system, fastest first; those without figures last, with the reason."""
    lines = [_line(system, outcome) for system, outcome in outcomes.items()]
    measured = [line for line in lines if line["median"] is not None]
    comparable = [line for line in measured if line["trees"] is None]
    theirs = [line["median"] for line in comparable if not peers.is_ours(line["system"])]
    fastest = min(theirs, default=None)
    named = next((x["median"] for x in comparable if x["system"] == row.against), None)
    for line in comparable:
        line["to_fastest_peer"] = line["median"] / fastest if fastest else None
        line["to_named_peer"] = line["median"] / named if named else None
    return sorted(lines, key=lambda line: (line["median"] is None, line["median"] or 0.0))


def _line(system: str, outcome: dict[str, Any]) -> dict[str, Any]:
    figures = outcome["figures"]
    values = [figure.value for figure in figures]
    return {
        "system": system,
        "version": peers.version(system),
        "median": median(values) if values else None,
        "least": min(values, default=None),
        "most": max(values, default=None),
        "runs": len(values),
        "metric": _middle([figure.metric for figure in figures]),
        "leaves": _middle([figure.leaves for figure in figures]),
        "trees": min((f.trees for f in figures if f.trees is not None), default=None),
        "others": max((f.others for f in figures if f.others is not None), default=None),
        "note": outcome["note"],
    }


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def markdown(row: Row, lines: list[dict[str, Any]]) -> str:
    """The table of one row."""
    header = ["system", "version", f"median {row.unit}", "min..max", "runs"]
    header += [row.metric, "leaves/tree"] if row.fits else []
    header.append("to smallest peer" if row.unit == "MB" else "to fastest peer")
    header += ([f"to {row.against}"] if row.against else []) + ["others"]
    body = [_cells(row, line) for line in lines]
    if any(line["note"] for line in lines):
        header.append("note")
        body = [[*cells, line["note"]] for cells, line in zip(body, lines, strict=True)]
    return aligned(header, body)


def aligned(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up as plain text too."""
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)) + " |"
        for cells in [header, rule, *body]
    )


def _cells(row: Row, line: dict[str, Any]) -> list[str]:
    cells = [line["system"], line["version"], _number(line["median"])]
    spread = [_number(line["least"]), _number(line["most"])]
    cells += ["..".join(spread) if line["runs"] else "-", str(line["runs"])]
    if row.fits:
        cells += [_number(line["metric"], "{:.4f}"), _number(line["leaves"], "{:.1f}")]
    cells.append(_number(line.get("to_fastest_peer"), "{:.2f}"))
    if row.against:
        cells.append(_number(line.get("to_named_peer"), "{:.2f}"))
    return [*cells, _number(line["others"], "{:.2f}")]


def _number(value: float | None, form: str = "{:.3g}") -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if form == "{:.3g}" and value >= 100 else form.format(value)


def settings_list(task: str, work: dict[str, Any], systems: Sequence[str], threads: int) -> str:
    """Every system's full settings for this work, absent systems included."""
    lines = []
    for system in systems:
        full = peers.settings(system, task, threads, **work)
        said = ", ".join(f"{name}={value!r}" for name, value in full.items())
        if system == peers.HGB:
            said += f"; {threads} threads set through OpenMP"
        lines.append(f"- {system}: {said}")
    return "\n".join(lines)
