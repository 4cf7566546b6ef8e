"""Several targets in one model beside one model per target: error and processor time.

WEALD_DATA=folder python studies/several_targets.py [--who weald,peers] [--rows 800] [--quick]

`--quick`: one booster of learning rate 0.1, stopped after 15 rounds without improvement on a tenth
of the rows, in two splits; else default settings, one split. Columns of real tables are targets;
categories and dates are numbers for all. Three tenths of the rows are held out; the error is the
root of the mean squared error, in standard deviations of each target, mean over the targets. Peers
need `pip install xgboost catboost`.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
import pandas as pd
from sklearn.datasets import load_linnerud

TARGETS = {
    "penguins": ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"],
    "auto_mpg": ["target", "horsepower", "acceleration"],
    "concrete": ["target", "water"],
    "abalone": ["whole_weight", "shucked_weight", "viscera_weight", "shell_weight"],
    "wine_quality": ["density", "alcohol", "ph"],
    "california_housing": ["target", "median_income", "households"],
    "cpu_act": ["target", "lread", "fork"],
    "diamonds": ["target", "x", "depth"],
    "eucalyptus": ["dbh", "ht", "surv", "vig"],
    "appliances_energy": ["t1", "rh_1", "t2", "target"],
    "beijing_pm25": ["target", "temp", "pres"],
    "house_16h": ["target", "p1", "h2p2"],
}
Task = tuple[np.ndarray, np.ndarray]


def real(name: str) -> Task:
    """A table of WEALD_DATA as numbers, and its targets."""
    frame = pd.read_parquet(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    frame = frame.dropna(subset=TARGETS[name])
    for column in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[column]):
            continue
        if "date" in column or "time" in column:
            frame[column] = pd.to_datetime(frame[column]).astype("int64") / 1e9
        else:
            frame[column] = frame[column].astype("category").cat.codes.replace(-1, np.nan)
    some = np.random.default_rng(0).permutation(len(frame))[:3000]
    numbers = frame.astype(np.float64).iloc[some]
    return numbers.drop(columns=TARGETS[name]).to_numpy(), numbers[TARGETS[name]].to_numpy()


def made() -> Iterator[tuple[str, Task]]:
    """Targets with the same signal, without any common one, and with a common part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    common = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    own = [np.sin(2 * X[:, j]) + X[:, j + 1] * X[:, j + 2] for j in range(0, 8, 2)]
    for name, signals in (
        ("shared", [common] * 4),
        ("apart", own),
        ("half shared", [common + np.sin(2 * X[:, 3 + j]) for j in range(4)]),
    ):
        yield name, (X, np.column_stack([one + 0.3 * rng.normal(size=2000) for one in signals]))


def tasks() -> Iterator[tuple[str, Task]]:
    for name in TARGETS:
        yield name, real(name)
    yield "linnerud", load_linnerud(return_X_y=True)
    yield from made()


Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def per_target(fit: Callable[..., Any]) -> Fit:
    """One model per target."""
    return lambda X, Y, X_test: np.column_stack([fit().fit(X, y).predict(X_test) for y in Y.T])


def together(fit: Callable[..., Any]) -> Fit:
    return lambda X, Y, X_test: fit().fit(X, Y).predict(X_test)


QUICK = {"n_bags": None, "learning_rate": 0.1, "early_stopping": True, "n_iter_no_change": 15}


def weald_models(quick: bool) -> dict[str, Fit]:
    from weald import BoostedTreesRegressor

    def model(**own: Any) -> Any:
        settings: dict[str, Any] = QUICK if quick else {}
        return BoostedTreesRegressor(random_state=0, n_jobs=1, **settings, **own)

    return {
        "vector_leaves": together(lambda: model(multi_output="vector_leaves")),
        "tree_per_target": together(lambda: model(multi_output="tree_per_target")),
        "model per target": per_target(model),
    }


def peer_models() -> dict[str, Fit]:
    from catboost import CatBoostRegressor
    from xgboost import XGBRegressor

    def cat(**own: Any) -> Any:
        return CatBoostRegressor(
            verbose=0, thread_count=1, random_seed=0, allow_writing_files=False, **own
        )

    return {
        "xgboost per target": per_target(lambda: XGBRegressor(n_jobs=1, random_state=0)),
        "catboost MultiRMSE": together(lambda: cat(loss_function="MultiRMSE")),
        "catboost per target": per_target(cat),
    }


def main(who: list[str], n_rows: int, quick: bool) -> None:
    models = {**(weald_models(quick) if "weald" in who else {})}
    models |= peer_models() if "peers" in who else {}
    for name, (X, Y) in tasks():
        some = np.random.default_rng(7).permutation(len(X))[:n_rows]
        for split in range(2 if quick else 1):
            order = some[np.random.default_rng(100 + split).permutation(len(some))]
            train, test = order[: int(0.7 * len(some))], order[int(0.7 * len(some)) :]
            for model, fit in models.items():
                began = time.process_time()
                predicted = fit(X[train], Y[train], X[test])
                seconds = time.process_time() - began
                errors = np.sqrt(((predicted - Y[test]) ** 2).mean(axis=0)) / Y[some].std(axis=0)
                print(f"{name:20s} {model:20s} {errors.mean():.4f} {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--who", default="weald,peers")
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    main(arguments.who.split(","), arguments.rows, arguments.quick)
