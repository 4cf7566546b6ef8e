"""Validation sets, checked against the columns of a fit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from weald.data.parts.table import PartsTable
from weald.data.rows import Floats, checked_weights, moderate_weights
from weald.data.sources import AnyTable, ColumnTable, SparseTable
from weald.data.tables import dense_blocks, table_for_predict
from weald.data.targets import finite_target, readable_target, refuse_missing_labels
from weald.errors import listing

# Name of a validation set that is not one of several, and of the training rows in curves.
ONE_SET, _TRAINING = "validation", "train"


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """One validation set, with all rows as given."""

    name: str
    X: Any  # as passed by the user
    labels: NDArray[Any]  # likewise
    table: Any  # validated; `below` appends it to the training table

    @property
    def n(self) -> int:
        return len(self.labels)

    def below(self, table: AnyTable) -> AnyTable:
        """Append these rows to the training table."""
        with _naming("X_val" if self.name == ONE_SET else f"X_val[{self.name!r}]"):
            return self._below(table)

    def _below(self, table: AnyTable) -> AnyTable:
        if isinstance(table, SparseTable):
            from scipy import sparse

            own = self.table
            if not hasattr(own, "tocsc"):
                own = sparse.csc_matrix(np.concatenate(list(dense_blocks(own))))
            return SparseTable(sparse.vstack([table.columns, own], format="csc"))
        rows = np.concatenate(list(dense_blocks(self.table)))
        if isinstance(table, PartsTable):
            return table.above(rows)
        if isinstance(table, ColumnTable):
            columns = (np.concatenate([one, rows[:, i]]) for i, one in enumerate(table.columns))
            return replace(table, columns=tuple(columns))
        return np.concatenate([table, rows])


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The rows of all validation sets of a fit, set after set.

    `counted` is the mask of rows with positive weight (None: all). Only ratios of weights within a
    set matter. `offset` are raw scores of shape (rows, scores). `query_sizes` are the numbers of
    rows of the queries of a ranking, which are adjacent.
    """

    sets: tuple[ValidationSet, ...]
    target: Floats
    counted: NDArray[np.bool_] | None
    weight: Floats | None
    offset: Floats | None = None
    query_sizes: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        return len(self.target)

    def below(self, table: AnyTable) -> AnyTable:
        """Append these rows to the training table."""
        for one in self.sets:
            table = one.below(table)
        return table

    def parts(self) -> Iterator[tuple[ValidationSet, slice]]:
        """Each set, and where its rows are."""
        first = 0
        for one in self.sets:
            yield one, slice(first, first + one.n)
            first += one.n


def target_in_units(target: Floats, exponent: int) -> Floats:
    """The targets of validation rows, divided by 2**exponent as those of the training rows."""
    with np.errstate(over="ignore"):
        found: Floats = np.ldexp(target, -exponent)
    if not np.isfinite(found).all():
        raise ValueError(
            "y_val is out of scale with y: its largest magnitude is "
            f"{np.abs(target).max():g}, that of y below {np.ldexp(1.0, exponent):g}. Check the "
            "units."
        )
    return found


def validation_numbers(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object
) -> ValidationRows | None:
    """Return the validation sets of a regression; None if none is given."""

    def target_of(values: NDArray[Any], place: str) -> Floats:
        with _naming(f"y_val{place}"):
            return finite_target(values)

    return _validation_rows(estimator, X_val, y_val, sample_weight_val, target_of)


def validation_vectors(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object, n_outputs: int
) -> ValidationRows | None:
    """Return the validation sets of several targets; None if none is given."""

    def target_of(values: NDArray[Any], place: str) -> Floats:
        with _naming(f"y_val{place}"):
            return np.column_stack([finite_target(column) for column in values.T])

    return _validation_rows(estimator, X_val, y_val, sample_weight_val, target_of, n_outputs)


def validation_classes(
    estimator: object, X_val: Any, y_val: Any, sample_weight_val: object, classes: NDArray[Any]
) -> ValidationRows | None:
    """Return the validation sets with codes of the `classes`; None if none is given."""
    code_of = {label: i for i, label in enumerate(classes.tolist())}

    def target_of(labels: NDArray[Any], place: str) -> Floats:
        with _naming(f"y_val{place}"):
            refuse_missing_labels(labels)
        found = labels.tolist()
        unseen = dict.fromkeys(label for label in found if label not in code_of)
        if unseen:
            raise ValueError(
                f"y_val{place} contains labels that are not in y: {listing(unseen)}. The classes "
                f"of y are {listing(classes.tolist())}. Drop those rows of X_val, or train on rows "
                "of these classes too."
            )
        return np.array([code_of[label] for label in found], dtype=np.float64)

    return _validation_rows(estimator, X_val, y_val, sample_weight_val, target_of)


def _validation_rows(
    estimator: object,
    X_val: Any,
    y_val: Any,
    sample_weight_val: Any,
    target_of: Callable[[NDArray[Any], str], Floats],
    n_outputs: int = 1,
) -> ValidationRows | None:
    if _is_absent(X_val, y_val, sample_weight_val):
        return None
    sets, targets, weights = [], [], []
    tables, labels = _tables(X_val), by_set(y_val, "y_val", X_val)
    given_weights = by_set(sample_weight_val, "sample_weight_val", X_val)
    for name, X in tables.items():
        place = f"[{name!r}]" if is_several(X_val) else ""
        table, values = _checked(estimator, X, labels[name], place, n_outputs)
        sets.append(ValidationSet(name, X, values, table))
        targets.append(target_of(values, place))
        weight = given_weights.get(name)
        if weight is not None:
            with _naming(f"sample_weight_val{place}"):
                checked = checked_weights(weight, len(values), table=f"X_val{place}")
                weight = moderate_weights(checked)[0]
        weights.append(weight)
    target = np.concatenate(targets)
    if all(weight is None for weight in weights):
        return ValidationRows(tuple(sets), target, None, None)
    filled = [
        np.ones(one.n) if weight is None else weight
        for one, weight in zip(sets, weights, strict=True)
    ]
    together = np.concatenate(filled)
    return ValidationRows(tuple(sets), target, together > 0, together)


def is_several(X_val: Any) -> bool:
    """Whether `X_val` is a dict of validation sets; frames and sparse matrices may be mappings."""
    return isinstance(X_val, Mapping) and not hasattr(X_val, "shape")


def _tables(X_val: Any) -> dict[str, Any]:
    """Tables by the name of the validation set."""
    if not is_several(X_val):
        _refuse_lists(X_val)
        return {ONE_SET: X_val}
    _check_names(X_val)
    return dict(X_val)


def by_set(values: Any, name: str, X_val: Any) -> dict[str, Any]:
    """Values of an argument beside `X_val` by the name of the validation set; empty for None.

    Examples
    --------
    >>> by_set([1.0], "y_val", [[2.0]])
    {'validation': [1.0]}
    >>> by_set({"late": [1.0]}, "y_val", {"early": [[2.0]]})
    Traceback (most recent call last):
    ValueError: y_val must be a dict with the names of X_val, 'early'; got the names 'late'.
    """
    if values is None:
        return {}
    if not is_several(X_val):
        if is_several(values):
            raise ValueError(
                f"{name} is a dict with the names {listing(values)}, but X_val is one table. Pass "
                "a dict of tables with the same names as X_val, or one array."
            )
        return {ONE_SET: values}
    names = set(values) if is_several(values) else None
    # Weights may be given for some of the sets only.
    is_complete = name == "sample_weight_val" or names == set(X_val)
    if names is None or not is_complete or not names <= set(X_val):
        got = type(values).__name__ if names is None else f"the names {listing(values)}"
        raise ValueError(
            f"{name} must be a dict with the names of X_val, {listing(X_val)}; got {got}."
        )
    return dict(values)


def _refuse_lists(X_val: Any) -> None:
    """Raise if `X_val` is a list of tables or of pairs, as other libraries take them."""
    if isinstance(X_val, (list, tuple)) and any(np.ndim(_first(one)) > 0 for one in X_val[:1]):
        raise ValueError(
            f"X_val must be one table, or a dict of tables by name; got a {type(X_val).__name__} "
            "of tables. Pass X_val={'first': X1, 'second': X2}, y_val={'first': y1, 'second': y2}."
        )


def _first(values: Any) -> Any:
    """The first value of a row of a table, or the first row of a table."""
    is_table = hasattr(values, "shape") and len(values.shape) > 1
    if is_table or isinstance(values, (list, tuple)):
        return np.zeros(1) if is_table else next(iter(values), None)
    return None


def _check_names(tables: Mapping[Any, Any]) -> None:
    if not tables:
        raise ValueError("X_val is an empty dict: pass at least one validation set, or None.")
    for name in tables:
        if not isinstance(name, str) or not name or name == _TRAINING:
            raise ValueError(
                "X_val is a dict: its keys are the names of the validation sets, non-empty strings "
                f"other than {_TRAINING!r} (the training loss is always recorded); got {name!r}. "
                "A dict of columns is no table: convert it by pandas.DataFrame(X_val)."
            )


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


def _checked(
    estimator: object, X: Any, y: Any, place: str, n_outputs: int
) -> tuple[Any, NDArray[Any]]:
    with _naming(f"X_val{place}"):
        table = table_for_predict(estimator, X)
    with _naming(f"y_val{place}"):
        values = readable_target(y)
        values = column_or_1d(values) if n_outputs == 1 else _vectors(values, n_outputs)
    if len(values) != table.shape[0]:
        raise ValueError(
            f"X_val{place} has {table.shape[0]} rows and y_val{place} has {len(values)}; they must "
            "have the same number of rows."
        )
    return table, values


def _vectors(y: Any, n_outputs: int) -> NDArray[Any]:
    """The targets as an array of shape (rows, outputs)."""
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] != n_outputs:
        raise ValueError(f"expected the shape (rows, {n_outputs}), as of y; got {values.shape}.")
    return values


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Prefix errors with the name of the argument."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what}: {error}") from error
