"""The bias-variance picture: trees of growing depth, and what bagging and boosting change.

python examples/bias_variance.py --out bias_variance.png
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import BaggingRegressor

from weald import BoostedTreesRegressor, DecisionTreeRegressor
from weald.theory import bias_variance

DEPTHS = range(1, 9)
SHOWN = (1, 3, 8)
NOISE, ROWS = 0.3, 80


@dataclass(frozen=True)
class Result:
    """Decompositions by depth and by method, all on the same rows `x`."""

    x: np.ndarray
    by_depth: dict
    by_method: dict


def truth(x: np.ndarray) -> np.ndarray:
    """What is to be learnt."""
    return np.sin(1.5 * x[:, 0]) + 0.3 * x[:, 0]


def draw_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A fresh training set."""
    x = rng.uniform(0, 6, size=(ROWS, 1))
    return x, truth(x) + rng.normal(scale=NOISE, size=ROWS)


def compute(n_repeats: int = 100) -> Result:
    """Judge trees of several depths, a bag and a booster on the same fresh training sets."""
    x = np.linspace(0.03, 5.97, 199)[:, None]
    y = truth(x) + np.random.default_rng(0).normal(scale=NOISE, size=len(x))

    def judge(model):
        return bias_variance(
            model, X_test=x, y_test=y, generator=draw_rows, true_target=truth,
            n_repeats=n_repeats, random_state=0,
        )  # fmt: skip

    def tree(depth):
        return DecisionTreeRegressor(max_depth=depth, n_jobs=1)

    by_depth = {depth: judge(tree(depth)) for depth in DEPTHS}
    by_method = {
        "one full tree": judge(tree(None)),
        "30 bagged\nfull trees": judge(BaggingRegressor(tree(None), n_estimators=30)),
        "one stump": judge(tree(1)),
        "300 boosted\nstumps": judge(
            BoostedTreesRegressor(
                quality="fast",
                n_estimators=300,
                max_depth=1,
                max_leaf_nodes=2,
                min_samples_leaf=3,
                n_jobs=1,
            )
        ),
    }
    return Result(x, by_depth, by_method)


def describe(result: Result) -> str:
    """The parts of every method."""
    rows = [
        f"{' '.join(name.split()):22s} bias² {found.bias_squared:7.4f}"
        f"  variance {found.variance:7.4f}"
        for name, found in result.by_method.items()
    ]
    return "\n".join(rows)


def draw(result: Result):
    """Above, fits of three depths; below, the parts by depth and by method."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.25])
    for axes, depth in zip(above.subplots(1, 3, sharey=True), SHOWN, strict=True):
        fits(axes, result, depth)
    left, right = below.subplots(1, 2)
    parts_by_depth(left, result)
    parts_by_method(right, result)
    return figure


def fits(axes, result: Result, depth: int) -> None:
    """Thin lines for single training sets, a thick one for their mean, dashes for the truth."""
    from pictures import BLUE, GREY, ORANGE

    found, x = result.by_depth[depth], result.x[:, 0]
    axes.plot(x, found.predictions[:15].T, color=GREY, alpha=0.22, linewidth=0.7)
    axes.plot(x, found.predictions.mean(axis=0), color=BLUE, linewidth=2, label="mean of all fits")
    axes.plot(x, truth(result.x), color=ORANGE, ls="--", linewidth=1.8, label="truth")
    axes.set_title(
        f"depth {depth}: bias² {found.bias_squared:.3f}, variance {found.variance:.3f}", fontsize=10
    )
    axes.set(xlabel="x", ylim=(-1.2, 3.2))
    axes.spines[["top", "right"]].set_visible(False)
    if depth == SHOWN[0]:
        axes.set_ylabel("y")
        axes.plot([], [], color=GREY, linewidth=0.7, label="single fits")
        axes.legend(frameon=False, fontsize=8, loc="upper left")


def parts_by_depth(axes, result: Result) -> None:
    """Bias falls, variance rises; their sum and the noise make the error."""
    from pictures import BLUE, GREEN, GREY, ORANGE

    depths, found = list(result.by_depth), list(result.by_depth.values())
    curves = {
        "error": (BLUE, "-", "error"),
        "bias_squared": (ORANGE, "--", "bias²"),
        "variance": (GREEN, "-.", "variance"),
        "noise": (GREY, ":", "noise"),
    }
    for part, (colour, style, label) in curves.items():
        values = [getattr(one, part) for one in found]
        axes.plot(depths, values, color=colour, ls=style, marker="o", markersize=3.5, label=label)
    axes.set(xlabel="depth of the tree", ylabel="squared error", ylim=(0, None))
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def parts_by_method(axes, result: Result) -> None:
    """Bagging takes away variance, boosting takes away bias."""
    from pictures import GREEN, ORANGE

    names, found = list(result.by_method), list(result.by_method.values())
    variance = np.array([one.variance for one in found])
    bias = np.array([one.bias_squared for one in found])
    axes.bar(names, bias, color=ORANGE, width=0.6, label="bias²", hatch="//", edgecolor="white")
    axes.bar(names, variance, bottom=bias, color=GREEN, width=0.6, label="variance")
    axes.set_ylabel("bias² + variance")
    axes.tick_params(axis="x", labelsize=9)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "bias_variance")
