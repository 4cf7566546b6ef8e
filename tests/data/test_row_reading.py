"""One row at a time means what the same values mean in a table."""

import datetime
import decimal
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from weald import BoostedTreesRegressor, RandomForestClassifier
from weald.data.columns import Category, Number, Ordered, Span
from weald.data.plan import ColumnPlan
from weald.data.row_reading import RowReader

PLAN = ColumnPlan(
    (Number(), Category(("Bonn", "Ulm")), Category((0, 1, 2.5)), Ordered(("lo", "hi")))
)
NAMES = ("size", "city", "code", "rank")


def reader(names: tuple[str, ...] | None = NAMES) -> RowReader:
    return RowReader(PLAN, names)


def slow(row: list[Any]) -> list[float]:
    """The same row as a table of objects, which goes the way of every table."""
    batch = np.empty((1, len(row)), dtype=object)
    batch[0] = row
    return reader(None).read(batch)[0].tolist()


VALUES: list[list[Any]] = [
    [
        1.5,
        2,
        True,
        np.float32(0.1),
        np.int32(7),
        decimal.Decimal("2.5"),
        None,
        np.nan,
        pd.NA,
        np.inf,
    ],
    ["Bonn", "Ulm", np.str_("Ulm"), "Rom", "", None, np.nan, pd.NA],
    [
        0,
        1,
        2.5,
        True,
        False,
        1.0,
        np.int64(1),
        np.int8(1),
        decimal.Decimal(1),
        7,
        -0.0,
        None,
        np.nan,
    ],
    ["lo", "hi", "middle", None],
]


@pytest.mark.parametrize("column", range(4))
def test_every_value_is_read_as_in_a_table(column: int) -> None:
    for value in VALUES[column]:
        row: list[Any] = [3.0, "Ulm", 1, "hi"]
        row[column] = value
        quick = reader().read(row)
        assert quick.dtype == np.float64
        assert np.array_equal(quick, slow(row), equal_nan=True), value
        by_name = dict(zip(NAMES, row, strict=True))
        assert np.array_equal(reader().read(by_name), quick, equal_nan=True)
        assert np.array_equal(reader().read(tuple(row)), quick, equal_nan=True)


WRONG = {
    "text for a number": ([("x")], 0, ValueError, "Column 'size' holds text"),
    "text of a number": (["3"], 0, ValueError, "Column 'size' holds text"),
    "a number for text": ([3], 1, TypeError, "Column 'city' had text as categories"),
    "text for a number as level": (
        ["1"],
        2,
        TypeError,
        "Column 'code' had numbers as categories",
    ),
    "a list": ([[1]], 0, TypeError, "Column 'size' holds a list"),
    "a complex number": ([1j], 0, TypeError, "Column 'size' holds a complex"),
    "a date": ([datetime.date(2020, 1, 1)], 0, TypeError, "Column 'size' holds dates"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_value_is_named(what: str) -> None:
    (value,), column, error, words = WRONG[what]
    row: list[Any] = [3.0, "Ulm", 1, "hi"]
    row[column] = value
    if isinstance(row[0], list):
        row = dict(zip(NAMES, row, strict=True))  # type: ignore[assignment]
    with pytest.raises(error, match=words):
        reader().read(row)


def test_a_wrong_row_is_refused() -> None:
    with pytest.raises(ValueError, match="X has 3 features, but this predictor is expecting 4"):
        reader().read([1.0, "Ulm", 1])
    with pytest.raises(ValueError, match="now missing:\n- rank"):
        reader().read({"size": 1.0, "city": "Ulm", "code": 1})
    with pytest.raises(ValueError, match="unseen at fit time:\n- more"):
        reader().read({"size": 1.0, "city": "Ulm", "code": 1, "rank": "hi", "more": 1})
    with pytest.raises(ValueError, match="unseen at fit time:\n- Rank"):
        reader().read({"size": 1.0, "city": "Ulm", "code": 1, "Rank": "hi"})
    with pytest.raises(TypeError, match="fitted without column names"):
        reader(None).read({"size": 1.0, "city": "Ulm", "code": 1, "rank": "hi"})


def test_a_batch_of_names_in_another_order() -> None:
    frame = pd.DataFrame({"rank": ["lo"], "code": [0], "size": [2.0], "city": ["Ulm"]})
    assert reader().read(frame).tolist() == [[2.0, 1.0, 0.0, 0.0]]


def test_durations_and_times() -> None:
    plan = RowReader(ColumnPlan((Span(), Category(("a",)))), None)
    assert plan.read([datetime.timedelta(seconds=3), "a"]).tolist() == [3.0, 0.0]


def test_numbers_as_levels_of_an_array() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (200, 2)).astype(float)
    model = BoostedTreesRegressor(quality="fast", n_estimators=5, categorical_features=[1])
    model.fit(X, X[:, 1] % 2 + X[:, 0])
    predictor = model.predictor()
    assert (model.forest_.category_set >= 0).any()
    assert np.array_equal(predictor.predict(X), model.predict(X))
    assert np.array_equal([predictor.predict(row) for row in X], model.predict(X))


def test_it_is_pickled_and_never_changes() -> None:
    frame = pd.DataFrame({"city": ["Bonn", "Ulm", "Rom"] * 20, "size": np.arange(60.0)})
    model = RandomForestClassifier(5, random_state=0).fit(frame, frame["city"] == "Ulm")
    predictor = model.predictor()
    before = predictor.predict_proba(frame)
    assert np.array_equal(pickle.loads(pickle.dumps(predictor)).predict_proba(frame), before)
    model.fit(frame, frame["city"] == "Bonn")
    assert np.array_equal(predictor.predict_proba(frame), before)
    unseen = predictor.predict_proba({"city": "Wien", "size": 3.0})
    assert np.array_equal(unseen, predictor.predict_proba([None, 3.0]))
