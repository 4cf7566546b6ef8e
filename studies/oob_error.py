"""Out-of-bag, .632+ and cross-validated errors beside the error on a large test part.

    WEALD_DATA=folder python studies/oob_error.py [table ...] [--most-rows 60000]

Every classification table of the folder with 2,000 to 60,000 rows: a fifth of the rows (at most
2,000) is trained on, all others are the test part. Two learners are judged, each by the estimates
that are made for it: the forest by its out-of-bag error (free) and by ten folds (ten more fits),
its single tree by the .632+ estimate from the same ledger (one more tree).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, cross_val_score

import report
from uncertainty import numbers
from weald import RandomForestClassifier
from whole_trees import OF_CLASSES

TREES = 200


def classification_tables(folder: Path, least: int = 2000, most: int = 60_000) -> list[str]:
    """Names of the tables of classes, by INDEX.md."""
    names = []
    for line in (folder / "INDEX.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        is_wanted = len(cells) > 3 and cells[2] in ("binary", "multiclass")
        if is_wanted and least <= int(cells[3]) <= most:
            names.append(cells[1])
    return sorted(names)


def coded(folder: Path, name: str, most_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The table as numbers, its target as class numbers."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    codes, _ = pd.factorize(frame["target"], sort=True)
    frame["target"] = codes.astype(np.float64)
    X, y = numbers(folder, name, most_rows, frame)
    return X, y.astype(np.int64)


def run(folder: Path, name: str, most_rows: int) -> dict[str, float]:
    X, y = coded(folder, name, most_rows)
    order = np.random.default_rng(0).permutation(len(y))
    n_train = min(2000, len(y) // 5)
    train, test = order[:n_train], order[n_train:]
    forest = RandomForestClassifier(TREES, oob_score=True, random_state=0, n_jobs=1, **OF_CLASSES)
    begin = time.process_time()
    forest.fit(X[train], y[train])
    fitted = time.process_time()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    plain = RandomForestClassifier(TREES, random_state=0, n_jobs=1, **OF_CLASSES)
    crossed = 1 - cross_val_score(plain, X[train], y[train], cv=folds).mean()
    done = time.process_time()
    tree = forest.member_error_632(X[train], y[train])
    # The learner that .632+ judges: one such tree, trained on all rows; twenty seeds of it.
    singles = [
        RandomForestClassifier(1, bootstrap=False, random_state=seed, n_jobs=1, **OF_CLASSES)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for seed in range(20)
    ]
    return {
        "forest": float((forest.predict(X[test]) != y[test]).mean()),
        "oob": forest.oob_.error(),
        "10 folds": float(crossed),
        "tree": 1 - float(np.mean(singles)),
        ".632+": tree.error,
        "ratio": (fitted - begin) / (done - fitted),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--most-rows", type=int, default=60_000)
    given = parser.parse_args()
    folder = Path(os.environ["WEALD_DATA"])
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()))
    print(f"random forests of {TREES} trees; share of wrong classes; last: CPU time of the fit")
    print("with its out-of-bag answers, as a part of that of ten folds\n")
    head = ("table", "forest, test", "oob", "10 folds", "tree, test", ".632+", "time")
    print(f"| {' | '.join(head)} |\n|---|{'---:|' * 6}", flush=True)
    results = []
    for name in given.tables or classification_tables(folder):
        found = run(folder, name, given.most_rows)
        results.append(list(found.values()))
        print(f"| {name} | {' | '.join(f'{value:.4f}' for value in found.values())} |", flush=True)
    forest, oob, folds, tree, plus, ratio = np.array(results).T
    print(f"\n{len(results)} tables")
    for what, estimate, true in (
        ("out-of-bag for the forest", oob, forest),
        ("10 folds for the forest", folds, forest),
        (".632+ for a tree", plus, tree),
    ):
        off = estimate - true
        print(f"{what}: off by {off.mean():+.4f} on average, {np.abs(off).mean():.4f} in size")
    print(f"CPU time with the ledger: {np.median(ratio):.3f} of ten folds (median)")


if __name__ == "__main__":
    main()
