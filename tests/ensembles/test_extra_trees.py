"""Extremely randomised trees: cuts drawn between the least and the largest value of a node."""

import numpy as np
import pytest

from weald import ExtraTreesClassifier, ExtraTreesRegressor


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.abs(X[:, 1])


def test_cuts_are_uniform_between_the_extremes() -> None:
    X = np.array([[0.0], [1.0], [10.0]])
    model = ExtraTreesRegressor(2000, max_depth=1, random_state=0).fit(X, [0.0, 1.0, 2.0])
    cuts = model.forest_.threshold[model.forest_.feature >= 0]
    assert cuts.min() >= 0.0 and cuts.max() < 10.0
    assert (cuts < 1.0).mean() == pytest.approx(0.1, abs=0.03)
    assert np.median(cuts) == pytest.approx(5.0, abs=0.5)


def test_every_row_is_learnt_without_a_bootstrap() -> None:
    X, y = table()
    assert ExtraTreesRegressor(10, random_state=0).fit(X, y).predict(X) == pytest.approx(y)
    labels = (y > 1).astype(int)
    assert (ExtraTreesClassifier(10, random_state=0).fit(X, labels).predict(X) == labels).all()


def test_missing_and_infinite_values() -> None:
    X, y = table()
    X[::7, 0], X[1::9, 1], X[2::9, 1] = np.nan, np.inf, -np.inf
    model = ExtraTreesRegressor(10, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.forest_.threshold[np.isfinite(model.forest_.threshold)]).all()
    assert model.predict(X) == pytest.approx(y)


def test_out_of_bag_with_a_bootstrap() -> None:
    X, y = table()
    model = ExtraTreesRegressor(60, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert 0.7 < model.oob_score_ < model.score(X, y)


def test_large_nodes_and_small_ones_draw_alike() -> None:
    """A tree of many rows is that of few: draws go by the node's path, not by its size."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (60, 3)).astype(float)
    y = X[:, 0] * 2 + X[:, 1]
    few = ExtraTreesRegressor(3, random_state=0).fit(X, y)
    many = ExtraTreesRegressor(3, random_state=0).fit(np.tile(X, (40, 1)), np.tile(y, 40))
    assert np.array_equal(few.predict(X), many.predict(X))
