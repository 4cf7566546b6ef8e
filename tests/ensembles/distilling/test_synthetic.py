"""New rows are like the old ones: types, values that occur often, dependence, what is missing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from weald.ensembles.distilling.synthetic import joined_rows, smoothed_bootstrap


def test_columns_that_depend_on_each_other_still_do() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000)
    X = np.column_stack([x, x + 0.1 * rng.normal(size=1000), rng.normal(size=1000)])
    for smoothing in (0.2, 0.5, 1.0):
        new = smoothed_bootstrap(X, 3000, smoothing, 0)
        old, now = np.corrcoef(X.T), np.corrcoef(new.T)
        assert np.abs(old - now).max() < 0.08
        np.testing.assert_allclose(new.mean(axis=0), X.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(new.std(axis=0), X.std(axis=0), rtol=0.15)
        # Cells move as often as they should, and not out of the range.
        moved = np.mean([~np.isin(new[:, j], X[:, j]) for j in range(3)])
        assert moved == pytest.approx(smoothing, abs=0.03)
        assert (new.min(axis=0) >= X.min(axis=0)).all() and (new.max(axis=0) <= X.max(axis=0)).all()


def test_no_smoothing_repeats_rows_evenly() -> None:
    X = np.arange(20.0).reshape(10, 2)
    new = smoothed_bootstrap(X, 35, 0.0, 0)
    _, counts = np.unique(new[:, 0], return_counts=True)
    assert sorted(counts) == [3] * 5 + [4] * 5
    assert {tuple(row) for row in new.tolist()} == {tuple(row) for row in X.tolist()}


def test_types_are_respected() -> None:
    rng = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame(
        {
            "real": rng.normal(size=n),
            "whole": rng.integers(0, 10_000, n),
            "few": rng.choice([1.5, 2.5, 9.0], n),
            "paid": np.where(rng.random(n) < 0.5, 0.0, rng.exponential(9.0, n) + 1),
            "flag": rng.random(n) < 0.3,
            "city": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["c", "b", "a"]),
            "rank": pd.Categorical(
                rng.choice(["lo", "hi"], n), categories=["lo", "hi"], ordered=True
            ),
            "word": rng.choice(["x", "y"], n).astype(object),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "maybe": pd.array(rng.integers(0, 900, n), dtype="Int64"),
        },
        index=np.arange(n)[::-1],
    )
    X.loc[::5, "real"] = np.nan
    X.loc[::4, "maybe"] = pd.NA
    X.loc[::3, "city"] = np.nan
    new = smoothed_bootstrap(X, 1500, 0.8, 3)
    assert new.dtypes.tolist() == X.dtypes.tolist() and new.columns.tolist() == X.columns.tolist()
    for name in ("few", "flag", "word", "day"):
        assert new[name].isin(X[name]).all(), name
    assert set(new["city"].dropna()) == {"a", "b", "c"}
    assert new["real"].isna().mean() == pytest.approx(0.2, abs=0.05)
    assert new["maybe"].isna().mean() == pytest.approx(0.25, abs=0.05)
    assert (new["paid"] == 0).mean() == pytest.approx((X["paid"] == 0).mean(), abs=0.05)
    assert not ((new["paid"] > 0) & (new["paid"] < 1)).any()  # 0 is an atom
    assert not new["real"].dropna().isin(X["real"]).all()  # and yet there is something new
    assert not new["whole"].isin(X["whole"]).all()
    both = joined_rows(X, new)
    assert len(both) == len(X) + 1500 and both.dtypes.tolist() == X.dtypes.tolist()
    frame = pl.from_pandas(X.reset_index(drop=True))
    again = smoothed_bootstrap(frame, 1500, 0.8, 3)
    assert again.schema == frame.schema and joined_rows(frame, again).height == 1900
    arrow = frame.to_arrow()
    third = smoothed_bootstrap(arrow, 100, 0.8, 3)
    assert third.schema == arrow.schema and joined_rows(arrow, third).num_rows == 500


def test_numeric_categories_are_not_interpolated() -> None:
    X = np.column_stack([np.arange(300.0) * 3, np.arange(300.0)])
    new = smoothed_bootstrap(X, 1000, 1.0, 0, np.array([True, False]))
    assert np.isin(new[:, 0], X[:, 0]).all() and not (new[:, 0] % 3).any()


def test_extremes_stay_finite() -> None:
    X = np.array([[1e308, np.inf], [-1e308, 1.0], [0.0, -np.inf], [np.nan, 2.0]])
    new = smoothed_bootstrap(X, 200, 1.0, 0)
    assert np.isfinite(new[:, 0]).sum() > 100 and not np.isnan(new[:, 1]).any()
    assert len(smoothed_bootstrap(X[:1], 5, 1.0, 0)) == 5
