"""Common base class of the boosted-trees classifier and regressor: training and prediction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.advice import advise
from weald.data import (
    AnyBins,
    ColumnPlan,
    Rows,
    ValidationRows,
    bin_any_rows,
    dense_blocks,
    table_for_predict,
    validation_with_offset,
    with_offset,
)
from weald.data.level_means import SOME_FEW_ROWS, LevelRule
from weald.data.numbered_levels import numbered_table, without_numbers
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.auto_settings import (
    BoosterSettings,
    chosen_settings,
    is_auto,
    uses_statistics,
)
from weald.ensembles.boosted_trees.boosted_bags import BaggedBoosters
from weald.ensembles.boosted_trees.boosted_parameters import (
    BoostedParameters,
    check_memory,
    check_symmetric_growth,
)
from weald.ensembles.boosted_trees.booster import Booster, Boosters, BoostingRun
from weald.ensembles.boosted_trees.checkpoint import Checkpoint
from weald.ensembles.boosted_trees.folds import BoosterFolds, trainings_of
from weald.ensembles.boosted_trees.target_statistics import (
    TargetStatistics,
    encoder_of,
    hides_means,
    inner_folds,
)
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.class_weights import validation_by_class, weighted_by_class
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.level_statistics import names_of_statistics, targets_of
from weald.ensembles.max_features import n_drawn
from weald.ensembles.monotonic import directions_of
from weald.ensembles.rounds.callbacks import TakesCallbacks
from weald.ensembles.rounds.constraints import groups_of
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.rounds.loop import Training, prepare
from weald.ensembles.rounds.scoring import (
    LOSS,
    HeldOutScorer,
    is_loss,
    watched_metric,
)
from weald.ensembles.rounds.time_limit import TimeLimit
from weald.ensembles.row_counts import weighted_as_repeated
from weald.ensembles.staging import staged_scores
from weald.ensembles.statistics_columns import OwnersColumns
from weald.ensembles.warm import OffsetMark
from weald.losses import Loss, scaled, units_of
from weald.resampling import OrderedRows, ordered_rows
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search

_UNUSED_SCORING = (
    "{} has no effect: there is no validation set to score. Set "
    "early_stopping=True, or pass X_val and y_val to fit."
)


class BoostedTrees(TakesCallbacks, BaggedBoosters, BoostedParameters):
    """Gradient boosting with second-order (Newton) trees on histograms."""

    # Scores held-out rows after a round.
    _held_out_scorer: ClassVar[Any] = HeldOutScorer

    # Metadata routing: groups passed for cross-validation splits do not reach fit unless requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    _ranks_queries: ClassVar[bool] = False

    _takes_parts: ClassVar[bool] = True  # `fit` takes what weald.parts makes

    def _boost(
        self,
        rows: Rows,
        loss: Loss,
        validation: ValidationRows | None,
        inputs: Mapping[str, Any],
        *,
        kept: NDArray[np.bool_],
        class_weight: Floats | None = None,
        ordered: OrderedRows | None = None,
    ) -> None:
        """Fit one booster on all rows, or several of which each leaves out a fold.

        Parameters
        ----------
        rows
            Training rows.
        loss
            Loss function to minimise.
        validation
            Validation set passed by the user.
        inputs
            X, y and metadata of the fit, for callbacks.
        kept
            Mask of the rows passed to `fit` that `rows` holds.
        class_weight
            Factor of the sample weights by class; it affects neither row counts nor sampling.
        ordered
            The rows in the order of the fit; None: that of their content, if rows are sampled.
        """
        validation = validation_by_class(validation, class_weight)
        watchers = [] if self.time_limit is None else [TimeLimit(float(self.time_limit))]
        settings = self._settings(rows, loss, validation, self._n_classes)
        has_validation = any((settings.early_stopping, validation, settings.n_bags))
        self._check_scoring(loss, has_validation=has_validation)
        settings.advise_of_unused(self)
        n_val = 0 if validation is None else validation.n
        check_memory(rows.n + n_val, loss.n_scores, settings.n_bags)
        checkpoint = None if self.checkpoint is None else Checkpoint(self, settings)
        offsets = OffsetMark.of(rows, self._n_threads)
        earlier = self._earlier(rows, loss, settings, checkpoint, offsets)
        if ordered is None and settings.n_bags is not None:
            ordered = ordered_rows(rows, n_threads=self._n_threads)
        if ordered is None:
            rows = weighted_as_repeated(rows, min_samples_leaf=settings.min_samples_leaf)
        training = self._prepared(rows, validation, settings, self._n_classes, earlier, ordered)
        folds = None
        if ordered is not None and settings.n_bags is not None:
            strata = self._strata(training.rows.target[: ordered.n])
            folds = BoosterFolds.dealt(settings.n_bags, ordered, strata, kept, seed=training.seed)
        trainings = trainings_of(training, folds)
        if self._plan.has_numbers:
            statistics = self._statistics(
                trainings, folds, loss, has_groups=rows.groups is not None
            )
            self._columns, trainings = statistics.plan, statistics.trainings
        classified = self._with_class_weight(training, class_weight)
        if checkpoint is not None:
            classes = getattr(self, "classes_", None)
            checkpoint.check_rows(classified, self._plan, classes, self._n_threads)
        elif earlier is not None:
            earlier.check_statistics(self._plan)
        run = BoostingRun(
            self,
            settings,
            self._loss_of(loss, training),
            self._boosters(training, trainings, loss, settings, class_weight),
            classified,
            folds=folds,
            watchers=watchers,
            inputs=inputs,
            kept=kept,
            checkpoint=checkpoint,
            earlier=earlier,
            offsets=offsets,
        )
        self._keep(run.booster(), loss, settings, folds)
        self._record = self._recorded(training, kept)
        advise_of_constant(self, rows)

    def _loss_of(self, loss: Loss, training: Training) -> Loss:
        """The loss of the rows of a fit, if it depends on which rows there are."""
        return loss

    def _statistics(
        self,
        trainings: Sequence[Training],
        folds: BoosterFolds | None,
        loss: Loss,
        *,
        has_groups: bool,
    ) -> TargetStatistics:
        """The target statistics of the boosters' rows."""
        first = trainings[0]
        inner = inner_folds(first, has_groups=has_groups, n_threads=self._n_threads)
        targets = targets_of(first.rows, self._n_classes)
        encoders = [
            encoder_of(one, folds, k, targets, inner, loss, self._n_threads)
            for k, one in enumerate(trainings)
        ]
        classes, are_rates = getattr(self, "classes_", None), first.rows.offset is not None
        names = names_of_statistics(classes, are_rates=are_rates)
        return TargetStatistics.of(self._plan, trainings, encoders, names)

    def _boosters(
        self,
        training: Training,
        trainings: Sequence[Training],
        loss: Loss,
        settings: BoosterSettings,
        class_weight: Floats | None,
    ) -> Boosters:
        """The rows and growers of the boosters.

        Bins are learned from the rows of all boosters, `training`; they depend on sample weights,
        not on class weights. Boosters with target statistics have tables of their own.
        """
        plan = self._plan.of_owner(0)
        own = [self._with_class_weight(one, class_weight) for one in trainings]
        # The seed of column sampling is that of the fit.
        classified = self._with_class_weight(training, class_weight)
        growths = self._growths(len(own))
        limits = {g: self._tree_limits(classified, loss, settings, plan, g) for g in set(growths)}
        if not self._plan.has_statistics:
            binned = self._binned(training)
            shared = {growth: self._grower(binned, one) for growth, one in limits.items()}
            growers = [shared[growth] for growth in growths]
            return Boosters(own, growers, limits[growths[0]], None)
        growers = [
            self._grower(self._binned(replace(training, rows=one.rows)), limits[growth])
            for one, growth in zip(trainings, growths, strict=True)
        ]
        return Boosters(own, growers, limits[growths[0]], OwnersColumns(self._plan, len(own)))

    def _growths(self, n_boosters: int) -> list[str]:
        """The growth of the trees of each booster."""
        return [self.growth] * n_boosters

    def _with_class_weight(self, training: Training, class_weight: Floats | None) -> Training:
        if class_weight is None:
            return training
        return replace(training, rows=weighted_by_class(training.rows, class_weight))

    @property
    def _numbers_levels(self) -> LevelRule | None:
        """Which columns are read with the numbers of levels, for target statistics."""
        wanted = self._wanted_statistics
        has_some = self.quality != "fast" if is_auto(wanted) else bool(wanted)
        return SOME_FEW_ROWS if has_some else None

    @property
    def _wanted_statistics(self) -> bool | str:
        """The parameter `target_statistics`; a warm start keeps what was chosen."""
        if is_auto(self.target_statistics) and self.warm_start and hasattr(self, "_state"):
            return bool(getattr(self, "target_statistics_", False))  # older model files
        return self.target_statistics

    @property
    def _n_classes(self) -> int:
        """Number of classes in a fit; 0 for a regression."""
        return len(getattr(self, "classes_", ()))

    def _with_groups_and_offset(
        self, rows: Rows, groups: object, offset: object, kept: NDArray[np.bool_], loss: Loss
    ) -> Rows:
        """Add what was passed to `fit` beside the rows, of which `rows` holds those of `kept`."""
        rows = rows.in_groups(groups, kept)
        is_log = self._n_classes > 0 or loss.of_exponents
        rows = with_offset(rows, offset, kept, loss.n_scores, of_exponents=is_log)
        return self._without_unused_numbers(rows, loss)

    def _with_offset_val(
        self,
        validation: ValidationRows | None,
        rows: Rows,
        X_val: object,
        offset_val: object,
        loss: Loss,
    ) -> ValidationRows | None:
        is_log = self._n_classes > 0 or loss.of_exponents
        return validation_with_offset(validation, rows, X_val, offset_val, of_exponents=is_log)

    def _without_unused_numbers(self, rows: Rows, loss: Loss) -> Rows:
        """Drop the numbers of levels if the task or the offsets allow no target statistics."""
        if not self._plan.has_numbers:
            return rows
        wanted, n_classes = self._wanted_statistics, self._n_classes
        if n_classes != 1 and uses_statistics(
            wanted, self.quality, n_classes, hides_means=hides_means(rows, loss)
        ):
            return rows
        self._columns, table = without_numbers(self._plan, numbered_table(rows.table))
        return replace(rows, table=table)

    def _settings(
        self, rows: Rows, loss: Loss, validation: ValidationRows | None, n_classes: int
    ) -> BoosterSettings:
        """The parameters, with "auto" replaced; a warm start keeps those of the first fit."""
        facts = {
            "has_loss": not is_loss(self.scoring) or getattr(loss, "has_loss", True),
            "hides_means": hides_means(rows, loss),
            "is_smooth": loss.is_smooth,
        }
        settings = chosen_settings(self, rows, validation, n_classes, **facts)
        before = self.auto_settings_ if self.warm_start and hasattr(self, "_state") else {}
        kept = {
            name: value
            for name, value in before.items()
            if name not in ("n_estimators", "early_stopping") and is_auto(getattr(self, name, None))
        }
        return replace(settings, **kept)

    def _prepared(
        self,
        rows: Rows,
        validation: ValidationRows | None,
        settings: BoosterSettings,
        n_classes: int,
        earlier: TrainedState | None,
        ordered: OrderedRows | None,
    ) -> Training:
        holds_out = settings.early_stopping and validation is None and settings.n_bags is None
        return prepare(
            rows,
            fraction=settings.subsample,
            held_fraction=self.validation_fraction if holds_out else None,
            asked_by="early_stopping=False",
            random_state=self._seed_after(earlier),
            strata=self._strata,
            n_threads=self._n_threads,
            validation=validation,
            draws_columns=settings.max_features is not None,
            ordered=ordered,
        )

    def _grower(self, binned: AnyBins, limits: TreeLimits) -> TreeGrower:
        return TreeGrower(binned, "newton", limits, n_threads=self._n_threads)

    def _earlier(
        self,
        rows: Rows,
        loss: Loss,
        settings: BoosterSettings,
        checkpoint: Checkpoint | None,
        offsets: OffsetMark | None,
    ) -> TrainedState | None:
        """State of an earlier fit to continue, from a checkpoint or a warm start."""
        if checkpoint is not None:
            return checkpoint.read(self, loss)
        if not self.warm_start or not hasattr(self, "_state"):
            return None
        state = self._state
        state.check(
            self,
            loss,
            self._plan,
            n_estimators=settings.n_estimators,
            n_boosters=settings.n_bags or 1,
            offsets=offsets,
        )
        has_vectors = settings.multi_class == "vector_leaves" and loss.n_scores > 1
        if state.forest.n_trees and (state.forest.output[0] < 0) != has_vectors:
            raise ValueError(
                "warm_start cannot continue with another multi_class than the previous fit. "
                "Restore it, or set warm_start=False to start over."
            )
        return state.in_units_of(rows, loss)

    def _seed_after(self, earlier: TrainedState | None) -> Any:
        """The given seed; a continued fit keeps that of the earlier fit, others take 0."""
        if isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        if earlier is not None:
            return earlier.seed
        return 0 if self.random_state is None else self.random_state

    def _check_scoring(self, loss: Loss, *, has_validation: bool) -> None:
        """Raise if the loss cannot score validation rows; warn if there are none to score."""
        by_loss = is_loss(self.scoring)
        if not has_validation and (not by_loss or self.metrics is not None):
            advise(_UNUSED_SCORING.format("metrics" if by_loss else "scoring"))
        if has_validation and by_loss and not getattr(loss, "has_loss", True):
            raise ValueError(
                "early_stopping and X_val with scoring='loss' need a loss value per row; the loss "
                f"{loss.name} has no method loss(y, score). Add it, or choose another scoring."
            )

    def _keep(
        self,
        booster: Booster,
        loss: Loss,
        settings: BoosterSettings,
        folds: BoosterFolds | None = None,
    ) -> None:
        """Set the fitted attributes."""
        self._fitted_loss, self._state = loss, booster.state
        self._folds, self._n_boosters = folds, booster.state.n_boosters
        self.forest_ = booster.forest
        a_round = self._n_boosters * self.forest_.trees_a_round(loss.n_scores)
        self.n_estimators_ = self.forest_.n_trees // a_round
        self.stopped_by_ = booster.stopped_by
        self._record = None
        self.auto_settings_ = settings.that_matter(self, self.n_estimators_)
        for name, value in settings.as_dict().items():
            if name != "n_estimators" and hasattr(self, name):
                setattr(self, f"{name}_", value)
        self._keep_history(booster.history)

    def _keep_history(self, history: History) -> None:
        """Set the curves of the rounds."""
        for name in ("validation_loss_", "validation_score_"):
            self.__dict__.pop(name, None)
        self.history_ = history
        self.train_loss_ = history[TRAIN_LOSS]
        if history.watched is None:
            return
        first = history.watched.removesuffix(f" {watched_metric(self)}")
        self.validation_loss_ = history[f"{first} {LOSS}"]
        self.validation_score_ = history[history.watched]
        if is_loss(self.scoring):
            self.validation_score_ = -self.validation_score_

    def _keep_constant(self, rows: Rows, loss: Loss) -> None:
        """Set the fitted attributes of a model without trees, for a single class."""
        empty = ForestBuilder(np.zeros(1), self._plan.n_columns).build()
        classes = getattr(self, "classes_", None)
        state = TrainedState(
            empty, rows.target_exponent, rows.weight_unit, 0, {}, self._plan, classes
        )
        settings = chosen_settings(self, rows, None, 1)
        history = History({TRAIN_LOSS: np.zeros(1)})  # the class is certain
        self._keep(Booster(state, empty, history), loss, settings)

    def _keep_rounds(self, n_rounds: int) -> None:
        a_round = self.forest_.n_trees // self.n_estimators_
        self.forest_ = self.forest_.part(0, n_rounds * a_round)
        self._state = self._state.truncated(n_rounds, self._fitted_loss)
        self._record = None  # out-of-bag predictions of more rounds
        self.n_estimators_, self.stopped_by_ = n_rounds, "truncate"
        self.auto_settings_ = {**self.auto_settings_, "n_estimators": n_rounds}
        self._keep_history(self.history_.truncated(n_rounds))

    def __getstate__(self) -> dict[str, Any]:
        """Of the trees, `forest_` and the training state share all but what the refit changed."""
        state = dict(super().__getstate__())
        if "forest_" in state:
            state["forest_"] = self.forest_.beyond(self._unrefitted)
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        if "forest_" in state:
            self.forest_ = self._unrefitted.with_difference(state["forest_"])

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        yield from staged_scores(self.forest_, table, self._n_threads, n_boosters=self._n_boosters)

    # The weight of a node is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _binned(self, training: Training) -> AnyBins:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        return bin_any_rows(
            training.rows,
            in_lists=self._lists_sparse_codes,
            max_bins=self.max_bins,
            exact=self.exact,
            n_threads=self._n_threads,
            learn_from=None if training.held_out is None else ~training.held_out,
        )

    def _tree_limits(
        self,
        training: Training,
        loss: Loss,
        settings: BoosterSettings,
        plan: ColumnPlan,
        growth: str,
    ) -> TreeLimits:
        check_symmetric_growth(self)
        n_columns, names = plan.n_columns, getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        max_features = n_drawn(settings.max_features, n_columns)
        directions = directions_of(self.monotonic_cst, plan, names)
        if directions is not None and loss.n_scores > 1 and hasattr(self, "classes_"):
            raise ValueError(
                "monotonic_cst supports regression and binary classification only; got "
                f"{loss.n_scores} classes. Set monotonic_cst=None, or fit one-vs-rest models."
            )
        sums, gains = units_of(loss, training.rows.target_exponent)
        min_gain = training.in_weight_units(scaled(self.min_gain, -gains))
        return TreeLimits(
            growth=growth,
            max_leaf_nodes=settings.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=settings.min_samples_leaf,
            min_child_weight=training.in_weight_units(self.min_child_weight),
            min_gain=min_gain if self.prune == "before" else 0.0,
            prune_gain=min_gain if self.prune == "after" else 0.0,
            l2=training.in_weight_units(self.l2_regularization),
            l1=training.in_weight_units(scaled(self.l1_regularization, -sums)),
            max_features=None if max_features == n_columns else max_features,
            feature_sampling=settings.feature_sampling(self, growth),
            seed=training.seed,
            groups=groups_of(self.interaction_cst, plan, names),
            directions=directions,
        )
