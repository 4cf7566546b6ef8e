"""Bags of boosters: several on bootstrap samples of the same rows and bins; their mean answers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    Rows,
    as_one_array,
    dense_blocks,
    mass_of,
    table_for_predict,
)
from weald.ensembles.bagged import Bagged
from weald.ensembles.boosting import Training
from weald.ensembles.in_bag import InBag
from weald.ensembles.scored import why_no_ledger
from weald.ensembles.tally import Record, recorded
from weald.losses import Loss
from weald.resampling import Bags, DistinctRows, member_seed
from weald.trees import Forest

Floats = NDArray[np.float64]

# Rows are answered so many at a time.
_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class BoosterBags:
    """How K boosters draw their rows from one prepared training set."""

    training: Training
    bags: Bags

    @classmethod
    def of(
        cls, training: Training, distinct: DistinctRows, place: NDArray[np.intp], n_rows: int
    ) -> "BoosterBags":
        """`place` says which of the different rows each row passed to fit is."""
        mass = mass_of(distinct.copies, distinct.weight)
        n_draws = n_rows if distinct.copies is None else int(distinct.copies.sum())
        if training.held_out is not None:
            # What judges when to stop is never drawn.
            mass = np.where(training.held_out, 0, 1 if mass is None else mass).astype(np.int64)
            copies = training.rows.copies
            kept = ~training.held_out
            n_draws = int(kept.sum() if copies is None else copies[kept].sum())
        n = len(distinct.index)
        return cls(training, Bags(training.seed, n_draws, mass, place, n))

    def training_of(self, member: int) -> Training:
        """The same rows, as often as a booster drew them; weights are in the draws."""
        rows, held = self.training.rows, self.training.held_out
        copies = self.bags.drawn(member)
        if held is not None:
            copies = np.where(held, 1 if rows.copies is None else rows.copies, copies)
        rows = replace(rows, weight=None, weight_exponent=0, copies=copies)
        return replace(self.training, rows=rows, seed=member_seed(self.training.seed, member))

    @property
    def shared(self) -> Training:
        """What bins and limits are made from."""
        rows = replace(self.training.rows, weight_exponent=0)
        return replace(self.training, rows=rows)


def joined_boosters(parts: list[Forest]) -> Forest:
    """All boosters as one forest, whose scores are the mean of theirs."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    base = np.mean([part.base_score for part in parts], axis=0)
    return replace(whole, base_score=base, tree_weight=whole.tree_weight / len(parts))


class BaggedBoosters(Bagged):
    """A model that may be several boosters; `_parts` are their forests, none if it is one alone."""

    forest_: Forest
    _parts: list[Forest]
    _bags: Bags
    _fitted_loss: Loss
    _n_threads: int
    n_bags: int | None
    subsample: float

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if not self._parts:
            raise AttributeError(why_no_ledger(self))
        return InBag(((0, self._bags),), len(self._parts))

    def _one_on_all_rows(self, X: Any, y: Any) -> Any:
        alone = clone(self).set_params(n_bags=None).fit(X, y)
        # A bag of one: its answers are those of its only booster.
        alone._parts = [alone.forest_]
        return alone

    def _check_bags(self) -> None:
        check_is_fitted(self)
        if not self._parts:
            raise ValueError(
                "The trees of one booster are terms of a sum: they have no spread that says how "
                "sure it is. Fit several boosters with n_bags=10, and ask them."
            )

    def _answers_of(self, part: Forest, table: Any) -> Floats:
        scores = part.predict(table, n_threads=self._n_threads)
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _member_answers(self, X: object) -> Iterator[Floats]:
        self._check_bags()
        for table in dense_blocks(table_for_predict(self, X)):
            for begin in range(0, len(table), _AT_ONCE):
                rows = table[begin : begin + _AT_ONCE]
                yield np.stack([self._answers_of(part, rows) for part in self._parts])

    def _combined_answers(self, X: object) -> Floats:
        self._check_bags()
        return self._mean_answers(X)

    def _mean_answers(self, X: object) -> Floats:
        return np.concatenate([mean_of(answers) for answers in self._member_answers(X)])

    def _booster_record(
        self, rows: Rows, weight: Floats | None, held_out: NDArray[np.bool_] | None
    ) -> Record:
        """Ask each booster about the rows it left out; those held out have steered all of them."""
        classes = getattr(self, "classes_", None)
        table = as_one_array(rows.table)
        target = np.ldexp(rows.target, rows.target_exponent)
        n = len(target)

        def members() -> Iterator[tuple[NDArray[np.intp], Floats]]:
            for number, part in enumerate(self._parts):
                out = self._bags.drawn(number) == 0
                some = np.flatnonzero(out if held_out is None else out & ~held_out)
                yield some, self._answers_of(part, table[some])

        n_members = len(self._parts)
        return recorded([(slice(0, n), members())], target, classes, weight, n_members=n_members)


def mean_of(answers: Floats) -> Floats:
    """The mean of the boosters' answers, added in their order."""
    total = answers[0].copy()
    for answer in answers[1:]:
        total += answer
    return np.asarray(total / len(answers))
