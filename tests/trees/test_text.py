"""A tree as text."""

import numpy as np
import pytest

from weald import DecisionTreeClassifier, DecisionTreeRegressor


def test_questions_and_answers() -> None:
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
    assert apart.text().splitlines()[0] == "column 0 is there?"
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
