"""Pictures of survival curves."""

import matplotlib
import numpy as np
import pytest

import weald
from weald import plot
from weald.survival import kaplan_meier, target

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = target(RNG.random(120) < 0.7, RNG.exponential(np.exp(-X[:, 0])))
FOREST = weald.RandomSurvivalForest(10).fit(X, Y)


@pytest.mark.parametrize("hazard", [False, True])
def test_draws_what_is_predicted(hazard):
    ax = plot.survival_curves(FOREST, X[:2], Y, names=["a $", "b"], hazard=hazard)
    first, second, known = ax.get_lines()
    method = (
        FOREST.predict_cumulative_hazard_function if hazard else FOREST.predict_survival_function
    )
    values = method(X[:2], return_array=True)
    for line, row in zip((first, second), values, strict=True):
        assert line.get_xdata()[1:].tolist() == FOREST.unique_times_.tolist()
        assert line.get_ydata().tolist() == [float(not hazard), *row.tolist()]
    if not hazard:
        assert known.get_ydata()[1:].tolist() == kaplan_meier(Y).y.tolist()
    assert [line.get_label() for line in ax.get_lines()] == ["a \\$", "b", "all rows of y"]
    plt.close("all")


def test_refuses():
    with pytest.raises(TypeError, match="got RandomForestRegressor"):
        plot.survival_curves(weald.RandomForestRegressor(), X)
    with pytest.raises(ValueError, match="between 1 and 12 rows"):
        plot.survival_curves(FOREST, X)
    with pytest.raises(ValueError, match="a name for each of the 2 rows"):
        plot.survival_curves(FOREST, X[:2], names=["a"])
