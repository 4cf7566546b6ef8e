"""Columns that are no numbers, to every estimator: refused by name wherever a table goes in."""

from typing import Any

import narwhals
import numpy as np
import pytest

from contract.subjects import EVERY_TREE_MODEL, quick, table, target

# Ensembles of members leave it to these what a table may hold.
every_estimator = pytest.mark.parametrize("estimator", EVERY_TREE_MODEL)
X0 = table(10)
Y0 = np.arange(10) % 2


def refused_everywhere(estimator: type, X: Any, error: type[Exception], *fragments: str) -> None:
    """By fit, and by a model of other columns too: the kind is what is wrong with X first."""
    fitted = quick(estimator).fit(X0, Y0)
    for method in (lambda X: quick(estimator).fit(X, Y0), fitted.predict, fitted.apply):
        with pytest.raises(error) as raised:
            method(X)
        for fragment in fragments:
            assert fragment in str(raised.value)


@every_estimator
@pytest.mark.parametrize("mask", [False, True, np.ma.nomask])
def test_masked_arrays_are_refused(estimator, mask: Any) -> None:
    masked = np.ma.masked_array(X0, mask)
    refused_everywhere(estimator, masked, TypeError, "Masked arrays", "X.filled(np.nan)")


def texts(library: str, kind: str, n_missing: int) -> Any:
    """A column of text that is missing in the first rows."""
    frames = pytest.importorskip(library)
    values = [None] * n_missing + (["Ulm", "Bonn"] * 5)[: 10 - n_missing]
    if library == "pandas":
        column = frames.Series(values, dtype={"text": "string", "default": None}.get(kind, kind))
    else:
        dtypes = {"category": frames.Categorical, "enum": frames.Enum(["Bonn", "Ulm"])}
        column = frames.Series(values, dtype=dtypes.get(kind, frames.String))
    return frames.DataFrame({"size": np.arange(10.0), "city": column})


TEXTS = [
    ("pandas", "object", 0),
    ("pandas", "object", 2),
    ("pandas", "text", 0),
    ("pandas", "text", 2),
    ("pandas", "default", 0),
    ("pandas", "default", 2),
    ("pandas", "category", 0),
    ("pandas", "category", 2),
    ("polars", "text", 0),
    ("polars", "text", 2),
    ("polars", "category", 0),
    ("polars", "category", 2),
    ("polars", "enum", 0),
    ("polars", "enum", 2),
]


@every_estimator
@pytest.mark.parametrize(("library", "kind", "n_missing"), TEXTS)
def test_columns_of_text_are_refused_by_name(estimator, library, kind, n_missing: int) -> None:
    frame = texts(library, kind, n_missing)
    fragments = ["Column 'city' holds text", f"'Ulm' in row {n_missing}", "OrdinalEncoder"]
    refused_everywhere(estimator, frame, ValueError, *fragments)


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_missing_text_are_refused_by_name(estimator, library: str) -> None:
    frame = texts(library, "text", 10)
    refused_everywhere(estimator, frame, ValueError, "Column 'city' holds text, which")


@every_estimator
def test_categories_that_are_numbers_are_numbers(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    y = target(estimator, table(60))
    numbers = np.arange(60) % 7
    frame = pandas.DataFrame({"month": pandas.Categorical(numbers)})
    expected = quick(estimator).fit(numbers[:, np.newaxis], y)
    assert quick(estimator).fit(frame, y).fingerprint() == expected.fingerprint()


DAYS = np.array("2024-02-25", dtype="M8[us]") + np.arange(10).astype("m8[D]")
DATES = {
    "pandas": ["datetime", "zone", "duration"],
    # Older narwhals know no times of day; there scikit-learn refuses them.
    "polars": ["datetime", "zone", "duration", "date", *(["time"] * hasattr(narwhals, "Time"))],
}


def dates(library: str, kind: str) -> Any:
    frames = pytest.importorskip(library)
    column = frames.Series(DAYS)
    if kind == "duration":
        column = frames.Series(DAYS - DAYS[0])
    elif kind == "zone":
        zone = column.dt.tz_localize if library == "pandas" else column.dt.replace_time_zone
        column = zone("UTC")
    elif kind != "datetime":
        column = getattr(column.dt, kind)()
    return frames.DataFrame({"size": np.arange(10.0), "day": column})


@every_estimator
@pytest.mark.parametrize(
    ("library", "kind"), [(library, kind) for library in DATES for kind in DATES[library]]
)
def test_columns_of_dates_are_refused_by_name(estimator, library: str, kind: str) -> None:
    frame = dates(library, kind)
    refused_everywhere(estimator, frame, TypeError, "Column 'day' holds dates or times")


@every_estimator
@pytest.mark.parametrize("kind", ["M8[s]", "M8[D]", "m8[ns]"])
def test_arrays_of_dates_are_refused(estimator, kind: str) -> None:
    array = np.zeros((10, 2), dtype="i8").astype(kind)
    refused_everywhere(estimator, array, TypeError, "X holds dates or durations", str(array.dtype))


@every_estimator
def test_lazy_frames_are_refused(estimator) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"a": np.arange(10.0)})
    refused_everywhere(estimator, lazy, TypeError, "lazy frame", ".collect()")


# ---- shapes and names ----
