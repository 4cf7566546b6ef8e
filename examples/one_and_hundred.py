"""What bagging does to a boundary: one tree, and the mean of a hundred trees.

python examples/one_and_hundred.py --out one_and_hundred.png
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import BaggingClassifier

from weald import DecisionTreeClassifier

LOW, HIGH = (-3.0, -2.0), (3.0, 2.0)


@dataclass(frozen=True)
class Result:
    """Training rows, the two models, and their shares of errors on many new rows."""

    X: np.ndarray
    y: np.ndarray
    tree: DecisionTreeClassifier
    bag: BaggingClassifier
    tree_error: float
    bag_error: float
    best_error: float


def is_above(points: np.ndarray) -> np.ndarray:
    """The true boundary: a wave that no tree can follow with few questions."""
    return points[:, 1] > 0.9 * np.sin(1.5 * points[:, 0])


def draw_rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of the rectangle; one label in twenty is flipped."""
    X = rng.uniform(LOW, HIGH, size=(n, 2))
    return X, is_above(X) ^ (rng.uniform(size=n) < 0.05)


def compute() -> Result:
    """Fit one tree and a bag of a hundred, and count their errors on 20,000 new rows."""
    rng = np.random.default_rng(1)
    X, y = draw_rows(rng, 300)
    X_new, y_new = draw_rows(rng, 20_000)
    tree = DecisionTreeClassifier(n_jobs=1).fit(X, y)
    bag = BaggingClassifier(DecisionTreeClassifier(n_jobs=1), n_estimators=100, random_state=0)
    bag.fit(X, y)
    wrong = [float((model.predict(X_new) != y_new).mean()) for model in (tree, bag)]
    return Result(X, y, tree, bag, *wrong, float((is_above(X_new) != y_new).mean()))


def describe(result: Result) -> str:
    """The errors on new rows."""
    return (
        f"one tree: {100 * result.tree_error:.1f} % wrong on new rows\n"
        f"a hundred: {100 * result.bag_error:.1f} %\n"
        f"the true boundary: {100 * result.best_error:.1f} % (labels flipped)"
    )


def draw(result: Result):
    """The rows with the true boundary, the tree's boundary, the bag's boundary."""
    import matplotlib.pyplot as plt
    from pictures import BLUE, ORANGE, grid, shade

    figure, panels = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained", sharey=True)
    first, second, points = grid(LOW, HIGH, 300)
    shares = {
        "true boundary": (is_above(points), result.best_error),
        "one tree": (result.tree.predict(points), result.tree_error),
        "a hundred trees": (result.bag.predict(points), result.bag_error),
    }
    for axes, (name, (answers, error)) in zip(panels, shares.items(), strict=True):
        shade(axes, first, second, answers)
        axes.set(xlim=(LOW[0], HIGH[0]), ylim=(LOW[1], HIGH[1]), xlabel="$x_1$")
        axes.set_title(f"{name}: {100 * error:.1f} % wrong on new rows", fontsize=10)
    for of, marker, colour in ((result.y, "+", BLUE), (~result.y, "_", ORANGE)):
        panels[0].scatter(*result.X[of].T, s=22, marker=marker, color=colour, linewidths=1.2)
    panels[0].set_ylabel("$x_2$")
    return figure


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "one_and_hundred")
