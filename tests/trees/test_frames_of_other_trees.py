"""Node frames of option trees and of rotation forests."""

import numpy as np
import pytest

from weald import OptionTreeClassifier, RotationForestClassifier

pytest.importorskip("pandas")


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=300) / 4 > 0).astype(int)


def test_options_lie_as_deep_as_those_before_them() -> None:
    model = OptionTreeClassifier(max_options=3, option_depth=2, min_samples_leaf=10).fit(*data())
    frame = model.trees_to_frame("pandas").set_index("node")
    options = frame[frame["next_option"] >= 0]
    assert len(options) > 0
    for _, node in options.iterrows():
        assert frame.loc[node["next_option"], "depth"] == node["depth"]
        assert frame.loc[node["next_option"], "weight"] == node["weight"]
    inner = frame[frame["left"] >= 0]
    for _, node in inner.iterrows():
        assert frame.loc[node["left"], "depth"] == node["depth"] + 1
        assert frame.loc[node["right"], "depth"] == node["depth"] + 1


def test_rotated_trees_name_the_columns_they_made() -> None:
    model = RotationForestClassifier(3, random_state=0).fit(*data())
    frame = model.trees_to_frame("pandas")
    for number in range(3):
        own = frame[frame["tree"] == number]
        names = set(own["feature"].dropna())
        assert names <= set(model._names_of_tree(number)) and names
    counts = model.importances("count")
    assert counts.shape == (4,)
    assert counts.sum() == pytest.approx((frame["left"] >= 0).sum())
    assert model.importances("gain").sum() == pytest.approx(frame["gain"].sum())
