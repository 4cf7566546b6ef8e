"""Target statistics of categories: means of the target by level, none of which has a row's own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import ColumnPlan, Rows
from weald.data.level_means import EncodedCategory
from weald.data.numbered_levels import (
    NumberedTable,
    exchanged,
    numbered_columns,
    with_numbers_held,
)
from weald.resampling import ordered_rows
from weald.resampling.draws import Purpose

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

# Rows of the mean target that are added to every level (m-estimate).
SMOOTHING = 2.0

# Folds of training rows: a row is encoded by the rows of the other folds.
N_FOLDS = 5

# With more classes, each of which has a column, statistics would outnumber all other columns.
MOST_CLASSES = 10


class Encoder:
    """Means of the target by fold and level, for the rows of one booster, tree or other model.

    Parameters
    ----------
    rows : Rows
        All rows of the fit.
    targets : sequence of float64 [rows]
        What is averaged: the target, or for classes an indicator of each.
    fold : intp [rows]
        The fold of each row.
    left_out : int
        The fold whose rows no mean includes.
    n_threads : int
        Number of threads.
    exposure : float64 [rows] or None
        Where it is given, means are rates: sums of the target by sums of the exposure.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Sequence[Floats],
        fold: Numbers,
        left_out: int,
        n_threads: int,
        exposure: Floats | None = None,
    ) -> None:
        self.fold, self.left_out, self._n_threads = fold, left_out, n_threads
        self._n_folds = int(max(fold.max(), left_out)) + 1
        self._copies = rows.copies
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        self._products = [weight * one for one in targets]
        self._weight = weight if exposure is None else weight * exposure
        counted = fold != left_out
        counts = np.ones(rows.n, dtype=np.int64) if rows.copies is None else rows.copies
        self._n_rows = int(counts[counted].sum())

    def means(self, level: Numbers, n_levels: int) -> Floats:
        """Means of shape (targets, folds, levels).

        Those of fold j are of the rows of all folds but j and the one that is left out.
        """
        cell = (level * self._n_folds + self.fold).astype(np.int32)
        others = ~np.eye(self._n_folds, dtype=bool)
        others[:, self.left_out] = False
        found = []
        for products in self._products:
            sums, weights = _native.leaf_sums(
                products,
                self._weight,
                self._copies,
                cell,
                n_levels * self._n_folds,
                self._n_threads,
            )
            sums, weights = sums.reshape(-1, self._n_folds), weights.reshape(-1, self._n_folds)
            s, w = [_sum_of(one, others) for one in (sums, weights)]
            total, mass = s[self.left_out].cumsum()[-1], w[self.left_out].cumsum()[-1]
            own = SMOOTHING * mass / self._n_rows
            found.append((s + own * (total / mass)) / (w + own))
        return np.stack(found)

    def encoded(
        self, plan: ColumnPlan, table: NumberedTable
    ) -> tuple[dict[int, list[NDArray[Any]]], dict[int, Floats]]:
        """By column with numbers of levels: what the rows see, and the means for new rows.

        `plan` is that of the table, as it was read in the fit.
        """
        parts: dict[int, list[NDArray[Any]]] = {}
        of_new_rows: dict[int, Floats] = {}
        for i, column, values, level in numbered_columns(plan, table):
            means = self.means(level, column.n_numbers)
            parts[i] = [values, *(by_fold[self.fold, level] for by_fold in means)]
            of_new_rows[i] = means[:, self.left_out]
        return parts, of_new_rows


def _sum_of(sums: Floats, others: NDArray[np.bool_]) -> Floats:
    """Sum over the folds of each mask, in the order of the folds; shape (folds, levels)."""
    result = np.zeros((len(others), len(sums)))
    for fold, of_levels in enumerate(sums.T):
        result[others[:, fold]] += of_levels
    return result


def encode(
    plan: ColumnPlan, table: NumberedTable, encoders: Sequence[Encoder], names: tuple[str, ...]
) -> tuple[ColumnPlan, list[NumberedTable]]:
    """The plan with the statistics of all encoders, and the table that each of them makes.

    Parameters
    ----------
    plan, table
        The rows as they were read, with the numbers of levels.
    encoders
        How the rows are encoded.
    names
        Names of the statistics of a column.
    """
    table = with_numbers_held(plan, table)
    found = [encoder.encoded(plan, table) for encoder in encoders]
    encoded = encoded_plan(plan, [of_new_rows for _, of_new_rows in found], names)
    own = encoded.of_owner(0)
    return encoded, [exchanged(plan, table, own, parts) for parts, _ in found]


def encoded_plan(
    plan: ColumnPlan,
    means: Sequence[dict[int, Floats]],
    names: tuple[str, ...],
    owner: str = "booster",
) -> ColumnPlan:
    """The plan with target statistics: of each owner the means of each column, by its index."""
    columns = list(plan.columns)
    for i, column in plan.coded.items():
        of_all = np.stack([of_columns[i] for of_columns in means])
        columns[i] = EncodedCategory(column.levels, column.known, of_all, names, owner)
    return ColumnPlan(tuple(columns))


def folds_of(keys: NDArray[np.uint64], seed: int) -> Numbers:
    """A fold for each row; rows of equal keys are in the same one."""
    words = _native.draw(np.ascontiguousarray(keys), seed, 0, Purpose.FOLD)
    return np.asarray(words % np.uint64(N_FOLDS)).astype(np.intp)


def dealt_folds(rows: Rows, seed: int, n_threads: int) -> Numbers:
    """A fold for each row, or each group of rows.

    Equal rows get folds of their own: if they shared one, then in a table of few columns the mean
    of the other folds would lack just the rows of a row's own target, and so tell that target.
    """
    ordered = ordered_rows(rows, n_threads=n_threads)
    fold = np.empty(rows.n, dtype=np.intp)
    fold[ordered.index] = folds_of(ordered.keys, seed)
    return fold


def targets_of(rows: Rows, n_classes: int) -> list[Floats]:
    """What is averaged by level: the target, or the indicators of the classes.

    Of two classes, that of the second.
    """
    if n_classes <= 2:
        return [rows.target]
    return [(rows.target == k).astype(np.float64) for k in range(n_classes)]


def names_of_statistics(
    classes: NDArray[Any] | None, *, are_rates: bool = False
) -> tuple[str, ...]:
    """Names of the statistics, in the order of `targets_of`."""
    if classes is None:
        return ("rate of y" if are_rates else "mean of y",)
    shown = classes[1:] if len(classes) == 2 else classes
    return tuple(f"share of {label}" for label in shown.tolist())
