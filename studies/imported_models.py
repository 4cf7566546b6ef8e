"""Imported models beside the originals: equal predictions, and time of batch prediction.

Models of scikit-learn, XGBoost, LightGBM and CatBoost are trained on real tables with categories
and missing values, saved in the library's own form where there is one, and imported. Times are
processor seconds of one thread, the median of interleaved runs of both. Needs xgboost, lightgbm and
catboost.

    WEALD_DATA=... python studies/imported_models.py [--trees 100] [--rows 10000] [--table adult]
        [--library catboost] [--runs 5]
"""

import argparse
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas
import sklearn.ensemble
import sklearn.tree
import xgboost
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

import weald

TABLES = ["adult", "ames", "california_housing", "eucalyptus", "hypothyroid", "telco_churn"]
MOST_ROWS = 6_000
ANY_LEVELS = 255  # of CatBoost's columns are compared one by one


@dataclass(frozen=True)
class Table:
    """Rows as each library takes them, and the target: numbers, or classes 0, 1, ..."""

    name: str
    frame: pandas.DataFrame  # numbers and pandas' categories, with missing values
    complete: pandas.DataFrame  # the same; missing categories are a text, as CatBoost requires
    codes: np.ndarray  # of categories, in float32, with missing values
    y: np.ndarray
    is_classes: bool


def load(name: str) -> Table:
    frame = pandas.read_parquet(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0).reset_index(drop=True)
    target = frame.pop("target")
    frame = frame.dropna(axis="columns", how="all")  # which scikit-learn's boosters refuse
    is_number = [pandas.api.types.is_numeric_dtype(frame[one]) for one in frame]
    numbers = list(frame.columns[is_number])
    others = list(frame.columns[~np.array(is_number)])
    frame = frame.astype(dict.fromkeys(numbers, np.float64))
    frame = frame.astype(dict.fromkeys(others, str)).where(frame.notna())
    frame = frame.astype(dict.fromkeys(others, "category"))
    complete = frame.astype(dict.fromkeys(others, object))
    complete[others] = complete[others].fillna("missing").astype(str).astype("category")
    codes = frame.copy()
    for one in others:
        codes[one] = frame[one].cat.codes.where(frame[one].notna())
    is_classes = not pandas.api.types.is_float_dtype(target) and target.nunique() < 30
    y = np.unique(target.astype(str), return_inverse=True)[1] if is_classes else target.to_numpy()
    return Table(name, frame, complete, codes.to_numpy(dtype=np.float32), y, is_classes)


@dataclass(frozen=True)
class Pair:
    """A trained model, the same imported, and the rows that both take."""

    name: str
    theirs: Any
    ours: Any
    rows: Any


def of_sklearn(table: Table, n_trees: int, _folder: Path) -> Iterator[Pair]:
    kind = "Classifier" if table.is_classes else "Regressor"
    forest = {"n_estimators": n_trees, "random_state": 0, "n_jobs": 1}
    complete = np.nan_to_num(table.codes, nan=-1.0)
    trees, forests = sklearn.tree, sklearn.ensemble
    models = [
        ("scikit-learn tree", f"DecisionTree{kind}", trees, {"random_state": 0}, table.codes),
        ("scikit-learn random forest", f"RandomForest{kind}", forests, forest, table.codes),
        ("scikit-learn extra trees", f"ExtraTrees{kind}", forests, forest, table.codes),
        (
            "scikit-learn gradient boosting",
            f"GradientBoosting{kind}",
            forests,
            {"n_estimators": n_trees, "random_state": 0},
            complete,  # it takes no missing values
        ),
        (
            "scikit-learn histogram gradient boosting",
            f"HistGradientBoosting{kind}",
            forests,
            {"max_iter": n_trees, "early_stopping": False, "random_state": 0},
            table.frame,
        ),
    ]
    for name, cls, module, parameters, rows in models:
        theirs = getattr(module, cls)(**parameters).fit(rows, table.y)
        yield Pair(name, theirs, weald.from_sklearn(theirs, n_jobs=1), rows)


def of_xgboost(table: Table, n_trees: int, folder: Path) -> Iterator[Pair]:
    cls = xgboost.XGBClassifier if table.is_classes else xgboost.XGBRegressor
    theirs = cls(n_estimators=n_trees, n_jobs=1, enable_categorical=True)
    theirs.fit(table.frame, table.y)
    for suffix in ("json", "ubj"):
        file = folder / f"model.{suffix}"
        theirs.save_model(file)
        yield Pair(f"XGBoost, {suffix}", theirs, weald.from_xgboost(file, n_jobs=1), table.frame)


def of_lightgbm(table: Table, n_trees: int, folder: Path) -> Iterator[Pair]:
    cls = lightgbm.LGBMClassifier if table.is_classes else lightgbm.LGBMRegressor
    theirs = cls(n_estimators=n_trees, n_jobs=1, verbose=-1).fit(table.frame, table.y)
    theirs.booster_.save_model(folder / "model.txt")
    ours = weald.from_lightgbm(folder / "model.txt", n_jobs=1)
    yield Pair("LightGBM, text", theirs, ours, table.frame)


def of_catboost(table: Table, n_trees: int, folder: Path) -> Iterator[Pair]:
    cls = catboost.CatBoostClassifier if table.is_classes else catboost.CatBoostRegressor
    categories = list(table.frame.select_dtypes("category"))
    pool = catboost.Pool(table.complete, table.y, cat_features=categories)
    for growth in ("SymmetricTree", "Lossguide"):
        theirs = cls(
            n_trees,
            grow_policy=growth,
            one_hot_max_size=ANY_LEVELS,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        ).fit(pool)
        theirs.save_model(str(folder / "model.json"), format="json", pool=pool)
        ours = weald.from_catboost(folder / "model.json", n_jobs=1)
        yield Pair(f"CatBoost, json, {growth}", theirs, ours, table.complete)


LIBRARIES = {
    "sklearn": of_sklearn,
    "xgboost": of_xgboost,
    "lightgbm": of_lightgbm,
    "catboost": of_catboost,
}


def predicts(model: Any) -> Callable[[Any], Any]:
    """Probabilities of a classifier, numbers of a regressor; CatBoost on one thread."""
    predict = model.predict_proba if is_classifier(model) else model.predict
    if type(model).__module__.startswith("catboost"):
        return lambda rows: predict(rows, thread_count=1)
    return predict  # type: ignore[no-any-return]


def difference(theirs: np.ndarray, ours: np.ndarray) -> float:
    """The largest one, relative to the largest prediction if that is above 1."""
    return float(np.abs(theirs - ours).max() / max(1.0, np.abs(theirs).max()))


def compared(pair: Pair, n_rows: int, n_runs: int) -> tuple[float, float, float]:
    """Largest difference, and milliseconds of their prediction and of ours for the batch."""
    chosen = np.random.default_rng(0).integers(0, len(pair.rows), n_rows)
    is_frame = hasattr(pair.rows, "iloc")
    rows = pair.rows.iloc[chosen].reset_index(drop=True) if is_frame else pair.rows[chosen]
    answers, times = [], np.zeros((n_runs + 1, 2))
    for run in range(n_runs + 1):  # the first is not counted
        for which, predict in enumerate((predicts(pair.theirs), predicts(pair.ours))):
            begin = time.process_time()
            answer = predict(rows)
            times[run, which] = 1000 * (time.process_time() - begin)
            answers.append(np.asarray(answer, dtype=np.float64))
    return difference(answers[0], answers[1]), *np.median(times[1:], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=10_000, help="of a batch")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--table", action="append", choices=TABLES, help="only these")
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="only these")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{given.trees} trees, batch of {given.rows} rows, one thread, processor milliseconds")
    print("| table | model | difference | theirs | weald | ratio |\n|---|---|---:|---:|---:|---:|")
    ratios: dict[str, list[float]] = {}
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for name, library in itertools.product(given.table or TABLES, given.library or LIBRARIES):
            for pair in LIBRARIES[library](load(name), given.trees, Path(folder)):
                apart, theirs, ours = compared(pair, given.rows, given.runs)
                ratios.setdefault(pair.name, []).append(ours / theirs)
                print(
                    f"| {name} | {pair.name} | {apart:.0e} | {theirs:.1f} | {ours:.1f} "
                    f"| {ours / theirs:.2f} |",
                    flush=True,
                )
    print("\n| model | ratio: geometric mean | least | largest |\n|---|---:|---:|---:|")
    for name, all_ratios in ratios.items():
        mean = np.exp(np.mean(np.log(all_ratios)))
        print(f"| {name} | {mean:.2f} | {min(all_ratios):.2f} | {max(all_ratios):.2f} |")


if __name__ == "__main__":
    main()
