"""What an isolation forest calls anomalous: scores over two columns of real rows.

python examples/anomalies.py --out anomalies.png
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from weald import IsolationForest

COLUMNS = ("worst radius", "worst concavity")
N_RARE = 25


@dataclass(frozen=True)
class Result:
    """Benign rows and a few malignant ones; models of two and of all columns."""

    X: np.ndarray
    is_rare: np.ndarray
    model: IsolationForest
    area_of_two: float
    area_of_all: float


def compute() -> Result:
    """Fit isolation forests to 357 benign tumours and 25 malignant ones, without the labels."""
    data = load_breast_cancer()
    benign, malignant = np.flatnonzero(data.target == 1), np.flatnonzero(data.target == 0)
    rows = np.concatenate([benign, malignant[:N_RARE]])
    is_rare = data.target[rows] == 0
    names = list(data.feature_names)
    X = data.data[rows][:, [names.index(name) for name in COLUMNS]]
    areas = []
    for table in (X, data.data[rows]):
        model = IsolationForest(random_state=0).fit(table)
        areas.append(float(roc_auc_score(is_rare, -model.score_samples(table))))
    share = N_RARE / len(rows)
    model = IsolationForest(contamination=share, random_state=0).fit(X)
    return Result(X, is_rare, model, *areas)


def describe(result: Result) -> str:
    """How well the scores separate the malignant rows."""
    found = (result.model.predict(result.X)[result.is_rare] == -1).sum()
    return (
        f"two columns: AUC {result.area_of_two:.3f}, {found} of {N_RARE} malignant rows are "
        f"among the {N_RARE} most anomalous\n"
        f"all 30 columns: AUC {result.area_of_all:.3f}"
    )


def draw(result: Result):
    """Scores as colours, the boundary of the anomalies as a line, the rows as points."""
    import matplotlib.pyplot as plt
    from pictures import BLUE, ORANGE, grid

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    low, high = result.X.min(axis=0), result.X.max(axis=0)
    margin = 0.08 * (high - low)
    first, second, points = grid(low - margin, high + margin)
    scores = result.model.score_samples(points).reshape(first.shape)
    shades = axes.contourf(first, second, scores, levels=12, cmap="Greys_r")
    axes.contour(first, second, scores, levels=[result.model.offset_], colors="black")
    figure.colorbar(shades, label="score_samples")
    for of, colour, marker, name in (
        (~result.is_rare, BLUE, "o", "benign"),
        (result.is_rare, ORANGE, "^", "malignant"),
    ):
        axes.scatter(*result.X[of].T, s=16, c=colour, marker=marker, linewidths=0, label=name)
    axes.set(xlabel=COLUMNS[0], ylabel=COLUMNS[1])
    axes.legend(loc="upper left")
    return figure


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "anomalies")
