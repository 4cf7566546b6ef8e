"""Bagging of boosters: several are fitted on bootstrap samples, their predictions are averaged."""

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

# Number of rows per block of predictions.
_BLOCK_ROWS = 2**16


def joined_boosters(parts: list[Forest]) -> Forest:
    """Join boosters into one forest whose scores are the mean of theirs."""
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.joined(part)
    base = np.mean([part.base_score for part in parts], axis=0)
    return replace(joined, base_score=base, tree_weight=joined.tree_weight / len(parts))


class BaggedBoosters(Bagged):
    """Base class of models of one or several boosters.

    `_parts` holds the forest of each booster; it is empty without bagging.
    """

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
                "The out-of-bag ledger and prediction intervals require one prediction per row; "
                f"this model predicts {self._fitted_loss.n_scores} quantiles. Fit a model for one "
                "of them, or for the mean."
            )
        return InBag(((0, self._draws),), len(self._parts))

    def _one_on_all_rows(self, X: Any, y: Any) -> Any:
        single = clone(self).set_params(n_bags=None).fit(X, y)
        # As a bag of one booster, it has the prediction methods of a bag.
        single._parts = [single.forest_]
        return single

    def _check_bags(self) -> None:
        """Raise if the model is a single booster."""
        check_is_fitted(self)
        if not self._parts:
            raise ValueError(
                "The trees of one booster are terms of a sum: their spread is no measure of "
                "uncertainty. Fit several boosters, for instance with n_bags=10."
            )

    def _predicted(self, scores: Floats) -> Floats:
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _predictions_of(self, part: Forest, table: Any) -> Floats:
        return self._predicted(part.predict(table, n_threads=self._n_threads))

    def _estimator_predictions(self, X: object) -> Iterator[Floats]:
        self._check_bags()
        for table in dense_blocks(table_for_predict(self, X)):
            for begin in range(0, len(table), _BLOCK_ROWS):
                rows = table[begin : begin + _BLOCK_ROWS]
                yield np.stack([self._predictions_of(part, rows) for part in self._parts])

    def _mean_of(self, answers: Floats) -> Floats:
        return _mean_over_boosters(answers)

    def _ensemble_predictions(self, X: object) -> Floats:
        self._check_bags()
        return self._mean_predictions(X)

    def _mean_predictions(self, X: object) -> Floats:
        return np.concatenate(
            [self._mean_of(answers) for answers in self._estimator_predictions(X)]
        )

    def _staged_means(self, X: object) -> Iterator[Floats]:
        """Mean predictions after each round; boosters that stopped earlier keep their last ones."""
        self._check_bags()
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        forests = [self._forest_of(state, rounds) for state, rounds in self._kept_rounds()]
        starts = [np.repeat(forest.base_score[np.newaxis], len(table), 0) for forest in forests]
        predictions = [self._predicted(start) for start in starts]
        stages = [staged_scores(forest, table, self._n_threads) for forest in forests]
        for _ in range(self.n_estimators_):
            for k, stage in enumerate(stages):
                scores = next(stage, None)
                if scores is not None:
                    predictions[k] = self._predicted(scores)
            yield _mean_over_boosters(predictions)

    def _kept_rounds(self) -> Iterator[tuple[TrainedState, int]]:
        """The training state of each booster and the number of its rounds in the model."""
        parts = self._parts or [self.forest_]
        for state, part in zip(self._states, parts, strict=True):
            yield state, part.n_trees // part.trees_a_round(self._fitted_loss.n_scores)

    def _forest_of(self, state: TrainedState, rounds: int) -> Forest:
        """Forest of the first rounds, with the leaf values before refitting."""
        loss = self._fitted_loss
        return moved(state.first(rounds, loss), state.target_exponent, loss)

    def _booster_record(self, bags: BoosterBags) -> Record | None:
        """Record the predictions of each booster for its out-of-bag rows."""
        if isinstance(self._fitted_loss, QuantileLosses):
            return None
        draws, rows, n = bags.draws, bags.training.rows, bags.draws.n
        table = as_one_array(rows.table)
        target = np.ldexp(rows.target[:n], rows.target_exponent)

        def predictions() -> Iterator[tuple[NDArray[np.intp], Floats]]:
            for number, part in enumerate(self._parts):
                out_of_bag = np.flatnonzero(draws.drawn(number) == 0)
                yield out_of_bag, self._predictions_of(part, table[out_of_bag])

        classes = getattr(self, "classes_", None)
        blocks = [(slice(0, n), predictions())]
        return recorded(blocks, target, classes, bags.weight, n_members=len(self._parts))


def _mean_over_boosters(predictions: Floats | Sequence[Floats]) -> Floats:
    """Mean over the first axis, added in the order of the boosters."""
    total = predictions[0].copy()
    for one in predictions[1:]:
        total += one
    return np.asarray(total / len(predictions))


def side_by_side(curves: list[Floats]) -> Floats:
    """Stack curves of different lengths as rows, padded with NaN.

    >>> side_by_side([np.array([3.0, 2.0, 1.0]), np.array([3.0, 2.5])]).tolist()
    [[3.0, 2.0, 1.0], [3.0, 2.5, nan]]
    """
    table = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(table, curves, strict=True):
        row[: len(curve)] = curve
    return table
