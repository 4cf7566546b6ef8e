"""All nodes as a table: a walk along its rows predicts as the model does."""

import math

import numpy as np
import pytest

from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)

pandas = pytest.importorskip("pandas")


def table(n: int = 300) -> "pandas.DataFrame":
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Köln", "Ulm", "Rom", "Paris", None], n)
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return pandas.DataFrame({"city": pandas.Categorical(city), "x": x, "z": rng.random(n)})


def target(frame) -> np.ndarray:
    return frame["city"].isin(["Ulm", "Rom"]) * 2.0 + np.abs(frame["x"].fillna(3.0)) + frame["z"]


def walked(nodes, row) -> np.ndarray:
    """Prediction of one tree, whose nodes are rows of the frame, for a row of the table."""
    at = nodes.iloc[0]
    while at["left"] >= 0:
        value = row[at["feature"]]
        is_missing = value is None or (isinstance(value, float) and math.isnan(value))
        if is_missing:
            goes_left = at["missing"] == "left"
        elif at["levels"] is not None:
            goes_left = value in at["levels"]
        else:
            goes_left = value <= at["threshold"]
        at = nodes.iloc[at["left"] if goes_left else at["right"]]
    return np.atleast_1d(at["value"])


def scores_by_frame(model, frame) -> np.ndarray:
    nodes = model.trees_to_frame("pandas")
    answers = []
    for row in frame.to_dict("records"):
        scores = model.forest_.base_score.copy()
        for _, tree in nodes.groupby("tree"):
            output, weight = tree["output"].iloc[0], tree["tree_weight"].iloc[0]
            own = slice(None) if output < 0 else slice(output, output + 1)
            scores[own] += weight * walked(tree, row)
        answers.append(scores)
    return np.array(answers)


@pytest.mark.parametrize(
    "model",
    [
        BoostedTreesRegressor(quality="fast", n_estimators=3, max_leaf_nodes=6),
        BoostedTreesRegressor(quality="fast", loss="quantile", quantile=[0.2, 0.8], n_estimators=2),
        BoostedTreesClassifier(quality="fast", n_estimators=2),
        BoostedTreesClassifier(quality="fast", n_estimators=2, multi_class="vector_leaves"),
        DecisionTreeClassifier(max_depth=3),
        GradientBoostingRegressor(n_estimators=3),
    ],
    ids=lambda model: f"{type(model).__name__}-{len(model.get_params())}",
)
def test_traversal_of_the_frame_predicts(model) -> None:
    frame = table()
    y = target(frame)
    if hasattr(model, "predict_proba"):
        y = np.floor(y).astype(int) % 3
    model.fit(frame, y)
    expected = model._scores(frame[:40])
    assert scores_by_frame(model, frame[:40]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_numbers_depths_and_sums() -> None:
    frame = table()
    model = BoostedTreesRegressor(quality="fast", n_estimators=4, max_depth=3).fit(
        frame, target(frame)
    )
    nodes = model.trees_to_frame()
    assert len(nodes) == len(model.forest_.feature)
    assert nodes["depth"].max() == 3 and (nodes.groupby("tree")["depth"].min() == 0).all()
    inner = nodes[nodes["left"] >= 0]
    assert (inner["left"] == inner["node"] + 1).all()
    assert nodes["feature"].isna().sum() == len(nodes) - len(inner)
    assert set(inner["missing"]) <= {"left", "right"}
    # The weight of a node is the sum of those of its children.
    for _, tree in nodes.groupby("tree"):
        tree = tree.set_index("node")
        for _, one in tree[tree["left"] >= 0].iterrows():
            children = tree.loc[[one["left"], one["right"]]]
            assert children["weight"].sum() == pytest.approx(one["weight"])
            assert (children["depth"] == one["depth"] + 1).all()
    by_column = inner.groupby("feature")
    for by, sums in (
        ("gain", by_column["gain"].sum()),
        ("cover", by_column["weight"].sum()),
        ("count", by_column.size()),
    ):
        expected = [sums.get(name, 0.0) for name in frame.columns]
        assert model.importances(by) == pytest.approx(expected, rel=1e-12)
    shares = model.importances() / model.importances().sum()
    assert model.feature_importances_ == pytest.approx(shares, rel=1e-15)


def test_polars_gives_the_same() -> None:
    polars = pytest.importorskip("polars")
    frame = table()
    for model in (
        BoostedTreesRegressor(quality="fast", n_estimators=2).fit(frame, target(frame)),
        BoostedTreesClassifier(quality="fast", n_estimators=2, multi_class="vector_leaves").fit(
            frame, np.floor(target(frame)).astype(int) % 3
        ),
    ):
        ours, other = model.trees_to_frame("pandas"), model.trees_to_frame("polars")
        assert isinstance(other, polars.DataFrame)
        assert other.columns == list(ours.columns)
        assert other["levels"].to_list() == ours["levels"].tolist()
        named = [name if isinstance(name, str) else None for name in ours["feature"]]
        assert other["feature"].to_list() == named
        assert np.array_equal(other["weight"].to_numpy(), ours["weight"].to_numpy())


def test_what_is_refused(monkeypatch) -> None:
    model = RandomForestRegressor(2).fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="library must be one of 'pandas', 'polars' or None"):
        model.trees_to_frame("numpy")
    with pytest.raises(ValueError, match="by must be one of 'gain', 'cover', 'count'; got 'split'"):
        model.importances("split")
    monkeypatch.setattr("weald.trees.frame.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="trees_to_frame needs pandas or polars"):
        model.trees_to_frame()
    with pytest.raises(ImportError, match="needs polars, which cannot be imported"):
        model.trees_to_frame("polars")


def test_a_model_of_one_class_has_no_nodes() -> None:
    model = BoostedTreesClassifier(quality="fast").fit([[1.0], [2.0]], [1, 1])
    assert len(model.trees_to_frame()) == 0
    assert model.importances("count").tolist() == [0.0]


def test_parts_of_dates_count_for_their_column() -> None:
    days = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=56), "z": 1.0})
    model = BoostedTreesRegressor(quality="fast", n_estimators=3, min_samples_leaf=2)
    model.fit(days, ([0] * 5 + [1] * 2) * 8)
    assert len(model.importances("count")) == 2
    assert model.importances("count")[0] == (model.trees_to_frame()["left"] >= 0).sum()
    assert model.trees_to_frame()["feature"][0] == "day (weekday)"
