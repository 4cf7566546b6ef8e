"""The bundled tables: shapes, types, kinds of frame, and equality with the original files."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from originals import original
from weald.data import reading
from weald.datasets import load_optdigits

LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]


def columns_of(frame: Any) -> list[str]:
    return list(frame.column_names if library_of(frame) == "pyarrow" else frame.columns)


def array_of(frame: Any) -> np.ndarray:
    return np.column_stack([np.asarray(frame[name]) for name in columns_of(frame)])


# --- optdigits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "n_rows"), [("train", 3823), ("test", 1797), ("all", 5620)])
def test_optdigits_parts(part: Any, n_rows: int) -> None:
    digits = load_optdigits(part=part, as_frame=False)
    assert digits.data.shape == (n_rows, 64)
    assert digits.data.dtype == np.int64
    assert (digits.data.min(), digits.data.max()) == (0, 16)
    assert digits.target.shape == (n_rows,)
    assert digits.target.dtype == np.int64
    assert np.unique(digits.target).tolist() == list(range(10))
    assert digits.target_names.tolist() == list(range(10))


def test_optdigits_train_is_the_default_and_all_is_train_then_test() -> None:
    train, test, both = (
        load_optdigits(part=part, as_frame=None) for part in ("train", "test", "all")
    )
    assert np.array_equal(load_optdigits(as_frame=False).data, train.data)
    assert np.array_equal(both.data, np.vstack([train.data, test.data]))
    assert np.array_equal(both.target, np.concatenate([train.target, test.target]))


def test_optdigits_test_part_is_the_digits_of_scikit_learn() -> None:
    ours, theirs = load_optdigits(part="test", as_frame=False), load_digits()
    assert np.array_equal(ours.data, theirs.data)
    assert np.array_equal(ours.target, theirs.target)
    assert ours.feature_names == theirs.feature_names


def test_optdigits_class_counts_are_those_of_its_description_at_uci() -> None:
    train, test = load_optdigits(part="train"), load_optdigits(part="test")
    assert np.bincount(train.target).tolist() == [376, 389, 380, 389, 387, 376, 377, 387, 380, 382]
    assert np.bincount(test.target).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_optdigits_unknown_part() -> None:
    with pytest.raises(ValueError, match="part='valid' .* 'train', 'test', 'all'"):
        load_optdigits(part="valid")  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "name"), [("train", "optdigits.tra"), ("test", "optdigits.tes")])
def test_optdigits_equals_the_original_row_for_row(part: Any, name: str) -> None:
    file = np.loadtxt(original(name), delimiter=",", dtype=np.int64)
    digits = load_optdigits(part=part, as_frame=False)
    assert np.array_equal(np.column_stack([digits.data, digits.target]), file)


# --- frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_frame_of_a_named_library(library: Any) -> None:
    pytest.importorskip(library)
    table = load_optdigits(as_frame=library)
    assert library_of(table.data) == library
    assert columns_of(table.data) == table.feature_names
    assert np.array_equal(array_of(table.data), load_optdigits(as_frame=False).data)
    assert isinstance(table.target, np.ndarray)


def test_auto_takes_the_first_installed_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in LIBRARIES:
        pytest.importorskip(library)
    find_spec = importlib.util.find_spec
    for n_absent, expected in enumerate([*LIBRARIES, "numpy"]):
        absent = LIBRARIES[:n_absent]
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, absent=absent: None if name in absent else find_spec(name),
        )
        assert library_of(load_optdigits().data) == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_absent(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=f"not installed; pip install {library}"):
        load_optdigits(as_frame=library)


@pytest.mark.parametrize("wrong", [True, "numpy", 0])
def test_unknown_as_frame(wrong: Any) -> None:
    with pytest.raises(ValueError, match="as_frame=.* expected one of 'auto', 'pandas'"):
        load_optdigits(as_frame=wrong)


def test_two_loads_share_nothing() -> None:
    first = load_optdigits(as_frame=False)
    first.data[:] = -1
    first.target[:] = -1
    assert load_optdigits(as_frame=False).data.min() == 0
    assert load_optdigits().target.min() == 0


# --- the files -----------------------------------------------------------------------------------


def test_the_package_holds_one_data_file_and_not_pima() -> None:
    names = [file.name for file in files("weald.datasets").iterdir()]
    assert [name for name in names if name.endswith(".gz")] == ["optdigits.csv.gz"]


def test_data_file_is_small_and_carries_no_time_stamp() -> None:
    content = files("weald.datasets").joinpath("optdigits.csv.gz").read_bytes()
    assert len(content) < 200_000
    assert content[3:8] == bytes(5)  # no file name, time stamp 0


def test_description_names_the_source() -> None:
    assert "UCI" in load_optdigits().DESCR


def test_bundled_file_can_be_read_like_any_other() -> None:
    pytest.importorskip("pandas")
    file = files("weald.datasets").joinpath("optdigits.csv.gz")
    X, y = reading.read(str(file), target="digit")
    digits = load_optdigits(part="all", as_frame="pandas")
    assert X.equals(digits.data)
    assert y.tolist() == digits.target.tolist()
