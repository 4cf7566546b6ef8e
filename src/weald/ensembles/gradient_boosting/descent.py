"""Functional gradient descent: fitting, fitted state and prediction of gradient boosting."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from weald.calls import available_where
from weald.data import ColumnPlan, Rows, as_one_array, dense_blocks, table_for_predict
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.forests.decision_tree import DecisionTreeRegressor
from weald.ensembles.gradient_boosting.base_learners import ForeignLearner, predictions_of
from weald.ensembles.gradient_boosting.gradient_parameters import GradientParameters
from weald.ensembles.gradient_boosting.initial_scores import Start, start_at
from weald.ensembles.gradient_boosting.trained_descent import TrainedDescent
from weald.ensembles.max_features import n_drawn
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.rounds.loop import Training, Watcher, boost, prepare
from weald.ensembles.rounds.loss_curves import (
    Monitor,
    Monitored,
    Progress,
    Reporter,
    refuse_monitor,
)
from weald.ensembles.rounds.starting_scores import offset_scores
from weald.ensembles.rounds.tree_learners import (
    DescentTrees,
    in_user_units,
    single_tree,
    trees_of,
)
from weald.ensembles.row_counts import weighted_as_repeated
from weald.ensembles.staging import moves
from weald.ensembles.warm import OffsetMark, check_offsets, check_statistics, check_warm_start
from weald.losses import Loss
from weald.resampling import seed_of
from weald.trees import Forest, ForestBuilder

# Parameters that the trees in `estimators_` have, too.
_OF_TREES = (
    "criterion",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "max_features",
    "ccp_alpha",
    "max_bins",
    "exact",
    "categorical_features",
    "n_jobs",
)


def _has_trees(model: Any) -> bool:
    if getattr(model, "_estimators", None) is not None:
        raise AttributeError(
            f"the base estimators of this {type(model).__name__} are "
            f"{type(model.estimator).__name__}, not weald's own trees (estimator=None)"
        )
    return True


class GradientBoosting(GradientParameters):
    """Gradient boosting with any loss and any base estimator.

    Attributes
    ----------
    n_estimators_ : int
        Number of fitted rounds.
    n_trees_per_iteration_ : int
        Number of base estimators per round: one, or one per class for three or more classes.
    step_sizes_ : array, shape (rounds, estimators per round)
        Factor of the predictions of each base estimator: learning rate times step size.
    history_ : History
        Losses before the first and after each round, by name: "train loss" of the rows of that
        round, with `subsample` below 1 "out-of-bag loss" of the others, and with `n_iter_no_change`
        "validation loss"; prints as a table. NaN: not computed.
    train_loss_ : array, shape (rounds + 1,)
        The training loss of `history_`.
    train_score_ : array
        The same without the loss before the first round, as in scikit-learn.
    oob_improvement_ : array
        With `subsample` below 1: decrease of the out-of-bag loss in each round; NaN for rounds of
        a previous fit (`warm_start`) that used all rows.
    oob_scores_ : array
        With `subsample` below 1: out-of-bag loss after each round; NaN likewise.
    oob_score_ : float
        The last value of `oob_scores_`.
    max_features_ : int
        Number of columns considered per split, from `max_features`.
    """

    # Metadata routing: groups passed for cross-validation are not used by fit unless requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    _start: Start
    _descended: TrainedDescent
    _fitted_plan: ColumnPlan
    _estimators: list[Any] | None
    _settings: list[tuple[int, dict[str, Any]]]  # (first round, parameters of its trees)

    def _descend(
        self,
        rows: Rows,
        loss: Loss,
        labels: Callable[[Floats], Any],
        *,
        strata: bool,
        monitor: Monitor | None,
    ) -> None:
        """Fit the base estimators; `labels` maps targets to the y of an `init` estimator."""
        refuse_monitor(monitor)
        self._refuse_parameters_of_trees()
        self._refuse_stopping_without_loss(loss)
        for part in (self.estimator, self.init):
            if part is not None and not isinstance(part, str):
                rows = rows.of_numbers(f"{type(part).__name__} as part of {type(self).__name__}")
        training = self._prepared(rows, strata=strata)
        offsets = OffsetMark.of(rows, self._n_threads)
        rows, done = training.rows, self._rounds_to_keep(loss, offsets)
        self._keep_settings(done)
        before = self._descended.in_units_of(rows, loss) if done else None
        if before is not None:
            start = replace(self._start, base=before.forest.base_score)
        else:
            start = start_at(self.init, training, loss, labels(rows.target))
        scores = start.scores(rows.table, loss, rows.target_exponent)
        offset = offset_scores(loss, rows)
        if offset is not None:
            scores += offset
        loss_at_start = loss.at(training.y, scores, rows.weight, training.train_copies)
        learner = self._learner(training, loss, start)
        progress = self._progress(training, loss_at_start, done)
        progress.begin(scores)
        if before is not None:
            self._replay(before, learner, rows, scores, progress)
        watcher: Watcher = progress
        if monitor is not None:
            keep = partial(self._keep, learner, start, rows, loss, progress, offsets)
            watcher = Monitored(progress, monitor, self, keep)
        boost(
            training,
            loss,
            scores,
            learner,
            rounds=range(done, done if progress.is_flat else self.n_estimators),
            fraction=self.subsample,
            watcher=watcher,
        )
        self._keep(learner, start, rows, loss, progress, offsets)
        if self._estimators is None:
            advise_of_constant(self, rows)

    def _prepared(self, rows: Rows, *, strata: bool) -> Training:
        """The training rows, with target statistics of rare categories, and those held out."""
        training = prepare(
            self._with_weights(rows),
            fraction=self.subsample,
            held_fraction=None if self.n_iter_no_change is None else self.validation_fraction,
            asked_by="n_iter_no_change=None",
            random_state=self.random_state,
            strata=lambda target: target.astype(np.int64) if strata else None,
            n_threads=self._n_threads,
            draws_columns=self.max_features is not None,
        )
        n_classes = len(getattr(self, "classes_", ()))
        encoded = self._encoded_by_folds(training.rows, n_classes, training.held_out)
        return replace(training, rows=encoded)

    def _with_weights(self, rows: Rows) -> Rows:
        """Treat weights as repeated rows for foreign estimators, and if no limit counts rows."""
        if self.estimator is not None:
            return rows.with_whole_weights()
        return weighted_as_repeated(
            rows, min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf
        )

    def _learner(
        self, training: Training, loss: Loss, start: Start
    ) -> DescentTrees | ForeignLearner:
        if self.estimator is None:
            return self._trees(training, ForestBuilder(start.base, self._plan.n_columns), loss)
        return ForeignLearner(
            self.estimator,
            step=self._step_for(loss),
            learning_rate=float(self.learning_rate),
            seed=seed_of(self.random_state),
        )

    def _progress(self, training: Training, loss: Loss, done: int) -> Progress:
        has_oob = self.subsample < 1.0
        reporter = None
        if self.verbose:
            reporter = Reporter(self.verbose, done, self.n_estimators, has_oob)
        return Progress(
            training,
            loss,
            has_oob=has_oob,
            patience=self.n_iter_no_change,
            tol=float(self.tol),
            reporter=reporter,
        )

    def _refuse_stopping_without_loss(self, loss: Loss) -> None:
        if self.n_iter_no_change is not None and not getattr(loss, "has_loss", True):
            raise ValueError(
                f"n_iter_no_change={self.n_iter_no_change} requires the loss of the validation "
                f"rows, and the loss {loss.name} has no method loss(y, score). Add it, or set "
                "n_iter_no_change=None."
            )

    # ---- fitted state and warm start ----

    def _keep(
        self,
        learner: DescentTrees | ForeignLearner,
        start: Start,
        rows: Rows,
        loss: Loss,
        progress: Progress,
        offsets: OffsetMark | None = None,
    ) -> None:
        """Set the fitted attributes, in the user's units."""
        for name in ("forest_", "oob_improvement_", "oob_scores_", "oob_score_"):
            self.__dict__.pop(name, None)
        sizes = np.array(learner.step_sizes)
        if isinstance(learner, DescentTrees):
            self._estimators = None
            own = replace(learner.forest.build(), tree_weight=sizes.copy())
        else:
            self._estimators = learner.estimators
            own = ForestBuilder(start.base, self._plan.n_columns).build()
        self._descended = TrainedDescent.of(rows, own, sizes, progress.validation, offsets)
        forest = in_user_units(own, rows, loss)
        if self._estimators is None:
            self.forest_ = forest
        elif not loss.has_log_link:
            sizes = np.ldexp(sizes, rows.target_exponent)
        self._start = replace(start, base=forest.base_score)
        self._fitted_loss = loss
        self._fitted_plan = self._plan
        self.n_trees_per_iteration_ = loss.n_scores
        self.n_estimators_ = len(sizes) // loss.n_scores
        self.step_sizes_ = sizes.reshape(self.n_estimators_, loss.n_scores)
        self.max_features_ = n_drawn(self.max_features, self._plan.n_columns)
        self.train_score_ = np.array(progress.train)
        self._keep_history(progress.history())
        if self.subsample < 1.0:
            self.oob_improvement_ = np.array(progress.oob_improvement)
            self.oob_scores_ = np.array(progress.oob)
            self.oob_score_ = progress.oob[-1] if progress.oob else np.nan

    def _keep_one_class(self, rows: Rows, loss: Loss) -> None:
        """Fitted state for a single class: no base estimators, a constant prediction."""
        training = Training(rows, None, None, seed=0)
        start = Start(np.zeros(1), None)
        forest = ForestBuilder(np.zeros(1), self._plan.n_columns)
        learner = DescentTrees(
            None, forest, step="leaf", learning_rate=1.0, prune=lambda tree: tree, n_threads=1
        )
        self._keep(learner, start, rows, loss, self._progress(training, loss, 0))
        self._keep_history(History({TRAIN_LOSS: np.zeros(1)}))  # the class is certain

    def _keep_history(self, history: History) -> None:
        self.history_, self.train_loss_ = history, history[TRAIN_LOSS]

    def _rounds_to_keep(self, loss: Loss, offsets: OffsetMark | None) -> int:
        """Number of rounds of the previous fit that a warm start keeps."""
        if not self.warm_start or not hasattr(self, "n_estimators_"):
            return 0
        is_alike = loss.n_scores == self.n_trees_per_iteration_ and (
            (self.estimator is None) == (self._estimators is None)
        )
        check_warm_start(
            n_estimators=self.n_estimators,
            rounds=self.n_estimators_,
            is_alike=is_alike,
            plans=(self._fitted_plan, self._plan),
        )
        check_statistics(self._fitted_plan, self._plan)
        check_offsets(self._descended.offsets, offsets)
        return int(self.n_estimators_)

    def _replay(
        self,
        before: TrainedDescent,
        learner: DescentTrees | ForeignLearner,
        rows: Rows,
        scores: Floats,
        progress: Progress,
    ) -> None:
        """Restore the state at the end of the previous fit, with the same order of summation."""
        learner.step_sizes = before.step_sizes.tolist()
        n_scores = self.n_trees_per_iteration_
        if isinstance(learner, DescentTrees):
            for i, tree in enumerate(trees_of(before.forest)):
                learner.forest.add(tree, output=i % n_scores)
        else:
            learner.estimators = list(self._estimators or ())
        table = as_one_array(rows.table)
        for k, move in self._moves(table, before.forest, before.step_sizes):
            scores[k] += move
        progress.train = self.train_score_.tolist()
        unknown = np.full(self.n_estimators_, np.nan)  # rounds with all rows
        progress.oob = getattr(self, "oob_scores_", unknown).tolist()
        progress.oob_improvement = getattr(self, "oob_improvement_", unknown).tolist()
        if self.n_iter_no_change is not None:
            progress.validation = list(before.validation)

    def _keep_rounds(self, n_rounds: int) -> None:
        n_members = n_rounds * self.n_trees_per_iteration_
        if self._estimators is None:
            self.forest_ = self.forest_.part(0, n_members)
        else:
            self._estimators = self._estimators[:n_members]
        self._descended = self._descended.truncated(n_rounds, n_members)
        self.n_estimators_ = n_rounds
        if hasattr(self, "history_"):  # files of early versions lack it
            self._keep_history(self.history_.truncated(n_rounds))
        for name in ("step_sizes_", "train_score_", "oob_improvement_", "oob_scores_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name)[:n_rounds])
        if hasattr(self, "oob_scores_"):
            self.oob_score_ = self.oob_scores_[-1]

    # ---- prediction ----

    def _moves(
        self, table: Any, forest: Forest | None = None, sizes: Floats | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield score index and contribution of each base estimator, by default in user units."""
        n_scores = self.n_trees_per_iteration_
        if self._estimators is not None:
            sizes = self.step_sizes_.ravel() if sizes is None else sizes
            for i, estimator in enumerate(self._estimators):
                yield i % n_scores, predictions_of(estimator, table) * sizes[i]
            return
        trees = moves(self.forest_ if forest is None else forest, table, self._n_threads)
        yield from ((t % n_scores, move) for t, move in enumerate(trees))

    def _scores(self, X: object) -> Floats:
        if (
            self.__sklearn_is_fitted__()
            and self._estimators is None
            and self._start.estimator is None
        ):
            return super()._scores(X)
        check_is_fitted(self)
        parts = []
        for table in dense_blocks(table_for_predict(self, X)):
            scores = self._start.scores(table, self._fitted_loss)
            for k, move in self._moves(table):
                scores[k] += move
            parts.append(scores.T)
        return np.concatenate(parts)

    def _readers(self) -> Sequence[Any]:
        start = self._start.estimator
        return [*(self._estimators or ()), *(() if start is None else (start,))]

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        """Scores of shape (rows, scores) after each round."""
        check_is_fitted(self)
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        scores = self._start.scores(table, self._fitted_loss)
        for i, (k, move) in enumerate(self._moves(table), start=1):
            scores[k] += move
            if i % self.n_trees_per_iteration_ == 0:
                yield np.array(scores.T, order="C")

    @property
    def estimators_(self) -> NDArray[Any]:
        """Fitted base estimators, shape (rounds, estimators per round); own trees as regressors.

        Their predictions are multiplied by `step_sizes_` in the model.
        """
        check_is_fitted(self)
        fitted = self._estimators
        if fitted is None:
            fitted = [self._tree_model(t) for t in range(self.forest_.n_trees)]
        estimators = np.empty(len(fitted), dtype=object)
        estimators[:] = fitted
        return estimators.reshape(self.n_estimators_, self.n_trees_per_iteration_)

    def _keep_settings(self, done: int) -> None:
        """Note the parameters of the trees of the rounds from `done` on."""
        found = {name: getattr(self, name) for name in _OF_TREES}
        self._settings = [*(self._settings if done else ()), (done, found)]

    def _tree_model(self, t: int) -> DecisionTreeRegressor:
        round_ = t // self.n_trees_per_iteration_
        settings = [own for first, own in self._settings if first <= round_][-1]
        tree = DecisionTreeRegressor(**settings)
        keep_columns(self, tree)
        tree.forest_ = single_tree(self.forest_, t)
        return tree

    @property
    def init_(self) -> Any:
        """The fitted `init` estimator, "zero", or a dummy that predicts the best constant."""
        check_is_fitted(self)
        if self._start.estimator is not None:
            return self._start.estimator
        return "zero" if isinstance(self.init, str) else self._constant_model()

    def _constant_model(self) -> Any:
        raise NotImplementedError

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the total gain; for other estimators, their mean importances."""
        check_is_fitted(self)
        if self._estimators is None:
            return super().feature_importances_
        mean = np.mean([one.feature_importances_ for one in self._estimators], axis=0)
        mean = self._plan.sums_by_input(mean)
        return np.asarray(mean / mean.sum() if mean.sum() > 0 else mean)

    @available_where(_has_trees)
    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree.

        Returns
        -------
        array of int32, shape (rows, rounds), for a classifier (rows, rounds, trees per round)
            The leaf as a node of its tree, numbered as in `trees_to_frame` and in scikit-learn.
        """
        return self._by_round(super().apply(X))

    def _by_round(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        return leaves

    @available_where(_has_trees)
    def text(self, tree: int = 0) -> str:
        """Draw one tree as text.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree in `forest_`.
        """
        return super().text(tree)

    @available_where(_has_trees)
    def fingerprint(self) -> str:
        """SHA-256 of the fitted trees: equal for any `n_jobs`, row order and machine."""
        return super().fingerprint()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_estimators_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for part in (self.estimator, self.init):
            if part is not None and not isinstance(part, str):
                allows = get_tags(part).input_tags.allow_nan
                tags.input_tags.allow_nan = tags.input_tags.allow_nan and allows
                tags.input_tags.categorical = False
        return tags
