"""Accuracy of default settings beside lightgbm, xgboost, catboost and scikit-learn's
HistGradientBoosting (hgb): at most 10,000 rows of each table of WEALD_DATA, three folds."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import accuracy_fits
import accuracy_summary
import report
from peers import package_version
from tables import Absent

SAVE_EVERY = 10.0  # seconds
Job = tuple[str, str, int]  # system, table, fold


def arguments() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = ", ".join(accuracy_fits.PEERS)
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="SYSTEM",
        help=f"{known}, weald, or weald:{{json of parameters}}; a parameter class, for instance "
        "RandomForest, picks another estimator than BoostedTrees",
    )
    parser.add_argument("--tables", metavar="NAME,...", help="only these tables")
    parser.add_argument("--part", choices=["choose", "confirm"], help="only this half of them")
    parser.add_argument("--folds", default="0,1,2", metavar="N,...", help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each fit (default: 1)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="start no new fit after this time"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/accuracy.json"),
        metavar="FILE",
        help="file of results, which is continued if it exists (default: %(default)s)",
    )
    parser.add_argument("--summary", metavar="SYSTEM", help="compare this system with the peers")
    parser.add_argument(
        "--against", nargs="+", metavar="SYSTEM", help="compare with these (default: all peers)"
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw the mean ranks of the summary"
    )
    given = parser.parse_args()
    try:
        check(given)
    except (ValueError, Absent) as error:
        parser.error(str(error))
    return given


def check(given: argparse.Namespace) -> None:
    """Raise ValueError on options that make no sense; turn lists into lists."""
    if not given.systems and not given.summary:
        raise ValueError("name systems to fit, or --summary SYSTEM")
    if (given.picture or given.against) and not given.summary:
        raise ValueError("--picture and --against need --summary SYSTEM")
    if given.jobs < 1 or given.threads < 1:
        raise ValueError("--jobs and --threads must be at least 1")
    given.folds = [int(fold) for fold in given.folds.split(",")]
    if not set(given.folds) <= set(range(accuracy_fits.N_FOLDS)):
        raise ValueError(f"--folds must be among 0 to {accuracy_fits.N_FOLDS - 1}")
    for system in given.systems:
        if not accuracy_fits.installed(system):
            raise ValueError(f"{system} is not installed")
    given.names = chosen_tables(given) if given.systems else []


def chosen_tables(given: argparse.Namespace) -> list[str]:
    """The tables to fit on."""
    present = accuracy_fits.table_names()
    names = given.tables.split(",") if given.tables else present
    unknown = sorted(set(names) - set(present))
    if unknown:
        raise ValueError(f"no tables {', '.join(unknown)} in {accuracy_fits.data_folder()}")
    return [name for name in names if given.part in {None, accuracy_fits.part_of(name)}]


def missing_jobs(results: dict[str, Any], given: argparse.Namespace) -> list[Job]:
    """The fits that have no result yet; failed ones are tried again."""
    return [
        (system, table, fold)
        for fold in given.folds
        for system in given.systems
        for table in given.names
        if "error" not in results.get(table, {}).get(system, {}).get(str(fold), {})
    ]


def save(results: dict[str, Any], file: Path) -> None:
    """Write the results so that an interrupted write leaves the old file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(file.name + ".new")
    draft.write_text(json.dumps(results))
    draft.replace(file)


def run(results: dict[str, Any], given: argparse.Namespace) -> tuple[int, int]:
    """Fit what is missing, saving on the way; return the numbers of fits done and not started."""
    todo = missing_jobs(results, given)[::-1]
    n_jobs, begin = len(todo), time.monotonic()
    saved = begin
    running: dict[Future[dict[str, Any]], Job] = {}
    # Fresh processes: forked ones would inherit the parent's OpenMP state.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
        try:
            while True:
                while todo and len(running) < given.jobs:
                    if time.monotonic() - begin >= given.seconds:
                        break
                    job = todo.pop()
                    future = pool.submit(accuracy_fits.fit_or_failure, *job, given.threads)
                    running[future] = job
                if not running:
                    break
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    system, table, fold = running.pop(done)
                    results.setdefault(table, {}).setdefault(system, {})[str(fold)] = done.result()
                if time.monotonic() - saved > SAVE_EVERY:
                    save(results, given.out)
                    saved = time.monotonic()
        finally:
            save(results, given.out)
    return n_jobs - len(todo), len(todo)


def describe(given: argparse.Namespace) -> None:
    """Print machine, versions and settings of the fits to come."""
    libraries = ("pandas", "scikit-learn", "scipy")
    here = report.machine() | {name: package_version(name) for name in libraries}
    print(", ".join(f"{name}: {value}" for name, value in here.items()))
    for system in given.systems:
        said = accuracy_fits.settings(system, given.threads)
        print(f"{system} {accuracy_fits.version(system)}: {said}")
    sys.stdout.flush()


def summarise(results: dict[str, Any], given: argparse.Namespace) -> None:
    """Print the summary, draw the picture."""
    systems = accuracy_summary.compared(results, given.summary, given.against)
    print(accuracy_summary.summary(results, systems, given.part))
    if given.picture:
        name, wanted = next(iter(accuracy_summary.groups(results, given.part).items()))
        found = accuracy_summary.standing(results, systems, wanted)
        if len(systems) < 2 or not found.tables:
            raise ValueError("a picture needs two systems with results on a common table")
        from accuracy_picture import draw  # matplotlib is needed here only

        draw(found, name, given.picture)


def main() -> int:
    """Fit, summarise, or both; the exit status is 1 if a fit asked for here failed."""
    given = arguments()
    results = json.loads(given.out.read_text()) if given.out.exists() else {}
    failed = []
    if given.systems:
        describe(given)
        done, left = run(results, given)
        failed = [
            f"{system}, {table}, fold {fold}: {results[table][system][str(fold)]['failed']}"
            for system, table, fold in missing_jobs(results, given)
            if str(fold) in results.get(table, {}).get(system, {})
        ]
        print(f"fits: {done} done, {left} not started, {len(failed)} failed")
        print("".join(f"- {line}\n" for line in failed))
    if given.summary:
        try:
            summarise(results, given)
        except ValueError as error:
            print(f"no summary: {error}", file=sys.stderr)
            return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
