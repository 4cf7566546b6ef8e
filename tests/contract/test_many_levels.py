"""Categorical columns with many categories: used if informative, not overfitted."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse

from contract.subjects import EVERY_ESTIMATOR, answers, has, quick, searches

# A search hands the columns to these.
FRAMED = [e for e in EVERY_ESTIMATOR if has(e, "categorical_features") and not searches(e)]
every_estimator = pytest.mark.parametrize("estimator", FRAMED)

# No random draws: rows are drawn by content, and columns even if uninformative.
NOT_DRAWN = {"bootstrap": False, "max_features": None}


def draws_cuts(estimator) -> bool:
    """Whether thresholds and category sets are drawn at random, so that many splits are needed."""
    return getattr(estimator, "_random_cuts", False)


def frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


@every_estimator
def test_identifiers_are_ignored(estimator) -> None:
    rng = np.random.default_rng(0)
    X = frame(id=[f"p{i}" for i in range(600)], x=rng.integers(0, 50, 600))
    y = (X["x"] + rng.integers(0, 9, 600) > 30).to_numpy().astype(int)
    model = quick(estimator, **NOT_DRAWN).fit(X, y)
    assert model.feature_importances_.tolist() == [0.0, 1.0]
    alone = quick(estimator, **NOT_DRAWN).fit(X[["x"]], y)
    if not draws_cuts(estimator):  # random draws depend on the column index
        assert np.array_equal(answers(model, X), answers(alone, X[["x"]]))


@cache
def cities(n_levels: int):
    """A column of many categories, each with its own effect."""
    rng = np.random.default_rng(n_levels)
    level = rng.integers(0, n_levels, 60 * n_levels)
    effect = rng.permutation(n_levels) < n_levels // 2
    y = np.where(rng.random(len(level)) < 0.9, effect[level], ~effect[level]).astype(int)
    return frame(city=np.char.add("city ", level.astype(str))), y


@every_estimator
@pytest.mark.parametrize("n_levels", [200, 3000])
def test_informative_categories_are_used(estimator, n_levels: int) -> None:
    """More categories than fit in a byte."""
    X, y = cities(n_levels)
    half = len(y) // 2
    if draws_cuts(estimator):
        model = quick(estimator, n_estimators=30, min_samples_leaf=5).fit(X[:half], y[:half])
    else:
        model = quick(estimator, max_leaf_nodes=8, learning_rate=0.5).fit(X[:half], y[:half])
    right = np.round(model.predict(X[half:])) == y[half:]
    assert right.mean() > 0.88
    # A few sets replace thousands of splits on single categories.
    assert (model.forest_.category_set[0] >= 0) and model.forest_.words.size > n_levels // 64


@every_estimator
def test_uninformative_categories_do_little_harm(estimator) -> None:
    rng = np.random.default_rng(1)
    n = 4000
    x = rng.normal(size=n)
    y = (x + rng.normal(size=n) > 0).astype(int)
    noise = np.char.add("l", rng.integers(0, 400, n).astype(str))
    half = n // 2
    model = quick(estimator, n_estimators=30, max_leaf_nodes=16, min_samples_leaf=20)
    with_noise, without = frame(x=x, noise=noise), frame(x=x)

    def hits(X) -> float:
        fitted = model.fit(X[:half], y[:half])
        return float((np.round(fitted.predict(X[half:])).clip(0, 1) == y[half:]).mean())

    assert hits(with_noise) > hits(without) - 0.02


@every_estimator
def test_hundreds_of_thousands_of_sparse_columns(estimator) -> None:
    """Empty columns cost a byte per row, not a histogram."""
    rng = np.random.default_rng(2)
    n_columns = 200_000
    column = rng.integers(0, n_columns, 3000)
    column[::3] = 7
    row = rng.integers(0, 40, 3000)
    X = scipy.sparse.csr_array((np.ones(3000), (row, column)), shape=(40, n_columns))
    y = (X[:, [7]].toarray()[:, 0] > 25).astype(int)
    if draws_cuts(estimator):
        return  # one random threshold per column may select any of the many columns
    model = quick(estimator, n_estimators=1, max_leaf_nodes=3, **NOT_DRAWN).fit(X, y)
    assert model.feature_importances_.argmax() == 7
    assert len(answers(model, X)) == 40
