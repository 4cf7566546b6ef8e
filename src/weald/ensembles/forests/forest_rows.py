"""Rows as the engine of forests takes them, and limits as it counts them."""

import math

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows, as_one_array, mass_of
from weald.ensembles.class_weights import weights_by_class
from weald.resampling import Bags, DistinctRows
from weald.trees import ForestRows

Floats = NDArray[np.float64]

# Other names that scikit-learn has for the same thing.
CRITERIA = {"log_loss": "entropy", "friedman_mse": "squared_error"}


def n_counted(distinct: DistinctRows) -> int:
    """How many rows there are, repetitions counted."""
    return len(distinct.index) if distinct.copies is None else int(distinct.copies.sum())


def count_of(limit: float, n_rows: int) -> int:
    """A count as it is, a share of the rows rounded up."""
    is_count = isinstance(limit, (int, np.integer))
    return int(limit) if is_count else math.ceil(float(limit) * n_rows)


def forest_rows(
    rows: Rows,
    distinct: DistinctRows,
    bags: Bags | None,
    n_classes: int,
    class_weight: Floats | None,
    random_cuts: bool,
    n_threads: int,
    first_class: list[int] | None = None,
) -> ForestRows:
    """The different rows, ranked; with bags the weights are in the draws.

    `first_class` tells where the classes of each of several outputs begin.
    """
    target = np.ascontiguousarray(rows.target[distinct.index])
    weight = distinct.weight if bags is None else None
    if class_weight is not None:
        of_row = weights_by_class(target, class_weight)
        weight = of_row if weight is None else weight * of_row
    ranks = _native.RankedTable(
        as_one_array(rows.table),
        distinct.index,
        mass_of(distinct.copies, distinct.weight),
        n_threads,
        keeps_values=random_cuts,
    )
    return ForestRows(
        ranks=ranks,
        values=None if n_classes else np.ascontiguousarray(target.T),
        classes=target.astype(np.int32) if n_classes else None,
        n_classes=n_classes,
        weight=weight,
        copies=distinct.copies if bags is None else None,
        bootstrap=None if bags is None else bags.bootstrap,
        n_columns=rows.table.shape[1],
        first_class=first_class,
    )
