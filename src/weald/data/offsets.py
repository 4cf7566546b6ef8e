"""Offsets: raw scores given for each row, to which a model adds its own."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.rows import Floats, Rows, as_numbers
from weald.data.targets import LARGEST_TARGET
from weald.data.validation import ValidationRows, by_set, is_several

# Exponentials of larger offsets would leave no precision for those of other rows.
_LARGEST_EXPONENT = 200.0


def with_offset(
    rows: Rows, offset: object, kept: NDArray[np.bool_], n_scores: int, *, of_exponents: bool
) -> Rows:
    """Set the offsets, given for all rows of the fit; `kept` masks the rows in `rows`."""
    if offset is None:
        return rows
    checked = checked_offset(offset, len(kept), n_scores, of_exponents=of_exponents)
    return replace(rows, offset=checked[kept])


def validation_with_offset(
    validation: ValidationRows | None,
    rows: Rows,
    X_val: object,
    offset: object,
    *,
    of_exponents: bool,
) -> ValidationRows | None:
    """Set the offsets of a validation set: given if the training rows have some, and only then."""
    if validation is None:
        if offset is not None:
            raise ValueError(
                "offset_val is given without X_val and y_val. It holds the offsets of that "
                "validation set; leave it out, or pass all three."
            )
        return None
    if (offset is None) != (rows.offset is None):
        given, lacking = ("offset", "offset_val") if offset is None else ("offset_val", "offset")
        raise ValueError(
            f"{given} is given without {lacking}: training and validation rows both need offsets, "
            f"or neither. Pass {lacking}, with zeros for rows without one."
        )
    if offset is None or rows.offset is None:
        return validation
    n_scores, offsets = rows.offset.shape[1], by_set(offset, "offset_val", X_val)
    checked = []
    for one in validation.sets:
        place = f"[{one.name!r}]" if is_several(X_val) else ""
        own = checked_offset(
            offsets[one.name],
            one.n,
            n_scores,
            of_exponents=of_exponents,
            name=f"offset_val{place}",
            table=f"X_val{place}",
        )
        checked.append(own)
    return replace(validation, offset=np.concatenate(checked))


def checked_offset(
    offset: Any,
    n_rows: int,
    n_scores: int,
    *,
    of_exponents: bool,
    name: str = "offset",
    table: str = "X",
) -> Floats:
    """Return offsets of shape (rows, scores), or raise TypeError or ValueError.

    Parameters
    ----------
    n_scores
        Number of raw scores per row: if one, offsets have the shape (rows,) or (rows, 1).
    of_exponents
        Whether predictions are functions of exp(score).
    name, table
        Names of the arguments, for messages.

    Examples
    --------
    >>> checked_offset([0.0, 0.5], 2, 1, of_exponents=True).tolist()
    [[0.0], [0.5]]
    >>> checked_offset([0.0, 365.0], 2, 1, of_exponents=True)
    Traceback (most recent call last):
    ValueError: offset holds 365.0 in row 1, of which the exponential is taken: at most 200 in size
    is possible. Pass logarithms, such as np.log(exposure), not the exposure itself.
    """
    values = as_numbers(offset, name, "offset")
    expected = [(n_rows,), (n_rows, 1)] if n_scores == 1 else [(n_rows, n_scores)]
    if values.shape not in expected:
        what = "number" if n_scores == 1 else f"row of {n_scores} raw scores"
        raise ValueError(
            f"{name} has the shape {values.shape}, expected {expected[0]}: one {what} for each row "
            f"of {table}."
        )
    values = values.reshape(n_rows, n_scores)
    largest = np.abs(values).max(axis=1, initial=0.0)
    limit = _LARGEST_EXPONENT if of_exponents else LARGEST_TARGET
    bad = np.flatnonzero(~(largest <= limit))
    if bad.size:
        row = int(bad[0])
        value = values[row][~(np.abs(values[row]) <= limit)][0]
        if not np.isfinite(value):
            raise ValueError(
                f"{name} contains NaN or infinity: row {row} has {value}. Offsets must be finite; "
                "the logarithm of an exposure of 0 is infinite: give such rows the weight 0 and "
                "the offset 0, or remove them."
            )
        why = "of which the exponential is taken: " if of_exponents else ""
        remedy = (
            "Pass logarithms, such as np.log(exposure), not the exposure itself."
            if of_exponents
            else "Scale target and offsets."
        )
        raise ValueError(
            f"{name} holds {value} in row {row}, {why}at most {limit:g} in size is possible. "
            f"{remedy}"
        )
    return values
