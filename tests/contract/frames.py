"""The same columns in every supported container."""

from functools import cache
from typing import Any

import numpy as np
import pytest

N = 90
CITIES = ["Bonn", "Köln", "Ulm", "東京"]
DAYS = np.array("2023-11-05T03:00", dtype="M8[us]") + (np.arange(N) * 10).astype("m8[h]")


def cells() -> dict[str, list[Any]]:
    """Plain Python values, some of them missing; every column is informative."""
    rng = np.random.default_rng(0)
    return {
        "size": [None if i % 9 == 0 else float(i % 13) for i in range(N)],
        "city": [None if i % 11 == 0 else CITIES[c] for i, c in enumerate(rng.integers(0, 4, N))],
        "flag": [None if i % 17 == 0 else bool(c) for i, c in enumerate(rng.integers(0, 2, N))],
        "when": [None if i % 13 == 0 else day.item() for i, day in enumerate(DAYS)],
    }


@cache
def labels() -> np.ndarray:
    """Two classes, or a regression target, that depend on all columns."""
    effect = {"Bonn": 3.0, "Ulm": 2.0, "Köln": 0.0, "東京": -1.0, None: 1.0}
    columns = cells()
    number = [
        effect[city] + (size or 0) / 6 + (2 if flag else 0) + (0 if when is None else when.hour / 9)
        for size, city, flag, when in zip(*columns.values(), strict=True)
    ]
    two = (np.array(number) > np.median(number)).astype(np.int64)
    two.flags.writeable = False
    return two


def pandas_frame(kind: str) -> Any:
    pd = pytest.importorskip("pandas")
    columns = cells()
    text = {"pandas": None, "pandas object": object, "pandas string": "string"}.get(kind)
    frame = pd.DataFrame(
        {
            "size": pd.array(columns["size"], dtype="Float64" if "nullable" in kind else "float64"),
            "city": pd.Series(columns["city"], dtype=text),
            "flag": pd.Series(columns["flag"], dtype="boolean"),
            "when": pd.to_datetime(pd.Series(columns["when"])),
        }
    )
    if kind == "pandas category":
        frame["city"] = pd.Categorical(columns["city"], categories=[*CITIES[::-1], "Rom"])
    if kind == "pandas object":
        frame["flag"] = pd.Series(columns["flag"], dtype=object)
    if kind == "pandas arrow":
        pytest.importorskip("pyarrow")
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
        frame["when"] = frame["when"].astype("timestamp[us][pyarrow]")
    return frame


def polars_frame(kind: str) -> Any:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(cells())
    if kind == "polars category":
        frame = frame.with_columns(pl.col("city").cast(pl.Categorical))
    return frame.lazy() if kind == "polars lazy" else frame


def arrow_table(kind: str) -> Any:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(cells())
    if kind == "arrow batch":
        return table.to_batches()[0]
    if kind == "arrow chunks":
        # Two chunks, each with its own dictionary.
        halves = [table.slice(0, 40), table.slice(40)]
        parts = [
            half.set_column(1, "city", half["city"].combine_chunks().dictionary_encode())
            for half in halves
        ]
        return pa.concat_tables(parts)
    if kind == "arrow large":
        return table.set_column(1, "city", table["city"].cast(pa.large_string()))
    return table


def objects(kind: str) -> Any:
    columns = cells()
    array = np.empty((N, len(columns)), dtype=object)
    for i, column in enumerate(columns.values()):
        array[:, i] = column
    return array.tolist() if kind == "lists" else array


MAKERS = {"pandas": pandas_frame, "polars": polars_frame, "arrow": arrow_table}
CONTAINERS = [
    "pandas",
    "pandas object",
    "pandas string",
    "pandas category",
    "pandas nullable",
    "pandas arrow",
    "polars",
    "polars category",
    "polars lazy",
    "arrow",
    "arrow batch",
    "arrow chunks",
    "arrow large",
    "objects",
    "lists",
]


@cache
def container(kind: str) -> Any:
    """One object for all tests: they copy it before they change it."""
    return MAKERS.get(kind.split()[0], objects)(kind)
