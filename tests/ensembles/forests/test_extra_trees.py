"""Extremely randomised trees: thresholds drawn between the minimum and maximum of a node."""

import numpy as np
import pytest

from ensembles.forests.naive_extra_trees import naive_extra_tree
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


def test_every_row_is_fitted_without_a_bootstrap() -> None:
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
    """Random draws depend on the path of a node, not on its size."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (60, 3)).astype(float)
    y = X[:, 0] * 2 + X[:, 1]
    few = ExtraTreesRegressor(3, random_state=0).fit(X, y)
    many = ExtraTreesRegressor(3, random_state=0).fit(np.tile(X, (40, 1)), np.tile(y, 40))
    assert np.array_equal(few.predict(X), many.predict(X))


def hard_table(rng: np.random.Generator, n: int, *, missing: bool) -> np.ndarray:
    """Ties, few values, both zeros, a constant column, infinities and missing values."""
    X = rng.normal(size=(n, 8))
    X[:, 0] = X[:, 0].round(1)
    X[:, 1] = rng.integers(0, 2, n)
    X[:, 2] = rng.choice([0.0, -0.0, 1.5], n)
    X[:, 3] = 7.0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[rng.random(n) < 0.01, 5] = np.inf
    return X


@pytest.mark.parametrize("n", [2, 17, 200, 4500])  # above some size fewer columns are stored
@pytest.mark.parametrize("kind", ["two", "seven", "forty", "numbers"])
@pytest.mark.parametrize("form", ["doubles", "floats", "gaps"])
def test_trees_are_those_of_naive_code(n: int, kind: str, form: str) -> None:
    rng = np.random.default_rng(n)
    X = hard_table(rng, n, missing=form == "gaps")
    if form == "floats":
        X = X.astype(np.float32).astype(float)
    score = np.nan_to_num(X[:, 0] + X[:, 5], posinf=3.0) + rng.normal(size=n)
    n_classes = {"two": 2, "seven": 7, "forty": 40}.get(kind, 0)
    if n_classes:
        y = np.unique(np.digitize(score, np.linspace(-3, 3, n_classes - 1)), return_inverse=True)[1]
    else:
        y = (8 * score).round().astype(int)
    copies = rng.integers(0, 3, n) if kind == "seven" and n > 2 else np.ones(n, dtype=int)
    y[copies == 0] = y[copies > 0][0]
    make = ExtraTreesClassifier if n_classes else ExtraTreesRegressor
    max_depth = 4 if n > 4000 else 50
    model = make(2, max_features=6, max_depth=max_depth, random_state=3)
    model.fit(X, y, sample_weight=copies)
    y = np.unique(y, return_inverse=True)[1] if n_classes else y
    for tree in range(2):
        twin = naive_extra_tree(
            X, y, copies, 6, model._seed, tree,
            is_classifier=n_classes > 0, max_depth=max_depth,
        )  # fmt: skip
        nodes = slice(*model.forest_.first_node[tree : tree + 2])
        assert model.forest_.feature[nodes].tolist() == twin.feature
        assert model.forest_.threshold[nodes].tolist() == twin.threshold
        splits = np.array(twin.feature) >= 0
        assert np.array_equal(
            model.forest_.missing_left[nodes][splits], np.array(twin.missing_left)[splits]
        )


def test_signs_of_zeros_and_wider_types_change_nothing() -> None:
    rng = np.random.default_rng(1)
    X = hard_table(rng, 500, missing=False).astype(np.float32)
    y = rng.integers(0, 3, 500)
    first = ExtraTreesClassifier(5, random_state=0).fit(X, y).fingerprint()
    for same in (X.astype(float), np.where(X == 0, np.float32(0), X), np.asfortranarray(X)):
        assert ExtraTreesClassifier(5, random_state=0).fit(same, y).fingerprint() == first
    last = rng.permutation(500)
    assert ExtraTreesClassifier(5, random_state=0).fit(X[last], y[last]).fingerprint() == first
