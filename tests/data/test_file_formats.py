"""Separators, missing values, dates, compression, Arrow, JSON lines and libsvm."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from weald import BoostedTreesRegressor
from weald.data import frame_library
from weald.data.reading import read

LIBRARIES = ("pandas", "polars", "pyarrow")


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make one frame library the only one that `read` finds."""
    pytest.importorskip(request.param)
    monkeypatch.setattr(frame_library, "FRAME_LIBRARIES", (request.param,))
    return str(request.param)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a file and give its path."""

    def write_file(content: str | bytes, name: str = "table.csv") -> Path:
        file = tmp_path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return write_file


def table(frame: Any) -> dict[str, list[Any]]:
    """Columns as lists, with None for a missing value in every library."""
    names = getattr(frame, "column_names", None) or list(frame.columns)
    return {name: values(frame[name]) for name in names}


def values(column: Any) -> list[Any]:
    found = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if value != value else value for value in found]


# --- separators ----------------------------------------------------------------------------------

ROWS = ["a,b,c", "1,x,0.5", "2,y,1.5"]
TABLE = {"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_separators_are_recognised(sep: str, write: Any, library: str) -> None:
    assert table(read(write("\n".join(ROWS).replace(",", sep)))) == TABLE


@pytest.mark.parametrize("sep", [" ", ":", ";", "\t"])
def test_separators_by_name(sep: str, write: Any, library: str) -> None:
    file = write("\n".join(ROWS).replace(",", sep))
    assert table(read(file, sep=sep)) == TABLE


def test_separators_in_the_path(write: Any, library: str) -> None:
    file = write("\n".join(ROWS).replace(",", ":"), "table.data")
    assert table(read(f"{file}?format=csv&sep=:")) == TABLE
    X, y = read(f"{write(chr(10).join(ROWS).replace(',', chr(9)))}?sep=%09&label_column=b")
    assert (table(X), values(y)) == ({"a": [1, 2], "c": [0.5, 1.5]}, ["x", "y"])


def test_tsv(write: Any, library: str) -> None:
    file = write("a\tb\n1,5\t2\n3,7\t4\n", "table.tsv")
    assert table(read(file)) == {"a": [1.5, 3.7], "b": [2, 4]}  # decimal commas
    assert table(read(write("a\tb\n1\t2\n", "table.txt"), format="tsv")) == {"a": [1], "b": [2]}


def test_a_comma_is_preferred(write: Any, library: str) -> None:
    assert table(read(write("a,b\nx;y,1\nz;w,2\n"))) == {"a": ["x;y", "z;w"], "b": [1, 2]}
    assert table(read(write('a;b\n"x;y";1\nz,w;2\n'))) == {"a": ["x;y", "z,w"], "b": [1, 2]}


def test_ragged_rows_of_another_separator(write: Any, library: str) -> None:
    file = write("a;b\n" + "1;2\n" * 30 + "1;2;3\n")
    with pytest.raises(ValueError, match=r"line 32 of .* has 3 cells; expected 2.*separator ';'"):
        read(file)


@pytest.mark.parametrize("sep", ["", ", ", "é", '"', "\n", 3])
def test_bad_separators(sep: Any, write: Any) -> None:
    with pytest.raises(ValueError, match="sep=.* is not understood; expected one ASCII character"):
        read(write("a,b\n1,2\n"), sep=sep)


# --- missing values and dates --------------------------------------------------------------------


def test_na_values(write: Any, library: str) -> None:
    file = write("a,b\n1,?\n-999,x\nNA,unknown\n3,y\n")
    assert table(read(file))["b"] == [None, "x", "unknown", "y"]
    found = table(read(file, na_values=["-999", "unknown"]))
    assert found == {"a": [1, None, None, 3], "b": [None, "x", None, "y"]}


@pytest.mark.parametrize("wrong", ["-999", [-999], 3])
def test_bad_na_values(wrong: Any, write: Any) -> None:
    with pytest.raises(TypeError):
        read(write("a,b\n1,2\n"), na_values=wrong)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2024-02-29", "", "2023-01-01"], date(2024, 2, 29)),
        (["2024-02-29 12:30", "2023-01-01 00:00"], datetime(2024, 2, 29, 12, 30)),
        (["2024-02-29T12:30:59", "2023-01-01T00:00:00"], datetime(2024, 2, 29, 12, 30, 59)),
        (["2024-02-29 12:30:59", "2023-01-01 00:00:00"], datetime(2024, 2, 29, 12, 30, 59)),
    ],
)
def test_dates(cells: list[str], first: date, write: Any, library: str) -> None:
    frame = read(write("day,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))))
    found = values(frame["day"])[0]
    assert isinstance(found, date)
    assert found.isoformat()[: len(first.isoformat())] == first.isoformat()


def test_a_model_of_dates(write: Any, library: str) -> None:
    days = np.datetime64("2024-01-01") + np.arange(100)
    file = write("day,y\n" + "".join(f"{day},{i // 50}\n" for i, day in enumerate(days)))
    X, y = read(file, target="y")
    model = BoostedTreesRegressor(quality="fast", n_estimators=20).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    "cells", [["2024-02-30", "2024-01-01"], ["2024-02-29", "soon"], ["31.12.2024", "01.01.2024"]]
)
def test_what_is_no_date_is_text(cells: list[str], write: Any, library: str) -> None:
    assert table(read(write("day,n\n" + "".join(f"{c},1\n" for c in cells))))["day"] == cells


# --- other formats -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table.arrow", "table.feather"])
def test_arrow(name: str, tmp_path: Path, library: str) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    import pyarrow as pa

    feather.write_feather(pa.table(TABLE), str(tmp_path / name))
    X, y = read(tmp_path / name, target="b")
    assert (table(X), values(y)) == ({"a": [1, 2], "c": [0.5, 1.5]}, ["x", "y"])


def test_arrow_that_is_none(write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="is not an arrow file: it begins with b'a,b"):
        read(write("a,b\n1,2\n", "table.arrow"))
    with pytest.raises(ValueError, match="cannot read .* as arrow"):
        read(write(b"ARROW1 and no more", "table.arrow"))


def test_json_lines(write: Any, library: str) -> None:
    file = write(
        '{"a": 1, "b": "x", "day": "2024-05-31"}\n\n{"a": null, "c": true}\n{"b": "y", "a": 2.5}\n',
        "table.jsonl",
    )
    found = table(read(file))
    assert found["a"] == [1, None, 2.5] and found["b"] == ["x", None, "y"]
    assert found["c"] == [None, True, None]
    assert isinstance(found["day"][0], date)
    found = table(read(write('{"a": 1}\n{"a": 10000000000000000000000}\n', "long.jsonl")))
    assert found == {"a": [1.0, 1e22]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2, column 2 of '.*jsonl' is not valid JSON"),
        ("[1, 2]", "line 2 .* holds a JSON list; expected an object"),
        ('{"a": [1]}', "line 2 .* holds a list in column 'a'"),
        ('{"a": "1"}', "line 2 .* holds text in column 'a', which holds number in line 1"),
    ],
)
def test_lines_that_are_no_objects(line: str, message: str, write: Any) -> None:
    with pytest.raises(ValueError, match=message):
        read(write('{"a": 1}\n' + line, "table.jsonl"))
    with pytest.raises(ValueError, match="is empty"):
        read(write("\n", "table.ndjson"))


def test_libsvm(tmp_path: Path) -> None:
    X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1e-3], [0.0, 0.0, 4.0]])
    dump_svmlight_file(X, [1, -1, 2.5], str(tmp_path / "table.libsvm"), zero_based=False)
    found, y = read(tmp_path / "table.libsvm")
    assert np.array_equal(found.toarray(), X)
    assert y.tolist() == [1, -1, 2.5]
    packed = tmp_path / "table.svmlight.gz"
    packed.write_bytes(gzip.compress((tmp_path / "table.libsvm").read_bytes()))
    assert np.array_equal(read(packed)[0].toarray(), X)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("yes 1:2", "line 2 of '.*' holds 'yes' as entry 1; expected a number, the label"),
        ("1 2", "line 2 of '.*' holds '2' as entry 2; expected index:value"),
        ("1 1:x", "holds '1:x' as entry 2"),
    ],
)
def test_libsvm_that_is_none(line: str, message: str, write: Any) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(f"1 1:2 # fine\n{line}\n", "table.libsvm"))
    with pytest.raises(ValueError, match="is empty"):
        read(write("# nothing\n", "table.libsvm"))


# --- compression and options ---------------------------------------------------------------------


def test_zstd(write: Any, library: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    packed = arrow.compress("\n".join(ROWS).encode(), codec="zstd", asbytes=True)
    assert table(read(write(packed, "table.csv.zst"))) == TABLE
    lines = arrow.compress(b'{"a": 1}\n{"a": 2}', codec="zstd", asbytes=True)
    assert table(read(write(lines, "table.jsonl.zst"))) == {"a": [1, 2]}
    for damaged in (packed[:-3], b"a,b\n1,2\n"):
        with pytest.raises(ValueError, match="not a complete zstd file"):
            read(write(damaged, "table.csv.zst"))


def test_gzip_of_lines(write: Any, library: str) -> None:
    packed = gzip.compress(b'{"a": 1}\n{"a": 2}')
    assert table(read(write(packed, "table.jsonl.gz"))) == {"a": [1, 2]}
    for name, content in (("table.jsonl.gz", b'{"a": 1}'), ("table.libsvm.gz", b"1 1:2")):
        with pytest.raises(ValueError, match="not a complete gzip file"):
            read(write(gzip.compress(content)[:-9], name))


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("t.jsonl", {"header": True}, "header is set for .* jsonl, which always has column names"),
        ("t.libsvm", {"header": False}, "which has no row of names"),
        ("t.jsonl", {"sep": ";"}, "sep is set for .* it is for csv only"),
        ("t.libsvm", {"na_values": ["x"]}, "na_values is set for"),
        ("t.libsvm", {"target": 0}, "a label column is given .* libsvm"),
        ("t.parquet.gz", {}, "is a compressed parquet file"),
    ],
)
def test_options_of_another_format(name: str, keywords: Any, message: str, write: Any) -> None:
    with pytest.raises(ValueError, match=message):
        read(write("1 1:2\n", name), **keywords)
