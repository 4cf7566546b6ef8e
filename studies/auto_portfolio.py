"""In which order should AutoEnsemble train its models? On tables of the half for choosing.

On fold 0 of every table (at most `--rows` training rows) all models are trained, with their
predictions for unseen training rows and for the test rows. The order starts with the model of the
lowest mean error, and goes on with the model that lowers the mean error of the ensemble most, its
weights selected on the unseen rows as AutoEnsemble does. The error of a table is the log loss or
RMSE on its test rows, divided by that of boosted trees.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

import accuracy_fits
import weald
from weald.ensembles.auto.metric import row_losses
from weald.ensembles.auto.selection import mean_of

FIRST = "boosted trees"


class Classifier(weald.AutoEnsembleClassifier):
    def _keep(self, search: Any, *others: Any) -> None:
        super()._keep(search, *others)
        self.search = search


class Regressor(weald.AutoEnsembleRegressor):
    def _keep(self, search: Any, *others: Any) -> None:
        super()._keep(search, *others)
        self.search = search


class Trial:
    """All models of a table: predictions for unseen training rows and for test rows."""

    def __init__(self, table: str, most_rows: int) -> None:
        X, y, task = accuracy_fits.load(table)
        splitter = KFold if task == "regression" else StratifiedKFold
        splits = splitter(accuracy_fits.N_FOLDS, shuffle=True, random_state=7).split(X, y)
        train, test = next(iter(splits))
        train = np.random.default_rng(0).permutation(train)[:most_rows]
        test = test[:most_rows]
        if task != "regression":
            known = np.isin(y.iloc[test], y.iloc[train])
            test = test[known]
        kind = Regressor if task == "regression" else Classifier
        model = kind(time_limit=None, max_models=100, keep_models=True, n_jobs=1)
        model.fit(_rows(X, train), _rows(y, train))
        self.table, self.search = table, model.search
        model.weights_ = np.ones(len(model.models_))  # so that all of them predict
        predictions, _ = model._all_predictions(_rows(X, test))
        self.test = dict(zip(model.models_, predictions, strict=True))
        labels = y.iloc[test].to_numpy()
        self.loss = "squared_error" if task == "regression" else "log_loss"
        if task != "regression":
            labels = np.searchsorted(model.classes_, labels)
        self.y = labels
        self.unseen = {one.member.name: one.predictions for one in self.search.trained}
        self.seconds = {one.member.name: one.seconds for one in self.search.trained}

    def error(self, names: list[str]) -> float:
        """Test error of the ensemble selected from these models."""
        names = [name for name in names if name in self.unseen]
        weights = np.ones(1)
        if len(names) > 1:
            weights = self.search.selector.weights([self.unseen[name] for name in names])
        mean = mean_of([self.test[name] for name in names], weights)
        loss = float(row_losses(self.loss, self.y, mean).mean())
        return loss if self.loss == "log_loss" else loss**0.5


def _rows(data: Any, rows: np.ndarray) -> Any:
    return data.iloc[rows].reset_index(drop=True)


def mean_ratio(trials: list[Trial], names: list[str]) -> float:
    """Geometric mean over the tables of the error relative to that of boosted trees."""
    known = [trial for trial in trials if any(name in trial.unseen for name in names)]
    ratios = [trial.error(names) / trial.error([FIRST]) for trial in known]
    return float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-3)))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--most-columns", type=int, default=150)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    begin, trials = time.perf_counter(), []
    names = [n for n in accuracy_fits.table_names() if accuracy_fits.part_of(n) == "choose"]
    for table in np.random.default_rng(1).permutation(names):
        if time.perf_counter() - begin > arguments.seconds:
            break
        columns = pd.read_parquet(accuracy_fits.data_folder() / f"{table}.parquet").shape[1]
        if columns > arguments.most_columns:
            continue
        try:
            trials.append(Trial(str(table), arguments.rows))
        except ValueError as error:
            print(table, error)
    print(f"{len(trials)} tables: {', '.join(trial.table for trial in trials)}")
    models = sorted({name for trial in trials for name in trial.unseen})
    for name in models:
        own = [trial for trial in trials if name in trial.unseen]
        share = np.median([trial.seconds[name] / trial.seconds[FIRST] for trial in own])
        ratio = mean_ratio(own, [name])
        print(f"{name}: {len(own)} tables, error {ratio:.3f}, time {share:.2f}, of boosted trees")
    order: list[str] = [min(models, key=lambda name: mean_ratio(trials, [name]))]
    while len(order) < len(models):
        rest = [name for name in models if name not in order]
        order.append(min(rest, key=lambda name: mean_ratio(trials, [*order, name])))
        print(f"{len(order)} models: + {order[-1]}, error {mean_ratio(trials, order):.4f}")


if __name__ == "__main__":
    main()
