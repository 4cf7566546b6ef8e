"""Rows with a survival target: one number per row, negative if it was censored."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows, ValidationRows, number_rows, validation_numbers
from weald.data.validation import is_several
from weald.ensembles.base import Floats
from weald.survival.targets import Target, read_target, refuse_all_censored

# Stands for a time of zero, which has no sign.
_TINY = 5e-324


def signed_times(y: Any, name: str = "y") -> Floats:
    """The time of each row, negative if it was censored; zero becomes the smallest number.

    >>> from weald.survival import target
    >>> signed_times(target([1, 0], [2.0, 3.0])).tolist()
    [2.0, -3.0]
    """
    event, time = read_target(y, name)
    later = np.maximum(time, _TINY)
    return np.where(event, later, -later)


def from_signed(signed: Floats) -> Target:
    """The inverse of `signed_times`.

    >>> event, time = from_signed(np.array([2.0, -3.0, -5e-324]))
    >>> event.tolist(), time.tolist()
    ([True, False, False], [2.0, 3.0, 0.0])
    """
    time = np.abs(signed)
    return Target(signed > 0.0, np.where(time == _TINY, 0.0, time))


def survival_rows(model: Any, X: object, y: Any, sample_weight: object) -> tuple[Rows, Floats]:
    """Rows with signed times, and the signed times of all rows, those of weight zero included."""
    signed = signed_times(y)
    rows = number_rows(model, X, signed, sample_weight)
    refuse_all_censored(rows.target > 0.0, "y" if rows.n == len(signed) else "y with a weight")
    return rows, signed


def survival_validation(
    model: Any, X_val: Any, y_val: Any, sample_weight_val: object
) -> ValidationRows | None:
    """The validation sets with signed times."""
    if is_several(y_val):
        y_val = {name: signed_times(own, f"y_val[{name!r}]") for name, own in y_val.items()}
    elif y_val is not None:
        y_val = signed_times(y_val, "y_val")
    validation = validation_numbers(model, X_val, y_val, sample_weight_val)
    if validation is not None:
        for one, part in validation.parts():
            refuse_all_censored(validation.target[part] > 0.0, f"y_val of the set {one.name!r}")
    return validation


def places_of(signed: Floats, grid: Floats) -> Floats:
    """Places of signed times on a grid: 2, 4, ... at its times, odd numbers between them.

    >>> places_of(np.array([2.0, -3.0, 9.0]), np.array([2.0, 5.0])).tolist()
    [2.0, -3.0, 5.0]
    """
    time = np.abs(signed)
    before = np.searchsorted(grid, time, side="left")
    is_on = np.append(grid, np.inf)[before] == time
    return np.asarray(np.copysign(2.0 * before + 1.0 + is_on, signed))


def in_places(
    rows: Rows, validation: ValidationRows | None
) -> tuple[Rows, ValidationRows | None, Floats]:
    """Replace times by their places among the times of the rows; also return these times."""
    grid = np.unique(np.abs(rows.target))
    placed = replace(rows, y=places_of(rows.target, grid))
    if validation is not None:
        validation = replace(validation, target=places_of(validation.target, grid))
    return placed, validation, grid


def signed_of_places(places: Floats, grid: Floats) -> Floats:
    """The signed times of training rows, by their places.

    >>> signed_of_places(np.array([2.0, -4.0]), np.array([2.5, 5.0])).tolist()
    [2.5, -5.0]
    """
    index = (np.abs(places) / 2.0).astype(np.intp) - 1
    return np.asarray(np.copysign(grid[index], places))


def by_event(target: Floats) -> NDArray[np.int64]:
    """Stratum of each row: whether its event was seen."""
    return (target > 0.0).astype(np.int64)
