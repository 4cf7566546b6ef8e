"""Common base class of the boosted-trees classifier and regressor: training and prediction."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.advice import advise
from weald.data import (
    BinnedTable,
    Rows,
    SortedTable,
    ValidationRows,
    bin_rows,
    dense_blocks,
    rows_of_weight,
    table_for_predict,
)
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.boosted_bags import BaggedBoosters, joined_boosters, side_by_side
from weald.ensembles.boosted_trees.boosted_parameters import BoostedParameters
from weald.ensembles.boosted_trees.booster import Booster, BoostingRun
from weald.ensembles.boosted_trees.booster_draws import BoosterBags
from weald.ensembles.boosted_trees.booster_predictor import bag_predictor_of
from weald.ensembles.boosted_trees.checkpoint import Checkpoint
from weald.ensembles.boosted_trees.trained_state import CURVES, TrainedState
from weald.ensembles.class_weights import weighted_by_class
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.max_features import n_drawn
from weald.ensembles.monotonic import directions_of
from weald.ensembles.predictor import Predictor
from weald.ensembles.rounds.callbacks import TakesCallbacks
from weald.ensembles.rounds.constraints import groups_of
from weald.ensembles.rounds.loop import Training, prepare
from weald.ensembles.rounds.scoring import HeldOutScorer
from weald.ensembles.rounds.time_limit import TimeLimit
from weald.ensembles.rounds.tree_learners import in_user_units
from weald.ensembles.row_counts import weighted_as_repeated
from weald.ensembles.staging import staged_scores
from weald.losses import Loss, scaled, units_of
from weald.resampling import OrderedRows, ordered_rows
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search

# early_stopping="auto" stops early above this many rows, as in scikit-learn.
_AUTO_STOPPING_ROWS = 10_000


_UNUSED_SCORING = (
    "scoring has no effect: there is no validation set to score. Set "
    "early_stopping=True, or pass X_val and y_val to fit."
)


class BoostedTrees(TakesCallbacks, BaggedBoosters, BoostedParameters):
    """Gradient boosting with second-order (Newton) trees on histograms."""

    # Metadata routing: groups passed for cross-validation splits do not reach fit unless requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def _boost(
        self,
        rows: Rows,
        loss: Loss,
        validation: ValidationRows | None,
        inputs: Mapping[str, Any],
        *,
        strata: bool,
        kept: NDArray[np.bool_] | None,
        class_weight: Floats | None = None,
    ) -> None:
        """Fit one booster on all rows, or several on bootstrap samples of them.

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
        strata
            Whether the target holds classes, by which the validation split is stratified.
        kept
            With `n_bags`: mask of the rows passed to `fit` that `rows` holds.
        class_weight
            Factor of the sample weights by class; it affects neither row counts nor sampling.
        """
        watchers = [] if self.time_limit is None else [TimeLimit(float(self.time_limit))]
        stops = self._stops_early(rows, validation)
        self._check_scoring(loss, has_validation=stops or validation is not None)
        checkpoint = None if self.checkpoint is None else Checkpoint(self)
        earlier = self._earlier(rows, loss, checkpoint, stops or validation is not None)
        ordered = None
        if self.n_bags is not None:
            ordered = ordered_rows(rows, n_threads=self._n_threads)
        else:
            rows = weighted_as_repeated(rows, min_samples_leaf=self.min_samples_leaf)
        training = self._prepared(rows, validation, strata, stops, earlier, ordered)
        binned = self._binned(training)  # bins depend on sample weights, not on class weights
        run = partial(
            BoostingRun,
            self,
            loss,
            patience=self.n_iter_no_change if stops else None,
            watchers=watchers,
            inputs=inputs,
        )
        if ordered is None or kept is None or self.n_bags is None:
            if class_weight is not None:
                training = replace(training, rows=weighted_by_class(training.rows, class_weight))
            if checkpoint is not None:
                classes = getattr(self, "classes_", None)
                checkpoint.check_rows(training, self._plan, classes, self._n_threads)
            grower = self._grower(binned, training, loss)
            single = run(*grower, training, checkpoint=checkpoint, earlier=earlier)
            self._keep([single.booster()], loss)
        else:
            bags = BoosterBags.of(training, ordered, kept, class_weight)
            grower = self._grower(binned, bags.training_of(0), loss)
            runs = (run(*grower, bags.training_of(k), number=k) for k in range(self.n_bags))
            self._keep([one.booster() for one in runs], loss, bags)
        advise_of_constant(self, rows)

    def _prepared(
        self,
        rows: Rows,
        validation: ValidationRows | None,
        strata: bool,
        stops: bool,
        earlier: TrainedState | None,
        ordered: OrderedRows | None,
    ) -> Training:
        holds_out = stops and validation is None
        return prepare(
            rows,
            fraction=self.subsample,
            held_fraction=self.validation_fraction if holds_out else None,
            asked_by="early_stopping=False",
            random_state=self._seed_after(earlier),
            strata=strata,
            n_threads=self._n_threads,
            validation=validation,
            draws_columns=self.max_features is not None,
            ordered=ordered,
        )

    def _grower(
        self, binned: BinnedTable | SortedTable, training: Training, loss: Loss
    ) -> tuple[TreeGrower, TreeLimits]:
        limits = self._tree_limits(training, loss)
        return TreeGrower(binned, "newton", limits, n_threads=self._n_threads), limits

    def _trees_a_round(self, loss: Loss) -> int:
        return loss.n_scores

    def _rows_of_bags(self, y: object, sample_weight: object) -> NDArray[np.bool_] | None:
        """With `n_bags`: mask of the rows passed to `fit` that samples are drawn from."""
        return None if self.n_bags is None else rows_of_weight(y, sample_weight)

    def _check_bag_parameters(self) -> None:
        """Raise for parameters that cannot be combined with `n_bags`."""
        if self.n_bags is None:
            return
        if self.warm_start:
            raise ValueError(
                f"n_bags={self.n_bags} cannot be combined with warm_start=True: boosters continued "
                "on other rows would invalidate the out-of-bag ledger. Set warm_start=False, or "
                "n_bags=None to continue a single booster."
            )
        for name in ("checkpoint", "time_limit"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"n_bags={self.n_bags} cannot be combined with {name}={getattr(self, name)!r}: "
                    f"{name} supports a single booster only. Set {name}=None, or n_bags=None."
                )
        if hasattr(self, "_skl_callbacks"):
            raise ValueError(
                f"n_bags={self.n_bags} cannot be combined with callbacks, which support a single "
                "booster only. Remove them with set_callbacks(), or set n_bags=None."
            )

    def _earlier(
        self, rows: Rows, loss: Loss, checkpoint: Checkpoint | None, has_validation: bool
    ) -> TrainedState | None:
        """State of an earlier fit to continue, from a checkpoint or a warm start."""
        if checkpoint is not None:
            return checkpoint.read(self, loss)
        if not self.warm_start or not hasattr(self, "_states"):
            return None
        if len(self._states) > 1:
            raise ValueError(
                f"warm_start continues a single booster; the previous fit trained "
                f"{len(self._states)} (n_bags). Set warm_start=False to start over."
            )
        (state,) = self._states
        state.check(self, loss, self._plan, has_validation=has_validation)
        if state.forest.n_trees and state.forest.trees_a_round(loss.n_scores) != (
            self._trees_a_round(loss)
        ):
            raise ValueError(
                "warm_start cannot continue with another multi_class than the previous fit. "
                "Restore it, or set warm_start=False to start over."
            )
        return state.in_units_of(rows, loss)

    def _seed_after(self, earlier: TrainedState | None) -> Any:
        """The given seed; without one, a continued fit keeps the seed of the earlier fit."""
        if earlier is None or isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        return earlier.seed

    def _stops_early(self, rows: Rows, validation: ValidationRows | None) -> bool:
        if isinstance(self.early_stopping, str):
            return validation is not None or rows.n > _AUTO_STOPPING_ROWS
        return bool(self.early_stopping)

    def _check_scoring(self, loss: Loss, *, has_validation: bool) -> None:
        """Raise if the loss cannot score validation rows; warn if there are none to score."""
        by_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        if not has_validation and not by_loss:
            advise(_UNUSED_SCORING)
        if has_validation and by_loss and not getattr(loss, "has_loss", True):
            raise ValueError(
                "early_stopping and X_val with scoring='loss' need a loss value per row; the loss "
                f"{loss.name} has no method loss(y, score). Add it, or choose another scoring."
            )

    def _scorer(
        self, loss: Loss, training: Training, forest: ForestBuilder
    ) -> HeldOutScorer | None:
        """Scorer of the validation rows; None: they are scored by the loss."""
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        rows = training.rows
        return HeldOutScorer(
            self, training, loss, lambda: in_user_units(forest.build(), rows, loss)
        )

    def _keep(self, boosters: list[Booster], loss: Loss, bags: BoosterBags | None = None) -> None:
        """Set the fitted attributes from one booster, or from bagged boosters."""
        forests = [booster.forest for booster in boosters]
        self._fitted_loss = loss
        self._states = [booster.state for booster in boosters]
        trees = max((forest for forest in forests), key=lambda forest: forest.n_trees)
        self.n_estimators_ = trees.n_trees // trees.trees_a_round(loss.n_scores)
        self.forest_, self._parts, self._record = forests[0], [], None
        if bags is not None:
            self.forest_, self._parts, self._draws = joined_boosters(forests), forests, bags.draws
            self._record = self._booster_record(bags)
        ends = [booster.stopped_by for booster in boosters]
        self.stopped_by_ = ends[0] if bags is None else ends
        for name in CURVES:
            self.__dict__.pop(f"{name}_", None)
            curves = [booster.curves[name] for booster in boosters if name in booster.curves]
            if curves:
                setattr(self, f"{name}_", curves[0] if bags is None else side_by_side(curves))

    def _keep_constant(self, rows: Rows, loss: Loss) -> None:
        """Set the fitted attributes of a model without trees, for a single class."""
        empty = ForestBuilder(np.zeros(1), self._plan.n_columns).build()
        classes = getattr(self, "classes_", None)
        state = TrainedState(
            empty, rows.target_exponent, rows.weight_unit, 0, {}, self._plan, classes
        )
        self._keep([Booster(state, empty)], loss)

    def _predictions(self, X: object) -> Floats:
        """Predictions from scores; of bagged boosters, the mean of their predictions."""
        check_is_fitted(self)
        return self._mean_predictions(X) if self._parts else super()._predictions(X)

    def _staged_predictions(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        yield from self._staged_means(X) if self._parts else super()._staged_predictions(X)

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        ((state, rounds),) = self._kept_rounds()
        yield from staged_scores(self._forest_of(state, rounds), table, self._n_threads)

    def _array_predictor(self) -> Predictor:
        predictor = super()._array_predictor()
        return bag_predictor_of(predictor, self._parts) if self._parts else predictor

    # The weight of a node is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _binned(self, training: Training) -> BinnedTable | SortedTable:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        return bin_rows(
            training.rows,
            max_bins=self.max_bins,
            exact=self.exact,
            n_threads=self._n_threads,
            learn_from=None if training.held_out is None else ~training.held_out,
        )

    def _tree_limits(self, training: Training, loss: Loss) -> TreeLimits:
        self._check_symmetric_growth()
        n_columns, names = self._plan.n_columns, getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        max_features = n_drawn(self.max_features, n_columns)
        directions = directions_of(self.monotonic_cst, self._plan, names)
        if directions is not None and loss.n_scores > 1 and hasattr(self, "classes_"):
            raise ValueError(
                "monotonic_cst supports regression and binary classification only; got "
                f"{loss.n_scores} classes. Set monotonic_cst=None, or fit one-vs-rest models."
            )
        sums, gains = units_of(loss, training.rows.target_exponent)
        min_gain = training.in_weight_units(scaled(self.min_gain, -gains))
        return TreeLimits(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_child_weight=training.in_weight_units(self.min_child_weight),
            min_gain=min_gain if self.prune == "before" else 0.0,
            prune_gain=min_gain if self.prune == "after" else 0.0,
            l2=training.in_weight_units(self.l2_regularization),
            l1=training.in_weight_units(scaled(self.l1_regularization, -sums)),
            max_features=None if max_features == n_columns else max_features,
            feature_sampling=self.feature_sampling,
            seed=training.seed,
            groups=groups_of(self.interaction_cst, self._plan, names),
            directions=directions,
        )

    def _check_symmetric_growth(self) -> None:
        """Raise for parameters that apply to single nodes, which symmetric trees do not have."""
        if self.growth != "symmetric":
            return
        if self.max_features is not None and self.feature_sampling == "node":
            raise ValueError(
                "growth='symmetric' splits all nodes of a level on the same column, so that "
                f"columns cannot be sampled per node; got max_features={self.max_features!r} with "
                "feature_sampling='node'. Use feature_sampling='level' or 'tree'."
            )
        if self.prune == "after" and self.min_gain > 0:
            raise ValueError(
                "growth='symmetric' splits whole levels, so that single splits cannot be pruned; "
                "got prune='after'. Use prune='before' or another growth."
            )
