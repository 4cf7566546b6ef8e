"""Monotonic constraints: convert `monotonic_cst` to one direction per column of the trees."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weald.data import ColumnPlan, column_position
from weald.data.columns import Category, Moment

Directions = tuple[int, ...]


def directions_of(wanted: Any, plan: ColumnPlan, names: list[str] | None) -> Directions | None:
    """Convert `monotonic_cst` to a direction for each of the plan's columns; None: no constraints.

    >>> directions_of({"b": -1}, ColumnPlan.of_numbers(3), ["a", "b", "c"])
    (0, -1, 0)
    """
    if wanted is None:
        return None
    n = len(plan.columns)
    marks = np.zeros(n, dtype=np.int64)
    if isinstance(wanted, Mapping):
        for entry, direction in wanted.items():
            marks[column_position(entry, names, n, "monotonic_cst")] = int(direction)
    else:
        if len(wanted) != n:
            raise ValueError(
                f"monotonic_cst has {len(wanted)} entries, but X has {n} columns. Give -1, 0 or 1 "
                "for each column, or a dict of column names."
            )
        marks[:] = [int(direction) for direction in wanted]
    for i in np.flatnonzero(marks).tolist():
        if isinstance(plan.columns[i], (Category, Moment)):
            what = "dates" if isinstance(plan.columns[i], Moment) else "categories"
            raise ValueError(
                f"monotonic_cst constrains {_label(i, names)}, which holds {what}; only numeric "
                "and ordered categorical columns can be constrained. Set it to 0, or convert the "
                "column to numbers."
            )
    return tuple(marks[plan.owner].tolist()) if marks.any() else None


def directions_of_model(model: Any, n_classes: int = 0) -> Directions | None:
    """Directions for an estimator that is being fitted; `n_classes` is 0 for regression."""
    names = getattr(model, "feature_names_in_", None)
    names = None if names is None else list(names)
    directions = directions_of(model.monotonic_cst, model._plan, names)
    if directions is not None and n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            "monotonic_cst supports regression and binary classification only; got "
            f"{n_classes} classes. Leave it at None, or fit one class against the others."
        )
    return None if n_classes == 1 else directions


def _label(i: int, names: list[str] | None) -> str:
    return f"column {i}" if names is None else f"column {names[i]!r}"
