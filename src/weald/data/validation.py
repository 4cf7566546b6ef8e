"""Rows to judge by: checked against the columns of a fit, read as its table, never learnt from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from weald.data.rows import Floats, checked_weights, moderate_weights
from weald.data.sources import AnyTable, ColumnTable, SparseTable
from weald.data.tables import dense_blocks, table_for_predict
from weald.data.targets import finite_target, readable_target, refuse_missing_labels
from weald.errors import listing


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """What `X_val`, `y_val` and `sample_weight_val` of a fit hold, row for row as given.

    `counted` marks the rows that have a weight (None: all have).
    """

    X: Any  # as the user gave it
    labels: NDArray[Any]  # likewise
    table: Any  # checked; `below` puts it under the table of the fit
    target: Floats
    counted: NDArray[np.bool_] | None
    weight: Floats | None

    @property
    def n(self) -> int:
        return len(self.target)

    def below(self, table: AnyTable) -> AnyTable:
        """The table of the fit with these rows after its own."""
        if isinstance(table, SparseTable):
            from scipy import sparse

            own = self.table
            if not hasattr(own, "tocsc"):
                own = sparse.csc_matrix(np.concatenate(list(dense_blocks(own))))
            return SparseTable(sparse.vstack([table.columns, own], format="csc"))
        rows = np.concatenate(list(dense_blocks(self.table)))
        if isinstance(table, ColumnTable):
            columns = (np.concatenate([one, rows[:, i]]) for i, one in enumerate(table.columns))
            return replace(table, columns=tuple(columns))
        return np.concatenate([table, rows])


def validation_numbers(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object
) -> ValidationRows | None:
    """Rows whose target is a finite number; None if there are none."""
    if _is_absent(X_val, y_val, sample_weight_val):
        return None
    table, values = _checked(estimator, X_val, y_val)
    with _naming("y_val"):
        target = finite_target(values)
    return _weighed(X_val, values, table, target, sample_weight_val)


def validation_classes(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object, classes: NDArray[Any]
) -> ValidationRows | None:
    """Rows whose target is the number of one of the `classes`; None if there are none."""
    if _is_absent(X_val, y_val, sample_weight_val):
        return None
    table, labels = _checked(estimator, X_val, y_val)
    with _naming("y_val"):
        refuse_missing_labels(labels)
    place = {label: i for i, label in enumerate(classes.tolist())}
    found = labels.tolist()
    unseen = dict.fromkeys(label for label in found if label not in place)
    if unseen:
        raise ValueError(
            f"y_val contains labels that y does not: {listing(unseen)}. A model has no score for "
            f"them; its classes are {listing(classes.tolist())}. Drop those rows of X_val, or "
            "train on rows of these classes too."
        )
    target = np.array([place[label] for label in found], dtype=np.float64)
    return _weighed(X_val, labels, table, target, sample_weight_val)


def _is_absent(X_val: Any, y_val: Any, sample_weight_val: object) -> bool:
    given = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
    there = [name for name, value in given.items() if value is not None]
    if there and (X_val is None or y_val is None):
        lacking = [name for name in ("X_val", "y_val") if given[name] is None]
        raise ValueError(
            f"{' and '.join(there)} is given without {' and '.join(lacking)}. Rows to judge by "
            "need X_val and y_val together; sample_weight_val is optional."
        )
    return not there


def _checked(estimator: object, X_val: Any, y_val: Any) -> tuple[Any, NDArray[Any]]:
    with _naming("X_val"):
        table = table_for_predict(estimator, X_val)
    with _naming("y_val"):
        values = column_or_1d(readable_target(y_val))
    if len(values) != table.shape[0]:
        raise ValueError(
            f"X_val has {table.shape[0]} rows and y_val has {len(values)}; each row of X_val needs "
            "its target."
        )
    return table, values


def _weighed(
    X: Any, labels: NDArray[Any], table: Any, target: Floats, sample_weight: object
) -> ValidationRows:
    if sample_weight is None:
        return ValidationRows(X, labels, table, target, None, None)
    with _naming("sample_weight_val"):
        weight = checked_weights(sample_weight, len(target))
    # Only their ratios matter here.
    return ValidationRows(X, labels, table, target, weight > 0, moderate_weights(weight)[0])


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Say of an error of common checks that it was found in `what`."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error
