"""Intervals of forests: what they promise, what they hold, how wide they are; MAPIE's beside.

    WEALD_DATA=folder python studies/uncertainty.py [table ...] [--mapie] [--halves 3]
        [--most-rows 60000] [--json FILE]

Every regression table of the folder with 2,000 to 60,000 rows is cut into random halves: one to
fit and calibrate on, one to test. MAPIE's are jackknife+-after-bootstrap intervals of as many trees
that look at half of the columns: the same kind of model, on the same rows. Text becomes numbers for
both; MAPIE's trees know no missing values, so medians stand for them there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import report
from weald import RandomForestRegressor
from whole_trees import OF_NUMBERS

LEVELS = (0.8, 0.9, 0.95)
TREES = 100
# Jackknife+ needs a number for each pair of a training and a test row.
MOST_TESTED = 2000


def regression_tables(folder: Path, least: int = 2000, most: int = 60_000) -> list[str]:
    """Names of the tables of numbers to predict, by INDEX.md."""
    names = []
    for line in (folder / "INDEX.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[2] == "regression" and least <= int(cells[3]) <= most:
            names.append(cells[1])
    return sorted(names)


def numbers(
    folder: Path, name: str, most_rows: int, frame: pd.DataFrame | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A table as numbers: dates as days, text as the place of its level."""
    if frame is None:
        frame = pd.read_parquet(folder / f"{name}.parquet")
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=0)
    target = frame.pop("target").to_numpy(dtype=np.float64)
    columns = []
    for column in frame:
        values = frame[column]
        if pd.api.types.is_datetime64_any_dtype(values):
            columns.append(values.astype("int64").to_numpy() / 86_400e9)
        elif pd.api.types.is_numeric_dtype(values):
            columns.append(values.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            codes, _ = pd.factorize(values.astype("string"), sort=True)
            columns.append(np.where(codes < 0, np.nan, codes.astype(np.float64)))
    return np.column_stack(columns), target


def held(bounds: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Coverage and mean width."""
    inside = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
    return float(inside.mean()), float((bounds[:, 1] - bounds[:, 0]).mean())


def ours(train: Any, test: Any, seed: int) -> dict[str, Any]:
    begin = time.process_time()
    model = RandomForestRegressor(
        TREES, oob_score=True, random_state=seed, n_jobs=1, **OF_NUMBERS
    ).fit(*train)
    fitted = time.process_time()
    found = {level: held(model.predict_interval(test[0], level), test[1]) for level in LEVELS}
    done = time.process_time()
    return {"held": found, "fit": fitted - begin, "predict": (done - fitted) / len(LEVELS)}


def theirs(train: Any, test: Any, seed: int) -> dict[str, Any]:
    from mapie.regression import JackknifeAfterBootstrapRegressor
    from sklearn.tree import DecisionTreeRegressor

    medians = np.nan_to_num(np.nanmedian(train[0], axis=0))
    filled = [np.where(np.isnan(X), medians, X) for X in (train[0], test[0])]
    tree = DecisionTreeRegressor(max_features=0.5, random_state=seed)
    begin = time.process_time()
    model = JackknifeAfterBootstrapRegressor(
        tree, confidence_level=list(LEVELS), resampling=TREES, random_state=seed, n_jobs=1
    ).fit_conformalize(filled[0], train[1])
    fitted = time.process_time()
    _, bounds = model.predict_interval(filled[1])
    done = time.process_time()
    found = {level: held(bounds[:, :, k], test[1]) for k, level in enumerate(LEVELS)}
    return {"held": found, "fit": fitted - begin, "predict": (done - fitted) / len(LEVELS)}


def run(folder: Path, name: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    X, y = numbers(folder, name, given.most_rows)
    results = []
    for seed in range(given.halves):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        if given.mapie:
            test = test[:MOST_TESTED]
        parts = (X[train], y[train]), (X[test], y[test])
        found = {"table": name, "rows": len(y), "seed": seed, "weald": ours(*parts, seed)}
        if given.mapie:
            found["mapie"] = theirs(*parts, seed)
        results.append(found)
    return results


def mean(results: list[dict[str, Any]], system: str, level: float, what: int) -> float:
    return float(np.mean([result[system]["held"][level][what] for result in results]))


def line(results: list[dict[str, Any]], has_mapie: bool) -> str:
    cells = [results[0]["table"], str(results[0]["rows"])]
    cells += [f"{100 * mean(results, 'weald', level, 0):.1f}" for level in LEVELS]
    if has_mapie:
        cells += [f"{100 * mean(results, 'mapie', level, 0):.1f}" for level in LEVELS]
        for level in LEVELS:
            ratio = mean(results, "weald", level, 1) / mean(results, "mapie", level, 1)
            cells.append(f"{ratio:.2f}")
        for what in ("fit", "predict"):
            times = [np.sum([r[s][what] for r in results]) for s in ("weald", "mapie")]
            cells.append(f"{times[0] / times[1]:.3f}")
    return f"| {' | '.join(cells)} |"


def summary(results: list[dict[str, Any]], has_mapie: bool) -> str:
    """Means over tables, and the worst."""
    names = sorted({result["table"] for result in results})
    lines = [f"\n{len(names)} tables, {len(results)} fits"]
    for system in ("weald", "mapie")[: 1 + has_mapie]:
        for level in LEVELS:
            each = [
                mean([r for r in results if r["table"] == name], system, level, 0) for name in names
            ]
            worst = names[int(np.argmin(each))]
            lines.append(
                f"{system}: promised {100 * level:.0f} %, held {100 * np.mean(each):.2f} % on "
                f"average, least {100 * min(each):.1f} % ({worst})"
            )
    if has_mapie:
        for level in LEVELS:
            ratios = [r["weald"]["held"][level][1] / r["mapie"]["held"][level][1] for r in results]
            lines.append(
                f"width at {100 * level:.0f} %: {np.exp(np.mean(np.log(ratios))):.3f} of MAPIE's "
                f"(geometric mean); narrower in {int(np.sum(np.array(ratios) < 1))} of "
                f"{len(ratios)}"
            )
        for what in ("fit", "predict"):
            ratio = np.median([r["weald"][what] / r["mapie"][what] for r in results])
            lines.append(f"CPU time to {what}: {ratio:.3f} of MAPIE's (median)")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--mapie", action="store_true")
    parser.add_argument("--halves", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=60_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ["WEALD_DATA"])
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()))
    print(f"random forests of {TREES} trees, one thread; coverage in %, widths and CPU times as")
    print("ratios to MAPIE's\n")
    head = ["table", "rows", *(f"{level:g}" for level in LEVELS)]
    if given.mapie:
        head += [f"MAPIE {level:g}" for level in LEVELS]
        head += [*(f"width {level:g}" for level in LEVELS), "fit", "predict"]
    print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}", flush=True)
    results: list[dict[str, Any]] = []
    for name in given.tables or regression_tables(folder):
        found = run(folder, name, given)
        results += found
        print(line(found, given.mapie), flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    print(summary(results, given.mapie))


if __name__ == "__main__":
    main()
