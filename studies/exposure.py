"""Claim frequencies with the exposure as offset, as weight and as a column.

    WEALD_DATA=folder python studies/exposure.py [--threads 2]

Numbers of claims of motor policies, each observed for a part of a year. A random third of each
table is for the test: mean Poisson deviance of the counts, given the exposure. `lightgbm` has the
settings of weald's defaults for large tables: 0.1, 31 leaves, early stopping on a tenth.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from weald import BoostedTreesRegressor

TABLES = {"fremtpl2_freq": "exposure", "bemtpl97": "expo", "australian_car_claim": "exposure"}
Expected = Callable[[pd.DataFrame, Any], Any]


def constant(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    rate = y.sum() / years.sum()
    return lambda X, years: rate * years


def linear(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=50)
    columns = make_column_transformer(
        (levels, make_column_selector(dtype_include="category")), remainder=StandardScaler()
    )
    model = make_pipeline(columns, PoissonRegressor(alpha=1e-4, max_iter=1000))
    model.fit(X, y / years, poissonregressor__sample_weight=years)
    return lambda X, years: model.predict(X) * years


def offset(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    model = BoostedTreesRegressor(loss="poisson", n_jobs=threads)
    model.fit(X, y, offset=np.log(years))
    return lambda X, years: model.predict(X, offset=np.log(years))


def weight(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    model = BoostedTreesRegressor(loss="poisson", n_jobs=threads)
    model.fit(X, y / years, sample_weight=years)
    return lambda X, years: model.predict(X) * years


def column(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    model = BoostedTreesRegressor(loss="poisson", n_jobs=threads).fit(X.assign(years=years), y)
    return lambda X, years: model.predict(X.assign(years=years))


def both(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    model = BoostedTreesRegressor(loss="poisson", n_jobs=threads)
    model.fit(X.assign(years=years), y, offset=np.log(years))
    return lambda X, years: model.predict(X.assign(years=years), offset=np.log(years))


def lightgbm(X: pd.DataFrame, y: Any, years: Any, threads: int) -> Expected:
    import lightgbm

    start = np.log(years * y.sum() / years.sum())
    train, held = train_test_split(np.arange(len(y)), test_size=0.1, random_state=0)
    model = lightgbm.LGBMRegressor(
        objective="poisson", n_estimators=5000, n_jobs=threads, verbose=-1
    )
    model.fit(
        X.iloc[train],
        y[train],
        init_score=start[train],
        eval_X=X.iloc[held],
        eval_y=y[held],
        eval_init_score=[start[held]],
        callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )
    rate = np.log(y.sum() / years.sum())
    return lambda X, years: years * np.exp(rate + model.predict(X, raw_score=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    ways = (constant, linear, lightgbm, column, weight, both, offset)
    for name, exposure in TABLES.items():
        table = pd.read_parquet(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
        y = table.pop("target").to_numpy(dtype=float)
        years = table.pop(exposure).to_numpy()
        train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=0)
        print(f"{name}: {len(train)} rows to train on, {len(test)} to test on")
        for way in ways:
            begin = time.perf_counter()
            expected = way(table.iloc[train], y[train], years[train], threads)
            seconds = time.perf_counter() - begin
            deviance = mean_poisson_deviance(y[test], expected(table.iloc[test], years[test]))
            print(f"  {way.__name__:10s} {deviance:.5f}  {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
