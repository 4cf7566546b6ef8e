"""Multi-output targets: one column of y per output."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.rows import Rows
from weald.data.tables import table_for_fit
from weald.data.targets import (
    checked_labels,
    finite_target,
    numbered_classes,
    read_once,
    refuse_text,
)


def label_rows(
    estimator: object, X: object, y: object, sample_weight: object
) -> tuple[Rows, list[NDArray[Any]]]:
    """Return rows with a class code per output, and the sorted classes of each output.

    Codes are consecutive over all outputs, so that they are unique.
    """
    y, sample_weight = read_once(y, sample_weight)
    table, labels = _table_and_target(estimator, X, y, sample_weight, y_numeric=False)
    classes, columns, n_before = [], [], 0
    for k in range(labels.shape[1]):
        column = checked_labels(labels[:, k])
        own, numbers_of_rows = numbered_classes(column)
        classes.append(own)
        columns.append(numbers_of_rows + n_before)
        n_before += len(own)
    target = np.column_stack(columns).astype(np.float64)
    return Rows(table, target).weighted(sample_weight), classes


def vector_rows(estimator: object, X: object, y: object, sample_weight: object) -> Rows:
    """Return rows with a finite number per output as target."""
    y, sample_weight = read_once(y, sample_weight)
    refuse_text(y)
    table, values = _table_and_target(estimator, X, y, sample_weight, y_numeric=True)
    target = np.column_stack([finite_target(column) for column in values.T])
    _refuse_far_sizes(target)
    return Rows(table, target).weighted(sample_weight)


def first_classes(classes: Sequence[NDArray[Any]]) -> list[int]:
    """Return the offset of each output's classes, and the total number of classes.

    >>> first_classes([np.array(["a", "b"]), np.array([1, 2, 3])])
    [0, 2, 5]
    """
    return [0, *np.cumsum([len(own) for own in classes]).tolist()]


def _table_and_target(
    estimator: object, X: object, y: Any, sample_weight: object, *, y_numeric: bool
) -> tuple[Any, NDArray[Any]]:
    return table_for_fit(
        estimator, X, y, y_numeric=y_numeric, sample_weight=sample_weight, multi_output=True
    )


# Outputs share a scale: with a larger range of binary exponents, the smallest would underflow.
_FAR = 900


def _refuse_far_sizes(target: NDArray[np.float64]) -> None:
    largest = np.abs(target).max(axis=0)
    exponents = np.frexp(largest)[1]
    exponents = np.where(largest > 0, exponents, exponents.max())
    if exponents.max() - exponents.min() > _FAR:
        raise ValueError(
            f"The outputs of y differ in size by more than 2**{_FAR}: output "
            f"{exponents.argmax()} reaches {largest[exponents.argmax()]:g}, output "
            f"{exponents.argmin()} only {largest[exponents.argmin()]:g}. Scale them."
        )
