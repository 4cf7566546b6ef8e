"""What both kinds of boosted trees share: the fit of their scores, and what stays of it."""

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
from weald.ensembles.class_weights import weighed_by_class
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

# early_stopping="auto" holds rows out if there are more, as scikit-learn does.
_MANY_ROWS = 10_000


_VAIN_SCORING = (
    "scoring has no effect: it judges validation rows, and there are none. Set "
    "early_stopping=True, or pass X_val and y_val to fit."
)


class BoostedTrees(TakesCallbacks, BaggedBoosters, BoostedParameters):
    """Trees added one after another, each to the gradient of the loss at the scores so far."""

    # Groups that are passed on for folds are not meant for the draws of rows, unless asked for.
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

        `inputs` are X, y and metadata for callbacks. `strata`: the target holds classes, to be held
        out in equal shares. `kept` marks the rows passed to fit that `rows` holds, if bags are
        drawn. `class_weight` multiplies the weights of the rows of each class; it changes no count
        of rows and no draw.
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
                training = replace(training, rows=weighed_by_class(training.rows, class_weight))
            if checkpoint is not None:
                classes = getattr(self, "classes_", None)
                checkpoint.check_rows(training, self._plan, classes, self._n_threads)
            grown_by = self._grower(binned, training, loss)
            alone = run(*grown_by, training, checkpoint=checkpoint, earlier=earlier)
            self._keep([alone.booster()], loss)
        else:
            bags = BoosterBags.of(training, ordered, kept, class_weight)
            grown_by = self._grower(binned, bags.training_of(0), loss)
            runs = (run(*grown_by, bags.training_of(k), number=k) for k in range(self.n_bags))
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
        """Which of the rows passed to fit bags are drawn from; None: none are drawn."""
        return None if self.n_bags is None else rows_of_weight(y, sample_weight)

    def _refuse_going_on_with_bags(self) -> None:
        """Refuse what follows or goes on with one booster if there are several."""
        if self.n_bags is None:
            return
        if self.warm_start:
            raise ValueError(
                f"n_bags={self.n_bags} with warm_start=True: boosters that went on with other rows "
                "would have seen what their out-of-bag ledger says they have not. Set "
                "warm_start=False, or n_bags=None to go on with one booster."
            )
        for name in ("checkpoint", "time_limit"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"n_bags={self.n_bags} with {name}={getattr(self, name)!r}: {name} follows "
                    f"the rounds of one booster. Set {name}=None, or n_bags=None."
                )
        if hasattr(self, "_skl_callbacks"):
            raise ValueError(
                f"n_bags={self.n_bags} with callbacks: they follow the rounds of one booster. Take "
                "them away with set_callbacks(), or set n_bags=None."
            )

    def _earlier(
        self, rows: Rows, loss: Loss, checkpoint: Checkpoint | None, is_judged: bool
    ) -> TrainedState | None:
        """What an earlier fit grew and this one goes on from."""
        if checkpoint is not None:
            return checkpoint.read(self, loss)
        if not self.warm_start or not hasattr(self, "_states"):
            return None
        if len(self._states) > 1:
            raise ValueError(
                f"warm_start goes on from one booster; the last fit made {len(self._states)} of "
                "them (n_bags). Set warm_start=False to begin anew."
            )
        (state,) = self._states
        state.check(self, loss, self._plan, is_judged=is_judged)
        if state.forest.n_trees and state.forest.trees_a_round(loss.n_scores) != (
            self._trees_a_round(loss)
        ):
            raise ValueError(
                "warm_start cannot go on with another multi_class than the last fit had. Set it "
                "back, or set warm_start=False to begin anew."
            )
        return state.in_units_of(rows, loss)

    def _seed_after(self, earlier: TrainedState | None) -> Any:
        """A seed that is not written down is that of the first fit."""
        if earlier is None or isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        return earlier.seed

    def _stops_early(self, rows: Rows, validation: ValidationRows | None) -> bool:
        if isinstance(self.early_stopping, str):
            return validation is not None or rows.n > _MANY_ROWS
        return bool(self.early_stopping)

    def _check_scoring(self, loss: Loss, *, has_validation: bool) -> None:
        """Raise if the loss cannot score validation rows; warn if there are none to score."""
        by_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        if not has_validation and not by_loss:
            advise(_VAIN_SCORING)
        if has_validation and by_loss and not getattr(loss, "has_loss", True):
            raise ValueError(
                f"early_stopping and X_val need to know the loss of rows, and the loss {loss.name} "
                "has no method loss(y, score). Add it, or choose another scoring."
            )

    def _scorer(
        self, loss: Loss, training: Training, forest: ForestBuilder
    ) -> HeldOutScorer | None:
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        rows = training.rows
        return HeldOutScorer(
            self, training, loss, lambda: in_user_units(forest.build(), rows, loss)
        )

    def _keep(self, boosters: list[Booster], loss: Loss, bags: BoosterBags | None = None) -> None:
        """Keep the model: its only booster, or all those of the bags and their ledger."""
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
        """Keep a model without trees, which always answers the same."""
        empty = ForestBuilder(np.zeros(1), self._plan.n_columns).build()
        classes = getattr(self, "classes_", None)
        grown = TrainedState(
            empty, rows.target_exponent, rows.weight_unit, 0, {}, self._plan, classes
        )
        self._keep([Booster(grown, empty)], loss)

    def _predictions(self, X: object) -> Floats:
        """What the loss makes of the scores; of several boosters, the mean of that."""
        check_is_fitted(self)
        return self._mean_answers(X) if self._parts else super()._predictions(X)

    def _staged_predictions(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        yield from self._staged_means(X) if self._parts else super()._staged_predictions(X)

    def _staged_scores(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        table = np.concatenate(list(dense_blocks(table_for_predict(self, X))))
        ((grown, rounds),) = self._kept_rounds()
        yield from staged_scores(self._forest_of(grown, rounds), table, self._n_threads)

    def _array_predictor(self) -> Predictor:
        alone = super()._array_predictor()
        return bag_predictor_of(alone, self._parts) if self._parts else alone

    # What a leaf of a boosted tree weighs is the sum of its hessians.
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
        self._refuse_limits_of_nodes()
        n_columns, names = self._plan.n_columns, getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        max_features = n_drawn(self.max_features, n_columns)
        directions = directions_of(self.monotonic_cst, self._plan, names)
        if directions is not None and loss.n_scores > 1 and hasattr(self, "classes_"):
            raise ValueError(
                "monotonic_cst is for numbers and for two classes; got "
                f"{loss.n_scores} classes, whose probabilities cannot all rise. "
                "Leave it at None, or fit one class against the others."
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

    def _refuse_limits_of_nodes(self) -> None:
        """Symmetric trees have levels; what is asked of single nodes has no meaning there."""
        if self.growth != "symmetric":
            return
        if self.max_features is not None and self.feature_sampling == "node":
            raise ValueError(
                "growth='symmetric' asks one column of all nodes of a level, so that none can be "
                f"drawn for each node; got max_features={self.max_features!r} with "
                "feature_sampling='node'. Use feature_sampling='level' or 'tree'."
            )
        if self.prune == "after" and self.min_gain > 0:
            raise ValueError(
                "growth='symmetric' makes whole levels, so that no single split can be taken back; "
                "got prune='after'. Use prune='before' or another growth."
            )
