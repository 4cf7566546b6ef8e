"""Permutation importance, partial dependence and accumulated effects."""

from typing import Any

import numpy as np
import pytest
import sklearn.inspection
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import weald
from contract.subjects import EVERY_ESTIMATOR, quick, task
from weald.explain import accumulated_effects, partial_dependence, permutation_importance

FUNCTIONS = (
    lambda model, X: partial_dependence(model, X, 0),
    lambda model, X: accumulated_effects(model, X, 0),
    lambda model, X: permutation_importance(model, X, np.zeros(len(X))),
)


def numbers(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, 3 * X[:, 0] + X[:, 1] ** 2


def frame() -> tuple[Any, np.ndarray]:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "size": np.where(np.arange(n) % 10 == 0, np.nan, rng.normal(size=n).round(2)),
            "city": pd.Series(rng.choice(["a", "b", "c"], n)).where(np.arange(n) % 7 > 0),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "grade": pd.Categorical(rng.choice(list("xyz"), n), list("zyx"), ordered=True),
        }
    )
    effect = table["size"].fillna(0) + (table["city"] == "b") * 2
    return table, (effect + table["grade"].cat.codes + table["when"].dt.month / 6).to_numpy()


# ---- permutation importance ----


def test_importances_are_those_of_scikit_learn_up_to_the_draws() -> None:
    X, y = numbers()
    model = weald.BoostedTreesRegressor(n_estimators=40, n_bags=None).fit(X[:200], y[:200])
    ours = permutation_importance(model, X[200:], y[200:], n_repeats=30)
    theirs = sklearn.inspection.permutation_importance(model, X[200:], y[200:], n_repeats=30)
    assert ours.importances.shape == (4, 30)
    spread = ours.importances_std + theirs.importances_std + 1e-9
    assert (np.abs(ours.importances_mean - theirs.importances_mean) < spread).all()
    assert ours.importances_mean == pytest.approx(ours.importances.mean(axis=1))
    again = permutation_importance(model, X[200:], y[200:], n_repeats=30, random_state=0)
    assert np.array_equal(again.importances, ours.importances)
    assert str(ours).splitlines()[2].startswith("column 0")


def test_importances_by_other_scores_and_weights() -> None:
    X, y = numbers()
    model = weald.RandomForestClassifier(20, random_state=0).fit(X[:200], y[:200] > 0)
    by_loss = permutation_importance(model, X[200:], y[200:] > 0, scoring="neg_log_loss")
    assert by_loss.scoring == "neg_log_loss" and by_loss.importances_mean.argmax() == 0
    weight = np.r_[np.ones(50), np.zeros(50)]
    weighted = permutation_importance(model, X[200:], y[200:] > 0, sample_weight=weight)
    half = permutation_importance(model, X[200:250], y[200:250] > 0)
    assert np.abs(weighted.importances_mean - half.importances_mean).max() < 0.2


def test_importances_of_out_of_bag_rows() -> None:
    X, y = numbers()
    model = weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    found = permutation_importance(model, X, y, out_of_bag=True, n_repeats=3)
    same = model.oob_permutation_importance(X, y, n_repeats=3, random_state=0)
    assert np.array_equal(found.importances, same.importances)
    assert found.rows == "out-of-bag rows" and found.standard_error.shape == (4,)
    assert "standard_error" in found.to_pandas().columns
    with pytest.raises(ValueError, match="weights of the fit"):
        permutation_importance(model, X, y, out_of_bag=True, sample_weight=np.ones(300))
    with pytest.raises(ValueError, match="no out-of-bag predictions"):
        permutation_importance(LinearRegression().fit(X, y), X, y, out_of_bag=True)


def test_importances_of_frames() -> None:
    pl = pytest.importorskip("polars")
    table, y = frame()
    model = weald.BoostedTreesRegressor(n_estimators=20, n_bags=None).fit(table, y)
    found = permutation_importance(model, table, y, n_repeats=2)
    assert found.feature_names == ["size", "city", "when", "grade"]
    assert (found.importances_mean > 0).all()
    other = pl.from_pandas(table.astype({"grade": str}))
    model = weald.BoostedTreesRegressor(n_estimators=20, n_bags=None).fit(other, y)
    polars = permutation_importance(model, other, y, n_repeats=2)
    assert polars.to_polars()["column"].to_list()[0] == found.to_pandas()["column"][0]


# ---- partial dependence ----


def test_partial_dependence_is_that_of_scikit_learn() -> None:
    X, y = numbers()
    X = X.round(1)
    for model, outputs in (
        (weald.BoostedTreesRegressor(n_estimators=20, n_bags=None).fit(X, y), slice(None)),
        (weald.RandomForestClassifier(10, random_state=0).fit(X, y > 0), slice(1, 2)),
    ):
        ours = partial_dependence(model, X, 0, kind="individual", n_points=1000)
        theirs = sklearn.inspection.partial_dependence(
            model, X, [0], kind="both", grid_resolution=1000, method="brute", percentiles=(0, 1)
        )
        assert ours.grid == pytest.approx(theirs["grid_values"][0])
        average = ours.average if ours.average.ndim == 1 else ours.average[:, outputs].T
        assert average.ravel() == pytest.approx(theirs["average"].ravel())
        single = ours.individual if ours.individual.ndim == 2 else ours.individual[..., 1]
        assert single == pytest.approx(theirs["individual"][0])


def test_grids_of_every_kind_of_column() -> None:
    table, y = frame()
    model = weald.BoostedTreesRegressor(n_estimators=20, n_bags=None).fit(table, y)
    city = partial_dependence(model, table, "city")
    assert sorted(city.grid) == ["a", "b", "c"]
    assert city.grid[city.average.argmax()] == "b"
    when = partial_dependence(model, table, "when", n_points=6)
    assert when.grid.dtype.kind == "M" and len(when.grid) == 6
    assert (np.diff(when.grid) > np.timedelta64(0)).all()
    grade = partial_dependence(model, table, "grade")
    assert grade.grid.tolist() == ["z", "y", "x"]
    assert grade.average[0] < grade.average[2]
    size = partial_dependence(model, table, "size", n_points=9, n_rows=50, kind="individual")
    assert size.individual.shape == (50, 9) and not np.isnan(size.grid).any()
    assert "size" in size.to_pandas().columns
    assert "Partial dependence on 'size'" in str(size)
    assert partial_dependence(model, table, 1).column == "city"
    assert len(partial_dependence(model, table, "city", n_points=2).grid) == 2


def test_raw_scores() -> None:
    X, y = numbers()
    model = weald.BoostedTreesClassifier(n_estimators=20, n_bags=None).fit(X, y > 0)
    raw = partial_dependence(model, X, 0, output="raw", n_points=5)
    assert raw.average.shape == (5,)
    assert partial_dependence(model, X, 0, n_points=5).average.shape == (5, 2)
    assert accumulated_effects(model, X, 0, output="raw").effects.ndim == 1
    with pytest.raises(ValueError, match="no raw scores"):
        partial_dependence(weald.RandomForestClassifier(2).fit(X, y > 0), X, 0, output="raw")


# ---- accumulated effects ----


def test_accumulated_effects_of_an_additive_function() -> None:
    """Of a sum of functions of single columns, the function itself."""
    X, _ = numbers(500)
    X[:, 1] = X[:, 0] + X[:, 1] / 3  # partial dependence would leave the data

    class Sum:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return X[:, 0] ** 2 + 5 * X[:, 1]

    found = accumulated_effects(Sum(), X, 0, n_intervals=30)
    assert np.diff(found.effects) == pytest.approx(np.diff(found.edges**2))
    assert found.standard_error.max() < 1e-9
    assert found.counts.sum() == 500 and len(found.counts) == 30
    centred = np.average((found.effects[1:] + found.effects[:-1]) / 2, weights=found.counts)
    assert centred == pytest.approx(0.0, abs=1e-12)


def test_accumulated_effects_of_frames() -> None:
    table, y = frame()
    model = weald.BoostedTreesRegressor(n_estimators=20, n_bags=None).fit(table, y)
    size = accumulated_effects(model, table, "size", n_intervals=8)
    assert size.counts.sum() == table["size"].notna().sum()
    assert size.effects[0] < size.effects[-1]
    assert accumulated_effects(model, table, "when").edges.dtype.kind == "M"
    grade = accumulated_effects(model, table, "grade")
    assert grade.edges.tolist() == ["z", "y", "x"] and grade.effects[0] < grade.effects[2]
    assert "effect" in grade.to_polars().columns and "Accumulated" in str(grade)
    with pytest.raises(ValueError, match="without an order"):
        accumulated_effects(model, table, "city")


# ---- every estimator, and bad input ----


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_every_estimator(estimator: type) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    n_outputs = 3 if hasattr(model, "predict_proba") else 1
    found = partial_dependence(model, X, 0, n_points=5, n_rows=20)
    assert found.average.size == 5 * n_outputs
    assert accumulated_effects(model, X, 0, n_intervals=3).effects.size == 4 * n_outputs
    importance = permutation_importance(model, X, y, n_repeats=2)
    assert importance.importances_mean[:2].max() > 0
    # Those of scikit-learn work too.
    sklearn.inspection.partial_dependence(model, X, [0], grid_resolution=3)
    sklearn.inspection.permutation_importance(model, X, y, n_repeats=1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_models_and_tables_are_refused(function: Any) -> None:
    X, y = numbers()
    model = weald.BoostedTreesRegressor(n_estimators=2, n_bags=None).fit(X, y)
    with pytest.raises(NotFittedError):
        function(weald.BoostedTreesRegressor(), X)
    with pytest.raises(TypeError, match="fitted model"):
        function(None, X)
    with pytest.raises(ValueError, match="features"):
        function(model, X[:, :3])
    with pytest.raises(ValueError, match=r"2D array|no rows|0 sample"):
        function(model, X[:0])


def test_bad_columns_are_refused() -> None:
    X, y = numbers()
    model = weald.BoostedTreesRegressor(n_estimators=2, n_bags=None).fit(X, y)
    for function in (partial_dependence, accumulated_effects):
        with pytest.raises(ValueError, match="position 4"):
            function(model, X, 4)
        with pytest.raises(ValueError, match="no column names"):
            function(model, X, "size")
        empty = X.copy()
        empty[:, 2] = np.nan
        with pytest.raises(ValueError, match="all of them are missing"):
            function(model, empty, 2)
    table, target = frame()
    model = weald.BoostedTreesRegressor(n_estimators=2, n_bags=None).fit(table, target)
    with pytest.raises(ValueError, match="not a column of X"):
        partial_dependence(model, table, "other")
    constant = table.assign(size=1.0)
    assert len(partial_dependence(model, constant, "size").grid) == 1
    with pytest.raises(ValueError, match="only one value"):
        accumulated_effects(model, constant, "size")


def test_bad_parameters_are_refused() -> None:
    X, y = numbers()
    model = weald.BoostedTreesRegressor(n_estimators=2, n_bags=None).fit(X, y)
    for name, value in (("kind", "both"), ("n_points", 0), ("n_rows", 0), ("output", "odds")):
        with pytest.raises(ValueError, match=name):
            partial_dependence(model, X, 0, **{name: value})
    for name, value in (("n_intervals", 0), ("n_rows", 1.5), ("output", None)):
        with pytest.raises(ValueError, match=name):
            accumulated_effects(model, X, 0, **{name: value})
    for name, value in (("n_repeats", 0), ("out_of_bag", 2), ("random_state", -1)):
        with pytest.raises(ValueError, match=name):
            permutation_importance(model, X, y, **{name: value})
    with pytest.raises(ValueError, match="inconsistent"):
        permutation_importance(model, X, y[:-1])
