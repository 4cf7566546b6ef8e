"""Default forests on real tables beside scikit-learn's and ydf's: mean rank, wins, a line a table.

Tables are the parquet files of the folder that WEALD_DATA names whose column `target` is there, up
to 60,000 rows. They are parted into two halves by their names: defaults were chosen on the first
(`--half choose`) and are confirmed on the second. Text becomes numbers by its order for systems
that take no categories; missing numbers stay.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

MOST_ROWS = 60_000


def load(file: Path, cap: int) -> tuple[Any, np.ndarray, bool] | None:
    """Numbers, target, and whether it is a regression; None: not such a table."""
    frame = pandas.read_parquet(file)
    if "target" not in frame or not 50 <= len(frame) <= MOST_ROWS:
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


def loss_of(system: str, X: Any, y: Any, is_number: bool, trees: int, seed: int) -> float:
    """Log loss (shares no less than 1e-3), or the root of the mean squared error."""
    split = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=None if is_number else y
    )
    X, X_test, y, y_test = split
    if system == "ydf":
        from forests import Ydf

        model: Any = Ydf(trees, is_number, 2)
        del model.settings["max_depth"], model.settings["min_examples"]  # its defaults
    else:
        module = importlib.import_module("weald" if system == "weald" else "sklearn.ensemble")
        kind = getattr(module, "RandomForestRegressor" if is_number else "RandomForestClassifier")
        model = kind(trees, random_state=seed, n_jobs=2)
    model.fit(X, y)
    if is_number:
        return float(np.sqrt(mean_squared_error(y_test, model.predict(X_test))))
    shares = np.clip(model.predict_proba(X_test), 1e-3, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return float(log_loss(y_test, shares, labels=np.arange(shares.shape[1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 rows, 30 trees, one split")
    parser.add_argument("--half", choices=["choose", "confirm", "both"], default="both")
    parser.add_argument("--tables", nargs="+", help="only these")
    given = parser.parse_args()
    cap, trees, seeds = (2_000, 30, 1) if given.quick else (MOST_ROWS, 100, 3)
    systems = ["weald", "scikit-learn"] + (["ydf"] if find_spec("ydf") else [])
    folder = os.environ.get("WEALD_DATA")
    if not folder:
        print("set WEALD_DATA to the folder of tables")
        return 1
    print(f"| table | {' | '.join(systems)} |\n|---|{'---:|' * len(systems)}")
    losses = []
    for file in sorted(Path(folder).glob("*.parquet")):
        half = "choose" if zlib.crc32(file.stem.encode()) % 2 == 0 else "confirm"
        if given.half not in (half, "both") or (given.tables and file.stem not in given.tables):
            continue
        data = load(file, cap)
        if data is None:
            continue
        line = [
            np.mean([loss_of(system, *data, trees, seed) for seed in range(seeds)])
            for system in systems
        ]
        losses.append(line)
        print(f"| {file.stem} | {' | '.join(f'{value:.5g}' for value in line)} |", flush=True)
    table = np.array(losses)
    ranks = (table[:, :, None] > table[:, None, :]).sum(axis=2) + 1
    print(f"\nMean rank over {len(table)} tables, {trees} trees, {seeds} splits:")
    for i, system in enumerate(systems):
        wins = (table[:, 0] < table[:, i]).mean() if i else float("nan")
        said = f"; weald wins {wins:.0%}" if i else ""
        print(f"- {system}: {ranks[:, i].mean():.2f}{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
