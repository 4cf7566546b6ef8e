"""Training rows of ensembles of any base estimators: any table, target, weights and groups."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from weald.data import (
    advise_of_one_class,
    checked_labels,
    checked_weights,
    finite_target,
    has_several,
    in_fitted_order,
    naming_missing,
    numbered_classes,
    readable_table,
    readable_target,
    refuse_missing_labels,
    refuse_several,
    refuse_text,
)
from weald.ensembles.members.members import Indices, has_rows, n_rows_of, take
from weald.groups import checked_group_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Training rows of positive weight; the values of X are validated by the base estimators.

    `y` holds class indices or numbers. `place` is, for each row passed to fit, its index here, or
    -1 if its weight is zero.
    """

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    groups: NDArray[Any] | None
    place: Indices

    @property
    def n(self) -> int:
        return len(self.y)

    def cut(self, values: Any) -> Any:
        """Reduce a value with one entry per row passed to fit to these rows; others unchanged."""
        kept = self.place >= 0
        if kept.all() or not has_rows(values, len(kept)):
            return values
        return take(values, np.flatnonzero(kept))

    def take(self, index: Indices) -> "Sample":
        """Select rows, in the given order."""
        return Sample(
            take(self.X, index),
            self.y[index],
            None if self.weight is None else self.weight[index],
            None if self.groups is None else self.groups[index],
            np.full(len(self.place), -1),
        )


def class_sample(
    owner: Any, X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Sample, NDArray[Any]]:
    """Training rows of a classifier, with class indices as target, and the sorted classes.

    The classes are those of all rows, including rows of weight zero.
    """
    X = as_table(X)
    labels = checked_labels(_checked(owner, X, y))
    classes, numbers = numbered_classes(labels)
    advise_of_one_class(classes, len(labels))
    return _weighted(X, numbers, sample_weight, groups), classes


def label_sample(
    owner: Any, X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Sample, list[NDArray[Any]]]:
    """Training rows of a classifier of several outputs, and the sorted classes of each."""
    X = as_table(X)
    labels = _checked(owner, X, y, several=True)
    found = [numbered_classes(checked_labels(labels[:, k])) for k in range(labels.shape[1])]
    numbers = np.column_stack([numbers for _, numbers in found])
    return _weighted(X, numbers, sample_weight, groups), [classes for classes, _ in found]


def number_sample(
    owner: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, several: bool = False
) -> Sample:
    """Training rows of a regressor; `several`: y may have more than one column."""
    X, y = as_table(X), readable_target(y)
    refuse_text(y)
    target = _checked(owner, X, y, several=several and has_several(y))
    if target.ndim == 2:
        target = np.column_stack([finite_target(column) for column in target.T])
    return _weighted(
        X, target if target.ndim == 2 else finite_target(target), sample_weight, groups
    )


def as_table(X: Any) -> Any:
    """Convert lists of rows to an array, and objects with a data-frame interface to a table."""
    X = readable_table(X)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (list, tuple, np.ndarray)):
        array = np.asarray(X)
        # An array of text would turn numbers into text too; such lists are left unchanged.
        return X if array.dtype.kind in "US" else array
    return X


def table_to_predict(owner: Any, X: Any) -> Any:
    """X with the columns in the order of the fit; values are validated by the base estimators."""
    X = as_table(X)
    if getattr(X, "ndim", 2) == 2:
        X = in_fitted_order(owner, X)
        validate_data(owner, X, reset=False, skip_check_array=True)
    return X


def _checked(owner: Any, X: Any, y: Any, *, several: bool = False) -> NDArray[Any]:
    """Validate the target and the shape of X; set the column attributes of `owner`."""
    y = readable_target(y)
    if not several:
        refuse_several(owner, y)
    validate_data(owner, X, y, skip_check_array=True)
    if y is not None and not hasattr(y, "__array__"):
        y = np.asarray(y)
    target = np.asarray(y) if several else column_or_1d(y, warn=True)
    check_consistent_length(X, target)
    shape = getattr(X, "shape", (n_rows_of(X),))
    for axis, what in enumerate(("sample(s)", "feature(s)")[: len(shape)]):
        if shape[axis] == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={tuple(shape)}) while a minimum of 1 is "
                f"required by {type(owner).__name__}."
            )
    target = np.asarray(target)
    if target.dtype == object:
        for column in target.reshape(len(target), -1).T:
            refuse_missing_labels(column)
    with naming_missing(target):
        assert_all_finite(target, input_name="y")
    return target


def _weighted(X: Any, y: NDArray[Any], sample_weight: Any, groups: Any) -> Sample:
    """Drop rows of weight zero, so that base estimators without weights do not see them."""
    place = np.arange(len(y))
    if groups is not None:
        groups = checked_group_labels(groups, len(y))
    if sample_weight is None:
        return Sample(X, y, None, groups, place)
    weight = checked_weights(sample_weight, len(y))
    if (weight > 0).all():
        return Sample(X, y, weight, groups, place)
    kept = np.flatnonzero(weight > 0)
    some = Sample(X, y, weight, groups, place).take(kept)
    some.place[kept] = np.arange(len(kept))
    return some
