"""Many classes: a tree for each beside one tree whose leaves hold a step for each.

    python studies/many_classes.py [table ...] [--threads 2] [--repeats 3]

Tables are read from the folder that WEALD_DATA names; 200,000 rows at most, three tenths held out.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

import report
from weald import BoostedTreesClassifier, read

TABLES = ("covertype", "optdigits_train", "mnist_5k", "connect_4", "vowel", "page_blocks")
FORMS = {
    "tree_per_class, 100 rounds": {"multi_class": "tree_per_class", "n_estimators": 100},
    "vector_leaves, 100 rounds": {"multi_class": "vector_leaves", "n_estimators": 100},
    "vector_leaves, 300 rounds": {"multi_class": "vector_leaves", "n_estimators": 300},
}


def load(name: str) -> list[Any]:
    """The rows to learn from, those to judge by, and their classes."""
    frame = read(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    rows = np.random.default_rng(0).permutation(len(frame))[:200_000]
    y = np.asarray(frame["target"])[rows].astype(str)
    X = frame.drop(columns="target").iloc[rows]
    return train_test_split(X, y, test_size=0.3, random_state=0)


def measure(name: str, threads: int, repeats: int) -> list[list[str]]:
    """A line a form: CPU seconds of the fit and of predicting, and how good it is."""
    X, X_test, y, y_test = load(name)
    fits: dict[str, list[float]] = {form: [] for form in FORMS}
    asks: dict[str, list[float]] = {form: [] for form in FORMS}
    judged: dict[str, tuple[float, float]] = {}
    for _ in range(repeats):
        for form, own in FORMS.items():
            begin = time.process_time()
            model = BoostedTreesClassifier(quality="fast", n_jobs=threads, **own).fit(X, y)
            fits[form].append(time.process_time() - begin)
            model.predict_proba(X_test[:1])
            begin = time.process_time()
            shares = model.predict_proba(X_test)
            asks[form].append(time.process_time() - begin)
            said = model.classes_[shares.argmax(axis=1)]
            judged[form] = (
                float(log_loss(y_test, shares, labels=model.classes_)),
                float(accuracy_score(y_test, said)),
            )
    return [
        [
            f"{name} ({len(X):,} rows, {len(np.unique(y))} classes)",
            form,
            f"{median(fits[form]):.2f}",
            f"{1e6 * median(asks[form]) / len(X_test):.2f}",
            f"{judged[form][0]:.4f}",
            f"{judged[form][1]:.4f}",
        ]
        for form in FORMS
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    header = ["table", "form", "fit CPU s", "predict CPU us/row", "log loss", "accuracy"]
    lines = [line for name in asked.tables for line in measure(name, asked.threads, asked.repeats)]
    print(report.aligned(header, lines))
    print(f"\nDefaults but for the form; {asked.threads} threads; {report.machine()}")


if __name__ == "__main__":
    main()
