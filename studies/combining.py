"""Members alone and together on real tables: vote, blend, one and two layers, greedy selection.

    WEALD_DATA=folder python studies/combining.py [table ...] [--json FILE]

Tables are the parquet files of that folder with 1,000 to 20,000 rows whose last column is
`target`. Columns that are no numbers become ordinal codes, dates days: our trees take no text
yet, and all members see the same numbers. 30 % of the rows are held out, once.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import report
import weald
from weald.aggregation import weighted_mean
from weald.ensembles.combining.nonnegative import NonNegativeSum, mixture_weights

LEAST_ROWS, MOST_ROWS = 1_000, 20_000
FOLDS = 3
MEMBERS = ("boosted", "small", "tree", "linear", "near")
TOGETHER = (
    "best by fold", "vote", "learnt vote", "blend", "stack", "stack nn", "greedy", "two layers",
)  # fmt: skip


def tables(folder: Path) -> list[str]:
    """Names of the tables of the right size, small ones first."""
    import pyarrow.parquet as parquet

    sizes = {file.stem: parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet")}
    return sorted(
        (name for name, rows in sizes.items() if LEAST_ROWS <= rows <= MOST_ROWS),
        key=lambda name: (sizes[name], name),
    )


def as_numbers(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.astype("int64").to_numpy() / 86_400e9
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    codes = pd.Categorical(column.astype("string")).codes.astype(np.float64)
    return np.where(codes < 0, np.nan, codes)


def load(folder: Path, name: str, task: str) -> tuple[Any, ...]:
    frame = pd.read_parquet(folder / f"{name}.parquet")
    X = np.column_stack([as_numbers(frame[column]) for column in frame.columns[:-1]])
    y = frame.iloc[:, -1]
    labels = None
    if task != "regression":
        y = np.unique(y.astype(str), return_inverse=True)[1]
        # Classes of a handful of rows cannot be in every part.
        common = np.bincount(y)[y] >= 10
        X, y = X[common], np.unique(y[common], return_inverse=True)[1]
        labels = y
    y = np.asarray(y, dtype=np.int64 if labels is not None else np.float64)
    return tuple(train_test_split(X, y, test_size=0.3, random_state=0, stratify=labels))


def members(is_class: bool) -> list[tuple[str, Any]]:
    kind = "Classifier" if is_class else "Regressor"
    boosted = getattr(weald, f"BoostedTrees{kind}")
    tree = getattr(weald, f"DecisionTree{kind}")
    near = KNeighborsClassifier if is_class else KNeighborsRegressor
    linear = LogisticRegression(max_iter=300) if is_class else Ridge()

    def prepared(model: Any) -> Any:
        return make_pipeline(
            SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler(), model
        )

    return [
        ("boosted", boosted(quality="fast", n_estimators=100)),
        (
            "small",
            boosted(quality="fast", n_estimators=150, learning_rate=0.05, max_leaf_nodes=8),
        ),
        ("tree", tree(min_samples_leaf=20)),
        ("linear", prepared(linear)),
        ("near", prepared(near(15))),
    ]


def loss(is_class: bool, y: np.ndarray, said: np.ndarray, n_classes: int) -> float:
    """Log loss, or the root mean squared error over the standard deviation."""
    if is_class:
        clipped = np.clip(said, 1e-12, 1)
        shares = clipped / clipped.sum(axis=1, keepdims=True)
        return float(log_loss(y, shares, labels=np.arange(n_classes)))
    return float(np.sqrt(np.mean((said - y) ** 2)) / y.std())


def ask(model: Any, X: np.ndarray, is_class: bool) -> np.ndarray:
    return np.asarray(model.predict_proba(X) if is_class else model.predict(X))


def learnt_vote(stack: Any, single: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What Voting*(weights="oof") says, from answers that the stack has already."""
    answers = np.stack(stack._kept.answers)
    if single.ndim == 3:
        return weighted_mean(single, mixture_weights(answers, y, None))
    return weighted_mean(single, NonNegativeSum().fit(answers, y, None).weights_)


def run(folder: Path, name: str, task: str) -> dict[str, Any]:
    """Losses of all systems on one table, on rows held out."""
    begin = time.perf_counter()
    X, X_test, y, y_test = load(folder, name, task)
    is_class = task != "regression"
    n_classes = int(y.max()) + 1 if is_class else 0
    kind = "Classifier" if is_class else "Regressor"
    given = members(is_class)
    stacking, blending = (getattr(weald, f"{what}{kind}") for what in ("Stacking", "Blending"))
    said: dict[str, np.ndarray] = {}

    stack = stacking(given, cv=FOLDS).fit(X, y)
    for member, model in stack.named_estimators_.items():
        said[member] = ask(model, X_test, is_class)
    single = np.stack([said[member] for member in MEMBERS])
    inside = [
        loss(is_class, y, answer if is_class else answer[:, 0], n_classes)
        for answer in stack._kept.answers
    ]
    said["best by fold"] = single[int(np.argmin(inside))]
    said["vote"] = single.mean(axis=0)
    said["learnt vote"] = learnt_vote(stack, single, y)
    said["stack"] = ask(stack, X_test, is_class)
    said["stack nn"] = ask(stack.refit_final("nonnegative"), X_test, is_class)
    said["greedy"] = ask(stack.refit_final("greedy"), X_test, is_class)
    weights = stack.final_estimator_.weights_.round(2).tolist()
    blend = blending(given, "nonnegative", random_state=0)
    said["blend"] = ask(blend.fit(X, y), X_test, is_class)
    second = [(f"{member}2", model) for member, model in given if member in ("small", "linear")]
    deep = stacking(given, "nonnegative", cv=FOLDS, layers=[second], passthrough=False)
    said["two layers"] = ask(deep.fit(X, y), X_test, is_class)
    return {
        "table": name,
        "task": task,
        "rows": len(y) + len(y_test),
        "columns": X.shape[1],
        "seconds": round(time.perf_counter() - begin, 1),
        "greedy weights": weights,
        "loss": {
            what: loss(is_class, y_test, said[what], n_classes) for what in (*MEMBERS, *TOGETHER)
        },
    }


def task_of(folder: Path, name: str) -> str:
    target = pd.read_parquet(folder / f"{name}.parquet", columns=["target"])["target"]
    index = (folder / "INDEX.md").read_text(encoding="utf-8")
    for line in index.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 2 and cells[1] == name:
            return cells[2]
    return "multiclass" if target.dtype == object else "regression"


def line(result: dict[str, Any]) -> str:
    best = min(result["loss"].values())
    cells = [
        f"**{value:.4f}**" if value == best else f"{value:.4f}" for value in result["loss"].values()
    ]
    size = f"{result['rows']} by {result['columns']}"
    return f"| {result['table']} | {result['task']} | {size} | {' | '.join(cells)} |"


def summary(results: list[dict[str, Any]]) -> str:
    """Mean rank, and how each system stands to the member chosen out of fold."""
    losses = np.array([list(result["loss"].values()) for result in results])
    names = list(results[0]["loss"])
    ranks = rankdata(losses, axis=1)
    choice = losses[:, names.index("best by fold")]
    rows = ["| system | mean rank | better than the chosen member | median change of loss |"]
    rows.append("|---|---:|---:|---:|")
    for k in np.argsort(ranks.mean(axis=0)):
        change = np.median(losses[:, k] / choice - 1)
        wins = int((losses[:, k] < choice - 1e-12).sum())
        ties = int((np.abs(losses[:, k] - choice) <= 1e-12).sum())
        rows.append(
            f"| {names[k]} | {ranks[:, k].mean():.2f} | {wins} of {len(results)}"
            f"{f' ({ties} equal)' if ties else ''} | {100 * change:+.2f} % |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ["WEALD_DATA"])
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {value}" for name, value in report.machine().items()) + "\n")
    head = ("table", "task", "size", *MEMBERS, *TOGETHER)
    print(f"| {' | '.join(head)} |\n|---|---|---|{'---:|' * (len(head) - 3)}", flush=True)
    results = []
    for name in given.tables or tables(folder):
        result = run(folder, name, task_of(folder, name))
        results.append(result)
        print(line(result), flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    is_number = [result["task"] == "regression" for result in results]
    for task, wanted in (("all", None), ("classification", False), ("regression", True)):
        some = [r for r, kind in zip(results, is_number, strict=True) if wanted in (None, kind)]
        if some:
            print(f"\n{task}, {len(some)} tables\n\n{summary(some)}")


if __name__ == "__main__":
    main()
