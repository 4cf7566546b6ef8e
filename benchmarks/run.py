"""Run rows of the benchmark suite: every system in turn, interleaved, one table a row."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import forests
import growth
import peers
import report
import tables
from growth import GROWTH
from pace import SLOW
from rows import GROUPS, ROWS, Figure, Measure, Row, warm_up

KNOWN_GROUPS = GROUPS | {"growth": list(GROWTH)} | forests.GROUPS
LIMIT = 540.0  # seconds: no further run is begun that would probably end after this


def arguments() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help=f"rows ({', '.join([*ROWS, *GROWTH, *forests.ROWS])}) "
        f"or groups ({', '.join(KNOWN_GROUPS)})",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--systems", nargs="+", choices=list(peers.SYSTEMS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures here")
    given = parser.parse_args()
    unknown = [
        name for name in given.what if name not in {*ROWS, *GROWTH, *forests.ROWS, *KNOWN_GROUPS}
    ]
    if unknown:
        parser.error(f"no row or group is called {', '.join(unknown)}; see --help")
    if given.threads < 1 or given.repeats < 1:
        parser.error("--threads and --repeats must be at least 1")
    return given


def chosen(what: Sequence[str]) -> list[str]:
    """Names of rows, groups opened, each once, in the order asked for."""
    names = [row for name in what or ["default"] for row in KNOWN_GROUPS.get(name, [name])]
    return list(dict.fromkeys(names))


def attempt(outcome: dict[str, Any], action: Callable[[], Any]) -> Any:
    """The result of the action, or None and a note: one system's failure must not hide another's
    figures, nor itself."""
    try:
        return action()
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        outcome["note"] = f"failed: {said[:120]}"
        outcome["failed"] = True
        return None


def interleaved(
    measure: Measure, outcomes: dict[str, dict[str, Any]], repeats: int, begin: float
) -> None:
    """Each repeat runs every system once and begins with another: drift falls on all alike."""
    systems = [name for name, outcome in outcomes.items() if not outcome["note"]]
    last: dict[str, float] = dict.fromkeys(systems, 0.0)
    for repeat in range(repeats):
        turn = repeat % max(len(systems), 1)
        for system in systems[turn:] + systems[:turn]:
            outcome, now = outcomes[system], time.perf_counter()
            if not outcome["note"] and now - begin + last[system] > LIMIT:
                outcome["note"] = "the row's time was up"
            if outcome["note"]:
                continue
            others = report.Others()
            figure: Figure | None = attempt(outcome, partial(measure, system))
            last[system] = time.perf_counter() - now
            if figure is not None:
                outcome["figures"].append(replace(figure, others=others.cores()))
                if figure.trees is not None:
                    outcome["note"] = (
                        f"run once with {figure.trees} trees: all take over {SLOW:.0f} s"
                    )
                elif repeat == 0 and last[system] > SLOW:
                    outcome["note"] = f"run once: took over {SLOW:.0f} s"


def run_row(row: Row, systems: Sequence[str], given: argparse.Namespace) -> dict[str, Any]:
    """Measure one row; systems not installed and systems that fail stay in the outcome."""
    begin = time.perf_counter()
    measure = row.start(given.threads)
    outcomes: dict[str, dict[str, Any]] = {}
    for system in systems:
        note = "" if peers.installed(system) else "absent: not installed"
        outcomes[system] = {"figures": [], "note": note, "failed": False}
        if not note and row.fits:
            attempt(outcomes[system], partial(warm_up, system, given.threads))
    interleaved(measure, outcomes, max(given.repeats, row.least_repeats), begin)
    return outcomes


def show(name: str, row: Row, outcomes: dict[str, Any], threads: int) -> None:
    """Print a row as soon as it is done, so that an interrupted run has shown what it has."""
    work = peers.Work(**row.work)
    detail = f"; {work.trees} trees of {work.leaves} leaves" if row.fits else ""
    print(f"## {name}: {row.what}{detail}; {threads} threads\n")
    lines = report.summary(row, outcomes)
    print(report.markdown(row, lines) + "\n")
    print(report.quietness(lines) + "\n")
    if row.fits:
        print("Settings:")
        print(report.settings_list(row.task, row.work, list(outcomes), threads) + "\n")
    sys.stdout.flush()


def raw(row: Row, outcomes: dict[str, Any], threads: int) -> dict[str, Any]:
    """Everything measured in one row, for other programs."""
    return {
        "what": row.what,
        "unit": row.unit,
        "metric": row.metric if row.fits else None,
        "systems": {
            system: {
                "version": peers.version(system),
                "settings": peers.settings(system, row.task, threads, **row.work),
                "runs": [asdict(figure) for figure in outcome["figures"]],
                "note": outcome["note"],
            }
            for system, outcome in outcomes.items()
        },
    }


def main() -> int:
    """Run the rows asked for; the exit status is 1 if an installed system failed."""
    given = arguments()
    systems = given.systems or [name for name in peers.SYSTEMS if name != peers.SERVICE]
    here = report.machine()
    print("# Benchmark\n\n" + ", ".join(f"{name}: {value}" for name, value in here.items()) + "\n")
    everything: dict[str, Any] = {"machine": here, "threads": given.threads, "rows": {}}
    failed = False
    for name in chosen(given.what):
        if name in GROWTH:
            growth.run(name, given.systems or growth.SYSTEMS, given.threads, given.repeats)
            continue
        if name in forests.ROWS:
            try:
                forests.run(name, given.threads, given.repeats)
            except tables.Absent as absent:
                print(f"## {name}: skipped: {absent}\n")
            continue
        row = ROWS[name]
        try:
            outcomes = run_row(row, row.distinct(systems), given)
        except tables.Absent as absent:
            print(f"## {name}: skipped: {absent}\n")
            continue
        failed = failed or any(outcome["failed"] for outcome in outcomes.values())
        show(name, row, outcomes, given.threads)
        everything["rows"][name] = raw(row, outcomes, given.threads)
        if given.json:
            given.json.write_text(json.dumps(everything, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
