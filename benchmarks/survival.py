"""Survival models beside scikit-survival and xgboost: concordance, Brier score and processor time.

Cross-validation of the tables that scikit-survival carries. Needs scikit-survival and xgboost.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sksurv import datasets
from sksurv.ensemble import GradientBoostingSurvivalAnalysis
from sksurv.ensemble import RandomSurvivalForest as TheirForest
from sksurv.metrics import concordance_index_censored
from xgboost import DMatrix, train

from weald import BoostedTreesSurvival, RandomSurvivalForest
from weald.survival import integrated_brier_score

TABLES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    "flchain": datasets.load_flchain,
    "gbsg2": datasets.load_gbsg2,
    "whas500": datasets.load_whas500,
    "veteran": datasets.load_veterans_lung_cancer,
    "aids": datasets.load_aids,
    "breast_cancer": datasets.load_breast_cancer,
}


@dataclass
class Fold:
    """Training and test rows; `numbers` are the columns as numbers without missing values."""

    X: pd.DataFrame
    numbers: np.ndarray
    y: np.ndarray
    X_test: pd.DataFrame
    numbers_test: np.ndarray
    y_test: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """Times at which Brier scores are computed: within the follow-up of both parts."""
        event, stop = self.y.dtype.names
        ends = [own[stop][own[event]] for own in (self.y, self.y_test)]
        low = max(np.quantile(one, 0.05) for one in ends)
        high = min(np.quantile(one, 0.95) for one in ends)
        return np.linspace(low, high, 50)


def folds(name: str, repeats: int) -> Iterator[Fold]:
    X, y = TABLES[name]()
    if name == "flchain":
        X = X.drop(columns=["chapter"])  # the cause of death
    event, stop = y.dtype.names
    y = np.array([(one[event], max(one[stop], 0.5)) for one in y], dtype=y.dtype)
    numbers = pd.get_dummies(X, drop_first=True).astype(float)
    numbers = numbers.fillna(numbers.median()).to_numpy()
    for seed in range(repeats):
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        for fit, test in cv.split(X, y[event]):
            yield Fold(X.iloc[fit], numbers[fit], y[fit], X.iloc[test], numbers[test], y[test])


Result = tuple[np.ndarray, np.ndarray | None]  # risk scores and survival at the times


def weald_model(model: Any, fold: Fold) -> Result:
    model.fit(fold.X, fold.y)
    predicted = model.predict(fold.X_test)
    risk = -predicted if getattr(model, "loss", "") == "aft" else predicted
    return risk, model.predict_survival_function(fold.X_test, True, times=fold.times)


def their_model(model: Any, fold: Fold) -> Result:
    model.fit(fold.numbers, fold.y)
    curves = model.predict_survival_function(fold.numbers_test)
    survival = np.array([[one(t) for t in fold.times] for one in curves])
    return model.predict(fold.numbers_test), survival


def xgboost(loss: str, fold: Fold) -> Result:
    """100 rounds of trees of depth 3 at a learning rate of 0.1, as scikit-survival's."""
    event, stop = fold.y.dtype.names
    seen, times = fold.y[event], fold.y[stop]
    data = DMatrix(fold.numbers)
    params = {"objective": f"survival:{loss}", "eta": 0.1, "max_depth": 3, "nthread": 1}
    if loss == "cox":
        data.set_label(np.where(seen, times, -times))
    else:
        data.set_float_info("label_lower_bound", times)
        data.set_float_info("label_upper_bound", np.where(seen, times, np.inf))
    booster = train(params, data, 100)
    predicted = booster.predict(DMatrix(fold.numbers_test))
    return (predicted if loss == "cox" else -predicted), None


SYSTEMS: dict[str, Callable[[Fold], Result]] = {
    "weald cox": lambda fold: weald_model(BoostedTreesSurvival(n_jobs=1), fold),
    "weald aft": lambda fold: weald_model(BoostedTreesSurvival(loss="aft", n_jobs=1), fold),
    "weald aft logistic": lambda fold: weald_model(
        BoostedTreesSurvival(loss="aft", distribution="logistic", n_jobs=1), fold
    ),
    "weald aft extreme": lambda fold: weald_model(
        BoostedTreesSurvival(loss="aft", distribution="extreme", n_jobs=1), fold
    ),
    "weald forest": lambda fold: weald_model(RandomSurvivalForest(n_jobs=1), fold),
    "scikit-survival forest": lambda fold: their_model(TheirForest(random_state=0, n_jobs=1), fold),
    "scikit-survival cox": lambda fold: their_model(
        GradientBoostingSurvivalAnalysis(random_state=0), fold
    ),
    "xgboost cox": lambda fold: xgboost("cox", fold),
    "xgboost aft": lambda fold: xgboost("aft", fold),
}


def run(name: str, systems: list[str], repeats: int) -> None:
    scores: dict[str, list[tuple[float, float, float]]] = {system: [] for system in systems}
    for fold in folds(name, repeats):
        for system in systems:
            begin = time.process_time()
            risk, survival = SYSTEMS[system](fold)
            seconds = time.process_time() - begin
            event, stop = fold.y.dtype.names
            c_index = concordance_index_censored(fold.y_test[event], fold.y_test[stop], risk)[0]
            brier = float("nan")
            if survival is not None:
                brier = integrated_brier_score(fold.y, fold.y_test, survival, fold.times)
            scores[system].append((c_index, brier, seconds))
    print(f"| {name} | C-index | integrated Brier score | seconds |\n|---|---|---|---|")
    for system, values in scores.items():
        c_index, brier, seconds = (mean(column) for column in zip(*values, strict=True))
        print(f"| {system} | {c_index:.4f} | {brier:.4f} | {seconds:.3f} |", flush=True)
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--repeats", type=int, default=2, help="times five folds")
    options = parser.parse_args()
    for name in options.tables:
        run(name, options.systems, options.repeats)


if __name__ == "__main__":
    main()
