"""Labels and legends hide nothing."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import weald
from weald import plot

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CANCER = load_breast_cancer(as_frame=True)
X, Y, X_TEST, Y_TEST = (
    CANCER.data[::2], CANCER.target[::2], CANCER.data[1::2], CANCER.target[1::2]
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest() -> Any:
    return weald.RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, Y)


def test_numbers_of_a_waterfall_collide_with_nothing() -> None:
    """Neither with each other, nor with the bars of other columns, nor with the edge."""
    rng = np.random.default_rng(0)
    for scale in (1e-4, 1.0, 1e6):
        values = scale * rng.normal(size=(1, 12)) * 0.5 ** np.arange(12)
        found = SimpleNamespace(
            values=values, base_values=scale, data=values, feature_names=list("abcdefghijkl")
        )
        axes = plot.shap_waterfall(found, max_num_features=12)
        axes.figure.canvas.draw()
        texts = [text.get_window_extent() for text in axes.texts]
        bars = [bar.get_window_extent() for bar in axes.patches]
        assert len(texts) == len(bars) == 12
        for i, text in enumerate(texts):
            assert axes.get_window_extent().x0 <= text.x0 and text.x1 <= axes.figure.bbox.x1
            for j in range(12):
                assert not bars[j].shrunk(0.99, 0.99).overlaps(text) or bars[j].width < 2
                assert i == j or not texts[j].overlaps(text)
        plt.close()


def test_legends_hide_no_points(forest: Any) -> None:
    for axes in (
        plot.uncertainty(forest, X_TEST, Y_TEST),
        plot.training_curve(forest, X_TEST, Y_TEST),
        plot.calibration(forest, X_TEST, Y_TEST),
        plot.decision_boundary(forest, X_TEST, Y_TEST, grid_resolution=10),
    ):
        axes.figure.canvas.draw()
        assert not axes.get_window_extent().overlaps(axes.get_legend().get_window_extent())
