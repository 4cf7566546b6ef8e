"""The optdigits dataset: 8x8 images of handwritten digits, 3823 training and 1797 test rows."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils import Bunch

from weald.datasets.bundled import AsFrame, frame_of, read_bundled

# The file holds the training rows first, then the test rows.
_N_TRAIN = 3823
_PARTS = {"train": slice(_N_TRAIN), "test": slice(_N_TRAIN, None), "all": slice(None)}

_DESCRIPTION = """\
Optical Recognition of Handwritten Digits (optdigits)

5620 digits written by 43 people: 3823 by 30 of them for training, 1797 by the other 13 for test.
Normalised 32x32 bitmaps were divided into 4x4 blocks; pixel_r_c is the number of black pixels in
the block of row r and column c, an integer from 0 to 16. The target is the digit. There are no
missing values.

Rows, order and values are those of the original files optdigits.tra and optdigits.tes; part="test"
is also scikit-learn's load_digits.

E. Alpaydin and C. Kaynak (1998). Optical Recognition of Handwritten Digits. UCI Machine Learning
Repository, doi:10.24432/C50P49. Licence: Creative Commons Attribution 4.0 (CC BY 4.0).
C. Kaynak (1995). Methods of Combining Multiple Classifiers and Their Applications to Handwritten
Digit Recognition. MSc thesis, Bogazici University.
"""


def load_optdigits(
    *, part: Literal["train", "test", "all"] = "train", as_frame: AsFrame = "auto"
) -> Bunch:
    """Load the handwritten digits (optdigits): 64 pixel counts from 0 to 16, ten classes.

    Parameters
    ----------
    part : {"train", "test", "all"}, default="train"
        The 3823 training rows, the 1797 test rows (other writers), or the training rows followed by
        the test rows. Rows are in the order of the original files.
    as_frame : {"auto", "pandas", "polars", "pyarrow", False, None}, default="auto"
        Type of `data`: a data frame of the named library, or a NumPy array for False or None.
        "auto" uses the first installed of pandas, polars and pyarrow, else a NumPy array.

    Returns
    -------
    Bunch
        ``data`` (int64 columns ``pixel_0_0`` to ``pixel_7_7``, in row-major order),
        ``target`` (a NumPy array of int64, 0 to 9), ``feature_names``, ``target_names`` and
        ``DESCR``.

    Examples
    --------
    >>> from weald.datasets import load_optdigits
    >>> digits = load_optdigits(part="test")
    >>> digits.data.shape, digits.target[:10].tolist()
    ((1797, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if part not in _PARTS:
        choices = ", ".join(map(repr, _PARTS))
        raise ValueError(f"part={part!r} is not understood; expected one of {choices}")
    columns = {name: values[_PARTS[part]] for name, values in read_bundled("optdigits").items()}
    target = columns.pop("digit")
    return Bunch(
        data=frame_of(columns, as_frame),
        target=target,
        feature_names=list(columns),
        target_names=np.arange(10),
        DESCR=_DESCRIPTION,
    )
