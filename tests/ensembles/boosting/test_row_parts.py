"""Boosted trees on rows in several parts: the model of one table in memory, bit for bit."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ensembles.boosting.local_parts import LocalTable, cut_points
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.parts.parts_fit import fit_on_partitions

N_PARTS = (1, 2, 7, 50)


def numbers(n: int, seed: int, *, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(dtype)
    X[:, 1] = rng.integers(0, 4, n)  # few values
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def mixed_frame(n: int, seed: int) -> pd.DataFrame:
    """Numbers, text, categories in many levels, dates, a column without values."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": numbers(n, seed)[:, 0],
            "whole": rng.integers(0, 9, n),
            "text": rng.choice(["u", "v", "w", None], n),
            "many": pd.Categorical([f"level {i}" for i in rng.integers(0, 300, n)]),
            "ordered": pd.Categorical(rng.choice(["a", "b"], n), ["b", "a"], ordered=True),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "nothing": np.full(n, np.nan),
        }
    )


def check_same(model: Any, X: Any, y: Any, n_parts: tuple[int, ...] = N_PARTS) -> Any:
    """Compare a model of one table with those of parts, and return it."""
    whole = model.fit(X, y)
    want, loss = whole.fingerprint(), whole.train_loss_
    for n in n_parts:
        table = LocalTable(X, y, cut_points(len(X), n, seed=n))
        on_parts = fit_on_partitions(type(model)(**model.get_params()), table)
        assert on_parts.fingerprint() == want, n
        np.testing.assert_array_equal(on_parts.train_loss_, loss)
        assert on_parts.auto_settings_ == whole.auto_settings_
        np.testing.assert_array_equal(on_parts.predict(X), whole.predict(X))
    return whole


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_regression(loss: str) -> None:
    X = numbers(900, seed=1)
    y = np.exp(0.5 * np.nan_to_num(X[:, 0])) * np.random.default_rng(2).gamma(2.0, size=900)
    if loss == "poisson":
        y = np.floor(y)
    check_same(BoostedTreesRegressor(loss=loss, quality="fast", n_estimators=8, n_jobs=1), X, y)


@pytest.mark.parametrize(
    "given",
    [
        {"growth": "depth_wise", "max_depth": 4, "max_leaf_nodes": None},
        {"growth": "symmetric", "max_depth": 3},
        {"monotonic_cst": [1, 0, -1, 0, 0]},
        {"max_features": 2, "random_state": 3},
        {"max_features": 2, "feature_sampling": "level", "growth": "symmetric"},
        {"interaction_cst": [[0, 1], [2, 3, 4]], "min_samples_leaf": 1},
        {"l1_regularization": 0.3, "l2_regularization": 2.0, "min_child_weight": 5.0},
        {"min_gain": 0.5, "prune": "after"},
        {"max_bins": 7, "min_samples_leaf": 60},
    ],
    ids=lambda given: next(iter(given)),
)
def test_settings(given: dict[str, Any]) -> None:
    X = numbers(700, seed=4)
    y = (np.nan_to_num(X[:, 0] - X[:, 2]) + np.random.default_rng(5).normal(size=700) > 0) * 1
    common: dict[str, Any] = {"quality": "fast", "n_estimators": 6, "n_jobs": 1}
    check_same(BoostedTreesClassifier(**{**common, **given}), X, y, (2, 7))


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"]], ids=str)
def test_two_classes(loss: str, labels: list[Any]) -> None:
    X = numbers(600, seed=6, dtype=np.float32)
    y = np.array(labels)[(np.nan_to_num(X[:, 0]) > 0.3).astype(int)]
    model = BoostedTreesClassifier(loss=loss, quality="fast", n_estimators=6, n_jobs=1)
    check_same(model, X, y, (2, 7))


def test_many_classes_sorted_by_class_in_a_mixed_frame() -> None:
    """Most parts then lack classes, and levels of the categories."""
    n = 2_000
    X = mixed_frame(n, seed=7)
    y = pd.Series(np.sort(np.random.default_rng(8).integers(0, 4, n)))
    X["number"] += y
    X["many"] = X["many"].astype(str).where(X["whole"] > 0, "level 0").astype("category")
    model = BoostedTreesClassifier(quality="fast", n_estimators=3, min_samples_leaf=5, n_jobs=1)
    whole = check_same(model, X, y)
    assert whole._plan.levels[3] is not None


def test_more_categories_than_a_byte() -> None:
    n = 12_000
    rng = np.random.default_rng(9)
    many = [f"level {i}" for i in rng.integers(0, 700, n)]
    X = pd.DataFrame({"many": many, "number": rng.normal(size=n)})
    y = rng.normal(size=n) + X["many"].str.len()
    check_same(BoostedTreesRegressor(quality="fast", n_estimators=3, n_jobs=1), X, y, (2, 7))


def test_cells_that_cannot_be_packed() -> None:
    """One huge target leaves too few bits for the others in packed cells."""
    X = numbers(800, seed=10)
    y = np.nan_to_num(X[:, 0]) + np.random.default_rng(11).normal(size=800)
    y[5] = 1e9
    check_same(BoostedTreesRegressor(quality="fast", n_estimators=5, n_jobs=1), X, y, (2, 7))


def test_extreme_targets_and_many_rows() -> None:
    """Targets beyond the squares of floats, and a training loss of a sample of the rows."""
    X = numbers(12_000, seed=12)
    y = (np.nan_to_num(X[:, 0]) + np.random.default_rng(13).normal(size=12_000)) * 1e200
    check_same(BoostedTreesRegressor(quality="fast", n_estimators=4, n_jobs=1), X, y, (7,))
    classes = (y > 0) * 1
    check_same(BoostedTreesClassifier(quality="fast", n_estimators=4, n_jobs=1), X, classes, (7,))


def test_several_threads_in_each_part() -> None:
    """As many rows as are shared out among threads, in histograms and in partitions."""
    X = numbers(40_000, seed=17)
    y = np.nan_to_num(X[:, 0]) + np.random.default_rng(18).normal(size=40_000)
    check_same(BoostedTreesRegressor(quality="fast", n_estimators=3, n_jobs=3), X, y, (2,))


def test_constant_target_and_single_class() -> None:
    X = numbers(60, seed=14)
    check_same(BoostedTreesRegressor(quality="fast", n_jobs=1), X, np.full(60, 0.1), (3,))
    check_same(BoostedTreesClassifier(quality="fast", n_jobs=1), X, np.full(60, "one"), (3,))


@pytest.mark.parametrize("loses_after", [1, 4, 30, 55])
def test_lost_parts_are_made_anew(loses_after: int) -> None:
    X = numbers(500, seed=15)
    y = np.nan_to_num(X[:, 0])
    model = BoostedTreesRegressor(quality="fast", n_estimators=6, n_jobs=1)
    want = model.fit(X, y).fingerprint()
    table = LocalTable(X, y, [0, 200, 500], loses_after)
    with pytest.warns(UserWarning, match="lost 1 times"):
        on_parts = fit_on_partitions(BoostedTreesRegressor(**model.get_params()), table)
    assert on_parts.fingerprint() == want
    np.testing.assert_array_equal(on_parts.train_loss_, model.train_loss_)


def test_columns_that_differ_between_parts() -> None:
    first = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    second = pd.DataFrame({"a": ["u", "v"], "b": ["x", "y"]})
    table = LocalTable(first, np.zeros(2), [0, 2])
    table._pairs.append((second, np.ones(2)))
    with pytest.raises(TypeError, match="'a' holds numbers in partition 0 and text in partition 1"):
        fit_on_partitions(BoostedTreesRegressor(quality="fast"), table)


def test_dask_is_not_imported() -> None:
    code = "import sys, numpy as np, weald\n" + (
        "weald.BoostedTreesRegressor(n_estimators=1).fit(np.zeros((9, 1)), np.arange(9.0))\n"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)
