"""Reading files: the same table from each frame library, and an error for what is no table."""

from __future__ import annotations

import gzip
import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from originals import original
from weald.data import frame_library, reading
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


def library_of(thing: Any) -> str:
    return type(thing).__module__.partition(".")[0]


def table_of(frame: Any) -> dict[str, list[Any]]:
    """Columns as lists, with None for a missing value in every library."""
    names = frame.column_names if library_of(frame) == "pyarrow" else frame.columns
    return {name: values_of(frame[name]) for name in names}


def values_of(series: Any) -> list[Any]:
    values = series.to_pylist() if library_of(series) == "pyarrow" else series.to_list()
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


# --- what is read --------------------------------------------------------------------------------


def test_frame_and_label(write: Any, library: str) -> None:
    file = write("a,b,c\n1,x,0.5\n2,y,1.5\n")
    frame = read(file)
    assert library_of(frame) == library
    assert table_of(frame) == {"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]}
    X, y = read(file, target="b")
    assert table_of(X) == {"a": [1, 2], "c": [0.5, 1.5]}
    assert library_of(y) == library
    assert values_of(y) == ["x", "y"]


@pytest.mark.parametrize(
    ("path", "keywords"),
    [
        ("{}?label_column=b", {}),
        ("{}?label_column=1", {}),
        ("{}?format=csv&label_column=1&header=1", {}),
        ("{}?header=1", {"target": 1}),
        ("{}?", {"target": "b"}),
        ("{}", {"target": np.int64(1)}),
    ],
)
def test_ways_to_name_the_label(path: str, keywords: Any, write: Any, library: str) -> None:
    X, y = read(path.format(write("a,b,c\n1,2,3\n4,5,6\n")), **keywords)
    assert table_of(X) == {"a": [1, 4], "c": [3, 6]}
    assert values_of(y) == [2, 5]


def test_a_name_that_looks_like_an_index(write: Any, library: str) -> None:
    file = write("year,2019,2020\nx,1,2\ny,3,4\n")
    assert values_of(read(f"{file}?label_column=2020")[1]) == [2, 4]
    assert values_of(read(f"{file}?label_column=0")[1]) == ["x", "y"]
    with pytest.raises(ValueError, match="no column '0'"):
        read(file, target="0")


def test_codes_in_the_query(write: Any, library: str) -> None:
    file = write("a,b & c?\n1,2\n")
    assert values_of(read(f"{file}?label_column=b+%26+c%3F")[1]) == [2]


def test_the_form_of_the_original(write: Any, library: str) -> None:
    file = write("0,1,7\n2,3,8\n", "optdigits.tra")
    X, y = read(f"{file}?format=csv&label_column=2")
    assert table_of(X) == {"column_0": [0, 2], "column_1": [1, 3]}
    assert values_of(y) == [7, 8]


def test_a_question_mark_in_the_name_of_a_file(write: Any, library: str) -> None:
    file = write("a,b\n1,2\n", "what?format=csv")
    write("a,b\n3,4\n", "whatXformat=csv")  # a pattern would match this one too
    assert table_of(read(file, format="csv")) == {"a": [1], "b": [2]}
    assert values_of(read(f"{file}?format=csv&label_column=a")[1]) == [1]


@pytest.mark.parametrize(
    ("first", "has_header"),
    [
        ("a,b", True),
        ("1,b", True),
        ("1_000,2", True),
        (",b", True),
        ("1,2", False),
        ("-1e-3,+.5", False),
        ("1,", False),
        ("1,NA", False),
        ("nan,inf", False),
        (' 1 ,"2"', False),
    ],
)
def test_auto_header(first: str, has_header: bool, write: Any, library: str) -> None:
    frame = table_of(read(write(f"{first}\n3,4\n")))
    assert [len(values) for values in frame.values()] == [1 if has_header else 2] * 2
    if not has_header:
        assert list(frame) == ["column_0", "column_1"]


def test_header_by_order(write: Any, library: str) -> None:
    file = write("1,x\n2,y\n")
    assert table_of(read(file, header=False)) == {"column_0": [1, 2], "column_1": ["x", "y"]}
    assert table_of(read(f"{file}?header=0")) == {"column_0": [1, 2], "column_1": ["x", "y"]}
    assert table_of(read(write("1,2\n3,4\n"), header=True)) == {"1": [3], "2": [4]}


def test_a_column_without_name(write: Any, library: str) -> None:
    assert table_of(read(write(",b\n1,2\n"))) == {"column_0": [1], "b": [2]}


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_and_line_ends(
    mark: str, end: str, header: bool, write: Any, library: str
) -> None:
    rows = (["a,b"] if header else []) + ["1,2", "3,4"]
    table = table_of(read(write(mark + end.join(rows) + end)))
    assert list(table.values()) == [[1, 3], [2, 4]]
    assert list(table) == (["a", "b"] if header else ["column_0", "column_1"])


def test_no_line_end_at_the_end(write: Any, library: str) -> None:
    assert table_of(read(write("a,b\n1,2\n3,4"))) == {"a": [1, 3], "b": [2, 4]}
    assert table_of(read(write("1,2"))) == {"column_0": [1], "column_1": [2]}


def test_quoted_cells(write: Any, library: str) -> None:
    file = write('"a\nq",b\n1,"x\n\ny"\n2,"z, ""w"""\n3,\n')
    assert table_of(read(file)) == {"a\nq": [1, 2, 3], "b": ["x\n\ny", 'z, "w"', None]}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "lines",
    [
        ["a,b", "1,2", "3,4", "", ""],
        ["a,b", "", "1,2", "", "", "3,4"],
        ["", "", "a,b", "1,2", "3,4"],
        ["", '"a",b', "", "1,2", "3,4", ""],
    ],
)
def test_blank_lines_are_skipped(lines: list[str], end: str, write: Any, library: str) -> None:
    assert table_of(read(write(end.join(lines) + end))) == {"a": [1, 3], "b": [2, 4]}


def test_blank_lines_without_header_and_in_one_column(write: Any, library: str) -> None:
    assert table_of(read(write("\n\n1,2\n\n3,4\n\n"))) == {"column_0": [1, 3], "column_1": [2, 4]}
    assert table_of(read(write("a\n1\n\n2\n"))) == {"a": [1, 2]}
    assert table_of(read(write("\nx\nx\n"))) == {"x": ["x"]}


def test_a_row_of_gaps_is_a_row(write: Any, library: str) -> None:
    assert table_of(read(write("a,b\n1,2\n,\n\n3,4\n"))) == {"a": [1, None, 3], "b": [2, None, 4]}


def test_missing_marks(write: Any, library: str) -> None:
    rows = [f"{mark},{mark},1" for mark in reading.MISSING_MARKS]
    frame = table_of(read(write("\n".join(["a,b,c", "1.5,x,1", *rows, '2.5,"",1', ""]))))
    gaps = [None] * len(rows)
    assert frame["a"] == [1.5, *gaps, 2.5]
    assert frame["b"] == ["x", *gaps, None]


def test_none_is_a_category(write: Any, library: str) -> None:
    assert table_of(read(write("a,b\nNone,1\nBrick,2\n")))["a"] == ["None", "Brick"]


def test_types_come_from_all_rows(write: Any, library: str) -> None:
    # more than the first megabyte, from which pyarrow would guess
    text = "a,b\n" + "1,2\n" * 300_000 + "1.5,x\n"
    frame = read(write(text))
    assert len(frame) == 300_001
    assert values_of(frame["a"][-1:]) == [1.5]
    assert values_of(frame["b"][-1:]) == ["x"]
    assert values_of(frame["b"][:1]) == ["2"]


def test_a_very_long_cell(write: Any, library: str) -> None:
    long = "x" * 200_000  # csv.reader's own limit is 131 072
    assert table_of(read(write(f"a,b\n{long},1\n2,\n")))["a"] == [long, "2"]


@pytest.mark.parametrize("name", ["table.csv.gz", "TABLE.CSV.gz", "table.data.gz"])
def test_gzip(name: str, write: Any, library: str) -> None:
    file = write(gzip.compress(b"a,b\n1,2\n3,\n"), name)
    X, y = read(file, target="a", format="csv")
    assert table_of(X) == {"b": [2, None]}
    assert values_of(y) == [1, 3]


@pytest.mark.parametrize("name", ["table.parquet", "table?label_column=a", "[a].data"])
def test_parquet(name: str, tmp_path: Path, library: str) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / name
    parquet.write_table(pa.table({"a": [1, 2], "b": ["x", None], "c": [0.5, 1.5]}), file)
    frame = read(file, format="parquet")
    assert library_of(frame) == library
    assert table_of(frame) == {"a": [1, 2], "b": ["x", None], "c": [0.5, 1.5]}
    X, y = read(f"{file}?format=parquet&label_column=0")
    assert table_of(X) == {"b": ["x", None], "c": [0.5, 1.5]}
    assert values_of(y) == [1, 2]


def test_originals(library: str) -> None:
    for name, n_rows in (("optdigits.tra", 3823), ("optdigits.tes", 1797)):
        X, y = read(f"{original(name)}?format=csv&label_column=64")
        assert X.shape == (n_rows, 64)
        assert sorted(set(values_of(y))) == list(range(10))
    X, y = read(original("pima-indians-diabetes.data.csv"), target=8)
    assert X.shape == (768, 8)
    assert sum(values_of(y)) == 268


# --- what is refused -----------------------------------------------------------------------------


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file '.*absent\.csv' \(looked from"):
        read(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError, match=r"no file '.*absent\.csv'"):
        read(f"{tmp_path}/absent.csv?label_column=0")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)


def test_format(write: Any) -> None:
    file = write("1,2\n", "table.tra")
    with pytest.raises(
        ValueError, match=r"cannot be inferred from its name.*\.csv.*\.gz.*format='csv'"
    ):
        read(file)
    with pytest.raises(ValueError, match="unknown format 'xls' .* expected one of csv, tsv, parq"):
        read(file, format="xls")
    with pytest.raises(ValueError, match="unknown format 'orc'"):
        read(f"{file}?format=orc")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("lable_column=1", "unknown option 'lable_column'.*known are format, header, label_column"),
        ("label_column", "'label_column' .* has no value"),
        ("label_column=", "'label_column' .* has no value"),
        ("label_column=0&label_column=1", "'label_column' appears twice"),
        ("header=yes", "'header=yes' .* expected header=1"),
    ],
)
def test_query(query: str, message: str, write: Any) -> None:
    with pytest.raises(ValueError, match=message):
        read(f"{write('1,2,3')}?{query}")


@pytest.mark.parametrize(
    ("query", "keywords"),
    [
        ("label_column=0", {"target": 0}),
        ("format=csv", {"format": "csv"}),
        ("header=0", {"header": False}),
    ],
)
def test_an_option_given_twice(query: str, keywords: Any, write: Any) -> None:
    with pytest.raises(ValueError, match=f"given twice.*'{query}'.*{next(iter(keywords))}="):
        read(f"{write('1,2,3')}?{query}", **keywords)


@pytest.mark.parametrize("wrong", [0, 1, None, "no"])
def test_header_keyword(wrong: Any, write: Any) -> None:
    # pandas' header=0 means the opposite of a 0 here, so a number is refused
    with pytest.raises(ValueError, match="header=.* expected 'auto', True"):
        read(write("1,2\n"), header=wrong)


def test_label_that_is_not_there(write: Any, library: str) -> None:
    short = write("a,b,c\n1,2,3\n", "short.csv")
    with pytest.raises(ValueError, match="no column 'd' in '.*short.csv'; it has 'a', 'b', 'c'$"):
        read(short, target="d")
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=f"column {wrong} is out of range.*from 0 to 2"):
            read(short, target=wrong)
    with pytest.raises(ValueError, match="column 3 is out of range"):
        read(f"{short}?label_column=3")
    with pytest.raises(ValueError, match="no column '-1'"):
        read(f"{short}?label_column=-1")
    with pytest.raises(TypeError, match="target=True is not a column"):
        read(short, target=True)
    wide = write(",".join(["1"] * 25) + "\n", "wide.csv")
    with pytest.raises(ValueError, match="'column_9' and 15 more$"):
        read(wide, target="label")


def test_only_the_label(write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="has only the label column 'a:b'.*pass sep="):
        read(write("a:b\n1:2\n"), target=0)


@pytest.mark.parametrize("content", ["", "\n\n", "\r\n", "\ufeff"])
def test_empty_file(content: str, write: Any, library: str) -> None:
    with pytest.raises(ValueError, match=r"table\.csv' is empty; expected at least one row"):
        read(write(content))
    with pytest.raises(ValueError, match="is empty"):
        read(write(gzip.compress(content.encode()), "table.csv.gz"))


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_header_and_nothing_below(content: str, write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="has a header and no row of data.*header=False"):
        read(write(content))
    assert table_of(read(write(content), header=False)) == {"column_0": ["a"], "column_1": ["b"]}


def test_names_that_repeat(write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="must be unique.*repeats 'a'; rename"):
        read(write("a,b,a\n1,2,3\n"))


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("a,b\n1,2\n3,4,5\n6,7\n", 3, 3),
        ("a,b\n1,2,3\n4,5\n", 2, 3),
        ("a,b\n0,2,3\n1,5,6\n", 2, 3),
        ("a,b\n1,2\n3\n", 3, 1),
        ("a,b\n1\n2,3\n", 2, 1),
        ("1,2\n3,4\n5\n", 3, 1),
        ("1,2\n3,4,5\n", 2, 3),
        ("\n1,2\n\n3,4,5\n", 4, 3),
        ('a,b\n1,"x\ny"\n\n3\n', 5, 1),
        ("\ufeffa,b\r\n1,2\r\n3\r\n", 3, 1),
        ("a,b\n" + "1,2\n" * 5000 + "3,4,5\n", 5002, 3),
        ("a,b\n" + "1,2\n" * 5000 + "3\n", 5002, 1),
    ],
)
def test_ragged_rows(content: str, line: int, found: int, write: Any, library: str) -> None:
    message = rf"line {line} of '.*' has {found} cells; expected 2, as in the first row"
    with pytest.raises(ValueError, match=message):
        read(write(content))
    with pytest.raises(ValueError, match=message):
        read(write(gzip.compress(content.encode()), "table.csv.gz"))


@pytest.mark.parametrize(
    ("content", "byte", "position", "line"),
    [
        (b"a,b\n1,caf\xe9\n2,x\n", "e9", 9, 2),
        (b"a,b\n" + b"1,x\n" * 5000 + b"\xff,x\n", "ff", 20004, 5002),
        ("a,b\n1,2\n".encode("utf-16"), "ff", 0, 1),
    ],
)
def test_bytes_that_are_no_text(
    content: bytes, byte: str, position: int, line: int, write: Any, library: str
) -> None:
    message = f"not UTF-8 text: byte 0x{byte} at position {position}, line {line}; save it as UTF-8"
    with pytest.raises(ValueError, match=message):
        read(write(content))


def test_gzip_that_is_none(write: Any, library: str) -> None:
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 20000)
    for content in (b"a,b\n1,2\n", packed[: len(packed) // 2], packed[:5]):
        with pytest.raises(ValueError, match="not a complete gzip file"):
            read(write(content, "table.csv.gz"))
    with pytest.raises(ValueError, match="not UTF-8 text: byte 0x8b.*a name ending in '.gz'"):
        read(write(packed, "table.csv"))


def test_quotation_that_is_not_closed(write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="not valid csv.*quotation mark not closed"):
        read(write('a,b\n1,"x\n2,y\n'))


def test_parquet_that_is_none(write: Any, library: str) -> None:
    for content, state in (("a,b\n1,2\n", "begins with b'a,b"), ("", "is empty")):
        with pytest.raises(ValueError, match=f"not a parquet file: it {state}.*format='csv'"):
            read(write(content, "table.parquet"))
    with pytest.raises(ValueError, match=f"{library} cannot read .* as parquet"):
        read(write(b"PAR1" + bytes(20), "table.parquet"))


def test_parquet_without_rows(tmp_path: Path, library: str) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), file)
    with pytest.raises(ValueError, match="has columns and no row of data"):
        read(file)
    with pytest.raises(ValueError, match="always has column names"):
        read(file, header=True)


# --- which library -------------------------------------------------------------------------------


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Give a set of names: the packages in it look as if they were not installed."""
    names: set[str] = set()
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name in names else find_spec(name),
    )
    return names


def test_the_first_installed_library_reads(write: Any, absent: set[str]) -> None:
    file = write("a,b\n1,2\n")
    for library in LIBRARIES:
        pytest.importorskip(library)
        assert library_of(read(file)) == library
        absent.add(library)
    with pytest.raises(ImportError, match="needs pandas, polars or pyarrow.*pip install"):
        read(file)


def test_parquet_needs_an_engine(tmp_path: Path, absent: set[str]) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("pandas")
    file = tmp_path / "table.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(file)
    absent |= {"pyarrow", "fastparquet"}
    assert library_of(read(file)) == "polars"
    absent.add("polars")
    with pytest.raises(ImportError, match="parquet with pandas needs pyarrow too"):
        read(file)


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_nul_characters_are_refused(write: Any, library: str, name: str) -> None:
    """pandas would take "a" for "a, NUL, b"."""
    for content in ("n,t\n1,x\n2,a\0b\n", 'n,t\n1,x\n2,"a\0b"\n', "n,t\n1,x\n2\0,y\n"):
        packed = gzip.compress(content.encode()) if name.endswith(".gz") else content
        with pytest.raises(ValueError, match=r"line 3 of '.*' holds a NUL character"):
            read(write(packed, name))


def test_utf_16_is_refused(write: Any, library: str) -> None:
    with pytest.raises(ValueError, match="save UTF-16 as UTF-8"):
        read(write("n,t\n1,x\n2,y\n".encode("utf-16-le")))
