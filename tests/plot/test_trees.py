"""Trees as pictures and as text for Graphviz."""

import re
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier as TheirTree

import weald
from weald import plot

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]
DIABETES = load_diabetes(as_frame=True, scaled=False)


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    plt.close("all")


def texts(axes: Any) -> str:
    return "\n".join(text.get_text() for text in axes.texts)


def one_split(column: Any, y: Any) -> str:
    """The text of a stump on one column."""
    model = weald.DecisionTreeRegressor(max_depth=1).fit(pd.DataFrame({"x": column}), y)
    found = re.search(r'n0 \[label="(.*)\?', plot.graphviz(model))
    assert found is not None
    return found[1]


def test_splits_in_words() -> None:
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(28), unit="D"))
    assert one_split(days, np.arange(28) >= 14) == "x ≤ 2024-01-14 12:00"
    weekend = np.arange(28) % 7 >= 5  # 2024-01-01 is a Monday
    assert one_split(days, weekend) == "x (weekday) ≤ Friday"
    zoned = days.dt.tz_localize("Europe/Rome")
    assert one_split(zoned, np.arange(28) >= 14) == "x ≤ 2024-01-14 12:00"
    months = pd.Series(
        pd.to_datetime([f"20{y}-{m:02d}-15" for y in (20, 21) for m in range(1, 13)])
    )
    assert one_split(months, months.dt.month > 3) == "x (month) ≤ March"
    spans = pd.Series(pd.to_timedelta(np.arange(10), unit="D"))
    assert one_split(spans, np.arange(10) > 4) == "x ≤ 4 days 12:00:00"
    sizes = pd.Categorical(["S", "M", "L"] * 4, categories=["S", "M", "L"], ordered=True)
    assert one_split(sizes, [0, 0, 1] * 4) == "x ≤ M"
    assert one_split(["a", "b", "c"] * 4, [0, 1, 0] * 4) in ("x in {b}", "x not in {b}")
    assert one_split([1.0, 2.0, np.nan, np.nan] * 3, [0, 1, 1, 1] * 3) == "x ≤ 1.5"
    assert one_split([1.0, 2.0, np.nan, np.nan] * 3, [0, 1, 0, 0] * 3) == "x ≤ 1.5 or missing"


def test_class_shares_and_counts() -> None:
    model = weald.DecisionTreeClassifier(max_depth=2).fit(IRIS.data, SPECIES)
    shown = texts(plot.tree(model))
    assert "setosa: 100 %, 50 rows" in shown
    assert "versicolor: 91 %, 54 rows" in shown  # 49 of 54
    assert "petal length (cm) ≤ 2.45?" in shown
    renamed = plot.tree(model, feature_names=list("abcd"), class_names=["A", "B", "C"])
    assert "c ≤ 2.45?" in texts(renamed) and "A: 100 %, 50 rows" in texts(renamed)
    y = np.arange(1000) < 2
    rare = weald.DecisionTreeClassifier(max_depth=1).fit(np.arange(1000.0)[:, np.newaxis] // 500, y)
    assert "False: 99 %, 1,000 rows" in plot.graphviz(rare)  # 99.8 % is not 100 %


def test_below_the_depth() -> None:
    model = weald.DecisionTreeClassifier().fit(IRIS.data, SPECIES)
    shown = texts(plot.tree(model, max_depth=1))
    below = model.get_n_leaves() - 1
    assert f"… {below} leaves below" in shown
    assert texts(plot.tree(model, max_depth=0)).count("leaves below") == 1


def test_options() -> None:
    model = weald.OptionTreeRegressor(max_depth=1, max_options=3).fit(
        DIABETES.data, DIABETES.target
    )
    dot = plot.graphviz(model)
    assert "3 options, merged by mean" in dot and "shape=hexagon" in dot
    assert dot.count("->") == 3 + 2 * 3
    mean = DIABETES.target.mean()
    assert f"{mean:.4g}, 442 rows" in texts(plot.tree(model))


@pytest.mark.parametrize(
    "model",
    [
        weald.RandomForestClassifier(3, random_state=0),
        weald.ExtraTreesClassifier(3, random_state=0),
        weald.RotationForestClassifier(3, random_state=0),
        weald.OptionTreeClassifier(max_depth=2),
        weald.AdaBoostClassifier(n_estimators=3, form="samme"),
        weald.BoostedTreesClassifier(quality="fast", n_estimators=3),
        weald.GradientBoostingClassifier(n_estimators=3),
        weald.BaggingClassifier(n_estimators=3, random_state=0),
        weald.BaggingClassifier(TheirTree(max_depth=2), n_estimators=3, random_state=0),
        weald.VotingClassifier(
            [("line", LogisticRegression(max_iter=1000)), ("tree", TheirTree())]
        ),
        TheirTree(max_depth=3),
        TheirForest(3, random_state=0),
        GradientBoostingClassifier(n_estimators=2),
    ],
    ids=lambda model: type(model).__module__.split(".")[0] + "." + type(model).__name__,
)
def test_every_model_of_trees(model: Any) -> None:
    model.fit(IRIS.data, SPECIES)
    axes = plot.tree(model, 0, max_depth=3)
    axes.figure.canvas.draw()
    assert len(axes.texts) >= 2
    assert plot.graphviz(model).startswith("digraph tree {")


def test_leaves_agree_with_the_model() -> None:
    tree = weald.DecisionTreeRegressor(max_leaf_nodes=6).fit(DIABETES.data, DIABETES.target)
    leaves = re.findall(r'label="([\d.]+), (\d+) rows?"', plot.graphviz(tree))
    value, weight = tree.forest_.value[:, 0], tree.forest_.weight[tree.forest_.feature < 0]
    assert [float(number) for number, _ in leaves] == [float(f"{one:.4g}") for one in value]
    assert [int(rows) for _, rows in leaves] == weight.astype(int).tolist()


def test_distilled() -> None:
    forest = weald.RandomForestClassifier(10, random_state=0).fit(IRIS.data, SPECIES)
    clone = weald.distill(forest, IRIS.data, max_leaf_nodes=4, random_state=0)
    assert "setosa" in texts(plot.tree(clone))


def test_nothing_overlaps() -> None:
    """Text lies in its box, and no two boxes touch, at depth 5 with long names and categories."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a" * 60, "price $ and $ tax", "c"])
    frame["city"] = rng.choice([f"a rather long category {i}" for i in range(9)], 500)
    y = frame.iloc[:, 0] + frame.iloc[:, 1] * frame.iloc[:, 2] + frame.city.str[-1].astype(int)
    model = weald.DecisionTreeClassifier(max_depth=6).fit(frame, pd.cut(y, 3).astype(str))
    axes = plot.tree(model)
    axes.figure.canvas.draw()
    boxes = [one for one in axes.patches if type(one).__name__ == "FancyBboxPatch"]
    places = [one.get_window_extent() for one in boxes]
    for i, one in enumerate(places):
        assert not any(one.overlaps(other) for other in places[i + 1 :])
    for text in axes.texts:
        own = text.get_window_extent()
        inside = [one for one in places if one.x0 <= own.x0 < one.x1 and one.y0 < own.y0 < one.y1]
        for one in inside:
            assert own.x1 <= one.x1 + 1 and own.y1 <= one.y1 + 1, text.get_text()


def test_small_axes_get_small_text() -> None:
    model = weald.DecisionTreeClassifier(max_depth=4).fit(IRIS.data, SPECIES)
    axes = plot.tree(model, ax=Figure(figsize=(3, 2)).add_subplot())
    assert axes.texts[0].get_fontsize() < 4


def test_escaped_for_graphviz() -> None:
    names = ['say "x"', "back\\slash", "new\nline", "<b>"]
    dot = plot.graphviz(
        weald.DecisionTreeClassifier().fit(IRIS.data.to_numpy(), SPECIES),
        feature_names=names,
        class_names=['"', "\\", "<script>"],
    )
    assert "\n" not in re.findall(r'"((?:[^"\\]|\\.)*)"', dot)[0]
    for line in dot.splitlines()[4:-1]:
        # Outside of quoted strings there are only names and attributes.
        rest = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        assert re.fullmatch(r'n\d+( -> n\d+)?( \[[a-z=", ]*\])?', rest), line


def test_wrong_models_and_trees() -> None:
    fitted = weald.RandomForestClassifier(2, random_state=0).fit(IRIS.data, SPECIES)
    for draw in (plot.tree, plot.graphviz):
        with pytest.raises(NotFittedError):
            draw(weald.DecisionTreeClassifier())
        with pytest.raises(TypeError, match="has none. weald.distill"):
            draw(LogisticRegression(max_iter=1000).fit(IRIS.data, SPECIES))
        with pytest.raises(TypeError, match="takes a fitted model of trees"):
            draw(weald.DecisionTreeClassifier)
        with pytest.raises(ValueError, match="There is no tree 2: .* has 2"):
            draw(fitted, 2)
        with pytest.raises(ValueError, match="feature_names must hold 4 names"):
            draw(fitted, feature_names=["a"])
        with pytest.raises(ValueError, match="class_names must hold 3 names"):
            draw(fitted, class_names=["a"])
        with pytest.raises(ValueError, match="max_depth"):
            draw(fitted, max_depth=-1)
    rng = np.random.default_rng(0)
    large = weald.DecisionTreeRegressor().fit(rng.normal(size=(3000, 9)), rng.normal(size=3000))
    with pytest.raises(ValueError, match="at most 2,000 nodes; this tree has 5,9"):
        plot.tree(large, max_depth=100)
    assert texts(plot.tree(large))


def test_several_outputs() -> None:
    y = np.column_stack([DIABETES.target, -DIABETES.target])
    model = weald.DecisionTreeRegressor(max_depth=1).fit(DIABETES.data, y)
    assert "152.1, -152.1, 442 rows" in texts(plot.tree(model))


def test_long_lists_of_categories() -> None:
    """Some and a count; all of them on request."""
    levels = [f"level number {i}" for i in range(12)]
    x = pd.Series(levels * 4)
    model = weald.DecisionTreeRegressor(max_depth=1).fit(
        pd.DataFrame({"x": x}), x.isin(levels[:6]).to_numpy() * 1.0
    )
    (short,) = (one for one in plot.graphviz(model).splitlines() if "n0 [" in one)
    assert short.count("level number") <= 5 and "more}" in short
    (whole,) = (
        one for one in plot.graphviz(model, max_categories=None).splitlines() if "n0 [" in one
    )
    assert "more}" not in whole and whole.count("level number") == 6
    drawn = " ".join(texts(plot.tree(model, max_categories=None)).split())
    named = [level for level in levels if f"{level}," in whole or f"{level}}}" in whole]
    assert len(named) == 6
    assert all(level in drawn for level in named)
    assert "more}" in texts(plot.tree(model, max_categories=2))
    with pytest.raises(ValueError, match="max_categories"):
        plot.tree(model, max_categories=0)


def test_bars_of_many_classes_show_the_largest_share() -> None:
    classes = np.arange(40) % 10
    model = weald.DecisionTreeClassifier(max_depth=1).fit(classes[:, np.newaxis], classes)
    widths = [one.get_width() for one in plot.tree(model).patches if hasattr(one, "get_xy")]
    assert len(widths) == 6  # two bars for each of three nodes
    assert widths[1] == pytest.approx(0.1 * widths[0])  # one of ten classes
