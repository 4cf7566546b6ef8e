"""Class weights: factors of the row weights by class."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows, ValidationRows, moderate_weights
from weald.ensembles.base import Floats


def weights_of_classes(
    wanted: Any, rows: Rows, classes: NDArray[Any] | list[NDArray[Any]]
) -> Floats | None:
    """One weight per class for scikit-learn's `class_weight`; None: no class weights.

    "balanced" gives every class that has rows the same total weight and keeps the overall total.
    For several outputs the class weights of all outputs are concatenated.
    """
    if wanted is None:
        return None
    if isinstance(classes, list):
        return _weights_of_outputs(wanted, rows, classes)

    def totals() -> Floats:
        return _exact_totals(rows.target.astype(np.intp), rows.total_weight, len(classes))

    return weights_by_totals(wanted, totals, classes)


def weights_by_totals(
    wanted: Any, totals_of: Callable[[], Floats], classes: NDArray[Any]
) -> Floats | None:
    """The same for one output, from a function that returns the total weight of each class."""
    if wanted is None:
        return None
    if isinstance(wanted, list):
        if len(wanted) > 1:
            raise ValueError(
                f"class_weight has {len(wanted)} entries, one for each output; y has one output. "
                "Give a dict, or 'balanced'."
            )
        return weights_by_totals(wanted[0], totals_of, classes)
    if isinstance(wanted, str):
        totals = totals_of()
        seen = totals > 0
        return np.where(seen, totals.sum() / (seen.sum() * np.where(seen, totals, 1.0)), 0.0)
    labels = {label: number for number, label in enumerate(classes.tolist())}
    unknown = [label for label in wanted if label not in labels]
    if unknown and len(wanted) - len(unknown) < len(classes):
        raise ValueError(
            f"The classes, {[c for c in classes.tolist() if c not in wanted]}, are not in "
            f"class_weight, which names {unknown} instead: no class of y. Name classes by "
            "their labels."
        )
    return np.array([float(wanted.get(label, 1.0)) for label in labels])


def _weights_of_outputs(wanted: Any, rows: Rows, classes: list[NDArray[Any]]) -> Floats:
    if isinstance(wanted, Mapping) or (isinstance(wanted, list) and len(wanted) != len(classes)):
        is_dict = isinstance(wanted, Mapping)
        raise ValueError(
            "For multi-output, class_weight should be a list of dicts, or the string 'balanced', "
            "and number of elements in class_weight should match number of outputs. Got "
            f"{'a dict' if is_dict else f'a list of {len(wanted)}'} for {len(classes)} outputs."
        )
    wanted_of = wanted if isinstance(wanted, list) else [wanted] * len(classes)
    weights, first = [], 0
    for k, (of_one, own) in enumerate(zip(wanted_of, classes, strict=True)):
        of_output = replace(rows, y=rows.target[:, k] - first)
        weight = weights_of_classes(of_one, of_output, own)
        weights.append(np.ones(len(own)) if weight is None else weight)
        first += len(own)
    return np.concatenate(weights)


def weights_by_class(target: NDArray[Any], weight: Floats) -> Floats:
    """Class weight of each row; the weights of several outputs are multiplied.

    >>> weights_by_class(np.array([[0, 2], [1, 3]]), np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [3.0, 8.0]
    """
    of_row = weight[target.astype(np.intp)]
    return of_row if of_row.ndim == 1 else np.asarray(of_row.prod(axis=1))


def without_classes(rows: Rows, weight: Floats) -> Rows:
    """Drop the rows of classes of weight 0."""
    kept = weights_by_class(rows.target, weight) > 0
    refuse_no_class(kept.any())
    return rows if kept.all() else rows.take(np.flatnonzero(kept))


def refuse_no_class(is_any: bool | np.bool_) -> None:
    """Raise if no row has a class of positive weight."""
    if not is_any:
        raise ValueError("class_weight gives every class in y the weight 0.")


def rows_of_classes(
    wanted: Any, rows: Rows, kept: NDArray[np.bool_], classes: NDArray[Any]
) -> tuple[Rows, NDArray[np.bool_], Floats | None]:
    """The rows of classes of positive weight, the mask of these, and the class weights.

    `kept` masks those of the rows passed to `fit` that are in `rows`.
    """
    weight = weights_of_classes(wanted, rows, classes)
    if weight is None:
        return rows, kept, None
    found = kept.copy()
    found[kept] = weight[rows.target.astype(np.intp)] > 0
    return without_classes(rows, weight), found, weight


def weighted_by_class(rows: Rows, weight: Floats) -> Rows:
    """Multiply the row weights by the class weights; row counts stay the same."""
    if (weight == 1.0).all():
        return rows
    of_class, unit = moderate_weights(weight)
    of_row = of_class[rows.target.astype(np.intp)]
    product = of_row if rows.weight is None else of_row * rows.weight
    product, both = moderate_weights(product)
    # Products of extreme weights would overflow or underflow; they are clipped.
    whole = min(max(rows.weight_unit * unit * both, 2.0**-1000), 2.0**1000)
    return replace(rows, weight=product, weight_unit=whole)


def validation_by_class(
    validation: ValidationRows | None, weight: Floats | None
) -> ValidationRows | None:
    """Apply the class weights of the training rows to the validation set.

    Early stopping must use the same weighted loss as the fit: with class weights the predicted
    probabilities are not those of unweighted rows. Rows of classes of weight 0 are not scored.
    """
    if validation is None or weight is None or (weight == 1.0).all():
        return validation
    of_row = moderate_weights(weight)[0][validation.target.astype(np.intp)]
    counted = validation.counted
    if not of_row.all():
        counted = of_row > 0 if counted is None else (of_row > 0) & counted
        if not all(counted[rows].any() for _, rows in validation.parts()):
            raise ValueError(
                "class_weight gives weight 0 to every class of y_val, so that a validation set "
                "is empty. Give X_val rows of other classes, or leave it out."
            )
    product = of_row if validation.weight is None else of_row * validation.weight
    return replace(validation, counted=counted, weight=moderate_weights(product)[0])


def _exact_totals(numbers: NDArray[np.intp], counts: NDArray[Any] | None, n_classes: int) -> Floats:
    """Total weight of each class, rounded once: independent of the order of the rows."""
    if counts is None:
        return np.bincount(numbers, minlength=n_classes).astype(np.float64)
    return np.array([math.fsum(counts[numbers == k]) for k in range(n_classes)])
