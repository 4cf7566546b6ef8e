"""Option trees between one tree and a forest: accuracy on real tables, with size beside.

    WEALD_DATA=folder python studies/option_trees.py [table ...] [--quick] [--json FILE]

Tables are the parquet files of that folder with up to 20,000 rows whose target is a class. Columns
that are no numbers become ordinal codes, so that all systems see the same numbers. 30 % of the rows
are held out, three times by different draws; figures are means. --quick takes the tables of at most
2,000 rows and 100 columns. mnist_5k runs only if it is named.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import peers
import report
import weald
import whole_trees
from combining import as_numbers, task_of

MOST_ROWS = 20_000
# 784 columns of 255 values and ten classes: a tree takes a minute, an option tree dozens of them.
LEFT_OUT = {"mnist_5k"}
QUICK_ROWS, QUICK_COLUMNS = 2_000, 100
DRAWS = 3

SYSTEMS: dict[str, Callable[[], Any]] = {
    "tree": lambda: weald.DecisionTreeClassifier(),
    "options at the root": lambda: weald.OptionTreeClassifier(option_depth=1),
    "options": lambda: weald.OptionTreeClassifier(),
    "many options": lambda: weald.OptionTreeClassifier(
        max_options=5, option_depth=3, option_ratio=0.5
    ),
    "forest": lambda: weald.RandomForestClassifier(random_state=0, **whole_trees.OF_CLASSES),
}


def tables(folder: Path, quick: bool) -> list[str]:
    """Names of the tables of classes, small ones first."""
    import pyarrow.parquet as parquet

    sizes = {}
    for file in folder.glob("*.parquet"):
        about = parquet.read_metadata(file)
        small = about.num_rows <= QUICK_ROWS and about.num_columns <= QUICK_COLUMNS + 1
        if about.num_rows <= MOST_ROWS and (small or not quick):
            sizes[file.stem] = about.num_rows
    names = sorted(sizes.keys() - LEFT_OUT, key=lambda name: (sizes[name], name))
    return [name for name in names if task_of(folder, name) != "regression"]


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_parquet(folder / f"{name}.parquet")
    X = np.column_stack([as_numbers(frame[column]) for column in frame.columns[:-1]])
    y = np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]
    # Classes of a handful of rows cannot be in every part.
    common = np.bincount(y)[y] >= 10
    return X[common], np.unique(y[common], return_inverse=True)[1]


def leaves_of(model: Any) -> int:
    return len(model.forest_.value)


def run(folder: Path, name: str) -> dict[str, Any]:
    """Accuracy, log loss, leaves and CPU seconds of a fit, of every system, as means over draws."""
    X, y = load(folder, name)
    figures: dict[str, list[list[float]]] = {what: [] for what in SYSTEMS}
    for draw in range(DRAWS):
        parts = train_test_split(X, y, test_size=0.3, random_state=draw, stratify=y)
        X_train, X_test, y_train, y_test = parts
        for what, made in SYSTEMS.items():
            begin = time.process_time()
            model = made().fit(X_train, y_train)
            seconds = time.process_time() - begin
            shares = np.clip(model.predict_proba(X_test), 1e-3, 1)
            right = float((model.classes_[shares.argmax(axis=1)] == y_test).mean())
            loss = log_loss(y_test, shares / shares.sum(axis=1, keepdims=True))
            figures[what].append([right, float(loss), leaves_of(model), seconds])
    means = {what: np.mean(draws, axis=0).tolist() for what, draws in figures.items()}
    return {"table": name, "rows": len(y), "columns": X.shape[1], "figures": means}


def line(result: dict[str, Any]) -> str:
    cells = [
        f"{100 * right:.2f} ({leaves:,.0f})" for right, _, leaves, _ in result["figures"].values()
    ]
    return f"| {result['table']} | {result['rows']} by {result['columns']} | {' | '.join(cells)} |"


def summary(results: list[dict[str, Any]]) -> str:
    """Mean accuracy and log loss, wins over the single tree, size and time beside."""
    figures = np.array([list(result["figures"].values()) for result in results])
    right, loss, leaves, seconds = np.moveaxis(figures, 2, 0)
    head = "mean accuracy, % | mean log loss | better than the tree | worse"
    rows = [f"| system | {head} | median leaves, tree = 1 | median CPU time of a fit, tree = 1 |"]
    rows.append("|---|---:|---:|---:|---:|---:|---:|")
    for k, what in enumerate(SYSTEMS):
        better = int((right[:, k] > right[:, 0] + 1e-12).sum())
        worse = int((right[:, k] < right[:, 0] - 1e-12).sum())
        rows.append(
            f"| {what} | {100 * right[:, k].mean():.2f} | {loss[:, k].mean():.4f} | {better} | "
            f"{worse} | {np.median(leaves[:, k] / leaves[:, 0]):.1f} | "
            f"{np.median(seconds[:, k] / seconds[:, 0]):.1f} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ["WEALD_DATA"])
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()))
    print(f"weald {weald.__version__}, scikit-learn {peers.package_version('scikit-learn')}\n")
    print(f"| table | size | {' | '.join(SYSTEMS)} |\n|---|---|{'---:|' * len(SYSTEMS)}")
    results = []
    for name in given.tables or tables(folder, given.quick):
        results.append(run(folder, name))
        print(line(results[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    print(f"\n{len(results)} tables\n\n{summary(results)}")


if __name__ == "__main__":
    main()
