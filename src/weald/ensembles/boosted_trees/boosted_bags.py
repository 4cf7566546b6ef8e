"""Bags of boosters: several on bootstrap samples of the same rows and bins; their mean answers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from weald.data import as_one_array, dense_blocks, table_for_predict
from weald.ensembles.boosted_trees.booster_draws import BoosterBags, BoosterDraws
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.out_of_bag.bagged import Bagged
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.tally import Record, recorded
from weald.ensembles.rounds.tree_learners import moved
from weald.ensembles.scored import why_no_ledger
from weald.ensembles.staging import staged_scores
from weald.losses import Loss, QuantileLosses
from weald.trees import Forest

Floats = NDArray[np.float64]

# Rows are answered so many at a time.
_AT_ONCE = 2**16


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
    n_estimators_: int
    n_bags: int | None
    subsample: float
    _parts: list[Forest]
    _states: list[TrainedState]
    _draws: BoosterDraws
    _fitted_loss: Loss
    _n_threads: int

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if not self._parts:
            raise AttributeError(why_no_ledger(self))
        if isinstance(self._fitted_loss, QuantileLosses):
            raise AttributeError(
                "The out-of-bag ledger, intervals and what follows from them judge one number a "
                f"row; this model answers {self._fitted_loss.n_scores} quantiles. Fit a model for "
                "one of them, or for the mean."
            )
        return InBag(((0, self._draws),), len(self._parts))

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

    def _predicted(self, scores: Floats) -> Floats:
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _answers_of(self, part: Forest, table: Any) -> Floats:
        return self._predicted(part.predict(table, n_threads=self._n_threads))

    def _member_answers(self, X: object) -> Iterator[Floats]:
        self._check_bags()
        for table in dense_blocks(table_for_predict(self, X)):
            for begin in range(0, len(table), _AT_ONCE):
                rows = table[begin : begin + _AT_ONCE]
                yield np.stack([self._answers_of(part, rows) for part in self._parts])

    def _mean_of(self, answers: Floats) -> Floats:
        return mean_of(answers)

    def _combined_answers(self, X: object) -> Floats:
        self._check_bags()
        return self._mean_answers(X)

    def _mean_answers(self, X: object) -> Floats:
        return np.concatenate([self._mean_of(answers) for answers in self._member_answers(X)])

    def _staged_means(self, X: object) -> Iterator[Floats]:
        """Mean answers after each round; a booster that has ended answers as it did then."""
        self._check_bags()
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        forests = [self._forest_of(state, rounds) for state, rounds in self._kept_rounds()]
        starts = [np.repeat(forest.base_score[np.newaxis], len(table), 0) for forest in forests]
        said = [self._predicted(start) for start in starts]
        stages = [staged_scores(forest, table, self._n_threads) for forest in forests]
        for _ in range(self.n_estimators_):
            for k, stage in enumerate(stages):
                scores = next(stage, None)
                if scores is not None:
                    said[k] = self._predicted(scores)
            yield mean_of(said)

    def _kept_rounds(self) -> Iterator[tuple[TrainedState, int]]:
        parts = self._parts or [self.forest_]
        for state, part in zip(self._states, parts, strict=True):
            yield state, part.n_trees // part.trees_a_round(self._fitted_loss.n_scores)

    def _forest_of(self, state: TrainedState, rounds: int) -> Forest:
        """The first rounds as they were made, before their leaves were estimated anew."""
        loss = self._fitted_loss
        return moved(state.first(rounds, loss), state.target_exponent, loss)

    def _booster_record(self, bags: BoosterBags) -> Record | None:
        """Ask each booster about the rows it has not seen."""
        if isinstance(self._fitted_loss, QuantileLosses):
            return None
        draws, rows, n = bags.draws, bags.training.rows, bags.draws.n
        table = as_one_array(rows.table)
        target = np.ldexp(rows.target[:n], rows.target_exponent)

        def members() -> Iterator[tuple[NDArray[np.intp], Floats]]:
            for number, part in enumerate(self._parts):
                some = np.flatnonzero(draws.drawn(number) == 0)
                yield some, self._answers_of(part, table[some])

        classes = getattr(self, "classes_", None)
        blocks = [(slice(0, n), members())]
        return recorded(blocks, target, classes, bags.weight, n_members=len(self._parts))


def mean_of(answers: Floats | Sequence[Floats]) -> Floats:
    """The mean of the boosters' answers, added in their order."""
    total = answers[0].copy()
    for answer in answers[1:]:
        total += answer
    return np.asarray(total / len(answers))


def side_by_side(curves: list[Floats]) -> Floats:
    """A row for each booster, NaN after its end.

    >>> side_by_side([np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.5])]).tolist()
    [[3.0, 2.0, 1.0], [3.0, 2.5, nan]]
    """
    table = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(table, curves, strict=True):
        row[: len(curve)] = curve
    return table
