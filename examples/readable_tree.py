"""A tree that a person can read: categories, dates and missing values in words.

python examples/readable_tree.py --out readable_tree.png
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import weald


@dataclass(frozen=True)
class Result:
    """A fitted tree."""

    tree: Any


def compute() -> Result:
    """Fit a tree to orders that arrive late for three reasons."""
    rng, n = np.random.default_rng(0), 3000
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 364, n), unit="D")
    carrier = rng.choice(["van", "bike", "rail", "ship", "truck"], n)
    weight = np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2.0, 6.0, n))
    orders = pd.DataFrame({"ordered on": ordered, "carrier": carrier, "weight in kg": weight})
    chance = 0.05 + 0.5 * np.isin(carrier, ["ship", "rail"]) + 0.3 * (ordered.day_of_week >= 5)
    chance = chance + 0.3 * (np.nan_to_num(weight, nan=30.0) > 20)
    late = np.where(rng.random(n) < chance, "late", "on time")
    return Result(weald.DecisionTreeClassifier(max_depth=3).fit(orders, late))


def draw(found: Result) -> Figure:
    figure: Figure = weald.plot.tree(found.tree).figure
    return figure


def describe(found: Result) -> str:
    return str(found.tree.text())


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "readable_tree")
