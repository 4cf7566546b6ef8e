"""Isolation forests beside scikit-learn's: AUC with rare classes as anomalies, and processor time.

WEALD_DATA=folder PYTHONPATH=benchmarks python studies/isolation_forest.py [--times] [--seeds 10]
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
import pandas as pd
import sklearn.ensemble
from sklearn.metrics import roc_auc_score

import weald

# The anomalies: a class, or None for all classes but the largest.
TABLES: dict[str, str | None] = {
    "htru2": "1", "mammography": "1", "oil_spill": "1", "page_blocks": None, "sick": None,
    "hypothyroid": None, "ionosphere": None, "pima": "1", "arrhythmia": None, "covertype": "4",
    "kddcup99_10pct": None, "churn": None, "credit_default": None, "australian_car_claim": None,
    "hiva": None, "online_shoppers": None, "telco_churn": None, "colic": None, "hepatitis": None,
}  # fmt: skip
MOST_ROWS = 30_000
SIZES = ((300, 5), (1_000, 10), (10_000, 20), (100_000, 20), (1_000_000, 10))


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The table without its target, and which rows are anomalies."""
    frame = pd.read_parquet(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    label = frame.pop("target").astype(str).str.strip(".").str.removesuffix(".0")
    kept = np.ones(len(frame), dtype=bool)
    if name == "covertype":  # the rarest class beside the largest
        kept = label.isin(["2", "4"]).to_numpy()
    elif name == "kddcup99_10pct":  # rare attacks; the frequent ones outnumber normal traffic
        counts = label.value_counts()
        kept = ((label == "normal") | label.isin(counts[counts < 1500].index)).to_numpy()
    frame, label = frame[kept], label[kept]
    wanted = TABLES[name]
    is_rare = (label == wanted if wanted else label != label.value_counts().index[0]).to_numpy()
    if len(frame) > MOST_ROWS and name in ("covertype", "kddcup99_10pct"):
        some = np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False)
        frame, is_rare = frame.iloc[some], is_rare[some]
    return frame.reset_index(drop=True), is_rare


def encodings(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The table with categories as codes, and one-hot encoded."""
    others = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    codes = frame.copy()
    for name in others:
        codes[name] = codes[name].astype("category").cat.codes.replace(-1, np.nan)
    hot = pd.get_dummies(frame, columns=others)
    return codes.to_numpy(np.float64, na_value=np.nan), hot.to_numpy(np.float64, na_value=np.nan)


def areas(seeds: int) -> pd.DataFrame:
    """AUC by table: mean over the seeds."""
    found = {}
    for name in TABLES:
        frame, is_rare = load(name)
        codes, hot = encodings(frame)
        found[name] = {
            who: np.mean(
                [
                    roc_auc_score(is_rare, -kind(random_state=i).fit(X).score_samples(X))
                    for i in range(seeds)
                ]
            )
            for who, kind, X in (
                ("scikit-learn, codes", sklearn.ensemble.IsolationForest, codes),
                ("weald, codes", weald.IsolationForest, codes),
                ("scikit-learn, one-hot", sklearn.ensemble.IsolationForest, hot),
                ("weald, as it is", weald.IsolationForest, frame),
            )
        }
        print(name, {who: round(float(area), 4) for who, area in found[name].items()}, flush=True)
    return pd.DataFrame(found).T


def processor_time(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def times(rounds: int = 5) -> None:
    """Processor time of fits and scores, in turn; medians."""
    kinds = {"scikit-learn": sklearn.ensemble.IsolationForest, "weald": weald.IsolationForest}
    for n_rows, n_columns in SIZES:
        X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
        seconds: dict[tuple[str, str], list[float]] = {}
        for _ in range(rounds):
            for who, kind in kinds.items():
                model = kind(random_state=0, n_jobs=1)
                for what, work in (("fit", model.fit), ("score", model.score_samples)):
                    taken = processor_time(lambda work=work, X=X: work(X))
                    seconds.setdefault((who, what), []).append(taken)
        medians = {key: round(statistics.median(all_), 4) for key, all_ in seconds.items()}
        print(n_rows, n_columns, medians, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.times:
        times()
    else:
        print(areas(arguments.seeds).mean().round(4))
