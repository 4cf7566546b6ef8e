"""The rows an ensemble of members is fitted on: any table, a target, weights and groups."""

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
    """Rows of positive weight; what a table holds is left to the members.

    `y` holds class numbers or values. `place` gives, for every row that was passed to fit, its
    number here, or -1 if it has no weight.
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
        """What was given for the rows passed to fit, for these rows; other things as they are."""
        kept = self.place >= 0
        if kept.all() or not has_rows(values, len(kept)):
            return values
        return take(values, np.flatnonzero(kept))

    def take(self, index: Indices) -> "Sample":
        """Those rows, in that order."""
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
    """Rows whose target is the number of their class, and the classes, sorted.

    The classes come from all rows, also from those of weight zero.
    """
    X = as_table(X)
    labels = checked_labels(_checked(owner, X, y))
    classes, numbers = numbered_classes(labels)
    advise_of_one_class(classes, len(labels))
    return _weighted(X, numbers, sample_weight, groups), classes


def number_sample(owner: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> Sample:
    """Rows whose target is a finite number."""
    X, y = as_table(X), readable_target(y)
    refuse_text(y)
    return _weighted(X, finite_target(_checked(owner, X, y)), sample_weight, groups)


def as_table(X: Any) -> Any:
    """Lists of numbers as an array, and whatever offers to become a table as one."""
    X = readable_table(X)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], (list, tuple, np.ndarray)):
        array = np.asarray(X)
        # Beside text, numbers would become text: a list of such rows stays one.
        return X if array.dtype.kind in "US" else array
    return X


def asked_table(owner: Any, X: Any) -> Any:
    """X with the columns of the fit; what a table must be besides is for the members to say."""
    X = as_table(X)
    if getattr(X, "ndim", 2) == 2:
        X = in_fitted_order(owner, X)
        validate_data(owner, X, reset=False, skip_check_array=True)
    return X


def _checked(owner: Any, X: Any, y: Any) -> NDArray[Any]:
    """The target as one column, as long as the table; remembers the table's columns."""
    y = readable_target(y)
    refuse_several(owner, y)
    validate_data(owner, X, y, skip_check_array=True)
    if y is not None and not hasattr(y, "__array__"):
        y = np.asarray(y)
    target = column_or_1d(y, warn=True)
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
        refuse_missing_labels(target)
    with naming_missing(target):
        assert_all_finite(target, input_name="y")
    return target


def _weighted(X: Any, y: NDArray[Any], sample_weight: Any, groups: Any) -> Sample:
    """Leave out the rows of weight zero: a member that knows no weights must not see them."""
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
