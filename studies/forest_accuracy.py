"""Default forests on real tables beside scikit-learn's and ydf's: mean rank, wins, a line a table.

Tables are the parquet files of the folder that WEALD_DATA names whose column `target` is there, up
to 60,000 rows. They are parted into two halves by their names: defaults were chosen on the first
(`--half choose`) and are confirmed on the second. Text becomes numbers by its order for systems
that take no categories; missing numbers stay. Classes are judged by log loss (shares no less than
1e-3), share of errors and Brier score, numbers by the root of the mean squared error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

import peers

MOST_ROWS = 60_000
OF_CLASSES = ("log loss", "error rate", "Brier")
OF_NUMBERS = ("RMSE",)


def load(file: Path, cap: int, most_columns: int) -> tuple[Any, np.ndarray, bool] | None:
    """Numbers, target, and whether it is a regression; None: not such a table."""
    frame = pandas.read_parquet(file)
    too_wide = frame.shape[1] - 1 > most_columns
    if "target" not in frame or not 50 <= len(frame) <= MOST_ROWS or too_wide:
        return None
    if len(frame) > cap:
        frame = frame.sample(cap, random_state=0)
    frame = frame[frame["target"].notna()]
    target = frame.pop("target")
    is_number = pandas.api.types.is_float_dtype(target) or (
        pandas.api.types.is_integer_dtype(target) and target.nunique() > 30
    )
    columns = []
    for name in frame:
        column = frame[name]
        if pandas.api.types.is_numeric_dtype(column) or pandas.api.types.is_bool_dtype(column):
            columns.append(pandas.to_numeric(column, errors="coerce").to_numpy(dtype=np.float32))
        else:
            codes = column.astype(str).astype("category").cat.codes
            columns.append(codes.to_numpy(dtype=np.float32))
    X = np.column_stack(columns)
    if is_number:
        return X, target.to_numpy(dtype=np.float64), True
    y = target.astype(str).to_numpy()
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 4])
    return (X[kept], np.unique(y[kept], return_inverse=True)[1], False) if len(labels) > 1 else None


def losses_of(system: str, X: Any, y: Any, is_number: bool, trees: int, seed: int) -> list[float]:
    """Of classes log loss, share of errors and Brier score; of numbers the root of the MSE."""
    split = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=None if is_number else y
    )
    X, X_test, y, y_test = split
    if system == "ydf":
        from forests import Ydf

        model: Any = Ydf(trees, is_number, None, 2, seed)
        del model.settings["max_depth"], model.settings["min_examples"]  # its defaults
    else:
        module = importlib.import_module("weald" if system == "weald" else "sklearn.ensemble")
        kind = getattr(module, "RandomForestRegressor" if is_number else "RandomForestClassifier")
        model = kind(trees, random_state=seed, n_jobs=2)
    model.fit(X, y)
    if is_number:
        return [float(np.sqrt(mean_squared_error(y_test, model.predict(X_test))))]
    shares = np.asarray(model.predict_proba(X_test), dtype=np.float64)
    right = np.eye(shares.shape[1])[y_test]
    clipped = np.clip(shares, 1e-3, 1.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    return [
        float(log_loss(y_test, clipped, labels=np.arange(shares.shape[1]))),
        float((shares.argmax(axis=1) != y_test).mean()),
        float(((shares - right) ** 2).sum(axis=1).mean()),
    ]


def half_of(name: str) -> str:
    return "choose" if zlib.crc32(name.encode()) % 2 == 0 else "confirm"


def summary(what: str, table: np.ndarray, systems: list[str], least: float) -> None:
    """Mean rank of each system, and on which share of the tables weald is better (ties half).

    Ratios are of losses of `least` and more: a table without errors would outweigh all others.
    """
    ranks = (table[:, :, None] > table[:, None, :]).sum(axis=2) + 1
    said = []
    for i, system in enumerate(systems):
        line = f"{system} rank {ranks[:, i].mean():.2f}"
        if i:
            wins = ((table[:, 0] < table[:, i]) + 0.5 * (table[:, 0] == table[:, i])).mean()
            safe = np.maximum(table, least)
            ratio = np.log(safe[:, 0] / safe[:, i]).mean()
            line += f" (weald wins {wins:.0%}, mean log ratio {ratio:+.3f})"
        said.append(line)
    print(f"- {what}, {len(table)} tables: {'; '.join(said)}")


def measure(given: Any, systems: list[str], folder: str) -> dict[str, list[Any]]:
    """Print a line a table; return (half, figures[system][loss]) by kind of target."""
    cap, trees, seeds = (2_000, 30, 1) if given.quick else (given.rows, 100, given.splits)
    print(f"{trees} trees, {seeds} splits of 70 and 30 %, at most {cap:,} rows\n")
    print(f"| table | half | loss | {' | '.join(systems)} |\n|---|---|---|{'---:|' * len(systems)}")
    found: dict[str, list[Any]] = {"classes": [], "numbers": []}
    began = time.monotonic()
    files = sorted(Path(folder).glob("*.parquet"))
    for file in files[given.part[0] :: given.part[1]]:
        half = half_of(file.stem)
        if given.half not in (half, "both") or (given.tables and file.stem not in given.tables):
            continue
        data = load(file, cap, given.columns)
        if data is None:
            continue
        if time.monotonic() - began > given.seconds:
            print(f"\nThe time is over; {file.stem} and those after it were not tried.")
            break
        figures = np.array(
            [
                np.mean([losses_of(system, *data, trees, seed) for seed in range(seeds)], axis=0)
                for system in systems
            ]
        )
        found["numbers" if data[2] else "classes"].append((half, figures))
        for k, loss in enumerate(OF_NUMBERS if data[2] else OF_CLASSES):
            cells = " | ".join(f"{value:.5g}" for value in figures[:, k])
            print(f"| {file.stem} | {half} | {loss} | {cells} |", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 rows, 30 trees, one split")
    parser.add_argument("--half", choices=["choose", "confirm", "both"], default="both")
    parser.add_argument("--tables", nargs="+", help="only these")
    parser.add_argument("--systems", nargs="+", help="only these, weald first")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="rows of a table at most")
    parser.add_argument("--columns", type=int, default=10_000, help="leave wider tables out")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no table after")
    parser.add_argument(
        "--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="every N-th from I on"
    )
    given = parser.parse_args()
    systems = given.systems or ["weald", "scikit-learn"] + (["ydf"] if find_spec("ydf") else [])
    folder = os.environ.get("WEALD_DATA")
    if not folder:
        print("set WEALD_DATA to the folder of tables")
        return 1
    print(", ".join(f"{system} {peers.package_version(system)}" for system in systems))
    found = measure(given, systems, folder)
    print()
    for kind, names in (("classes", OF_CLASSES), ("numbers", OF_NUMBERS)):
        for half in ("choose", "confirm", "both"):
            rows = [figures for own, figures in found[kind] if half in (own, "both")]
            if not rows or (half == "both" and given.half != "both"):
                continue
            for k, loss in enumerate(names):
                least = 1e-2 if kind == "classes" else 1e-300
                summary(f"{loss}, half {half}", np.stack(rows)[:, :, k], systems, least)
    return 0


if __name__ == "__main__":
    sys.exit(main())
