"""What the results of the accuracy benchmark say: ranks, wins and ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from accuracy_fits import PEERS, part_of, settings
from report import aligned

# results[table][system][fold] = {task, rows, levels, error, seconds, cpu_seconds} or {failed};
# `levels` is the number of categorical columns.
Results = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]

LEAST_ERROR = 1e-5  # below it, differences say nothing
TIE = 0.0005
CLIP = 2.0
SMALL = 2_000  # rows


@dataclass(frozen=True)
class Standing:
    """Mean error and fit time over the shared folds, one row per table, one column per system.

    A system that failed on any of these folds has an infinite error and no time (NaN).
    """

    systems: list[str]
    tables: list[str]
    errors: np.ndarray
    seconds: np.ndarray
    n_folds: int  # of all tables together

    @property
    def ranks(self) -> np.ndarray:
        """Mean rank of each system, 1 for the least error; ties share the mean of their ranks."""
        ranks: np.ndarray = rankdata(np.maximum(self.errors, LEAST_ERROR), axis=1).mean(axis=0)
        return ranks


def standing(
    results: Results, systems: Sequence[str], wanted: Callable[[str], bool] = lambda table: True
) -> Standing:
    """Compare systems on the tables and folds for which all of them have a result."""
    tables, errors, seconds = [], [], []
    n_folds = 0
    for table, by_system in results.items():
        found = [by_system.get(system, {}) for system in systems]
        folds = [fold for fold in found[0] if all(fold in by_fold for by_fold in found)]
        if folds and wanted(table):
            tables.append(table)
            n_folds += len(folds)
            errors.append([_mean(by_fold, folds, "error", np.inf) for by_fold in found])
            seconds.append([_mean_seconds(by_fold, folds) for by_fold in found])
    shape = len(tables), len(systems)
    return Standing(
        systems=list(systems),
        tables=tables,
        errors=np.reshape(errors, shape),
        seconds=np.reshape(seconds, shape),
        n_folds=n_folds,
    )


def _mean(
    by_fold: Mapping[str, Mapping[str, Any]], folds: list[str], key: str, lost: float
) -> float:
    return float(np.mean([by_fold[fold].get(key, lost) for fold in folds]))


def _mean_seconds(by_fold: Mapping[str, Mapping[str, Any]], folds: list[str]) -> float:
    """Processor time, which a busy machine changes less; elapsed time where only that is known."""
    key = "cpu_seconds" if all("cpu_seconds" in by_fold[fold] for fold in folds) else "seconds"
    return _mean(by_fold, folds, key, np.nan)


def error_ratios(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Our error divided by theirs; infinite or 0 where one failed, 1 where both did."""
    ours, theirs = np.maximum(ours, LEAST_ERROR), np.maximum(theirs, LEAST_ERROR)
    ratios = np.ones(len(ours))
    np.divide(ours, theirs, out=ratios, where=np.isfinite(ours) | np.isfinite(theirs))
    return ratios


def win_share(ratios: np.ndarray) -> float:
    """Share of tables with the lesser error; ties within 0.05 % count half."""
    return float(np.mean((ratios < 1 - TIE) + 0.5 * (np.abs(ratios - 1) <= TIE)))


def geometric_mean(ratios: np.ndarray, clip: float = np.inf) -> float:
    """Geometric mean of ratios clipped to [1 / clip, clip]; NaN ratios are left out."""
    known = ratios[~np.isnan(ratios)]
    return float(np.exp(np.log(np.clip(known, 1 / clip, clip)).mean())) if len(known) else np.nan


def standard_error(ratios: np.ndarray, clip: float) -> float:
    """Standard error of the geometric mean of clipped ratios, relative to it; NaN of one ratio."""
    logs = np.log(np.clip(ratios[~np.isnan(ratios)], 1 / clip, clip))
    return float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else np.nan


def n_clipped(ratios: np.ndarray, clip: float) -> int:
    """How many ratios count as `clip` or 1 / `clip`: tables that one of the two nearly solves."""
    return int(np.sum((ratios >= clip) | (ratios <= 1 / clip)))


def critical_distance(n_systems: int, n_tables: int, level: float = 0.05) -> float:
    """Least difference of two mean ranks that the Nemenyi test finds significant."""
    quantile = studentized_range.ppf(1 - level, n_systems, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_systems * (n_systems + 1) / (6 * n_tables)))


def compared(results: Results, ours: str, against: Sequence[str] | None) -> list[str]:
    """Our system and those it is compared with: by default every peer that has results."""
    known = {system for by_system in results.values() for system in by_system}
    systems = [ours, *(against or [peer for peer in PEERS if peer in known])]
    unknown = [system for system in systems if system not in known]
    if unknown:
        raise ValueError(
            f"no results of {', '.join(unknown)}; there are: {', '.join(sorted(known))}"
        )
    return systems


def groups(results: Results, part: str | None) -> dict[str, Callable[[str], bool]]:
    """The sets of tables that are summarised, by name; within one part if it is given."""

    def largest(table: str, key: str) -> int:
        folds = (fold for by_fold in results[table].values() for fold in by_fold.values())
        return max((fold[key] for fold in folds if key in fold), default=0)

    def inside(table: str) -> bool:
        return part in {None, part_of(table)}

    whole: dict[str, Callable[[str], bool]] = {part or "all": inside}
    if part is None:
        whole |= {
            "choose": lambda table: part_of(table) == "choose",
            "confirm": lambda table: part_of(table) == "confirm",
        }
    suffix = f" ({part})" if part else ""
    return whole | {
        f"with categories{suffix}": lambda table: inside(table) and largest(table, "levels") > 0,
        f"below {SMALL:,} rows{suffix}": lambda table: (
            inside(table) and 0 < largest(table, "rows") < SMALL
        ),
    }


def summary(results: Results, systems: Sequence[str], part: str | None = None) -> str:
    """A Markdown report on the first system against the others."""
    ours = systems[0]
    blocks = [f"# Accuracy of {ours}", provenance(results, systems)]
    blocks += [
        table_of(name, standing(results, systems, wanted))
        for name, wanted in groups(results, part).items()
    ]
    blocks.append(
        f"wins: share of tables on which {ours} has the lesser error, ties within 0.05 % count "
        f"half. error, fit time: geometric mean of the ratios of {ours} to the system, those of "
        "errors clipped to [1/2, 2]. ±: standard error of that mean, relative to it. clipped: "
        "number of tables with a ratio at a limit. A failed fit loses its table and has no time."
    )
    return "\n\n".join([*blocks, missing(results, systems, part), failures(results, systems)])


def table_of(name: str, found: Standing) -> str:
    """The comparison on one group of tables."""
    n_tables, n_systems = found.errors.shape
    if not n_tables:
        return f"## {name}: no table has results of all systems"
    heading = f"## {name}: {n_tables} tables, {found.n_folds} folds"
    if n_systems > 1:
        distance = critical_distance(n_systems, n_tables)
        heading += f", critical distance of mean ranks {distance:.2f} (Nemenyi, 0.05)"
    lines = [[found.systems[0], f"{found.ranks[0]:.2f}", *[""] * 5]]
    for column in range(1, n_systems):
        ratios = error_ratios(found.errors[:, 0], found.errors[:, column])
        times = found.seconds[:, 0] / found.seconds[:, column]
        cells = [f"{win_share(ratios):.0%}", f"{geometric_mean(ratios, CLIP):.4f}"]
        cells += [number(standard_error(ratios, CLIP)), str(n_clipped(ratios, CLIP))]
        cells.append(number(geometric_mean(times)))
        lines.append([found.systems[column], f"{found.ranks[column]:.2f}", *cells])
    titles = ["system", "mean rank", "wins", "error", "±", "clipped", "fit time"]
    return heading + "\n\n" + aligned(titles, lines)


def number(value: float) -> str:
    """Three digits after the point; "-" if it is not known."""
    return "-" if np.isnan(value) else f"{value:.3f}"


def provenance(results: Results, systems: Sequence[str]) -> str:
    """Version, threads and settings of each system, as recorded with its results."""
    lines = []
    for system in systems:
        entries = [fold for by in results.values() for fold in by.get(system, {}).values()]
        made = [fold for fold in entries if "failed" not in fold]
        versions = Counter(fold.get("version", "not recorded") for fold in made)
        threads = sorted({fold.get("threads", "not recorded") for fold in made}, key=str)
        fits = ", ".join(f"{version} ({count} fits)" for version, count in versions.items())
        given = settings(system, threads[0] if len(threads) == 1 else threads)
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        lines.append(f"- {system}: version {fits or 'unknown: no fit'}; defaults but for {said}")
    return "\n".join(lines)


def missing(results: Results, systems: Sequence[str], part: str | None) -> str:
    """Which tables are not counted because a system has no results on them."""
    lines = []
    for system in systems:
        tables = [table for table in results if part in {None, part_of(table)}]
        lacking = sorted(table for table in tables if not results[table].get(system))
        if lacking:
            lines.append(f"- {system}: {', '.join(lacking)}")
    return "\n".join(["Tables without results, not counted:", *(lines or ["- none"])])


def failures(results: Results, systems: Sequence[str]) -> str:
    """Every failed fit of the systems, with its message."""
    lines = [
        f"- {system}, {table}, fold {fold}: {entry['failed']}"
        for system in systems
        for table, by_system in results.items()
        for fold, entry in by_system.get(system, {}).items()
        if "failed" in entry
    ]
    return "\n".join(["Failures:", *(lines or ["- none"])])
