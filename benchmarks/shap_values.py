"""Shapley values beside those of lightgbm, xgboost and the package shap: all in turn, one run."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import peers
import report
import tables
from rows import short
from weald import RandomForestClassifier
from weald.explain import shap
from weald.trees import Forest

# A measured system: explains the first n rows, of which it can do so many in a second or so.
Explain = Callable[[int], Any]


@dataclass(frozen=True)
class Row:
    """What is timed; the number of rows of each system; the ratios to stay below."""

    what: str
    start: Callable[[int], dict[str, Explain]]
    rows: dict[str, int]
    goals: dict[str, float]


def trees_for_shap(forest: Forest) -> dict[str, Any]:
    """The trees of a forest with one output in the form that `shap.TreeExplainer` documents."""
    trees = []
    for number in range(forest.n_trees):
        tree = forest.tree(number)
        inner = tree.feature >= 0
        left = np.where(inner, np.arange(len(inner)) + 1, -1)
        right = np.where(inner, tree.right, -1)
        values = np.zeros((len(inner), 1))
        values[~inner, 0] = tree.value[tree.right[~inner], -1] * tree.tree_weight[0]
        trees.append(
            {
                "children_left": left.astype(np.int32),
                "children_right": right.astype(np.int32),
                "children_default": np.where(tree.missing_left, left, right).astype(np.int32),
                "features": np.where(inner, tree.feature, -2).astype(np.int32),
                "thresholds": tree.threshold,
                "values": values,
                "node_sample_weight": tree.weight.copy(),
            }
        )
    return {"trees": trees, "base_offset": float(forest.base_score[-1])}


def their_explainer(forest: Forest, background: Any = None) -> Any:
    import shap as package

    kind = "tree_path_dependent" if background is None else "interventional"
    return package.TreeExplainer(trees_for_shap(forest), background, feature_perturbation=kind)


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def start_boosted(threads: int, *, interactions: bool = False) -> dict[str, Explain]:
    """100 trees of 31 leaves; each system explains its own trees, the package shap weald's."""
    data = tables.load("higgs_like", rows=100_000, test_rows=10_000)
    X = data.X_test.astype(np.float64)
    ours = peers.make("weald", "binary", threads).fit(data.X, data.y)
    found: dict[str, Explain] = {
        "weald": lambda n: shap(ours, X[:n], interactions=interactions, n_jobs=threads)
    }
    if has("lightgbm") and not interactions:
        theirs = peers.make("lightgbm", "binary", threads).fit(data.X, data.y)
        found["lightgbm"] = lambda n: theirs.predict(X[:n], pred_contrib=True)
    if has("xgboost"):
        import xgboost

        booster = peers.make("xgboost", "binary", threads).fit(data.X, data.y).get_booster()
        key = "pred_interactions" if interactions else "pred_contribs"
        found["xgboost"] = lambda n: booster.predict(xgboost.DMatrix(X[:n]), **{key: True})
    if has("shap"):
        explainer = their_explainer(ours.forest_)
        explain = explainer.shap_interaction_values if interactions else explainer.shap_values
        found["shap"] = lambda n: explain(X[:n])
    return found


def start_interactions(threads: int) -> dict[str, Explain]:
    return start_boosted(threads, interactions=True)


def start_background(threads: int) -> dict[str, Explain]:
    """The same trees against 100 background rows."""
    data = tables.load("higgs_like", rows=100_000, test_rows=10_000)
    X, background = data.X_test.astype(np.float64), data.X[:100].astype(np.float64)
    ours = peers.make("weald", "binary", threads).fit(data.X, data.y)
    found: dict[str, Explain] = {
        "weald": lambda n: shap(ours, X[:n], background=background, n_jobs=threads)
    }
    if has("shap"):
        explainer = their_explainer(ours.forest_, background)
        found["shap"] = lambda n: explainer.shap_values(X[:n])
    return found


def start_forest(threads: int) -> dict[str, Explain]:
    """Full trees: probabilities of two classes; the package shap explains the same trees."""
    data = tables.load("higgs_like", rows=20_000, test_rows=10_000)
    X = data.X_test.astype(np.float64)
    ours = RandomForestClassifier(
        20, min_samples_leaf=1, max_features="sqrt", random_state=0, n_jobs=threads
    ).fit(data.X, data.y)
    found: dict[str, Explain] = {"weald": lambda n: shap(ours, X[:n], n_jobs=threads)}
    if has("shap"):
        explainer = their_explainer(ours.forest_)
        found["shap"] = lambda n: explainer.shap_values(X[:n])
    return found


ROWS = {
    "shap_boosted": Row(
        "100 trees of 31 leaves, 28 columns",
        start_boosted,
        {"weald": 10_000, "lightgbm": 10_000, "xgboost": 10_000, "shap": 1_000},
        {"lightgbm": 0.2, "xgboost": 0.5, "shap": 0.2},
    ),
    "shap_forest": Row(
        "20 full trees on 20,000 rows, 28 columns",
        start_forest,
        {"weald": 1_000, "shap": 20},
        {"shap": 0.2},
    ),
    "shap_interactions": Row(
        "interactions of 100 trees of 31 leaves, 28 columns",
        start_interactions,
        {"weald": 2_000, "xgboost": 200, "shap": 20},
        {},
    ),
    "shap_background": Row(
        "100 trees of 31 leaves against 100 background rows",
        start_background,
        {"weald": 10_000, "shap": 50},
        {},
    ),
    "shap_row": Row(
        "one row, 100 trees of 31 leaves",
        start_boosted,
        dict.fromkeys(("weald", "lightgbm", "xgboost", "shap"), 1),
        {},
    ),
}


def run(name: str, threads: int, repeats: int) -> None:
    """Each repeat runs every system once and begins with another."""
    row = ROWS[name]
    explain = row.start(threads)
    times: dict[str, list[float]] = {system: [] for system in explain}
    others, systems = report.Others(), list(explain)
    for repeat in range(repeats):
        turn = repeat % len(systems)
        for system in systems[turn:] + systems[:turn]:
            n_rows = row.rows[system]
            taken = short(lambda system=system, n=n_rows: explain[system](n), most=3)
            times[system].append(taken / n_rows * 1e6)
    print(f"## {name}: {row.what}, {threads} threads, {repeats} interleaved runs\n")
    print("| system | us per row | least..most | rows | weald's ratio | goal |")
    print("|---|---:|---:|---:|---:|---:|")
    ours = median(times["weald"])
    for system, own in times.items():
        ratio = "" if system == "weald" else f"{ours / median(own):.4f}"
        goal = row.goals.get(system, "")
        figures = f"{median(own):.4g} | {min(own):.4g}..{max(own):.4g} | {row.rows[system]}"
        print(f"| {system} | {figures} | {ratio} | {goal} |")
    print(f"\nOther processes used {others.cores() or 0.0:.2f} cores meanwhile.\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    unknown = [name for name in given.what if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; there are {', '.join(ROWS)}")
    here = report.machine()
    versions = {name: peers.package_version(name) for name in ("lightgbm", "xgboost", "shap")}
    facts = ", ".join(f"{name}: {value}" for name, value in {**here, **versions}.items())
    print(f"# Shapley values\n\n{facts}\n")
    for name in given.what or ROWS:
        run(name, given.threads, given.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
