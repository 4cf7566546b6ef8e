"""Remission of leukaemia with and without 6-MP: what was seen, and what a model says.

python examples/survival.py --out survival.png
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pictures import GREY

from weald import BoostedTreesSurvival
from weald.survival import StepFunction, kaplan_meier, target

# Weeks of remission of 42 children, 21 of each group; False: still in remission when last seen.
# E. J. Freireich et al. (1963), The effect of 6-mercaptopurine on the duration of steroid-induced
# remissions in acute leukemia, Blood 21(6), 699-716.
WEEKS = {
    "placebo": [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23],
    "6-MP": [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
}
SEEN = {
    "placebo": [True] * 21,
    "6-MP": [bool(one) for one in (1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0)],
}


@dataclass(frozen=True)
class Result:
    """The Kaplan-Meier estimate of each group, its predicted curve, and the log hazard ratio."""

    seen: dict[str, StepFunction]
    predicted: dict[str, StepFunction]
    log_ratio: float


def compute() -> Result:
    """Fit Cox's model to the two groups, as boosted trees on one column."""
    groups = list(WEEKS)
    y = target(np.concatenate(list(SEEN.values())), np.concatenate(list(WEEKS.values())))
    X = np.repeat([[0.0], [1.0]], 21, axis=0)
    model = BoostedTreesSurvival(quality="fast", n_estimators=300, min_samples_leaf=5, n_jobs=1)
    model.fit(X, y)
    seen = {name: kaplan_meier(target(SEEN[name], WEEKS[name])) for name in groups}
    curves = model.predict_survival_function([[0.0], [1.0]])
    placebo, treated = model.predict([[0.0], [1.0]])
    return Result(seen, dict(zip(groups, curves, strict=True)), float(placebo - treated))


def describe(result: Result) -> str:
    """The hazard ratio, and who is still in remission after ten weeks."""
    lines = [f"log hazard ratio of placebo to 6-MP: {result.log_ratio:.3f} (published: 1.509)"]
    lines += [
        f"in remission after ten weeks, {name}: {float(result.seen[name](10)):.2f} seen, "
        f"{float(result.predicted[name](10)):.2f} predicted"
        for name in result.seen
    ]
    return "\n".join(lines)


def steps(curve: StepFunction, end: float) -> tuple[Any, Any]:
    """Points of a step function from 0 to `end`."""
    times = np.concatenate([[0.0], curve.x, [end]])
    return times, curve(times)


def draw(result: Result) -> Figure:
    """Both curves of both groups."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for name, colour in (("placebo", "#D55E00"), ("6-MP", "#0072B2")):
        axes.step(*steps(result.seen[name], 35), where="post", color=colour, label=f"{name}, seen")
        axes.step(
            *steps(result.predicted[name], 35),
            where="post",
            color=colour,
            linestyle="--",
            label=f"{name}, predicted",
        )
    axes.set_xlabel("weeks")
    axes.set_ylabel("share in remission", color=GREY)
    axes.set_xlim(0, 35)
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "survival")
