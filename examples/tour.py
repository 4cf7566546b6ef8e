"""Error by number of trees: bagging, a forest, boosting; beside one tree and a stack.

    python examples/tour.py --out tour.png

The table is that of docs/guide/tour.md: Friedman's first function.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import RidgeCV

from weald import (
    BaggingRegressor,
    BoostedTreesRegressor,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    StackingRegressor,
)

N_TREES = 300
NOISE = 1.0  # its variance: no method can have a smaller mean squared error


@dataclass(frozen=True)
class Result:
    """Mean squared errors on new rows: of single models, and after every tree."""

    small_tree: float
    full_tree: float
    stack: float
    curves: dict[str, np.ndarray]


def compute() -> Result:
    """Fit all models to 1,000 rows, and measure their errors on 2,000 new ones."""
    X, y = make_friedman1(3000, noise=NOISE**0.5, random_state=0)
    X, X_new, y, y_new = X[:1000], X[1000:], y[:1000], y[1000:]

    def error(predictions: np.ndarray) -> float:
        return float(np.mean((predictions - y_new) ** 2))

    def curve_of_means(forest) -> np.ndarray:
        total = np.cumsum([tree.predict(X_new) for tree in forest.fit(X, y)], axis=0)
        return np.array([error(one / (k + 1)) for k, one in enumerate(total)])

    stack = StackingRegressor(
        [
            ("boosted", BoostedTreesRegressor(random_state=0)),
            ("extra", ExtraTreesRegressor(random_state=0)),
            ("linear", RidgeCV()),
        ]
    )
    booster = BoostedTreesRegressor(
        n_estimators=N_TREES, n_bags=None, early_stopping=False, random_state=0
    ).fit(X, y)
    return Result(
        error(DecisionTreeRegressor(max_leaf_nodes=8).fit(X, y).predict(X_new)),
        error(DecisionTreeRegressor().fit(X, y).predict(X_new)),
        error(stack.fit(X, y).predict(X_new)),
        {
            "bagging": curve_of_means(BaggingRegressor(n_estimators=N_TREES, random_state=0)),
            "random forest": curve_of_means(RandomForestRegressor(N_TREES, random_state=0)),
            "boosted trees": np.array([error(one) for one in booster.staged_predict(X_new)]),
        },
    )


def describe(result: Result) -> str:
    """The errors on new rows."""
    lines = [f"one tree of 8 leaves: {result.small_tree:.1f}", f"full: {result.full_tree:.1f}"]
    lines += [f"{name}: {curve[-1]:.1f}" for name, curve in result.curves.items()]
    return "\n".join([*lines, f"stack: {result.stack:.1f}"])


def draw(result: Result):
    """A line for each ensemble; single models are level lines."""
    import matplotlib.pyplot as plt
    from pictures import BLUE, GREEN, GREY, ORANGE, PINK

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    number = np.arange(1, N_TREES + 1)
    for (name, curve), colour, shift in zip(
        result.curves.items(), (ORANGE, GREEN, BLUE), (6, -6, 0), strict=True
    ):
        axes.plot(number, curve, color=colour, linewidth=1.8)
        axes.annotate(f"{name} {curve[-1]:.1f}", (N_TREES, curve[-1]), (6, shift), color=colour,
                      textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
    for name, error, colour in (
        ("one tree of 8 leaves", result.small_tree, GREY),
        ("one full tree", result.full_tree, GREY),
        ("stack of boosted trees, extra trees and a linear model", result.stack, PINK),
        ("noise", NOISE, "black"),
    ):
        axes.axhline(error, color=colour, linewidth=1, linestyle="--")
        on_the_right = colour == GREY
        place = (0.95 * N_TREES if on_the_right else 1.05, error)
        axes.annotate(f"{name} {error:.1f}", place, (0, 3 if name != "noise" else -3), color=colour,
                      textcoords="offset points", ha="right" if on_the_right else "left",
                      va="bottom" if name != "noise" else "top")  # fmt: skip
    axes.set(xlabel="number of trees", ylabel="mean squared error on new rows", ylim=(0, 14))
    axes.set_xscale("log")
    axes.set_xlim(1, N_TREES)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "tour")
