"""Folds of the boosters of a bag: each booster is trained on all rows but those of its fold."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.rounds.loop import Training
from weald.resampling import OrderedRows, deal_folds, estimator_seed

Mask = NDArray[np.bool_]

# A booster is trained on four fifths of the rows, unless there are fewer boosters than folds.
_N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class BoosterFolds:
    """Which rows each booster leaves out.

    Rows are dealt out into folds, again for every five boosters; booster k leaves out one fold, and
    every row is left out by at least one booster.

    Attributes
    ----------
    fold : intp [repetitions, rows]
        The fold of each row of positive weight, in the order of the rows' content.
    n_folds : int
        Number of folds of a repetition.
    n_boosters : int
        Number of boosters.
    place : intp [rows passed to fit]
        Where each row lies in the order of content; -1: it had no weight.
    """

    fold: NDArray[np.intp]
    n_folds: int
    n_boosters: int
    place: NDArray[np.intp]

    draws_by_weight = False
    has_equal_draws = False

    @classmethod
    def dealt(
        cls,
        n_boosters: int,
        ordered: OrderedRows,
        strata: NDArray[np.int64] | None,
        kept: Mask,
        *,
        seed: int,
    ) -> "BoosterFolds":
        """Deal out rows (or whole groups), classes in equal shares.

        `kept` marks the rows passed to fit that have a weight.
        """
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = ordered.place
        groups = ordered.groups
        keys = ordered.keys if groups is None else groups.keys
        n_folds = min(_N_FOLDS, n_boosters, len(keys))
        if n_folds < 2:
            what = "rows" if groups is None else "groups"
            raise ValueError(
                f"n_bags={n_boosters} needs at least two {what}, to leave some out of each "
                f"booster; got n_samples = {len(keys)}. Set n_bags=None or give more {what}."
            )
        n_repeats = -(-n_boosters // n_folds)
        of_keys = strata if groups is None else None
        folds = [deal_folds(keys, of_keys, n_folds, seed=seed, number=r) for r in range(n_repeats)]
        fold = np.stack(folds)
        return cls(fold if groups is None else fold[:, groups.of_row], n_folds, n_boosters, place)

    @property
    def n(self) -> int:
        """Number of rows of positive weight."""
        return int(self.fold.shape[1])

    def left_out(self, booster: int) -> Mask:
        """Mask of the rows that a booster is not trained on."""
        return np.asarray(self.fold[booster // self.n_folds] == booster % self.n_folds)

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a booster was trained on each row, in the order of content."""
        return (~self.left_out(member)).astype(np.int64)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a booster was trained on each row passed to fit."""
        return np.append(self.drawn(member), 0)[self.place]

    def training_of(self, training: Training, booster: int) -> Training:
        """The training set of a booster, its fold held out, with a seed of its own."""
        held = np.zeros(training.rows.n, dtype=bool)
        held[: self.n] = self.left_out(booster)
        if training.held_out is not None:  # validation rows come after those of the fit
            held |= training.held_out
        return replace(training, held_out=held, seed=estimator_seed(training.seed, booster))


def trainings_of(training: Training, folds: BoosterFolds | None) -> list[Training]:
    """The training set of each booster; of one booster all rows."""
    if folds is None:
        return [training]
    return [folds.training_of(training, k) for k in range(folds.n_boosters)]
