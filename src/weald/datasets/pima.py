"""Diabetes among women of Pima heritage: 768 rows, eight measurements, two classes."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from weald.datasets.bundled import AsFrame, frame_of, read_bundled

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
pedigree         diabetes pedigree function: how much diabetes there is in the family
age              years

A zero in glucose, blood_pressure, skin_thickness, insulin or bmi stands for a missing value; the
zeros are left as they are. Rows, order and values are those of the original file
pima-indians-diabetes.data.

J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. Johannes (1988). Using the ADAP
learning algorithm to forecast the onset of diabetes mellitus. Proceedings of the Annual Symposium
on Computer Application in Medical Care, 261-265. Collected by the National Institute of Diabetes
and Digestive and Kidney Diseases; donated to UCI by V. Sigillito (1990).

UCI no longer hands these data out, nor does the R package mlbench, whose manual says that they
seem to have been shared without the consent of the people in them. Use them to repeat published
numbers, not to study people; see SOURCES.md beside the data file.
"""


def load_pima(*, as_frame: AsFrame = "auto") -> Bunch:
    """Load the Pima diabetes table: eight measurements of 768 women, two classes.

    Parameters
    ----------
    as_frame : {"auto", "pandas", "polars", "pyarrow", False, None}, default="auto"
        What `data` is. "auto": a frame of the first installed of pandas, polars and pyarrow, and a
        NumPy array when none is. A name: a frame of that library. False or None: a NumPy array
        (all of it float64).

    Returns
    -------
    Bunch
        ``data`` (in the order of the original file, missing values as zeros as there; int64
        columns, but ``bmi`` and ``pedigree`` float64), ``target`` (a NumPy array of int64, 1 =
        diabetes), ``feature_names``, ``target_names`` and ``DESCR``.

    Examples
    --------
    >>> from weald.datasets import load_pima
    >>> pima = load_pima()
    >>> pima.data.shape, int(pima.target.sum())
    ((768, 8), 268)
    """
    columns = read_bundled("pima", real=("bmi", "pedigree"))
    target = columns.pop("diabetes")
    return Bunch(
        data=frame_of(columns, as_frame),
        target=target,
        feature_names=list(columns),
        target_names=np.array(["no diabetes", "diabetes"]),
        DESCR=_DESCRIPTION,
    )
