"""Six pictures of models by `weald.plot`, on axes of one figure.

python examples/looking.py --out looking.png
"""

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons

import weald


@dataclass(frozen=True)
class Result:
    """Fitted models with rows that they were not fitted on."""

    forest: Any
    booster: Any
    bag: Any
    regressor: Any
    cancer: tuple[Any, Any]
    moons: tuple[Any, Any]
    diabetes: tuple[Any, Any]


def compute() -> Result:
    """Fit a forest, a booster and two bags, and keep half of the rows to look at."""
    cancer, diabetes = load_breast_cancer(as_frame=True), load_diabetes(as_frame=True)
    X, y, X_test, y_test = (
        cancer.data[::2], cancer.target[::2], cancer.data[1::2], cancer.target[1::2]
    )  # fmt: skip
    moons = make_moons(300, noise=0.3, random_state=0)
    booster = weald.BoostedTreesClassifier(quality="fast", n_estimators=150)
    regressor = weald.RandomForestRegressor(oob_score=True, random_state=0)
    return Result(
        forest=weald.RandomForestClassifier(oob_score=True, random_state=0).fit(X, y),
        booster=booster.fit(X, y, X_val=X_test, y_val=y_test),
        bag=weald.BaggingClassifier(n_estimators=100, random_state=0).fit(*moons),
        regressor=regressor.fit(diabetes.data[::2], diabetes.target[::2]),
        cancer=(X_test, y_test),
        moons=moons,
        diabetes=(diabetes.data[1::2], diabetes.target[1::2]),
    )


def draw(found: Result) -> Figure:
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.4), layout="constrained")
    weald.plot.importance(found.forest, max_num_features=8, ax=axes[0, 0])
    weald.plot.training_curve(found.booster, ax=axes[0, 1])
    weald.plot.calibration(found.forest, *found.cancer, ax=axes[0, 2])
    weald.plot.decision_boundary(
        found.bag, *found.moons, n_estimators=[1, 100], ax=[axes[1, 0], axes[1, 1]]
    )
    weald.plot.uncertainty(found.regressor, *found.diabetes, max_rows=100, ax=axes[1, 2])
    return figure


def describe(found: Result) -> str:
    return (
        f"{len(found.forest.estimators_)} trees, {found.booster.n_estimators_} rounds, "
        f"{len(found.bag.estimators_)} bagged trees"
    )


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "looking")
