"""scikit-learn's `export_graphviz`, `export_text` and `plot_tree` on weald's trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree

import weald

X, Y = load_iris(return_X_y=True)
TREES: dict[str, Any] = {
    "classes": lambda: weald.DecisionTreeClassifier(max_depth=2).fit(X, Y),
    "numbers": lambda: weald.DecisionTreeRegressor(max_depth=2).fit(X, Y),
    "outputs": lambda: weald.DecisionTreeRegressor(max_depth=2).fit(X, X[:, :2]),
    "forest": lambda: weald.RandomForestClassifier(2, max_depth=2).fit(X, Y)[0],
    "forest of numbers": lambda: weald.ExtraTreesRegressor(2, max_depth=2).fit(X, Y)[0],
    "bag": lambda: weald.BaggingClassifier(n_estimators=2).fit(X, Y)[0],
    "stump": lambda: weald.AdaBoostClassifier(n_estimators=2).fit(X, Y)[1],
    "stump of two classes": lambda: weald.AdaBoostClassifier(n_estimators=2, form="half-log").fit(
        X, Y > 0
    )[0],
    "stump on drawn rows": lambda: weald.AdaBoostClassifier(
        n_estimators=2, reweight="resampling"
    ).fit(X, Y)[1],
    "tree of AdaBoost.R2": lambda: weald.AdaBoostRegressor(n_estimators=2).fit(X, Y)[0],
    "tree of gradient boosting": lambda: (
        weald.GradientBoostingClassifier(n_estimators=2).fit(X, Y).estimators_[0, 1]
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_pictures_of_scikit_learn(name: str) -> None:
    tree = TREES[name]()
    n_nodes = tree.tree_.node_count
    n_splits = n_nodes // 2
    assert export_graphviz(tree).count("[label=") >= n_nodes
    with sklearn.config_context(skip_parameter_validation=True):
        # A line for each side of a split and each leaf.
        assert export_text(tree).count("|---") == 2 * n_splits + n_splits + 1
        assert len(plot_tree(tree)) >= n_nodes


@pytest.mark.parametrize("weight", [None, np.repeat([1.0, 2.0, 0.5], 50)])
def test_rows_of_stumps_are_counted(weight: np.ndarray | None) -> None:
    ours = weald.AdaBoostClassifier(n_estimators=1, criterion="gini").fit(X, Y, weight)[0]
    theirs = DecisionTreeClassifier(max_depth=1).fit(X, Y, weight)
    assert ours.tree_.n_node_samples.tolist() == theirs.tree_.n_node_samples.tolist()
    assert ours.tree_.n_node_samples.dtype == np.int64
    assert "samples = 150" in export_graphviz(ours)


def test_rows_of_a_stump_without_a_split_and_of_drawn_rows(tmp_path) -> None:
    alone = weald.AdaBoostClassifier().fit(np.zeros((5, 1)), [0, 0, 0, 1, 1])
    assert alone[0].tree_.n_node_samples.tolist() == [5]
    drawn = weald.AdaBoostClassifier(n_estimators=3, reweight="resampling", random_state=0)
    drawn.fit(X, Y)
    for stump in drawn:
        counts = stump.tree_.n_node_samples
        assert counts[0] == 150 == counts[1:].sum()
    drawn.save(tmp_path / "model.weald")
    again = weald.load(tmp_path / "model.weald")
    assert np.array_equal(again[2].tree_.n_node_samples, counts)


def test_what_is_not_known_is_an_error_that_says_what_to_use() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 2] > 4, "x", np.where(Y, "y", "z"))})
    tree = weald.DecisionTreeClassifier(max_depth=2).fit(frame, Y)
    with pytest.raises(ValueError, match=r"Draw the tree with text\(\) or weald\.plot\.tree"):
        export_graphviz(tree)
    weight = np.linspace(0.5, 1.5, 150)
    model = weald.AdaBoostRegressor(n_estimators=2, reweight="weighting").fit(X, Y, weight)
    with pytest.raises(AttributeError, match=r"with text\(\) or weald\.plot\.tree"):
        export_graphviz(model[0])
