"""Feature importances by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from contract.subjects import EVERY_TREE_MODEL, quick, task
from weald import (
    AdaBoostRegressor,
    BoostedTreesRegressor,
    DecisionTreeRegressor,
    RotationForestRegressor,
)


@pytest.mark.parametrize("estimator", [*EVERY_TREE_MODEL, RotationForestRegressor])
def test_they_are_the_importances_by_name_and_size(estimator) -> None:
    X, y = task(estimator, n=60)
    names = [f"x{i}" for i in range(X.shape[1])]
    model = quick(estimator).fit(pd.DataFrame(X, columns=names), y)
    shares = model.named_importances()
    assert shares.by == "share" and sorted(shares) == names
    assert [shares[name] for name in names] == model.feature_importances_.tolist()
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    for by in ("gain", "cover", "count"):
        if hasattr(model, "forest_"):
            found = model.named_importances(by)
            assert [found[name] for name in names] == model.importances(by).tolist()


def test_columns_without_names_ties_and_parts_of_dates() -> None:
    X = np.column_stack([np.zeros(50), np.arange(50.0), np.zeros(50)])
    model = DecisionTreeRegressor().fit(X, X[:, 1])
    assert list(model.named_importances()) == ["column 1", "column 0", "column 2"]
    days = pd.DataFrame({"a": X[:, 0], "day": pd.date_range("2020-01-01", periods=50)})
    dated = DecisionTreeRegressor().fit(days, np.arange(50) % 12)
    assert list(dated.named_importances()) == ["day", "a"]


def test_as_series_frame_and_text() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 25)), columns=[f"c{i}" for i in range(25)])
    model = BoostedTreesRegressor(n_estimators=5, min_samples_leaf=5).fit(X, X["c3"] * 2 + X["c7"])
    counts = model.named_importances("count")
    series = counts.to_pandas()
    assert isinstance(series, pd.Series) and (series.name, series.index.name) == ("count", "column")
    assert series.to_dict() == dict(counts) and series.index[0] == next(iter(counts))
    frame = counts.to_polars()
    assert isinstance(frame, pl.DataFrame) and frame.columns == ["column", "count"]
    lines = repr(counts).splitlines()
    assert lines[0].split() == ["column", "count"] and len(lines) == 22
    assert lines[-1] == "… and 5 more"
    with pytest.raises(KeyError, match="no column 'c99'; there are"):
        counts["c99"]


def test_wrong_arguments() -> None:
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().named_importances()
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="by must be one of 'share', 'gain'.*got 'split'"):
        DecisionTreeRegressor().fit(X, X[:, 0]).named_importances("split")
    model = AdaBoostRegressor(LinearRegression(), n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(AttributeError, match="LinearRegression has no feature_importances_"):
        model.named_importances()


def test_a_library_that_is_not_installed(monkeypatch) -> None:
    model = DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
    monkeypatch.setattr("weald.trees.frame.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="to_pandas needs pandas.*read the mapping itself"):
        model.named_importances().to_pandas()
