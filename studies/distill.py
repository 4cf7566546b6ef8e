"""Distilled trees against trees of the same size that learnt from the data directly.

    WEALD_DATA=folder python studies/distill.py [table ...] [--quick] [--json FILE]

Tables, splits and codes as in option_trees.py: classes, up to 20,000 rows, 30 % held out, three
draws. The teachers are a random forest and boosted trees with default settings, fitted on the same
rows as the direct tree; the clones are `weald.distill(teacher, X)` with default settings but for
their size. The direct tree is a `DecisionTreeClassifier(max_leaf_nodes=size)`.
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
from sklearn.model_selection import train_test_split

import peers
import report
import weald
import whole_trees
from option_trees import DRAWS, load, tables

SIZES = (16, 64)
TEACHERS = {
    "forest": lambda: weald.RandomForestClassifier(random_state=0, **whole_trees.OF_CLASSES),
    "boosted": lambda: weald.BoostedTreesClassifier(quality="fast"),
}
SETTINGS: dict[str, Any] = {}


def run(folder: Path, name: str) -> dict[str, Any]:
    """Accuracies, fidelities and CPU seconds on one table, as means over draws."""
    X, y = load(folder, name)
    draws = [one_draw(X, y, draw) for draw in range(DRAWS)]
    means = {what: float(np.mean([draw[what] for draw in draws])) for what in draws[0]}
    return {"table": name, "rows": len(y), "columns": X.shape[1], "figures": means}


def one_draw(X: np.ndarray, y: np.ndarray, draw: int) -> dict[str, float]:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=draw, stratify=y)
    figures = {}
    for size in SIZES:
        tree = weald.DecisionTreeClassifier(max_leaf_nodes=size).fit(X, y)
        figures[f"tree {size}"] = tree.score(X_test, y_test)
    for what, made in TEACHERS.items():
        teacher = made().fit(X, y)
        figures[what] = teacher.score(X_test, y_test)
        for size in SIZES:
            begin = time.process_time()
            clone = weald.distill(
                teacher, X, X_val=X_test, y_val=y_test, max_leaf_nodes=size, **SETTINGS
            )
            figures[f"{what} {size} seconds"] = time.process_time() - begin
            figures[f"{what} {size}"] = clone.student_accuracy.value
            figures[f"{what} {size} fidelity"] = clone.fidelity.value
            direct = weald.DecisionTreeClassifier(max_leaf_nodes=size)
            agrees = direct.fit(X, y).predict(X_test) == teacher.predict(X_test)
            figures[f"{what} {size} direct fidelity"] = float(agrees.mean())
    return figures


def columns() -> list[str]:
    return [
        *(f"tree {size}" for size in SIZES),
        *(f"{what} {size}" for what in TEACHERS for size in SIZES),
        *TEACHERS,
    ]


def line(result: dict[str, Any]) -> str:
    cells = [f"{100 * result['figures'][what]:.2f}" for what in columns()]
    return f"| {result['table']} | {result['rows']} by {result['columns']} | {' | '.join(cells)} |"


def summary(results: list[dict[str, Any]]) -> str:
    """The clone against the direct tree: accuracy, wins, and agreement with the teacher."""

    def mean(what: str) -> np.ndarray:
        return np.array([result["figures"][what] for result in results])

    head = "direct accuracy, % | clone | clone better | worse | direct fidelity, % | clone"
    rows = [f"| teacher | leaves | {head} | median CPU seconds |", f"|---|{'---:|' * 8}"]
    for what in TEACHERS:
        for size in SIZES:
            tree, clone = mean(f"tree {size}"), mean(f"{what} {size}")
            fidelity = mean(f"{what} {size} fidelity")
            direct = mean(f"{what} {size} direct fidelity")
            rows.append(
                f"| {what} ({100 * mean(what).mean():.2f} %) | {size} | {100 * tree.mean():.2f} | "
                f"{100 * clone.mean():.2f} | {int((clone > tree + 1e-12).sum())} | "
                f"{int((clone < tree - 1e-12).sum())} | {100 * direct.mean():.2f} | "
                f"{100 * fidelity.mean():.2f} | {np.median(mean(f'{what} {size} seconds')):.2f} |"
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
    head = columns()
    print(f"| table | size | {' | '.join(head)} |\n|---|---|{'---:|' * len(head)}", flush=True)
    results = []
    for name in given.tables or tables(folder, given.quick):
        results.append(run(folder, name))
        print(line(results[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    print(f"\n{len(results)} tables\n\n{summary(results)}")


if __name__ == "__main__":
    main()
