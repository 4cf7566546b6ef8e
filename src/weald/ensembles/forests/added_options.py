"""User-defined splits added to a fitted option tree."""

import copy
import numbers
import operator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from weald.data import (
    ColumnTable,
    Rows,
    dense_blocks,
    finite_target,
    readable_target,
    table_for_predict,
)
from weald.ensembles.labels import class_numbers
from weald.errors import listing
from weald.trees import OptionForest, heads_of, inserted_option, options_at, way_to

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Model = TypeVar("Model")


def rows_of_numbers(model: Any, X: object, y: object, sample_weight: object) -> Rows:
    """Rows with finite targets, with columns encoded as in the fit of the model."""
    check_is_fitted(model)
    table, target = _read(model, X, y)
    return Rows(table, finite_target(target)).weighted(sample_weight)


def rows_of_classes(model: Any, X: object, y: object, sample_weight: object) -> Rows:
    """Rows whose target is the index of their class in the classes of the model."""
    check_is_fitted(model)
    table, labels = _read(model, X, y)
    classes = model.classes_
    number = class_numbers(labels, classes)
    unknown = np.flatnonzero(number < 0)
    if unknown.size:
        raise ValueError(
            f"y has the unknown class {labels.tolist()[unknown[0]]!r} in row {unknown[0]}; the "
            f"tree was fitted on the classes {listing(classes.tolist())}."
        )
    return Rows(table, number.astype(np.float64)).weighted(sample_weight)


def _read(model: Any, X: object, y: object) -> tuple[Any, NDArray[Any]]:
    table = np.concatenate(list(dense_blocks(table_for_predict(model, X))))
    target = column_or_1d(np.asarray(readable_target(y)))
    check_consistent_length(table, target)
    levels = model._plan.levels
    if all(one is None for one in levels):
        return table, target
    n_levels = np.array([0 if one is None else len(one) for one in levels], dtype=np.int64)
    return ColumnTable(tuple(table.T), n_levels, tuple(_names(model))), target


def with_option(model: Model, node: int, feature: Any, threshold: Any, rows: Rows) -> Model:
    """A copy of the model with one more split at a node."""
    owner: Any = model
    tree: OptionForest = owner.forest_
    node = _checked_node(tree, node)
    column = _column(owner, feature)
    path = way_to(tree, node)
    reaches = np.ones(rows.n, dtype=bool)
    for above, is_left in path:
        reaches &= _goes_left(tree, above, _values(rows, int(tree.feature[above]))) == is_left
    grower = owner._grower(rows, owner._target(rows), start=len(path) + 1)
    x = _values(rows, column)
    some_missing = bool(np.isnan(x[reaches]).any())
    tests = [_test(owner, column, threshold, x, side) for side in (False, True)[: 1 + some_missing]]
    fitting = [one for one in tests if _is_wide(owner, reaches, one[1])]
    if not fitting:
        raise _too_narrow(owner, reaches, tests[0][1])
    test, left = max(fitting, key=lambda one: grower.gain(reaches, one[1]))  # ties: the first
    if not some_missing:  # values missing only in prediction go to the larger child
        test["missing_left"][0] = 2 * left[reaches].sum() >= reaches.sum()
    _refuse_twin(owner, node, column, rows, reaches, left)
    branch = grower.below_test(reaches, left, test)
    branch = owner._finished(branch.scaled(rows.target_exponent, rows.weight_unit))
    changed = copy.copy(model)
    changed.forest_ = inserted_option(tree, node, branch)  # type: ignore[attr-defined]
    return changed


def _checked_node(tree: OptionForest, node: object) -> int:
    inner = np.flatnonzero(tree.feature >= 0)
    if not isinstance(node, numbers.Integral) or isinstance(node, bool):
        raise TypeError(f"node must be an int, the number of an inner node. Got {node!r}.")
    number = operator.index(node)
    if not 0 <= number < len(tree.feature):
        raise ValueError(
            f"There is no node {number}; text() shows the numbers of the inner nodes in brackets: "
            f"{listing(inner.tolist())}."
        )
    if tree.feature[number] < 0:
        raise ValueError(
            f"Node {number} is a leaf; options are added to inner nodes. The inner nodes are "
            f"{listing(inner.tolist())}."
        )
    return number


def _names(model: Any) -> list[str]:
    names: list[str] = model._plan.names(model._column_names())
    return names


def _column(model: Any, feature: object) -> int:
    """Index of the internal column with this name or position."""
    names = _names(model)
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"There is no column {feature!r}; there are {listing(names)}.")
        return names.index(feature)
    if not isinstance(feature, numbers.Integral) or isinstance(feature, bool):
        raise TypeError(f"feature must be the name or the position of a column. Got {feature!r}.")
    owners = model._plan.owner
    mine = np.flatnonzero(owners == operator.index(feature))
    if len(mine) == 0:
        raise ValueError(
            f"There is no column {feature}; they are numbered from 0 to {owners.max()}."
        )
    if len(mine) > 1:
        parts = listing([names[i] for i in mine])
        raise ValueError(f"Column {feature} is a date; pass the name of one of its parts: {parts}.")
    return int(mine[0])


def _values(rows: Rows, column: int) -> Floats:
    table = rows.table
    values = table.columns[column] if isinstance(table, ColumnTable) else table[:, column]  # type: ignore[index]
    return np.asarray(values, dtype=np.float64)


def _goes_left(tree: OptionForest, node: int, x: Floats) -> Mask:
    is_missing = np.isnan(x)
    missing_left = bool(tree.missing_left[node])
    set_ = tree.category_set[node]
    if set_ < 0:
        left = x <= tree.threshold[node]
    else:
        n_levels = 64 * int(tree.first_word[set_ + 1] - tree.first_word[set_])
        left = tree.levels_left(node, n_levels)[np.where(is_missing, 0, x).astype(np.int64)]
    return np.where(is_missing, missing_left, left)


def _test(
    model: Any, column: int, threshold: Any, x: Floats, missing_left: bool
) -> tuple[dict[str, Any], Mask]:
    """The arrays of the new node, and which rows go left."""
    levels = model._plan.levels[column]
    test: dict[str, Any] = {
        "feature": np.array([column, -1, -1], dtype=np.int32),
        "missing_left": np.array([missing_left, 0, 0], dtype=np.uint8),
        "is_given": True,
    }
    if levels is None:
        number = _checked_threshold(threshold)
        test["threshold"] = np.array([number, 0.0, 0.0])
        return test, np.where(np.isnan(x), missing_left, x <= number)
    chosen = _chosen_levels(levels, threshold, _names(model)[column])
    words = np.zeros((len(levels) + 63) // 64, dtype=np.uint64)
    for level in chosen:
        words[level // 64] |= np.uint64(1) << np.uint64(level % 64)
    test["category_set"] = np.array([0, -1, -1], dtype=np.int32)
    test["first_word"] = np.array([0, len(words)], dtype=np.int64)
    test["words"] = words
    return test, np.where(np.isnan(x), missing_left, np.isin(x, chosen))


def _checked_threshold(threshold: object) -> float:
    if not isinstance(threshold, numbers.Real) or isinstance(threshold, (bool, np.bool_)):
        raise TypeError(f"threshold must be a number: values up to it go left. Got {threshold!r}.")
    if np.isnan(float(threshold)):
        raise ValueError("threshold must not be NaN; pass a number.")
    return float(threshold)


def _chosen_levels(levels: tuple[Any, ...], wanted: object, name: str) -> list[int]:
    if not isinstance(wanted, (list, tuple, set, frozenset, np.ndarray)):
        raise TypeError(
            f"Column {name!r} is categorical: threshold must be a list of the categories that go "
            f"left. Got {wanted!r}."
        )
    if len(wanted) == 0:
        raise ValueError(
            f"threshold is empty; pass the categories of column {name!r} that go left."
        )
    unknown = [level for level in wanted if level not in levels]
    if unknown:
        raise ValueError(
            f"Column {name!r} has no category {unknown[0]!r}; its categories are {listing(levels)}."
        )
    return sorted(levels.index(level) for level in wanted)


def _refuse_twin(model: Any, node: int, column: int, rows: Rows, reaches: Mask, left: Mask) -> None:
    """Raise if the node already has a split with the same partition of its rows."""
    tree: OptionForest = model.forest_
    group = next(
        group
        for head in np.flatnonzero(heads_of(tree))
        if node in (group := options_at(tree, int(head)))
    )
    for other in group:
        if tree.feature[other] == column:
            same = _goes_left(tree, other, _values(rows, column)) == left
            if same[reaches].all():
                raise ValueError(
                    f"Node {other} already splits the same rows in the same way. Choose another "
                    "feature or threshold."
                )


def _sides(reaches: Mask, left: Mask) -> tuple[int, int]:
    """Number of the node's rows that go left and right."""
    return int((reaches & left).sum()), int((reaches & ~left).sum())


def _is_wide(model: Any, reaches: Mask, left: Mask) -> bool:
    return min(_sides(reaches, left)) >= int(model.min_samples_leaf)


def _too_narrow(model: Any, reaches: Mask, left: Mask) -> ValueError:
    n_left, n_right = _sides(reaches, left)
    return ValueError(
        f"The split sends {n_left} of the node's {n_left + n_right} rows left and {n_right} right; "
        f"each side needs at least min_samples_leaf={model.min_samples_leaf}. Choose another "
        "threshold."
    )
