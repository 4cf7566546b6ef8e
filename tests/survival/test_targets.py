"""Survival targets in every accepted form, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from weald.survival import target
from weald.survival.targets import read_target

EVENT, TIME = np.array([True, False, True]), np.array([3.0, 5.0, 0.0])


@pytest.mark.parametrize(
    "y",
    [
        target(EVENT, TIME),
        target([1, 0, 1], [3, 5, 0]),
        np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("died", "?"), ("days", "<f4")]),
        pd.DataFrame({"time": TIME, "event": EVENT, "other": "x"}),
        pd.DataFrame({"time": TIME, "event": EVENT.astype(int)}),
        pl.DataFrame({"event": EVENT, "time": TIME}),
    ],
    ids=["target", "numbers", "structured", "pandas", "pandas numbers", "polars"],
)
def test_reads_every_form(y):
    read = read_target(y)
    assert read.event.dtype == np.bool_
    assert read.event.tolist() == EVENT.tolist()
    assert read.time.tolist() == TIME.tolist()


@pytest.mark.parametrize(
    ("event", "time", "message"),
    [
        (EVENT, [1.0, np.nan, 2.0], "time contains NaN: row 1"),
        (EVENT, [1.0, -2.0, 2.0], "a negative time: row 1 has -2.0"),
        (EVENT, [1.0, np.inf, 2.0], "infinity: row 1"),
        (EVENT, ["a", "b", "c"], "time must hold a number for each row"),
        (EVENT, [1.0, 2.0], "event has 3 rows and time has 2"),
        (EVENT, np.ones((3, 1)), r"time must have one entry per row; got the shape \(3, 1\)"),
        ([0, 1, 2], TIME, "event must be boolean, or 0 and 1.*row 2 has 2"),
        ([0, 1, None], TIME, "row 2 has None"),
        ([0, 1, 3], TIME, "row 2 has 3.*Only right-censored"),  # R's code of intervals
    ],
)
def test_refuses_bad_values(event, time, message):
    with pytest.raises(ValueError, match=message):
        target(event, time)


def test_refuses_dates():
    with pytest.raises(TypeError, match="dates or durations"):
        target(EVENT, np.array([1, 2, 3], dtype="timedelta64[D]"))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (TIME, r"whether the event was seen, and when.*Got an array of shape \(3,\)"),
        ((EVENT, TIME), r"Got an array of shape \(2, 3\)"),
        (
            np.array([(1, 3.0)], dtype=[("event", "<i8"), ("time", "<f8")]),
            "first field of y, 'event'.*must be boolean; got int64",
        ),
        (np.array([(True,)], dtype=[("event", "?")]), "got the fields 'event'"),
        (pd.DataFrame({"status": EVENT, "time": TIME}), "the columns 'status', 'time'"),
        (np.column_stack([TIME, TIME]), r"of shape \(3, 2\).*no intervals"),
        (pd.DataFrame({"lower": TIME, "upper": TIME}), "'lower', 'upper'.*no intervals"),
        (np.array([(1.0, 2.0)], dtype=[("lower", "<f8"), ("upper", "<f8")]), "no intervals"),
        (np.array([(True, 1.0, 2.0)], dtype="?,<f8,<f8"), "no intervals"),
        (pd.DataFrame({"event": [2, 0, 1], "time": TIME}), r"y\['event'\] must be boolean"),
    ],
)
def test_refuses_other_forms(y, message):
    with pytest.raises(ValueError, match=message):
        read_target(y)
