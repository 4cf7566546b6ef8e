"""A forest cloned into trees, option trees and rules: how much is kept at which size.

python examples/distilled.py [--out picture.png]
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import pictures
from matplotlib.figure import Figure

import weald
from weald.datasets import load_optdigits
from weald.ensembles.distilling.distilled import Point

SIZES = (4, 8, 16, 32, 64, 128, 256)
STUDENTS = {"tree": pictures.BLUE, "option_tree": pictures.GREEN, "rules": pictures.PINK}


@dataclass(frozen=True)
class Clones:
    """Points of the curve of each kind of student, and what they are to be compared with."""

    curves: dict[str, list[Point]]
    teacher: float
    direct: list[float]  # accuracy of trees that learnt from the labels


def compute(n_samples: int = 20_000) -> Clones:
    """Clone a random forest of handwritten digits; measure on digits of other writers."""
    train = load_optdigits(part="train", as_frame=False)
    test = load_optdigits(part="test", as_frame=False)
    forest = weald.RandomForestClassifier(
        criterion="gini", max_features="sqrt", min_samples_leaf=1, random_state=0
    ).fit(train.data, train.target)
    curves = {}
    for student in STUDENTS:
        clone = weald.distill(
            forest,
            train.data,
            X_val=test.data,
            y_val=test.target,
            student=student,
            n_samples=n_samples,
        )
        curves[student] = clone.curve(SIZES)
    direct = [
        weald.DecisionTreeClassifier(max_leaf_nodes=size)
        .fit(train.data, train.target)
        .score(test.data, test.target)
        for size in SIZES
    ]
    return Clones(curves, forest.score(test.data, test.target), direct)


def describe(clones: Clones) -> str:
    lines = [f"forest: accuracy {clones.teacher:.4f}"]
    for student, points in clones.curves.items():
        lines += [
            f"{student}, {point.size} answers: fidelity {point.fidelity}, "
            f"accuracy {float(point.accuracy or 0):.4f}"
            for point in points
        ]
    lines += [
        f"tree of the labels, {size} leaves: accuracy {right:.4f}"
        for size, right in zip(SIZES, clones.direct, strict=True)
    ]
    return "\n".join(lines)


def draw(clones: Clones) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for student, points in clones.curves.items():
        sizes, colour = [point.size for point in points], STUDENTS[student]
        left.plot(sizes, [p.fidelity.value for p in points], "o-", color=colour, label=student)
        left.fill_between(
            sizes,
            [p.fidelity.low for p in points],
            [p.fidelity.high for p in points],
            color=colour,
            alpha=0.15,
        )
        right.plot(sizes, [float(p.accuracy or 0) for p in points], "o-", color=colour)
    right.plot(SIZES, clones.direct, "s--", color=pictures.ORANGE, label="tree of the labels")
    right.axhline(clones.teacher, color=pictures.GREY, linestyle=":", label="the forest")
    left.set(xscale="log", xlabel="leaves or rules", ylabel="share of test rows")
    left.set_title("agrees with the forest (95 % interval)")
    right.set(xscale="log", xlabel="leaves or rules")
    right.set_title("right")
    for axes in (left, right):
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right", frameon=False)
    return figure


if __name__ == "__main__":
    pictures.run(compute, draw, describe, "distilled")
