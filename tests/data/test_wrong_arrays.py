"""Error messages for one row instead of a table, complex numbers, missing targets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import weald

X = np.arange(24.0).reshape(12, 2)
CODES = [0, 1] * 6
FRAME = pd.DataFrame({"size": np.arange(12.0), "city": ["Ulm", "Rom"] * 6})
TREE, FOREST = weald.DecisionTreeClassifier, weald.RandomForestClassifier


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        (FRAME.iloc[0], r"a pandas Series of 2 values.*frame\.iloc\[\[0\]\] is one row"),
        (FRAME.iloc[0].to_numpy(), r"array \(object\) of 2 values.*X\.reshape\(1, -1\) is one row"),
        ([3.0, "Ulm"], r"a list of 2 values.*\[X\] is one row"),
        (pl.Series([1.0, 2.0]), r"a polars Series of 2 values.*frame\[:1\] is one row"),
    ],
)
def test_a_single_row_raises_an_error_with_advice(row, advice) -> None:
    model = FOREST(n_estimators=2).fit(FRAME, CODES)
    for call in (model.predict, model.predict_proba, model.apply):
        with pytest.raises(
            ValueError, match=f"Expected 2D array, got 1D array.*{advice}"
        ) as raised:
            call(row)
        assert "Ulm" not in str(raised.value)
    with pytest.raises(ValueError, match="Expected 2D array, got scalar array instead"):
        model.predict(3.0)


def test_data_are_not_printed() -> None:
    for wrong in (X[:, 0], X + 1j, (X + 1j).tolist()):
        with pytest.raises(ValueError, match="Expected 2D array|Complex data") as raised:
            TREE().fit(wrong, CODES)
        assert len(str(raised.value)) < 250 and "22" not in str(raised.value)
    with pytest.raises(ValueError, match="Complex data not supported: y is of type complex128"):
        weald.DecisionTreeRegressor().fit(X, X[:, 0] * 1j)


TEXT = ["a", "b"] * 5 + ["a", None]
NUMBERS = [1.0, 2.0] * 5 + [1.0, np.nan]


@pytest.mark.parametrize(
    "y",
    [
        np.array(NUMBERS),
        pd.Series(NUMBERS),
        pd.Series([1, 2] * 5 + [1, None], dtype="Int64"),
        pl.Series([1, 2] * 5 + [1, None]),
        np.array(TEXT, dtype=object),
        np.array([*TEXT[:-1], np.nan], dtype=object),
        pd.Series(TEXT),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype="category"),
        pl.Series(TEXT),
        np.column_stack([CODES, NUMBERS]),
    ],
)
def test_a_missing_target_names_its_row(y) -> None:
    with pytest.raises(ValueError, match=r"Input y contains NaN: .*\brow 11\b"):
        TREE().fit(X, y)
    with pytest.raises(ValueError, match=r"Input y contains NaN: .*\brow 11\b"):
        TREE().fit(FRAME, y)


@pytest.mark.parametrize(
    "model",
    [
        weald.BoostedTreesRegressor(quality="fast"),
        weald.BaggingRegressor(),
        weald.AdaBoostRegressor(),
        weald.VotingRegressor([("a", weald.DecisionTreeRegressor())]),
        weald.StackingRegressor([("a", weald.DecisionTreeRegressor())]),
    ],
)
def test_so_does_a_number(model) -> None:
    y = np.arange(12.0)
    y[[4, 7]] = np.nan
    with pytest.raises(ValueError, match=r"Input y contains NaN: row 4 has nan \(2 such rows\)"):
        model.fit(X, y)
    y[[4, 7]] = 0.0, np.inf
    with pytest.raises(ValueError, match="Input y contains infinity.*: row 7 has inf"):
        model.fit(X, y)


def test_other_errors_of_a_target_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TREE().fit(X, CODES[:5])
