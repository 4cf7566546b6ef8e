"""Rows as the engine of forests takes them, and limits as it counts them."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows, as_one_array, levels_of, mass_of
from weald.ensembles.class_weights import weights_by_class
from weald.resampling import Bags, DistinctRows, Pastes, distinct_rows, rows_by_themselves
from weald.trees import ForestRows

Floats = NDArray[np.float64]

# Other names that scikit-learn has for the same thing.
CRITERIA = {"log_loss": "entropy", "friedman_mse": "squared_error"}
OF_NUMBERS = ("squared_error", "absolute_error", "friedman_mse", "poisson")


def gain_exponent(criterion: str, rows: Rows) -> int:
    """By which power of two gains are divided where a target of extreme size is."""
    is_linear = criterion in ("absolute_error", "poisson")
    return rows.target_exponent if is_linear else 2 * rows.target_exponent


def check_outputs(model: Any, n_outputs: int) -> None:
    """Refuse several outputs where a setting is of one."""
    if n_outputs == 1:
        return
    if getattr(model, "monotonic_cst", None) is not None:
        raise ValueError(
            "Monotonicity constraints are not supported with multiple outputs: y has "
            f"{n_outputs} columns. Leave monotonic_cst at None, or fit each column alone."
        )
    if model.criterion in ("absolute_error", "poisson"):
        raise ValueError(
            f"criterion={model.criterion!r} judges one output; y has {n_outputs} columns. Use "
            "'squared_error', or fit each column alone."
        )


def check_target(criterion: str, target: Floats) -> None:
    """Refuse targets that a criterion cannot judge.

    >>> check_target("poisson", np.array([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    ValueError: criterion='poisson' is of counts: some values of y are negative, ...
    """
    if criterion != "poisson":
        return
    if (target < 0).any():
        raise ValueError(
            f"criterion='poisson' is of counts: some values of y are negative, the first of them "
            f"{target[target < 0][0]:g}. Choose another criterion."
        )
    if not (target > 0).any():
        raise ValueError(
            "criterion='poisson' is of counts: the sum of y is not positive. Choose another "
            "criterion."
        )


def n_counted(distinct: DistinctRows) -> int:
    """How many rows there are, repetitions counted."""
    return len(distinct.index) if distinct.copies is None else int(distinct.copies.sum())


def place_of(distinct: DistinctRows, has_weight: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Which of the different rows each row passed to fit is; -1: it has no weight."""
    if len(distinct.set_of) == len(has_weight):
        return distinct.set_of
    place = np.full(len(has_weight), -1, dtype=np.intp)
    place[has_weight] = distinct.set_of
    return place


def count_of(limit: float, n_rows: int) -> int:
    """A count as it is, a share of the rows rounded up."""
    is_count = isinstance(limit, (int, np.integer))
    return int(limit) if is_count else math.ceil(float(limit) * n_rows)


def one_table(rows: Rows) -> tuple[Rows, list[int]]:
    """The rows with one array as their table, and how many levels its columns have."""
    return replace(rows, table=as_one_array(rows.table)), levels_of(rows.table)


def different_rows(
    rows: Rows, n_levels: list[int], draws_rows: bool, random_cuts: bool, n_threads: int
) -> DistinctRows:
    """The rows that trees learn from: equal ones are merged where that matters, or is worth it.

    Trees that see all rows and draw their cuts are made of whole numbers added up: neither the
    order of rows nor whether one is repeated or counts twice can change them. (Searched cuts ask
    how many rows a node has, levels how many were merged, and sums of weights are rounded.)
    """
    matters = draws_rows or not random_cuts or rows.weight is not None or len(n_levels) > 0
    if matters or _seem_repeated(rows, n_threads):
        return distinct_rows(rows, n_threads=n_threads)
    return rows_by_themselves(rows, rows.n)


def _seem_repeated(rows: Rows, n_threads: int) -> bool:
    """Whether some of a few rows are equal: if each row is there twice, of 4,096 of a million."""
    few = 4096
    step = max(1, rows.n // few)
    some = rows if step == 1 else rows.take(np.arange(0, rows.n, step))
    # Not np.unique: from NumPy 2.3 on it aborts the process if the interpreter ends meanwhile.
    hashes = np.sort(some.hashes(n_threads)[:, 0])
    return bool((hashes[1:] == hashes[:-1]).any())


class Learnt(NamedTuple):
    """What the trees of a forest learn from: the arguments of `forest_rows`."""

    rows: Rows
    distinct: DistinctRows
    bags: Bags | Pastes | None
    n_classes: int
    class_weight: Floats | None
    random_cuts: bool
    n_threads: int
    n_levels: list[int]
    first_class: list[int] | None


def forest_rows(
    rows: Rows,
    distinct: DistinctRows,
    bags: Bags | Pastes | None,
    n_classes: int,
    class_weight: Floats | None,
    random_cuts: bool,
    n_threads: int,
    n_levels: list[int],
    first_class: list[int] | None = None,
) -> ForestRows:
    """The different rows, ranked; with bags the weights are in the draws.

    `n_levels` tells which columns hold levels, and how many (`weald.data.levels_of`); `first_class`
    where the classes of each of several outputs begin.
    """
    ranks = _native.RankedTable(
        as_one_array(rows.table),
        distinct.index,
        mass_of(distinct.copies, distinct.weight),
        n_threads,
        keeps_values=random_cuts,
        n_levels=n_levels,
        n_merged=rows.n,
    )
    # What ranking took is free again.
    target = np.ascontiguousarray(rows.target[distinct.index])
    weight = distinct.weight if bags is None else None
    if class_weight is not None:
        of_row = weights_by_class(target, class_weight)
        weight = of_row if weight is None else weight * of_row
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
