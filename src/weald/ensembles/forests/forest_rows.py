"""Rows as the engine of forests takes them, and limits as it counts them."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows, as_one_array, levels_of, mass_of, refuse_beyond_memory
from weald.ensembles.class_weights import weights_by_class
from weald.ensembles.row_counts import weighted_as_repeated
from weald.ensembles.row_samples import row_samples
from weald.resampling import OrderedRows, RowSamples, ordered_rows, rows_as_they_lie
from weald.trees import ForestRows

Floats = NDArray[np.float64]

# Other names that scikit-learn has for the same thing.
CRITERIA = {"log_loss": "entropy", "friedman_mse": "squared_error"}
OF_NUMBERS = ("squared_error", "absolute_error", "friedman_mse", "poisson")


def weight_unit(rows: Rows, samples: RowSamples | None) -> float:
    """The factor of all weights in the sums of trees: draws by weight leave none."""
    return 1.0 if samples is not None and samples.draws_by_weight else rows.weight_unit


def sums_of_left_out(n_rows: int, width: int) -> Floats:
    """Zeros, to which what trees answer the rows that they left out is added."""
    refuse_beyond_memory(
        8 * n_rows * width,
        f"Out-of-bag predictions of {width:,} classes or outputs for {n_rows:,} rows",
        "Take fewer rows or classes, or do without these predictions: set oob_score=False, and "
        "numbers for parameters that are 'auto', which are chosen by them.",
    )
    return np.zeros((n_rows, width))


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


def sampled_rows(
    model: Any, rows: Rows, n_levels: list[int], has_weight: NDArray[np.bool_], seed: int
) -> tuple[Rows, OrderedRows, RowSamples | None]:
    """The rows with their weights, in the order that draws need, and how trees draw them.

    `has_weight` marks those of the rows passed to fit that `rows` holds. No samples: every tree
    sees every row.
    """
    if model._draws_rows:
        ordered = ordered_rows(rows, n_threads=model._n_threads)
        return rows, ordered, _samples(model, rows, ordered, has_weight, seed)
    if model.oob_score:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True or max_samples is given: "
            "without them every tree sees every row. Set one of them, or oob_score=False."
        )
    if rows.groups is not None:
        raise ValueError(
            "groups says which rows are drawn together, and no rows are drawn: set bootstrap=True "
            "or max_samples, or leave groups out."
        )
    if not any(n_levels):
        leaf = 1 if isinstance(model.min_samples_leaf, str) else model.min_samples_leaf
        rows = weighted_as_repeated(
            rows, min_samples_split=model.min_samples_split, min_samples_leaf=leaf
        )
    return rows, rows_as_they_lie(rows.n), None


def _samples(
    model: Any, rows: Rows, ordered: OrderedRows, has_weight: NDArray[np.bool_], seed: int
) -> RowSamples:
    return row_samples(
        ordered,
        rows.total_weight,
        rows.weight_unit,
        place_of(ordered, has_weight),
        bootstrap=bool(model.bootstrap),
        max_samples=model.max_samples,
        leaves_some_out=bool(model.oob_score),
        seed=seed,
    )


def place_of(ordered: OrderedRows, has_weight: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where each row passed to fit lies among the ordered ones; -1: it has no weight."""
    if ordered.n == len(has_weight):
        return ordered.place
    place = np.full(len(has_weight), -1, dtype=np.intp)
    place[has_weight] = ordered.place
    return place


def count_of(limit: float, n_rows: int) -> int:
    """A count as it is, a share of the rows rounded up."""
    is_count = isinstance(limit, (int, np.integer))
    return int(limit) if is_count else math.ceil(float(limit) * n_rows)


def one_table(rows: Rows) -> tuple[Rows, list[int]]:
    """The rows with one array as their table, and how many levels its columns have."""
    return replace(rows, table=as_one_array(rows.table)), levels_of(rows.table)


class Learnt(NamedTuple):
    """What the trees of a forest learn from: the arguments of `forest_rows`."""

    rows: Rows
    ordered: OrderedRows
    samples: RowSamples | None
    n_classes: int
    class_weight: Floats | None
    random_cuts: bool
    n_threads: int
    n_levels: list[int]
    first_class: list[int] | None


def forest_rows(
    rows: Rows,
    ordered: OrderedRows,
    samples: RowSamples | None,
    n_classes: int,
    class_weight: Floats | None,
    random_cuts: bool,
    n_threads: int,
    n_levels: list[int],
    first_class: list[int] | None = None,
) -> ForestRows:
    """The rows, ranked; where rows are drawn by weight they carry no weights.

    `n_levels` tells which columns hold levels, and how many (`weald.data.levels_of`); `first_class`
    where the classes of each of several outputs begin.
    """
    own = rows.total_weight
    ranks = _native.RankedTable(
        as_one_array(rows.table),
        ordered.index,
        None if own is None else mass_of(own[ordered.index]),
        n_threads,
        keeps_values=random_cuts,
        n_levels=n_levels,
    )
    # What ranking took is free again.
    target = np.ascontiguousarray(rows.target[ordered.index])
    copies, weight = None, None
    if samples is None:
        copies, weight = _taken(rows.copies, ordered), _taken(rows.weight, ordered)
    elif not samples.draws_by_weight:
        weight = _taken(own, ordered)
    if class_weight is not None:
        of_row = weights_by_class(target, class_weight)
        weight = of_row if weight is None else weight * of_row
    return ForestRows(
        ranks=ranks,
        values=None if n_classes else np.ascontiguousarray(target.T),
        classes=target.astype(np.int32) if n_classes else None,
        n_classes=n_classes,
        weight=weight,
        copies=copies,
        bootstrap=None if samples is None else samples.bootstrap,
        n_columns=rows.table.shape[1],
        first_class=first_class,
    )


def _taken(values: NDArray[Any] | None, ordered: OrderedRows) -> NDArray[Any] | None:
    return None if values is None else values[ordered.index]
