"""Models of several boosters, each of which leaves out a fold of the rows: mean and spread."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.aggregation.spread import deviation
from weald.data import (
    ColumnPlan,
    Rows,
    as_one_array,
    checked_offset,
    dense_blocks,
    table_for_predict,
)
from weald.data.numbered_levels import encoded, numbered_table
from weald.data.parts.table import PartsTable
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.boosted_trees.trained_state import TrainedState, averaged, trees_of_booster
from weald.ensembles.out_of_bag.bagged import Bagged
from weald.ensembles.out_of_bag.conformal import Residuals
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.tally import Record, recorded
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.tree_learners import in_units_of_targets
from weald.ensembles.scored import why_no_ledger
from weald.ensembles.staging import of_rows
from weald.losses import Loss, QuantileLosses, TargetLosses
from weald.trees import Forest

Floats = NDArray[np.float64]

# Number of rows per block of predictions.
_BLOCK_ROWS = 2**16


class BaggedBoosters(Bagged):
    """Base class of models of one or several boosters.

    The trees of several boosters are interleaved in `forest_`, round by round; its scores are the
    mean of theirs.
    """

    oob_prediction_: Floats
    forest_: Forest
    n_estimators_: int
    _n_boosters: int
    _folds: BoosterFolds | None
    _state: TrainedState
    _fitted_loss: Loss
    _plan: ColumnPlan
    _n_threads: int
    _predictions: Callable[..., Floats]

    def _strata(self, target: Floats) -> NDArray[np.int64] | None:
        """Stratum of each row, in equal shares in all folds: its class; None: no strata."""
        return target.astype(np.int64) if hasattr(self, "classes_") else None

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if self._folds is None:
            raise AttributeError(why_no_ledger(self))
        if isinstance(self._fitted_loss, TargetLosses):
            raise AttributeError(
                "The out-of-bag ledger and prediction intervals require one target; this model "
                f"predicts {self._fitted_loss.n_scores}. Its out-of-bag predictions are "
                "oob_prediction_; for intervals, fit one model per target: "
                "sklearn.multioutput.MultiOutputRegressor."
            )
        if isinstance(self._fitted_loss, QuantileLosses):
            raise AttributeError(
                "The out-of-bag ledger and prediction intervals require one prediction per row; "
                f"this model predicts {self._fitted_loss.n_scores} quantiles. Fit a model for one "
                "of them, or for the mean."
            )
        return InBag(((0, self._folds),), self._n_boosters)

    def _why_no_record(self) -> str:
        return (
            "This model has some rounds of another, by truncate or as seen by a callback. "
            "Out-of-bag predictions are computed at the end of fit, for all rounds: use those of "
            f"the whole model, or fit one with n_estimators={self.n_estimators_}."
        )

    @property
    def _unrefitted(self) -> Forest:
        """The trees before leaf values were estimated on all rows."""
        state, loss = self._state, self._fitted_loss
        forest = averaged(state.first(self.n_estimators_, loss), self._n_boosters)
        return in_units_of_targets(forest.scaled(0, state.weight_unit), state.target_exponent, loss)

    def _boosters_of(self, forest: Forest) -> list[Forest]:
        """The forest of each booster."""
        numbers = range(self._n_boosters)
        trees = [trees_of_booster(forest, k, self._n_boosters, self._fitted_loss) for k in numbers]
        return [replace(forest.picked(own), tree_weight=np.ones(len(own))) for own in trees]

    def _booster_predictions(
        self, boosters: list[Forest], table: Any, offset: Floats | None = None
    ) -> Floats:
        loss = replace(self._fitted_loss, n_threads=self._n_threads)
        scores = [booster.predict(table, n_threads=self._n_threads) for booster in boosters]
        if offset is not None:
            scores = [one + offset for one in scores]
        return np.stack([loss.predictions(one) for one in scores])

    def _check_calibration(self) -> None:
        if self._state.offsets is not None:
            raise AttributeError(
                "Prediction intervals, quantiles and sets and out-of-bag importances are not "
                "available for a model that was fitted with an offset: the error of a row depends "
                "on its offset, such as its exposure. oob_ has the out-of-bag predictions."
            )

    def _estimator_predictions(self, X: object) -> Iterator[Floats]:
        yield from self._blocks_of(self.forest_, X)

    def _out_of_bag_predictions(self, X: object) -> Iterator[Floats]:
        """Predictions of boosters whose leaf values do not depend on the rows they left out."""
        yield from self._blocks_of(self._unrefitted, X)

    def _blocks_of(self, forest: Forest, X: object, offset: object = None) -> Iterator[Floats]:
        check_is_fitted(self)
        if self._folds is None:
            raise ValueError(
                "The trees of one booster are terms of a sum: their spread is no measure of "
                "uncertainty. Fit several boosters, for instance with n_bags=5."
            )
        boosters, loss = self._boosters_of(forest), self._fitted_loss
        table, first, own = table_for_predict(self, X), 0, None
        if offset is not None:
            n_scores, of_exponents = loss.n_scores, loss.of_exponents
            own = checked_offset(offset, table.shape[0], n_scores, of_exponents=of_exponents)
        for part in dense_blocks(table):
            for begin in range(0, len(part), _BLOCK_ROWS):
                block = part[begin : begin + _BLOCK_ROWS]
                beside = None if own is None else own[first : first + len(block)]
                yield self._booster_predictions(boosters, block, beside)
                first += len(block)

    def _ensemble_predictions(self, X: object) -> Floats:
        return self._predictions(X)

    def _mean_and_std(self, X: Any, offset: object = None) -> tuple[Floats, Floats]:
        """Predictions, and the standard deviation of those of the boosters about them."""
        blocks = self._blocks_of(self.forest_, X, offset)
        spreads = [deviation(block, block.mean(axis=0)) for block in blocks]
        return self._predictions(X, offset), np.concatenate(spreads)

    def _recorded(self, training: Training, kept: NDArray[np.bool_]) -> Record | None:
        """Record the predictions of each booster for the rows that it left out.

        Those of several targets are an attribute, in the order of the rows passed to fit, which
        `kept` masks.
        """
        folds = self._folds
        if folds is None or isinstance(self._fitted_loss, QuantileLosses):
            return None
        rows = training.rows.take(np.arange(folds.n))
        if isinstance(self._fitted_loss, TargetLosses):
            assert training.index is not None
            place = np.flatnonzero(kept)[training.index[: folds.n]]
            self.oob_prediction_ = np.full((len(kept), rows.n_outputs), np.nan)
            for left_out, predictions in self._left_out_predictions(rows, folds):
                self.oob_prediction_[place[left_out]] = predictions
            return None
        target = np.ldexp(rows.target, rows.target_exponent)
        classes = getattr(self, "classes_", None)
        blocks = [(slice(0, folds.n), self._left_out_predictions(rows, folds))]
        return recorded(blocks, target, classes, rows.total_weight, n_members=self._n_boosters)

    def _left_out_predictions(
        self, rows: Rows, folds: BoosterFolds
    ) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """The rows that each booster left out, and its predictions for them."""
        table: Any = rows.table
        if self._plan.has_statistics:
            table = encoded(self._plan, numbered_table(table))
        if not isinstance(table, PartsTable):
            table = as_one_array(table)
        loss = replace(self._fitted_loss, n_threads=self._n_threads)
        for k, booster in enumerate(self._boosters_of(self._unrefitted)):
            left_out = np.flatnonzero(folds.left_out(k))
            predict = partial(booster.predict, n_threads=self._n_threads)
            scores = of_rows(table[left_out], predict)
            if rows.offset is not None:
                scores = scores + rows.offset[left_out]
            yield left_out, loss.predictions(scores)

    def _residuals(self, record: Record) -> Residuals:
        """Residuals without spread, for intervals of one width.

        The spread of the few boosters that leave a row out is not that of all boosters after their
        leaves were refitted, by which intervals of new rows would be scaled.
        """
        scored = record.scored
        weight = None if record.weight is None else record.weight[scored]
        signed = record.target[scored] - record.predictions[scored, 0]
        return Residuals(signed, np.full(len(signed), np.nan), weight)
