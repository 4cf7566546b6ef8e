"""AdaBoost for regression: AdaBoost.R2."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import Rows, bin_rows, dense_blocks, number_rows, read_once, table_for_predict
from weald.ensembles.adaboost.adaboost_base import LIMITS, AdaBoost
from weald.ensembles.adaboost.adaboost_training import (
    Ensemble,
    ForeignLearner,
    Training,
    checked_predictions,
    mean_losses,
    training_of,
)
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.forests.decision_tree import DecisionTreeRegressor
from weald.ensembles.regressing import Regressor
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.parameters import Limit, OneOf
from weald.resampling import seed_of
from weald.trees import Forest, ForestBuilder, GrownTree, TreeGrower, TreeLimits, picked_sets

_DEPTH, _BINS = 3, 255

# Errors below this share of the largest target are rounding errors of a mean: the fit is perfect.
_NOTHING = 2.0**-40

# Rows per block of predictions: those of all base estimators are held in memory.
_ROWS = 2**14


class _TreeLearner:
    """Grows one tree per round, all on the same bins."""

    def __init__(self, training: Training, n_threads: int) -> None:
        self._training = training
        binned = bin_rows(training.rows, max_bins=_BINS, n_threads=n_threads)
        limits = TreeLimits(max_depth=_DEPTH)
        self._grower = TreeGrower(binned, "squared_error", limits, n_threads=n_threads)

    def learn(self, weights: RowWeights, round_: int) -> tuple[GrownTree, Floats]:
        rows = self._training.rows
        if self._training.n_draws is None:
            tree = self._grower.on_values(rows.target[np.newaxis], weights.each, weights.copies)
        else:
            drawn = self._training.drawn(weights, round_)
            tree = self._grower.on_values(rows.target[np.newaxis], None, drawn)
        return tree, tree.value[tree.leaf_of_row, 0]


class _ForeignLearner:
    """Fits one clone of the user's estimator per round."""

    def __init__(self, estimator: Any, training: Training, seed: int) -> None:
        self._table = training.table
        self._learner = ForeignLearner(estimator, training, training.rows.target, seed)

    def learn(self, weights: RowWeights, round_: int) -> tuple[Any, Floats]:
        estimator = self._learner.fit(weights, round_)
        return estimator, checked_predictions(
            estimator, self._table, f"Base estimator {round_ + 1}", are_numbers=True
        )


class AdaBoostRegressor(Regressor, AdaBoost):
    """AdaBoost.R2: the weighted median of base estimators fitted to reweighted rows.

    Each base estimator is fitted with larger weights on the rows that earlier ones predicted badly.
    With the default parameters it is scikit-learn's class of the same name, with trees of depth
    three grown on shared histogram bins.

    Parameters
    ----------
    loss : {"linear", "square", "exponential"}, default="linear"
        Loss of the absolute error divided by the largest one of the round: the error itself, its
        square, or 1 - exp(-error).
    reweight : {"weighting", "resampling"}, default="resampling"
        Fit base estimators with sample weights, or on rows drawn in proportion to their weights,
        which is the original R2 and works with an `estimator` that does not support sample weights.

    Attributes
    ----------
    forest_ : Forest
        The trees as flat arrays (only with `estimator=None`); predictions are weighted medians.
    train_loss_ : array, shape (estimators + 1,)
        Mean over the training rows of exp(sum of vote times (L - ½) over the base estimators), with
        L the loss of the row in that round, from 0 to 1: the function of which the row weights are
        the shares. It bounds the share of rows whose mean L, weighted by the votes, is at least ½.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import AdaBoostRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = AdaBoostRegressor(n_estimators=100, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 2)
    0.98
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **LIMITS,
        "loss": OneOf(("linear", "square", "exponential")),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        reweight: str = "resampling",
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
        store_weights: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.reweight = reweight
        self.categorical_features = categorical_features
        self.target_statistics = target_statistics
        self.store_weights = store_weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting ----

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Numbers, text, categories and dates; missing values if the base estimator supports
            them (weald's own do).
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Initial row weights; only their ratios matter.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows = self._encoded(number_rows(self, X, y, sample_weight), 0)
            rows = self._rows_for_estimators(rows)
            if self.estimator is None:
                rows = rows.with_moderate_target()
            training = training_of(
                rows,
                X,
                sample_weight,
                reweight=self.reweight,
                random_state=self.random_state,
                n_threads=self._n_threads,
            )
            weights = RowWeights(training.rows)
            found = self._boost(self._learner(training), training.rows, weights)
            self._keep(found, training.rows)
            self._keep_weights(training, weights, found.weights)
        return self

    def _learner(self, training: Training) -> _TreeLearner | _ForeignLearner:
        if self.estimator is None:
            self.estimator_ = DecisionTreeRegressor(max_depth=_DEPTH, n_jobs=self.n_jobs)
            return _TreeLearner(training, self._n_threads)
        self.estimator_ = self._base_estimator()
        seed = training.seed if training.n_draws is not None else seed_of(self.random_state)
        return _ForeignLearner(self.estimator_, training, seed)

    def _boost(
        self, learner: _TreeLearner | _ForeignLearner, rows: Rows, weights: RowWeights
    ) -> Ensemble:
        """Run the boosting rounds."""
        found = Ensemble(keeps_weights=self.store_weights)
        found.note(weights)
        factors = []  # of the mean exponential loss
        for round_ in range(self.n_estimators):
            estimator, predictions = learner.learn(weights, round_)
            losses = self._losses(predictions, rows.target)
            error = weights.mean_of(losses)
            is_last = error == 0.0 or error >= 0.5
            if is_last and (error == 0.0 or not found.estimators):
                # Keep a perfect base estimator, and the first one however bad it is.
                found.add(estimator, 1.0, error)
                found.note(weights)
                factors.append(weights.mean_of(_native.exp(losses - 0.5)))
            if is_last:
                break
            log_odds = float(_native.log(np.array([(1.0 - error) / error]))[0])
            vote = float(self.learning_rate) * log_odds
            self._check_vote(vote, round_)
            found.add(estimator, vote, error)
            # Factor e/(1 - e) for rows without loss, 1 for rows of the largest loss.
            mean = weights.multiply(_native.exp((losses - 1.0) * vote))
            found.note(weights)
            factors.append(mean * float(_native.exp(np.array([vote / 2]))[0]))
        self._keep_history(History({TRAIN_LOSS: mean_losses(factors)}))
        return found

    def _losses(self, predictions: Floats, target: Floats) -> Floats:
        """Normalised loss of each row, from 0 to 1."""
        distance = np.abs(predictions - target)
        largest = distance.max()
        if largest <= _NOTHING * np.abs(target).max():
            return np.zeros_like(distance)
        losses: Floats = distance / largest
        if self.loss == "square":
            return losses * losses
        return losses if self.loss == "linear" else 1.0 - _native.exp(-losses)

    def _keep(self, found: Ensemble, rows: Rows) -> None:
        self.estimator_weights_ = np.array(found.votes)
        self.estimator_errors_ = np.array(found.errors)
        self.__dict__.pop("forest_", None)
        if self.estimator is not None:
            self._estimators = found.estimators
            return
        self._estimators = None
        builder = ForestBuilder(np.zeros(1), self._plan.n_columns)
        for tree in found.estimators:
            builder.add(tree, output=0)
        forest = builder.build().scaled(rows.target_exponent, 1.0)
        self.forest_ = replace(forest, tree_weight=self.estimator_weights_)

    def _own_estimators(self) -> list[Any]:
        return [self._own_estimator(i) for i in range(self.forest_.n_trees)]

    def _own_estimator(self, i: int) -> DecisionTreeRegressor:
        estimator = clone(self.estimator_)
        keep_columns(self, estimator)
        estimator.forest_ = _one_tree(self.forest_, i)
        return estimator  # type: ignore[no-any-return]

    # ---- prediction ----

    def _predictions(self, X: object) -> Iterator[Floats]:
        """Yield predictions of all base estimators, shape (rows, estimators), in blocks of rows."""
        if not hasattr(self, "forest_"):
            table = self._checked_table(X)
            predictions = [
                checked_predictions(estimator, table, f"Base estimator {i + 1}", are_numbers=True)
                for i, estimator in enumerate(self.estimators_)
            ]
            yield np.stack(predictions, axis=1)
            return
        n_threads, values = self._n_threads, self.forest_.value[:, 0]
        for table in dense_blocks(table_for_predict(self, X)):
            for begin in range(0, len(table), _ROWS):
                part = table[begin : begin + _ROWS]
                leaves = self.forest_.apply(part, n_threads=n_threads)
                yield values[leaves + self.forest_.first_leaf[:-1]]

    def _medians(self, predictions: Floats, n_estimators: int) -> Floats:
        first = np.ascontiguousarray(predictions[:, :n_estimators])
        return _native.weighted_medians(
            first, self.estimator_weights_[:n_estimators], self._n_threads
        )

    def predict(self, X: object, *, n_rounds: int | None = None) -> Floats:
        """Weighted median of the predictions of the base estimators.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            As in `fit`.
        n_rounds : int or None, default=None
            Use the first `n_rounds` base estimators only; None: all.
        """
        check_is_fitted(self)
        if n_rounds is not None:
            return self.truncate(n_rounds).predict(X)
        n_estimators = len(self.estimator_weights_)
        return np.concatenate([self._medians(part, n_estimators) for part in self._predictions(X)])

    def staged_predict(self, X: object) -> Iterator[Floats]:
        """Predictions after each base estimator."""
        check_is_fitted(self)
        predictions = np.concatenate(list(self._predictions(X)))
        for n_estimators in range(1, len(self.estimator_weights_) + 1):
            yield self._medians(predictions, n_estimators)

    def staged_score(self, X: object, y: Any, sample_weight: object = None) -> Iterator[float]:
        """R² after each base estimator."""
        from sklearn.metrics import r2_score

        for values in self.staged_predict(X):
            yield float(r2_score(y, values, sample_weight=sample_weight))


def _one_tree(forest: Forest, i: int) -> Forest:
    """Extract one tree of a forest."""
    nodes = slice(forest.first_node[i], forest.first_node[i + 1])
    leaves = slice(forest.first_leaf[i], forest.first_leaf[i + 1])
    return replace(
        forest,
        feature=forest.feature[nodes],
        threshold=forest.threshold[nodes],
        right=forest.right[nodes],
        missing_left=forest.missing_left[nodes],
        weight=forest.weight[nodes],
        gain=forest.gain[nodes],
        value=forest.value[leaves],
        first_node=forest.first_node[i : i + 2] - forest.first_node[i],
        first_leaf=forest.first_leaf[i : i + 2] - forest.first_leaf[i],
        output=forest.output[i : i + 1],
        tree_weight=np.ones(1),
        **picked_sets(forest.category_set[nodes], forest.first_word, forest.words),
    )
