"""A tree as text."""

import numpy as np
import pytest

from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)


def test_splits_and_leaves() -> None:
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    text = DecisionTreeRegressor().fit(X, [0, 0, 8, 9, 9, 9]).text()
    assert text.splitlines() == [
        "column 0 <= 2.5?",
        "├─ yes: +0  (weight 2)",
        "└─ no:  column 0 <= 3.5?",
        "        ├─ yes: +8  (weight 1)",
        "        └─ no:  +9  (weight 3)",
    ]


def test_where_no_value_was_missing_none_is_spoken_of() -> None:
    text = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [0, 0, 4]).text()
    assert text.splitlines()[0] == "column 0 <= 2.5?"


def test_sets_of_levels() -> None:
    pandas = pytest.importorskip("pandas")
    cities = ["Bonn", "Ulm", "Rom", None] * 3
    frame = pandas.DataFrame({"city": cities})
    apart = DecisionTreeRegressor(max_depth=1).fit(frame, [0, 5, 0, 0] * 3)
    assert apart.text().splitlines()[0] == "city in {Ulm}?"
    together = DecisionTreeRegressor(max_depth=1).fit(frame, [9, 0, 9, 0] * 3)
    assert together.text().splitlines()[0] == "city not in {Bonn, Rom}?"
    many = pandas.DataFrame({"letter": list("abcdefghijklmnop") * 4})
    tree = DecisionTreeRegressor(max_depth=1).fit(many, ([1] * 7 + [0] * 9) * 4)
    assert tree.text().splitlines()[0] == "letter not in {a, b, c, d, e, … 2 more}?"


def test_parts_of_dates() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=28)})
    tree = DecisionTreeRegressor(max_depth=1).fit(days, ([0] * 5 + [1] * 2) * 4)
    assert tree.text().splitlines()[0] == "day (weekday) <= 4.5?"


def test_names_classes_and_weights() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": [1.0, 2.0, 3.0]})
    model = DecisionTreeClassifier(max_depth=1).fit(frame, ["low", "high", "high"], [1.5, 1, 1])
    assert model.text().splitlines() == [
        "height <= 1.5?",
        "├─ yes: low (1)  (weight 1.5)",
        "└─ no:  high (1)  (weight 2)",
    ]


def test_missing_values() -> None:
    X = [[1.0], [2.0], [np.nan], [np.nan]]
    apart = DecisionTreeRegressor(max_depth=1).fit(X, [0, 0, 1, 1])
    assert apart.text().splitlines()[0] == "column 0 is not missing?"
    together = DecisionTreeRegressor(max_depth=1).fit(X, [1, 0, 1, 1])
    assert together.text().splitlines()[0] == "column 0 <= 1.5 or missing?"


def test_left_branches_keep_their_lines() -> None:
    X = np.arange(8.0)[:, np.newaxis]
    lines = DecisionTreeRegressor(max_depth=2).fit(X, [0, 0, 1, 1, 5, 5, 9, 9]).text().splitlines()
    assert lines[2].startswith("│       ├─ yes: ")
    assert lines[5].startswith("        ├─ yes: ")
    assert len(lines) == 7


def test_a_deep_tree_is_no_recursion() -> None:
    n = 250
    X = np.arange(float(n))[:, np.newaxis]
    text = DecisionTreeRegressor().fit(X, np.arange(n) % 2).text()
    assert len(text.splitlines()) == 2 * n - 1


@pytest.mark.parametrize("own", [{"exact": True}, {"max_bins": 1000}, {}])
def test_missing_values_are_spoken_of_only_where_there_were_any(own) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.abs(X[:, 0]) + (X[:, 1] > 0)
    model = BoostedTreesRegressor(quality="fast", n_estimators=5, **own).fit(X, y)
    assert not any("missing" in model.text(t) for t in range(5))
    X[:200, 1] = np.nan
    model.fit(X, y)
    said = "\n".join(model.text(t) for t in range(5))
    assert "column 0" in said and "column 1" in said
    lines = [line for line in said.splitlines() if "missing" in line]
    assert lines and all("column 1" in line for line in lines)


def test_leaves_of_several_numbers() -> None:
    X = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    y = np.repeat([0, 1, 2], 5)
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=1, min_samples_leaf=1, multi_class="vector_leaves"
    ).fit(X, y)
    # p = 1/3: steps of 3 and -3/2, times 0.1; each row weighs 3 * 2/9.
    assert model.text().splitlines() == [
        "column 0 <= 0.5?",
        "├─ yes: +0.3, -0.15, -0.15  (hessian 3.33333)",
        "└─ no:  column 0 <= 1.5?",
        "        ├─ yes: -0.15, +0.3, -0.15  (hessian 3.33333)",
        "        └─ no:  -0.15, -0.15, +0.3  (hessian 3.33333)",
    ]


def test_sets_of_imported_trees_may_be_shorter_than_their_column() -> None:
    """Categories beyond the last word of a set are not in it."""
    from export.fitted import of_short_sets

    model, _ = of_short_sets(False)
    is_left = model.forest_.levels_left(0, 100)
    assert np.flatnonzero(is_left).tolist() == [0, 3, 63]
