"""Weights that are none, and rows that belong together."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import weald
from contract.subjects import members_of, quick, task
from reliability.families import every_family

ONES = np.ones(120)


def changed(place: int, value: object) -> list[object]:
    weights: list[object] = [1.0] * 120
    weights[place] = value
    return weights


# What is given, the type of the error, and its message.
BAD_WEIGHTS = {
    "too few": (ONES[1:], ValueError, r"sample_weight.shape == \(119,\), expected \(120,\)"),
    "a column": (ONES[:, np.newaxis], ValueError, "Sample weights must be 1D"),
    "negative": (changed(3, -1.0), ValueError, "Negative values .* row 3 has -1.0"),
    "all zero": (0 * ONES, ValueError, "at least one non-zero number"),
    "NaN": (changed(4, np.nan), ValueError, "NaN or infinity: row 4 .* set its weight to 0"),
    "infinite": (changed(5, np.inf), ValueError, "NaN or infinity: row 5"),
    "None": (changed(6, None), ValueError, "NaN or infinity: row 6"),
    "text": (changed(7, "heavy"), ValueError, "sample_weight must hold a number .*heavy"),
    "a word": ("heavy", ValueError, "sample_weight must hold a number .*heavy"),
    "a dict": ({"a": 1}, TypeError, "sample_weight must hold a number .*dict"),
    "complex": (ONES * (1 + 1j), ValueError, "Complex data not supported in sample_weight"),
    "durations": (ONES.astype("m8[s]"), TypeError, r"dates or durations \(timedelta64\[s\]\)"),
    "dates": (ONES.astype("M8[s]"), TypeError, r"dates or durations \(datetime64\[s\]\)"),
}


@every_family
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_what_are_no_weights(estimator, case: str) -> None:
    weight, error, fragment = BAD_WEIGHTS[case]
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(error, match=fragment):
        model.fit(X, y, weight)
    assert model.fingerprint() == before


@every_family
def test_weights_in_any_container(estimator) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    X, y = task(estimator)
    weight = np.resize([1.0, 2.0, 0.0], 120)
    expected = quick(estimator).fit(X, y, weight).fingerprint()
    shuffled = pandas.Series(weight, index=np.arange(120)[::-1])
    for same in (
        weight.tolist(),
        tuple(weight),
        weight.astype(np.int8),
        weight.astype(object),
        shuffled,  # rows are taken by their place, not by the index
        pandas.Series(weight, dtype="Float64"),
        polars.Series(weight),
        pyarrow.array(weight),
    ):
        assert quick(estimator).fit(X, y, same).fingerprint() == expected


# ---- groups and time ----


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_one_group_cannot_be_parted(kind: str) -> None:
    for name, more in (("Stacking", {}), ("Voting", {"weights": "oof"})):
        estimator = getattr(weald, name + kind)
        X, y = task(estimator)
        model = estimator(members_of(estimator), cv=GroupKFold(2), **more)
        with pytest.raises(ValueError, match="(number of groups|n_splits=2).*1"):
            model.fit(X, y, groups=np.zeros(len(y)))
        with pytest.raises(ValueError, match="one label for each of the 120 rows"):
            model.fit(X, y, groups=np.zeros(3))
        with pytest.raises(ValueError, match="groups"):
            model.fit(X, y)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_groups_are_routed(kind: str) -> None:
    estimator = getattr(weald, f"Stacking{kind}")
    X, y = task(estimator)
    groups = np.arange(len(y)) // 12
    plain = estimator(members_of(estimator), cv=GroupKFold(3)).fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        model = estimator(members_of(estimator), cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert np.array_equal(model.out_of_fold_, plain.out_of_fold_)


def test_splits_by_time_take_rows_as_they_come() -> None:
    """Who splits by time sorts first: the moments themselves, equal ones too, are only a column."""
    estimator = weald.StackingRegressor
    X, y = task(estimator)
    dates = (X[:, :1] // 10).astype("M8[D]").astype("M8[us]")
    assert len(np.unique(dates)) < len(dates)
    model = estimator(members_of(estimator), cv=TimeSeriesSplit(3)).fit(dates, y)
    assert np.isfinite(model.predict(dates)).all()
    assert np.isnan(model.out_of_fold_[:30]).all()
    dates[0] = np.datetime64("NaT")  # a missing moment is a missing value
    assert np.isfinite(model.predict(dates)).all()
