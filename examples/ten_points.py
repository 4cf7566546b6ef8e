"""AdaBoost on ten points: three stumps, each minding what those before got wrong, and their vote.

python examples/ten_points.py --out ten_points.png
"""

from dataclasses import dataclass

import numpy as np

from weald import AdaBoostClassifier
from weald.theory import training_error_bound

X = np.array([[1, 5], [2, 2], [3, 1], [4, 6], [6, 8], [6, 5], [7, 9], [8, 7], [9, 8], [10, 2]])
Y = np.array([1, 1, -1, -1, 1, -1, 1, 1, -1, -1])
LOW, HIGH = (0.0, 0.0), (11.0, 10.0)


@dataclass(frozen=True)
class Result:
    """The fitted vote, what it says of the points, and the weights before every round."""

    model: AdaBoostClassifier
    answers: np.ndarray  # of each stump for each point
    weights: np.ndarray  # (4, 10): before each round and after the last
    bound: float


def compute() -> Result:
    """Three rounds of AdaBoost, stumps of least weighted error."""
    model = AdaBoostClassifier(n_estimators=3, form="half-log", store_weights=True).fit(X, Y)
    answers = np.array([stump.predict(X) for stump in model.estimators_])
    bound = training_error_bound(model.estimator_errors_)
    return Result(model, answers, model.round_weights_, bound)


def describe(result: Result) -> str:
    """Errors and votes, as the texts give them."""
    model = result.model
    lines = [
        f"stump {t}: error {error:.6f}, vote {vote:.6f}"
        for t, (error, vote) in enumerate(
            zip(model.estimator_errors_, model.estimator_weights_, strict=True), 1
        )
    ]
    wrong = int((model.predict(X) != Y).sum())
    return "\n".join([*lines, f"the vote: {wrong} of 10 wrong, bound {result.bound:.6f}"])


def draw(result: Result):
    """One panel a stump, with points as large as they weigh, and one for the vote."""
    import matplotlib.pyplot as plt
    from pictures import grid, shade

    figure, panels = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained", sharey=True)
    first, second, points = grid(LOW, HIGH, 441)
    model = result.model
    for t, stump in enumerate(model.estimators_):
        shade(panels[t], first, second, stump.predict(points) > 0)
        scatter(panels[t], result.weights[t], result.answers[t] != Y)
        error, vote = model.estimator_errors_[t], model.estimator_weights_[t]
        panels[t].set_title(f"stump {t + 1}\nerror {error:.3f}, vote {vote:.3f}", fontsize=10)
    shade(panels[3], first, second, model.predict(points) > 0)
    scatter(panels[3], np.full(10, 0.1), model.predict(X) != Y)
    wrong = int((model.predict(X) != Y).sum())
    panels[3].set_title(f"weighted vote of the three\n{wrong} of 10 wrong", fontsize=10)
    for axes in panels:
        axes.set(xlim=(LOW[0], HIGH[0]), ylim=(LOW[1], HIGH[1]), xlabel="$x_1$")
        axes.set_xticks(range(0, 11, 2))
    panels[0].set_ylabel("$x_2$")
    figure.supxlabel(
        "points are as large as they weigh before the round; circled: wrong", fontsize=9
    )
    return figure


def scatter(axes, weights: np.ndarray, is_wrong: np.ndarray) -> None:
    """Plus and minus signs of an area that follows the weight; a circle around wrong ones."""
    from pictures import BLUE, ORANGE

    area = 1200 * weights
    for sign, marker, colour in ((1, "+", BLUE), (-1, "_", ORANGE)):
        of = sign == Y
        axes.scatter(*X[of].T, s=area[of], marker=marker, color=colour, linewidths=3, zorder=3)
    axes.scatter(
        *X[is_wrong].T, s=2.6 * area[is_wrong] + 60, facecolors="none", edgecolors="black", zorder=4
    )


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "ten_points")
