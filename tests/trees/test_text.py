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


def test_where_a_value_that_is_missing_would_go() -> None:
    text = DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [0, 0, 4]).text()
    assert text.splitlines()[0] == "column 0 <= 2.5 or missing?"


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
