"""Counts and amounts: pinball loss, Poisson and Tweedie deviance beside lightgbm and HGB.

    python studies/deviance.py [table ...] [--rows 200000] [--splits 5] [--threads 2]
        [--levels 0.95]

Claims of motor insurance, from the folder that WEALD_DATA names. The target is the frequency,
claims over exposure, and the exposure is the weight of a row; that of the pinball loss is the
count, without weights. Categories are their codes for all, since HGB takes at most 255 levels. All
systems: 100 rounds, 31 leaves, learning rate 0.1, 255 bins, 20 rows a leaf, no penalty. Two things
are not alike by themselves: lightgbm makes its Poisson hessian e^0.7 times larger, which is a
smaller learning rate (set to nothing here), and it counts the rows of a leaf by their hessians, so
that leaves of light rows are refused. `--leaf-hessian` asks for that much hessian of every leaf in
weald and lightgbm. HGB knows no Tweedie loss. A deviance is the mean over held-out rows, three
tenths, of several splits; its ratio to weald's is the mean over the splits, with its standard
error: a system is better than weald where the ratio is below one by more than that.

A column of more than 255 values is cut differently by everyone, which moves a deviance by a tenth
of a percent either way. `--same-bins` cuts every column beforehand, alike for all.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, mean_tweedie_deviance
from sklearn.model_selection import train_test_split

import report
from weald import BoostedTreesRegressor, read

EXPOSURE = {"fremtpl2_freq": "exposure", "bemtpl97": "expo"}
POWER = 1.5
LEAF_HESSIAN = [1e-3]  # of a leaf, at least
TREES = {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20}


def lightgbm(threads: int, **own: Any) -> Any:
    import lightgbm as lgb

    return lgb.LGBMRegressor(
        n_estimators=100,
        learning_rate=0.1,
        num_leaves=31,
        min_child_samples=20,
        max_bin=255,
        min_child_weight=LEAF_HESSIAN[0],
        reg_lambda=0.0,
        n_jobs=threads,
        verbose=-1,
        **own,
    )


def weald(threads: int, **own: Any) -> Any:
    return BoostedTreesRegressor(
        quality="fast",
        n_estimators=100,
        n_jobs=threads,
        min_child_weight=LEAF_HESSIAN[0],
        **TREES,
        **own,
    )


def hgb(threads: int, **own: Any) -> Any:
    # Its threads are those that OMP_NUM_THREADS says.
    return HistGradientBoostingRegressor(max_iter=100, early_stopping=False, **TREES, **own)


@dataclass(frozen=True)
class Row:
    """A loss, how every system is told of it, and how it is judged."""

    name: str
    level: float | None  # of the pinball loss, which is of counts
    makers: dict[str, Callable[[int], Any]]
    judge: Callable[..., float]


def pinball(level: float) -> Row:
    """The pinball loss of one level."""
    return Row(
        f"pinball loss of level {level}",
        level,
        {
            "weald": lambda n: weald(n, loss="quantile", quantile=level),
            "lightgbm": lambda n: lightgbm(n, objective="quantile", alpha=level),
            "sklearn-hgb": lambda n: hgb(n, loss="quantile", quantile=level),
        },
        lambda y, said, weight: mean_pinball_loss(y, said, sample_weight=weight, alpha=level),
    )


DEVIANCES = (
    Row(
        "Poisson deviance",
        None,
        {
            "weald": lambda n: weald(n, loss="poisson"),
            "lightgbm": lambda n: lightgbm(n, objective="poisson", poisson_max_delta_step=1e-9),
            "sklearn-hgb": lambda n: hgb(n, loss="poisson"),
        },
        lambda y, said, weight: mean_poisson_deviance(y, said, sample_weight=weight),
    ),
    Row(
        f"Tweedie deviance of power {POWER}",
        None,
        {
            "weald": lambda n: weald(n, loss="tweedie", tweedie_power=POWER),
            "lightgbm": lambda n: lightgbm(n, objective="tweedie", tweedie_variance_power=POWER),
        },
        lambda y, said, weight: mean_tweedie_deviance(y, said, sample_weight=weight, power=POWER),
    ),
)


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, counts of claims, exposures."""
    frame = read(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    frame = frame.sample(min(rows, len(frame)), random_state=0)
    counts = frame.pop("target").to_numpy(dtype=np.float64)
    exposure = frame.pop(EXPOSURE[name]).to_numpy(dtype=np.float64)
    codes = frame.apply(lambda c: c.cat.codes if hasattr(c, "cat") else c)
    return codes.to_numpy(dtype=np.float64), counts, exposure


def same_bins(X_a: np.ndarray, X_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every value, or a column of many by 250 quantiles of the rows to learn from, as a number."""
    tables = np.empty_like(X_a), np.empty_like(X_b)
    for j in range(X_a.shape[1]):
        tops = np.unique(X_a[:, j])
        if len(tops) > 250:
            shares = np.linspace(0.0, 1.0, 251)
            tops = np.unique(np.quantile(X_a[:, j], shares, method="inverted_cdf"))
        for table, X in zip(tables, (X_a, X_b), strict=True):
            table[:, j] = np.minimum(np.searchsorted(tops, X[:, j]), len(tops) - 1)
    return tables


def ratio(theirs: list[float], ours: list[float]) -> str:
    """The mean of the ratios, and its standard error."""
    each = [a / b for a, b in zip(theirs, ours, strict=True)]
    error = stdev(each) / len(each) ** 0.5 if len(each) > 1 else float("nan")
    return f"{fmean(each):.4f} ± {error:.4f}"


def measure(
    name: str, row: Row, rows: int, splits: int, threads: int, alike: bool
) -> list[list[str]]:
    """A line a system, and one of the best constant."""
    X, counts, exposure = load(name, rows)
    of_counts = row.level is not None
    y = counts if of_counts else counts / exposure
    weight = np.ones(len(y)) if of_counts else exposure
    losses: dict[str, list[float]] = {system: [] for system in (*row.makers, "a constant")}
    took: dict[str, list[float]] = {system: [] for system in row.makers}
    for split in range(splits):
        parts = train_test_split(X, y, weight, test_size=0.3, random_state=split)
        X_a, X_b, y_a, y_b, w_a, w_b = parts
        if alike:
            X_a, X_b = same_bins(X_a, X_b)
        for system, make in row.makers.items():
            model = make(threads)
            begin = time.process_time()
            model.fit(X_a, y_a, sample_weight=None if of_counts else w_a)
            took[system].append(time.process_time() - begin)
            losses[system].append(row.judge(y_b, model.predict(X_b), w_b))
        best = np.average(y_a, weights=w_a) if row.level is None else np.quantile(y_a, row.level)
        losses["a constant"].append(row.judge(y_b, np.full(len(y_b), best), w_b))
    ours = losses["weald"]
    return [
        [
            name,
            row.name,
            system,
            f"{fmean(found):.6f}",
            ratio(found, ours),
            f"{sum(a <= b for a, b in zip(ours, found, strict=True))} of {splits}",
            f"{fmean(took[system]):.2f}" if system in took else "-",
        ]
        for system, found in losses.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=tuple(EXPOSURE))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--levels", type=float, nargs="*", default=(0.95,))
    parser.add_argument("--leaf-hessian", type=float, default=1e-3)
    parser.add_argument("--same-bins", action="store_true")
    asked = parser.parse_args()
    LEAF_HESSIAN[0] = asked.leaf_hessian
    header = ["table", "judged by", "system", "loss", "to weald", "weald <=", "fit CPU s"]
    lines: list[list[str]] = []
    for name in asked.tables:
        for row in (*map(pinball, asked.levels), *DEVIANCES):
            lines += measure(name, row, asked.rows, asked.splits, asked.threads, asked.same_bins)
    print(report.aligned(header, lines))
    versions = {p: importlib.metadata.version(p) for p in ("lightgbm", "scikit-learn")}
    print(f"\n{vars(asked)}; {versions}; {report.machine()}")


if __name__ == "__main__":
    main()
