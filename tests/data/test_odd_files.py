"""`weald.read` with damaged and odd files: a table, or one line that names the place."""

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from weald.data.reading import read

ROWS = [f"{i},{'xy'[i % 2]},{i % 3}" for i in range(30)]
TEXT = "\n".join(["num,cat,label", *ROWS]) + "\n"
FRAME = pd.DataFrame({"num": np.arange(30.0), "cat": list("xy") * 15, "label": [0, 1, 1] * 10})


def saved(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mixed.csv", "\r\n".join(["num,cat,label", *ROWS[:10]]) + "\n" + "\r".join(ROWS[10:])),
        ("bom.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("semicolon.csv", TEXT.replace(",", ";")),
        ("long.csv", TEXT.replace("x", "x" * 300_000, 1)),
        ("quoted.csv", TEXT.replace("x", '"a\nb""c, d"')),
        ("whole.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("lines.jsonl", FRAME.to_json(orient="records", lines=True)),
    ],
)
def test_odd_files_that_are_tables(tmp_path, name, content) -> None:
    X, y = read(saved(tmp_path / name, content), target="label")
    assert X.shape == (30, 2)
    assert list(X.columns) == ["num", "cat"]
    assert list(y[:3]) in ([0, 1, 2], [0, 1, 1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n\n", "is empty"),
        ("a.csv", "num,cat,label\n", "a header and no row of data"),
        ("a.csv", "a,a,label\n" + "\n".join(ROWS), "repeats 'a'"),
        ("a.csv", TEXT + "1,2\n", "line 32 .* 2 cells; expected 3"),
        ("a.csv", TEXT + "1,x,0,9\n", "line 32 .* 4 cells; expected 3"),
        ("a.csv", TEXT + '1,"abc,0\n' + TEXT, "not closed. The row begins on line 32"),
        ("a.csv", TEXT.replace("x", "x\0", 1), "line 2 .* NUL"),
        ("a.csv", bytes(1000), "line 1 .* NUL"),
        ("a.csv", TEXT.encode("utf-16"), "not UTF-8 text: byte 0xff at position 0, line 1"),
        ("a.csv", TEXT.replace("x", "ü", 1).encode("latin-1"), "not UTF-8.*line 2"),
        ("a.csv.gz", gzip.compress(TEXT.encode(), mtime=0)[:-20], "not a complete gzip file"),
        ("a.csv.gz", TEXT, "not a complete gzip file"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd\x04abc", "zst"),
        ("a.parquet", b"", "is empty"),
        ("a.parquet", TEXT, "not a parquet file"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "line 2, column 8 .* not valid JSON"),
        ("a.jsonl", '{"a": 1}\n[1]\n', "line 2 .* list"),
        ("a.libsvm", "1 1:0.5\n0 1:x\n", "line 2 .* '1:x' as entry 2"),
        ("a.libsvm", "1 99999999999:0.5\n", "line 1 .* index up to"),
        ("a.libsvm", f"1 {2**31}:0.5\n", "line 1 .* index up to"),
    ],
)
def test_files_that_are_no_table(tmp_path, name, content, message) -> None:
    file = saved(tmp_path / name, content)
    with pytest.raises(ValueError, match=message) as caught:
        read(file)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(("kind", "suffix"), [("to_parquet", "parquet"), ("to_feather", "feather")])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated_tables(tmp_path, kind, suffix, share) -> None:
    whole = tmp_path / f"whole.{suffix}"
    getattr(FRAME, kind)(whole)
    content = whole.read_bytes()
    file = saved(tmp_path / f"part.{suffix}", content[: int(share * len(content))])
    with pytest.raises(ValueError, match=re.escape(file.name)) as caught:
        read(file)
    assert "\n" not in str(caught.value)


def test_an_index_behind_a_question_mark(tmp_path) -> None:
    numbers = "\n".join(",".join(map(str, range(i, i + 65))) for i in range(30))
    file = saved(tmp_path / "wide.data", numbers)
    X, y = read(f"{file}?format=csv&label_column=64")
    assert X.shape == (30, 64)
    assert list(y[:2]) == [64, 65]
    with pytest.raises(ValueError, match="65 is out of range .* from 0 to 64"):
        read(f"{file}?format=csv&label_column=65")


@pytest.mark.parametrize("path", ["http://example.org/a.csv", "s3://bucket/a.csv", "file:///a.csv"])
def test_addresses_are_not_fetched(path) -> None:
    with pytest.raises(ValueError, match="is an address; weald reads files only"):
        read(path)


@pytest.mark.parametrize("path", [b"a.csv", 3, None])
def test_what_is_no_path(path) -> None:
    with pytest.raises(TypeError, match="path must be a str or a path"):
        read(path)


def test_no_file_and_a_folder(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no file .*none.csv"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)
