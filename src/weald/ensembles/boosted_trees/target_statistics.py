"""Target statistics of categories: what each booster sees in place of the numbers of levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weald.data import ColumnPlan, Rows
from weald.data.numbered_levels import numbered_table
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.level_statistics import (
    N_FOLDS,
    Encoder,
    Numbers,
    dealt_folds,
    encode,
    folds_of,
)
from weald.ensembles.rounds.loop import Training
from weald.losses import Loss, TargetLosses

# With fewer folds of boosters, too few rows would be left to encode the others.
_ENOUGH_FOLDS = 4


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
        encoders: Sequence[Encoder],
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
        table = numbered_table(trainings[0].rows.table)
        plan, tables = encode(numbered, table, encoders, names)
        with_tables = [
            replace(one, rows=replace(one.rows, table=own))
            for one, own in zip(trainings, tables, strict=True)
        ]
        return cls(plan, with_tables)


def encoder_of(
    training: Training,
    folds: BoosterFolds | None,
    booster: int,
    targets: Sequence[Floats],
    inner: Numbers,
    loss: Loss,
    n_threads: int,
) -> Encoder:
    """The encoder of a booster.

    Its folds are the other folds of the same deal, if they are enough, otherwise `inner`; rows that
    are held out, those of the user's validation sets included, are one more fold.
    """
    fold, left_out = inner, N_FOLDS
    if folds is not None and folds.n_folds >= _ENOUGH_FOLDS:
        left_out = booster % folds.n_folds
        fold = np.full(training.rows.n, left_out)
        fold[: folds.n] = folds.fold[booster // folds.n_folds]
    elif training.held_out is not None:
        fold = np.where(training.held_out, left_out, inner)
    exposure = exposure_of(training.rows, loss)
    return Encoder(training.rows, targets, fold, left_out, n_threads, exposure)


def exposure_of(rows: Rows, loss: Loss) -> Floats | None:
    """What the offsets multiply predictions by, up to a common factor; None: no offsets."""
    if rows.offset is None:
        return None
    return np.ascontiguousarray(loss.predictions(rows.offset - rows.offset.max())[:, 0])


def hides_means(rows: Rows, loss: Loss) -> bool:
    """Whether rows have several targets, or offsets that do not divide targets, as exposures do."""
    if isinstance(loss, TargetLosses):
        return True
    return rows.offset is not None and not loss.has_log_link


def inner_folds(training: Training, *, has_groups: bool, n_threads: int) -> Numbers:
    """Folds of the training rows of one booster; those of a group are in one fold."""
    if not has_groups:
        return dealt_folds(training.rows, training.seed, n_threads)
    assert training.keys is not None
    return folds_of(training.keys, training.seed)
