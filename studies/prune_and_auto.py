"""Forests cut back by rows they did not see, and forests of as many trees as are enough.

    WEALD_DATA=folder python studies/prune_and_auto.py [table ...]

Ten tables; half of the rows (at most 5,000) to fit, the others (at most 5,000) to test. Errors are
Brier scores of classes and mean squared errors, all on the test part.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

import report
import whole_trees
from oob_error import classification_tables, coded
from uncertainty import numbers
from weald import RandomForestClassifier, RandomForestRegressor

TABLES = (
    *("churn", "credit_default", "htru2", "page_blocks", "telco_churn"),
    *("abalone", "california_housing", "cpu_act", "house_8l", "wine_quality"),
)


def error(model: object, X: np.ndarray, y: np.ndarray, is_class: bool) -> float:
    if is_class:
        wanted = np.eye(len(model.classes_))[np.searchsorted(model.classes_, y)]
        return float(((model.predict_proba(X) - wanted) ** 2).sum(axis=1).mean())
    return float(((model.predict(X) - y) ** 2).mean())


def run(folder: Path, name: str, is_class: bool) -> str:
    X, y = (coded if is_class else numbers)(folder, name, 10_000)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    kind = RandomForestClassifier if is_class else RandomForestRegressor
    whole = whole_trees.OF_CLASSES if is_class else whole_trees.OF_NUMBERS
    forest = kind(100, oob_score=True, random_state=0, n_jobs=1, **whole).fit(X[train], y[train])
    pruned = forest.prune_oob(X[train], y[train])
    enough = kind("auto", random_state=0, n_jobs=1, **whole).fit(X[train], y[train])
    many = kind(1000, random_state=0, n_jobs=1, **whole).fit(X[train], y[train])
    errors = [
        error(model, X[test], y[test], is_class) for model in (forest, pruned.model, enough, many)
    ]
    cells = [
        name,
        f"{errors[0]:.5g}",
        f"{errors[1]:.5g}",
        f"{pruned.n_leaves_before}",
        f"{pruned.n_leaves_after}",
        f"{errors[2]:.5g}",
        f"{len(enough.estimators_)}",
        f"{errors[3]:.5g}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    given = parser.parse_args()
    folder = Path(os.environ["WEALD_DATA"])
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()) + "\n")
    head = ("table", "100 trees", "pruned", "leaves", "then", "auto", "trees", "1000 trees")
    print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}", flush=True)
    classes = classification_tables(folder)
    for name in given.tables or TABLES:
        print(run(folder, name, name in classes), flush=True)


if __name__ == "__main__":
    main()
