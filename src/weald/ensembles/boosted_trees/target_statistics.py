"""Target statistics of categories: what each booster sees in place of the numbers of levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import ColumnPlan, ColumnTable, Rows
from weald.data.level_means import EncodedCategory
from weald.data.numbered_levels import exchanged, numbered_columns
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.rounds.loop import Training
from weald.resampling.draws import Purpose

# Rows of the mean target that are added to every level (m-estimate).
SMOOTHING = 2.0

# Folds of the training rows of a booster: a row is encoded by the rows of the other folds.
_INNER_FOLDS = 5

# With fewer folds of boosters, too few rows would be left to encode the others.
_ENOUGH_FOLDS = 4

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TargetStatistics:
    """Encoded categories of each booster.

    A row of a booster's fold is encoded by the booster's other rows outside that fold; a row that
    the booster leaves out, and every new row, by all rows of the booster.

    Attributes
    ----------
    plan : ColumnPlan
        How columns are read for predictions: with the statistics of all boosters.
    trainings : list of Training
        The rows of each booster, with its statistics only.
    """

    plan: ColumnPlan
    trainings: list[Training]

    @classmethod
    def of(
        cls,
        numbered: ColumnPlan,
        trainings: Sequence[Training],
        encoders: Sequence["Encoder"],
        names: tuple[str, ...],
    ) -> "TargetStatistics":
        """Compute all statistics.

        Parameters
        ----------
        numbered
            Plan by which the rows were read, with the numbers of levels.
        trainings
            The rows of each booster.
        encoders
            How each booster's rows are encoded.
        names
            Names of the statistics of a column.
        """
        table = trainings[0].rows.table
        assert isinstance(table, ColumnTable)
        columns = list(numbered.columns)
        parts: list[dict[int, list[NDArray[Any]]]] = [{} for _ in trainings]
        for i, column, values, level in numbered_columns(numbered, table):
            means = [encoder.means(level, column.n_numbers) for encoder in encoders]
            for own, encoder, part in zip(means, encoders, parts, strict=True):
                part[i] = [values, *(by_fold[encoder.fold, level] for by_fold in own)]
            of_new_rows = [
                own[:, encoder.left_out] for own, encoder in zip(means, encoders, strict=True)
            ]
            columns[i] = EncodedCategory(column.levels, column.known, np.stack(of_new_rows), names)
        plan = ColumnPlan(tuple(columns))
        own_plan = plan.of_booster(0)
        tables = [exchanged(numbered, table, own_plan, part) for part in parts]
        with_tables = [
            replace(one, rows=replace(one.rows, table=own))
            for one, own in zip(trainings, tables, strict=True)
        ]
        return cls(plan, with_tables)


class Encoder:
    """Means of the target by fold and level, for the rows of one booster.

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
    """

    def __init__(
        self, rows: Rows, targets: Sequence[Floats], fold: Numbers, left_out: int, n_threads: int
    ) -> None:
        self.fold, self.left_out, self._n_threads = fold, left_out, n_threads
        self._n_folds = int(max(fold.max(), left_out)) + 1
        self._copies = rows.copies
        self._weight = np.ones(rows.n) if rows.weight is None else rows.weight
        self._products = [self._weight * one for one in targets]
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


def _sum_of(sums: Floats, others: NDArray[np.bool_]) -> Floats:
    """Sum over the folds of each mask, in the order of the folds; shape (folds, levels)."""
    result = np.zeros((len(others), len(sums)))
    for fold, of_levels in enumerate(sums.T):
        result[others[:, fold]] += of_levels
    return result


def encoder_of(
    training: Training,
    folds: BoosterFolds | None,
    booster: int,
    targets: Sequence[Floats],
    inner: Numbers,
    n_threads: int,
) -> Encoder:
    """The encoder of a booster.

    Its folds are the other folds of the same deal, if they are enough, otherwise `inner`; rows that
    are held out, those of the user's validation sets included, are one more fold.
    """
    fold, left_out = inner, _INNER_FOLDS
    if folds is not None and folds.n_folds >= _ENOUGH_FOLDS:
        left_out = booster % folds.n_folds
        fold = np.full(training.rows.n, left_out)
        fold[: folds.n] = folds.fold[booster // folds.n_folds]
    elif training.held_out is not None:
        fold = np.where(training.held_out, left_out, inner)
    return Encoder(training.rows, targets, fold, left_out, n_threads)


def inner_folds(training: Training, *, has_groups: bool, n_threads: int) -> Numbers:
    """Folds of the rows by their content, so that equal rows (or a group) are in one fold."""
    keys = training.keys if has_groups else training.rows.hashes(n_threads)
    assert keys is not None
    words = _native.draw(np.ascontiguousarray(keys), training.seed, 0, Purpose.FOLD)
    return np.asarray(words % np.uint64(_INNER_FOLDS)).astype(np.intp)


def targets_of(rows: Rows, n_classes: int) -> list[Floats]:
    """What is averaged by level: the target, or the indicators of the classes.

    Of two classes, that of the second.
    """
    if n_classes <= 2:
        return [rows.target]
    return [(rows.target == k).astype(np.float64) for k in range(n_classes)]


def names_of_statistics(classes: NDArray[Any] | None) -> tuple[str, ...]:
    """Names of the statistics, in the order of `targets_of`."""
    if classes is None:
        return ("mean of y",)
    shown = classes[1:] if len(classes) == 2 else classes
    return tuple(f"share of {label}" for label in shown.tolist())
