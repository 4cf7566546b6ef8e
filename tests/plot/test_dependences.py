"""Partial dependence of any table, of pairs and of single rows."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import weald
from weald import plot

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CANCER = load_breast_cancer(as_frame=True)
X, Y = CANCER.data[::2], CANCER.target[::2]


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    plt.close("all")


def test_partial_dependence_of_whole_numbers() -> None:
    X = np.random.default_rng(0).integers(0, 9, (60, 2))
    model = weald.DecisionTreeRegressor().fit(X, X[:, 0] * 1.5)
    axes = plot.partial_dependence(model, X, [0])
    assert len(axes) == 1
    frame = pd.DataFrame({"rooms": X[:, 0], "floor": X[:, 1].astype(np.uint8)})
    axes = plot.partial_dependence(model.fit(frame, X[:, 0] * 1.5), frame, ["rooms", "floor"])
    assert [ax.get_xlabel() for ax in axes] == ["rooms", "floor"]


def test_partial_dependence_of_categories() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Rome", "Paris" * 9], 80), "n": rng.normal(size=80)})
    model = weald.DecisionTreeRegressor(max_depth=3).fit(frame, frame.n + (frame.city == "Rome"))
    axes = plot.partial_dependence(model, frame, ["city", "n"])
    assert [len(text.get_text()) for text in axes[0].get_xticklabels()] == [16, 4]
    assert len(axes[1].get_lines()) >= 1
    with pytest.raises(ValueError, match="There is no column 'town'"):
        plot.partial_dependence(model, frame, ["town"])


def test_partial_dependence_of_any_table() -> None:
    """Whole numbers, dates, and categories with missing values, of polars and Arrow tables."""
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    columns = {
        "n": rng.integers(0, 9, 90),
        "city": [None if i % 7 == 0 else ["Rome", "Oslo"][i % 2] for i in range(90)],
        "when": np.datetime64("2024-01-01") + np.arange(90).astype("m8[D]"),
    }
    y = columns["n"] * 2.0
    for table in (pl.DataFrame(columns), pa.table(columns), pd.DataFrame(columns)):
        model = weald.DecisionTreeRegressor(max_depth=4).fit(table, y)
        axes = plot.partial_dependence(model, table, ["n", "city", "when", ("n", "city")])
        line = axes[0].get_lines()[0]
        assert line.get_xdata().tolist() == sorted(set(columns["n"].tolist()))
        assert line.get_ydata() == pytest.approx(
            weald.explain.partial_dependence(model, table, "n").average
        )
        assert [text.get_text() for text in axes[1].get_xticklabels()] in (
            ["Rome", "Oslo"],
            ["Oslo", "Rome"],
        )
        axes[0].figure.canvas.draw()
        plt.close()


def test_partial_dependence_of_pairs_and_rows() -> None:
    table = X.to_numpy()
    model = weald.RandomForestClassifier(5, random_state=0).fit(table, Y)
    (axes,) = plot.partial_dependence(model, table[:60], [(0, 1)], n_points=6, target=1)
    cells = np.asarray(axes.collections[0].get_array()).reshape(6, 6)
    spaced = np.linspace(0, 59, 6).round().astype(int)
    grid = [np.sort(table[:60, i])[spaced] for i in (0, 1)]
    rows = table[:60].copy()
    rows[:, 0], rows[:, 1] = grid[0][2], grid[1][4]
    assert cells[4, 2] == pytest.approx(model.predict_proba(rows)[:, 1].mean())
    (axes,) = plot.partial_dependence(model, table[:9], 0, kind="both", n_points=4)
    rows = table[:9].copy()
    rows[:, 0] = axes.get_lines()[0].get_xdata()[1]
    seen = [line.get_ydata()[1] for line in axes.get_lines()[:9]]
    assert seen == pytest.approx(model.predict_proba(rows)[:, 1])
    assert axes.get_lines()[9].get_ydata()[1] == pytest.approx(np.mean(seen))
    with pytest.raises(ValueError, match="pairs with kind='average'"):
        plot.partial_dependence(model, table, [(0, 1)], kind="both")
    with pytest.raises(ValueError, match="no output 7"):
        plot.partial_dependence(model, table, [0], target=7)
    with pytest.raises(ValueError, match="at least one column"):
        plot.partial_dependence(model, table, [])
    with pytest.raises(TypeError, match="needs X and features"):
        plot.partial_dependence(model)


def test_partial_dependence_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    rows, classes = rng.normal(size=(120, 2)), np.arange(120) % 10
    model = weald.DecisionTreeClassifier(max_depth=3).fit(rows, classes)
    with pytest.raises(ValueError, match="There are 10 outputs; set target"):
        plot.partial_dependence(model, rows, [0])
    few = weald.DecisionTreeClassifier(max_depth=3).fit(rows, classes % 3)
    axes = plot.partial_dependence(few, rows, [0, 1])
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["0", "1", "2"]
    with pytest.raises(ValueError, match="rows are drawn of one output"):
        plot.partial_dependence(few, rows, [0], kind="both")
