"""Forests that part levels in sets beside the same forests on codes of the levels, table by table.

Tables are those parquet files of the folder that WEALD_DATA names which have a column `target` and
columns of text. Codes are the places of the levels in alphabetical order, as an ordinal encoder
gives them. A ratio below 1 means that sets of levels have the smaller loss.

    WEALD_DATA=... python studies/forest_categories.py [--quick] [--forest ExtraTrees]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

import weald

TABLES = [
    "adult",
    "ames",
    "bank_marketing",
    "car",
    "connect_4",
    "covid_testing",
    "diamonds",
    "employee_salaries",
    "eucalyptus",
    "gss_wages",
    "insteval",
    "kr_vs_kp",
    "lending_club",
    "midwest_survey",
    "minneapolis_stops",
    "mushroom",
    "nursery",
    "open_payments",
    "primary_tumor",
    "soybean",
    "telco_churn",
    "tic_tac_toe",
]


def load(file: Path, cap: int) -> tuple[Any, np.ndarray, bool]:
    """A frame, its target, and whether that is a number."""
    frame = pandas.read_parquet(file)
    if len(frame) > cap:
        frame = frame.sample(cap, random_state=0)
    target = frame.pop("target")
    is_number = pandas.api.types.is_float_dtype(target) or (
        pandas.api.types.is_integer_dtype(target) and target.nunique() > 30
    )
    if is_number:
        return frame, target.to_numpy(dtype=np.float64), True
    labels = target.astype(str).to_numpy()
    names, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[counts >= 8])
    return frame[kept], np.unique(labels[kept], return_inverse=True)[1], False


def as_codes(frame: Any) -> Any:
    """Every column that is no number as the places of its levels in their order."""
    coded = frame.copy()
    for name in coded:
        column = coded[name]
        if isinstance(column.dtype, pandas.CategoricalDtype) or column.dtype == object:
            codes = column.astype(str).where(column.notna()).astype("category").cat.codes
            coded[name] = codes.where(codes >= 0).astype(np.float64)
    return coded


def loss_of(forest: str, X: Any, y: Any, is_number: bool, trees: int, seed: int) -> float:
    """Log loss (shares no less than 1e-3), or the root of the mean squared error."""
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=None if is_number else y
    )
    kind = getattr(weald, forest + ("Regressor" if is_number else "Classifier"))
    model = kind(trees, random_state=seed, n_jobs=2).fit(X, y)
    if is_number:
        return float(np.sqrt(mean_squared_error(y_test, model.predict(X_test))))
    shares = np.clip(model.predict_proba(X_test), 1e-3, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return float(log_loss(y_test, shares, labels=np.arange(shares.shape[1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3,000 rows, 50 trees, two splits")
    parser.add_argument("--forest", choices=["RandomForest", "ExtraTrees"], default="RandomForest")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    given = parser.parse_args()
    cap, trees, seeds = (3_000, 50, 2) if given.quick else (20_000, 100, 5)
    folder = os.environ.get("WEALD_DATA")
    if not folder:
        print("set WEALD_DATA to the folder of tables")
        return 1
    print(f"weald {weald.__version__}, {given.forest}, {trees} trees, {seeds} splits, {cap} rows")
    print("| table | codes | categories | ratio | CPU ratio |\n|---|---:|---:|---:|---:|")
    ratios = []
    for name in given.tables:
        X, y, is_number = load(Path(folder) / f"{name}.parquet", cap)
        losses, seconds = np.zeros((2, seeds)), np.zeros(2)
        for seed in range(seeds):
            for system, table in enumerate((as_codes(X), X)):
                began = time.process_time()
                losses[system, seed] = loss_of(given.forest, table, y, is_number, trees, seed)
                seconds[system] += time.process_time() - began
        codes, sets = losses.mean(axis=1)
        ratios.append(sets / codes)
        print(
            f"| {name} | {codes:.5g} | {sets:.5g} | {sets / codes:.3f} | "
            f"{seconds[1] / seconds[0]:.2f} |",
            flush=True,
        )
    found = np.array(ratios)
    print(
        f"\nGeometric mean of the ratios {np.exp(np.log(found).mean()):.3f}, "
        f"median {np.median(found):.3f}, categories better on {(found < 1).sum()} of {len(found)}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
