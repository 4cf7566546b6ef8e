"""Validation sets, checked against the columns of a fit."""

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
    """Validation set of a fit: `X_val`, `y_val` and `sample_weight_val`, with all rows as given.

    `counted` is the mask of rows with positive weight (None: all). `offset` are raw scores of shape
    (rows, scores).
    """

    X: Any  # as passed by the user
    labels: NDArray[Any]  # likewise
    table: Any  # validated; `below` appends it to the training table
    target: Floats
    counted: NDArray[np.bool_] | None
    weight: Floats | None
    offset: Floats | None = None

    @property
    def n(self) -> int:
        return len(self.target)

    def below(self, table: AnyTable) -> AnyTable:
        """Append these rows to the training table."""
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
    """Return a validation set for regression; None if none is given."""
    if _is_absent(X_val, y_val, sample_weight_val):
        return None
    table, values = _checked(estimator, X_val, y_val)
    with _naming("y_val"):
        target = finite_target(values)
    return _weighted(X_val, values, table, target, sample_weight_val)


def validation_classes(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object, classes: NDArray[Any]
) -> ValidationRows | None:
    """Return a validation set with codes of the `classes`; None if none is given."""
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
            f"y_val contains labels that are not in y: {listing(unseen)}. The classes of y are "
            f"{listing(classes.tolist())}. Drop those rows of X_val, or train on rows of these "
            "classes too."
        )
    target = np.array([place[label] for label in found], dtype=np.float64)
    return _weighted(X_val, labels, table, target, sample_weight_val)


def _is_absent(X_val: Any, y_val: Any, sample_weight_val: object) -> bool:
    arguments = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
    given = [name for name, value in arguments.items() if value is not None]
    if given and (X_val is None or y_val is None):
        lacking = [name for name in ("X_val", "y_val") if arguments[name] is None]
        raise ValueError(
            f"{' and '.join(given)} is given without {' and '.join(lacking)}. A validation set "
            "requires both X_val and y_val; sample_weight_val is optional."
        )
    return not given


def _checked(estimator: object, X_val: Any, y_val: Any) -> tuple[Any, NDArray[Any]]:
    with _naming("X_val"):
        table = table_for_predict(estimator, X_val)
    with _naming("y_val"):
        values = column_or_1d(readable_target(y_val))
    if len(values) != table.shape[0]:
        raise ValueError(
            f"X_val has {table.shape[0]} rows and y_val has {len(values)}; they must have the same "
            "number of rows."
        )
    return table, values


def _weighted(
    X: Any, labels: NDArray[Any], table: Any, target: Floats, sample_weight: object
) -> ValidationRows:
    if sample_weight is None:
        return ValidationRows(X, labels, table, target, None, None)
    with _naming("sample_weight_val"):
        weight = checked_weights(sample_weight, len(target))
    # Only ratios of weights matter here.
    return ValidationRows(X, labels, table, target, weight > 0, moderate_weights(weight)[0])


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Prefix errors with the name of the argument."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error
