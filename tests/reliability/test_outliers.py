"""A few huge targets among ordinary ones: trees still fit the ordinary rows."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor as SklearnTree

import weald

Array = NDArray[Any]


def ordinary(n: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 3 * np.sin(X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + 0.3 * rng.normal(size=n)


X, Y = ordinary(2000, 0)
TEST_X, TEST_Y = ordinary(2000, 1)
OUTLIERS = {
    "1e17": [1e17],
    "1e20": [1e20],
    "-1e20": [-1e20],
    "1e250": [1e250],
    "of both signs": [1e20, -1e20],
    "of several scales": [1e20, 1e40],
    "far apart": [-1e20, 1e60, 1e250],
}
MODELS: dict[str, Any] = {
    "tree": weald.DecisionTreeRegressor(),
    "exact tree": weald.DecisionTreeRegressor(exact=True),
    "leaf-wise tree": weald.DecisionTreeRegressor(max_leaf_nodes=300),
    "tree of drawn columns": weald.DecisionTreeRegressor(max_features=3, random_state=0),
    "forest": weald.RandomForestRegressor(10, max_features=1.0, random_state=0),
    "leaf-wise forest": weald.RandomForestRegressor(
        10, max_features=1.0, max_leaf_nodes=300, random_state=0
    ),
    "forest of large leaves": weald.RandomForestRegressor(
        10, max_features=1.0, min_samples_leaf=3, random_state=0
    ),
    "extra trees": weald.ExtraTreesRegressor(10, max_features=1.0, random_state=0),
    "rotation forest": weald.RotationForestRegressor(5, random_state=0),
    "bag": weald.BaggingRegressor(n_estimators=10, random_state=0),
    "bag of trees": weald.BaggingRegressor(weald.DecisionTreeRegressor(), 5, random_state=0),
}


def with_outliers(y: Array, outliers: list[float]) -> Array:
    y = y.copy()
    y[7 + 100 * np.arange(len(outliers))] = outliers
    return y


def r_squared(model: Any) -> float:
    """Of new rows, but for those that fall into the leaf of an outlier."""
    found = model.predict(TEST_X)
    is_ordinary = np.abs(found) < 1e9
    assert is_ordinary.mean() > 0.8
    missed = found[is_ordinary] - TEST_Y[is_ordinary]
    return 1 - np.mean(missed**2) / TEST_Y[is_ordinary].var()


@pytest.mark.parametrize("outliers", OUTLIERS.values(), ids=OUTLIERS)
@pytest.mark.parametrize("name", MODELS)
def test_ordinary_rows_are_predicted_beside_outliers(name: str, outliers: list[float]) -> None:
    model = MODELS[name].fit(X, with_outliers(Y, outliers))
    # scikit-learn's tree has 0.83 beside one outlier of 1e20, and 0.88 without.
    assert r_squared(model) > 0.75


@pytest.mark.parametrize("outlier", [1e17, 1e20, -1e20])
def test_as_good_as_scikit_learn(outlier: float) -> None:
    y = with_outliers(Y, [outlier])
    theirs = r_squared(SklearnTree(random_state=0).fit(X, y))
    assert r_squared(weald.DecisionTreeRegressor(exact=True).fit(X, y)) > theirs - 0.05


@pytest.mark.parametrize("growth", ["best_first", "depth_wise", "symmetric"])
def test_every_growth(growth: str) -> None:
    model = weald.DecisionTreeRegressor(growth=growth, max_leaf_nodes=128)
    without = r_squared(model.fit(X, Y))
    assert r_squared(model.fit(X, with_outliers(Y, [1e20]))) > without - 0.15


@pytest.mark.parametrize("name", ["tree", "leaf-wise tree", "forest", "extra trees"])
def test_weights(name: str) -> None:
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=len(Y))
    y = with_outliers(Y, [1e20, -1e40])
    assert r_squared(MODELS[name].fit(X, y, sample_weight=weight)) > 0.75


@pytest.mark.parametrize("model", [weald.DecisionTreeRegressor(), weald.RandomForestRegressor(10)])
def test_poisson(model: Any) -> None:
    """Sums that were rounded to 0 left no split that separates an outlier."""
    model.set_params(criterion="poisson", min_samples_leaf=5, random_state=0)
    y, expected = np.exp(Y / 3), np.exp(TEST_Y / 3)
    found = model.fit(X, with_outliers(y, [1e20])).predict(TEST_X)
    is_ordinary = found < 1e9
    assert is_ordinary.mean() > 0.8
    assert np.corrcoef(found[is_ordinary], expected[is_ordinary])[0, 1] > 0.7


def test_several_outputs() -> None:
    outputs = np.stack([Y, 100 - 2 * Y], axis=1)
    outputs[7] = [1e20, -1e22]
    for model in (weald.DecisionTreeRegressor(), weald.ExtraTreesRegressor(10, random_state=0)):
        found = model.fit(X, outputs).predict(TEST_X)
        is_ordinary = np.abs(found).max(axis=1) < 1e9
        missed = found[is_ordinary] - np.stack([TEST_Y, 100 - 2 * TEST_Y], axis=1)[is_ordinary]
        assert np.all(1 - np.mean(missed**2, axis=0) / (np.array([1, 4]) * TEST_Y.var()) > 0.7)


# ---- a tree beside an outlier that its first split cuts off is the tree without ----

ALONE: dict[str, Any] = {
    "exact": weald.DecisionTreeRegressor(exact=True),
    "leaf-wise": weald.DecisionTreeRegressor(exact=True, max_leaf_nodes=40),
    "no deeper": weald.DecisionTreeRegressor(exact=True, max_depth=5),
    "large leaves": weald.DecisionTreeRegressor(exact=True, min_samples_leaf=7),
    "forest": weald.RandomForestRegressor(1, bootstrap=False, max_features=1.0),
    "leaf-wise forest": weald.RandomForestRegressor(
        1, bootstrap=False, max_features=1.0, max_leaf_nodes=40
    ),
    "absolute error": weald.RandomForestRegressor(
        1, bootstrap=False, max_features=1.0, criterion="absolute_error", min_samples_leaf=3
    ),
    "leaf-wise absolute error": weald.RandomForestRegressor(
        1, bootstrap=False, max_features=1.0, criterion="absolute_error", max_leaf_nodes=40
    ),
    "monotone": weald.DecisionTreeRegressor(exact=True, monotonic_cst=[1], max_depth=6),
    "monotone forest": weald.RandomForestRegressor(
        1, bootstrap=False, max_features=1.0, monotonic_cst=[1], max_depth=6
    ),
}


@pytest.mark.parametrize("outlier", [1e20, -1e20, 1e120])
@pytest.mark.parametrize("name", ALONE)
def test_the_rest_of_the_tree_is_the_tree_without(name: str, outlier: float) -> None:
    model = clone(ALONE[name]).set_params(random_state=0)
    rng = np.random.default_rng(3)
    # One column: of several, forests take one of equally good ones by their draws.
    table = rng.normal(size=(300, 1))
    y = np.abs(table[:, 0]) + table[:, 0] + 0.1 * rng.normal(size=300)
    y *= np.sign(outlier)
    if (
        model.monotonic_cst is not None
    ):  # in the direction of the outlier, which is at the right end
        model.set_params(monotonic_cst=[int(np.sign(outlier))])
    without = model.fit(table, y).forest_
    # The outliers are as many as a leaf must hold, and need one more leaf and level.
    n_outliers = model.min_samples_leaf if isinstance(model.min_samples_leaf, int) else 1
    for limit in ("max_leaf_nodes", "max_depth"):
        if (most := getattr(model, limit)) is not None:
            model.set_params(**{limit: most + 1})
    huge = np.vstack([table, np.full((n_outliers, 1), 1e3)])
    beside = model.fit(huge, np.concatenate([y, np.full(n_outliers, outlier)])).forest_
    assert beside.threshold[0] > table.max()
    rest = slice(1, -1)
    for part in ("feature", "threshold", "weight"):
        assert np.array_equal(getattr(beside, part)[rest], getattr(without, part)), part
    assert beside.value[:-1] == pytest.approx(without.value, rel=1e-12)
    # Gains beside a target of 1e120 are kept in another unit.
    unit = beside.gain[1] / without.gain[0]
    assert unit == pytest.approx(1.0) or outlier == 1e120
    assert beside.gain[rest] / unit == pytest.approx(without.gain, rel=1e-9, abs=1e-9)


# ---- the same model from every grower ----


@pytest.mark.parametrize("name", ["tree", "leaf-wise tree", "forest", "extra trees", "bag"])
def test_the_number_of_threads_does_not_matter(name: str) -> None:
    model, y = MODELS[name], with_outliers(Y, [1e20, -1e40])
    alone = model.set_params(n_jobs=1).fit(X, y).fingerprint()
    assert model.set_params(n_jobs=2).fit(X, y).fingerprint() == alone
    model.set_params(n_jobs=None)


def test_branches_that_other_threads_grow() -> None:
    table, y = ordinary(40_000, 4)
    model = weald.ExtraTreesRegressor(1, max_depth=14, max_features=1.0, random_state=0)
    y = with_outliers(y, [1e20, 1e40])
    alone = model.set_params(n_jobs=1).fit(table, y).fingerprint()
    assert model.set_params(n_jobs=2).fit(table, y).fingerprint() == alone


def test_the_order_of_rows_does_not_matter() -> None:
    y, order = with_outliers(Y, [1e20, -1e40]), np.random.default_rng(5).permutation(len(Y))
    for model in (MODELS["exact tree"], MODELS["forest"]):
        first = model.fit(X, y).fingerprint()
        assert model.fit(X[order], y[order]).fingerprint() == first
