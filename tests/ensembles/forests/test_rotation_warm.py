"""Warm start and class_weight="balanced_subsample" of rotation forests."""

from typing import Any

import numpy as np
import pytest

from weald import RotationForestClassifier, RotationForestRegressor

EVERY_KIND = [RotationForestClassifier, RotationForestRegressor]
every_kind = pytest.mark.parametrize("kind", EVERY_KIND)


def table(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7)) @ rng.normal(size=(7, 7))
    X[rng.random(n) < 0.1, 3] = np.nan
    return X, (X[:, 0] - X[:, 1] > 0).astype(int)


@every_kind
@pytest.mark.parametrize("parameters", [{}, {"bootstrap": True}, {"scale": "range"}])
def test_warm_start_ends_where_a_cold_one_does(kind: Any, parameters: dict) -> None:
    X, y = table()
    model = kind(3, warm_start=True, random_state=0, **parameters).fit(X, y)
    model.set_params(n_estimators=8).fit(X, y)
    cold = kind(8, random_state=0, **parameters).fit(X, y)
    assert model.fingerprint() == cold.fingerprint()
    assert np.array_equal(model._scores(X), cold._scores(X))
    assert model.feature_importances_ == pytest.approx(cold.feature_importances_)
    assert len(model.estimators_) == 8 and model.rotations_.order.shape == (8, 7)
    if "bootstrap" in parameters:
        assert np.array_equal(model.in_bag_counts(5), cold.in_bag_counts(5))
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)


@every_kind
def test_new_rows_are_read_as_those_before(kind: Any) -> None:
    """Added trees use the missing-value means and scales of the first fit."""
    X, y = table()
    model = kind(3, warm_start=True, scale="range", random_state=0).fit(X, y)
    before, kept = model.rotations_, model.apply(X)
    more, labels = table(seed=1)
    more[0, 0], more[:, 2] = np.nan, 1.0
    model.set_params(n_estimators=6).fit(more, labels)
    for name in ("rotated", "centre", "scale", "kept", "flagged"):
        assert np.array_equal(getattr(model.rotations_, name), getattr(before, name))
    assert np.array_equal(model.apply(X)[:, :3], kept)
    hits = model.estimators_[5].predict(more) == labels
    assert hits.mean() > 0.95


@every_kind
def test_trees_that_cannot_be_added_to_are_refused(kind: Any) -> None:
    X, y = table()
    model = kind(4, warm_start=True, random_state=0).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="trees can only be added"):
        model.set_params(n_estimators=2).fit(X, y)
    for changed in ({"subset_size": 2}, {"n_subsets": 2}, {"scale": "range"}):
        with pytest.raises(ValueError, match="other subsets of columns or another scale"):
            model.set_params(n_estimators=5, **changed).fit(X, y)
        model.set_params(**dict.fromkeys(changed))
    with pytest.raises(ValueError, match="7 columns; got 6"):
        model.fit(X[:, :6], y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X).rename(columns=str).assign(**{"6": list("ab") * 75})
    with pytest.raises(ValueError, match="other kinds or categories"):
        model.fit(frame, y)
    model.set_params(n_estimators=4)
    assert model.fingerprint() == before
    if kind is RotationForestClassifier:
        with pytest.raises(ValueError, match="classes"):
            model.set_params(n_estimators=5).fit(X, y + 1)


def test_balanced_subsample() -> None:
    X, y = table(300)
    y = (X[:, 0] > np.quantile(X[:, 0], 0.9)).astype(int)
    common = {"bootstrap": True, "max_depth": 1, "random_state": 0}
    model = RotationForestClassifier(5, class_weight="balanced_subsample", **common).fit(X, y)
    for tree in range(5):
        counts = model.in_bag_counts(tree)
        forest = model.forest_.tree(tree)
        root = forest.weight[0]
        assert root == pytest.approx(counts.sum())
        leaves = forest.feature < 0
        of_classes = forest.weight[leaves] @ forest.value
        assert of_classes == pytest.approx([root / 2, root / 2])
    # Without a bootstrap it equals "balanced".
    plain = {"max_depth": 1, "random_state": 0}
    same = [
        RotationForestClassifier(3, class_weight=name, **plain).fit(X, y).fingerprint()
        for name in ("balanced", "balanced_subsample")
    ]
    assert same[0] == same[1]
