"""What early stopping gains by estimating the leaves anew on all rows.

    WEALD_DATA=folder python studies/leaf_refit.py [--splits 3] [--threads 2]

Each table is split three times into halves to learn from and to judge by (at most 12,000 rows in
all). One fit with early stopping gives two models: the last stage, which never learnt from the
held-out tenth, and the model itself, whose leaves learnt from all rows. A third is fitted on all
rows for as many rounds. Losses are of the rows to judge by: log loss, or mean squared error; a
ratio below 1 is for the new leaves.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import weald

BINARY = "higgs_small churn credit_data pima heart_c htru2 lending_club telco_churn sick"
NUMBERS = "abalone concrete california_housing cpu_act elevators ailerons bike_sharing house_8l"
MANY = "optdigits_train page_blocks nursery cmc"

SETTINGS: dict[str, Any] = {"quality": "fast", "n_estimators": 1000, "n_iter_no_change": 20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    print(f"weald {weald.__version__}, {SETTINGS}, defaults otherwise")
    print(
        "table                 rows  rounds    before   ratio: new leaves   all rows anew   seconds"
    )
    ratios = []
    for name in f"{BINARY} {NUMBERS} {MANY}".split():
        file = Path(os.environ["WEALD_DATA"]) / f"{name}.parquet"
        if file.exists():
            ratios += measured(name, file, asked.splits, asked.threads)
    both = np.log(np.array(ratios))
    for title, logs in zip(("new leaves", "all rows anew"), both.T, strict=True):
        better, worse = int((logs < 0).sum()), int((logs > 0).sum())
        print(f"{title}: mean ratio {np.exp(logs.mean()):.4f}, better {better}, worse {worse}")


def measured(name: str, file: Path, splits: int, n_jobs: int) -> list[tuple[float, float]]:
    X, y = weald.read(file, target="target")
    is_number = name in NUMBERS.split()
    kind = weald.BoostedTreesRegressor if is_number else weald.BoostedTreesClassifier
    judged = squared_error if is_number else log_loss
    found = []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        some = rng.permutation(len(y))[:12_000]
        rows, test = train_test_split(some, test_size=0.5, random_state=seed)
        begin = time.perf_counter()
        model = kind(early_stopping=True, random_state=seed, n_jobs=n_jobs, **SETTINGS)
        model.fit(X.iloc[rows], np.asarray(y)[rows])
        seconds = time.perf_counter() - begin
        rounds = max(1, model.n_estimators_)
        anew = kind(**{**SETTINGS, "n_estimators": rounds}, n_jobs=n_jobs)
        anew.fit(X.iloc[rows], np.asarray(y)[rows])
        held, truth = X.iloc[test], np.asarray(y)[test]
        before = judged(model, truth, answers(unrefitted(model), held))
        after = judged(model, truth, answers(model, held))
        whole = judged(anew, truth, answers(anew, held))
        found.append((after / before, whole / before))
        print(
            f"{name:20s} {len(rows):5d} {rounds:7d} {before:9.4g} {found[-1][0]:19.4f} "
            f"{found[-1][1]:15.4f} {seconds:9.2f}",
            flush=True,
        )
    return found


def unrefitted(model: Any) -> Any:
    """The model before its leaves were estimated again."""
    before = copy.copy(model)
    before.forest_ = model._unrefitted
    return before


def answers(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def log_loss(model: Any, y: np.ndarray, shares: np.ndarray) -> float:
    place = np.searchsorted(model.classes_, y)
    return float(-np.log(shares[np.arange(len(y)), place]).mean())


def squared_error(model: Any, y: np.ndarray, values: np.ndarray) -> float:
    return float(((y - values) ** 2).mean())


if __name__ == "__main__":
    main()
