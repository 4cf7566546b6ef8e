"""What both kinds of boosted trees share: their parameters and the fit of their scores."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    BinnedTable,
    Rows,
    SortedTable,
    ValidationRows,
    bin_rows,
    dense_blocks,
    refuse_levels,
    table_for_predict,
)
from weald.ensembles.base import Floats
from weald.ensembles.boosted_bags import BaggedBoosters, joined_boosters, side_by_side
from weald.ensembles.booster import Booster, Recipe
from weald.ensembles.booster_draws import BoosterBags
from weald.ensembles.booster_predictor import bag_predictor_of
from weald.ensembles.boosting import Training, prepare
from weald.ensembles.class_weights import weighed_by_class
from weald.ensembles.constraints import directions_of, groups_of
from weald.ensembles.drawn_columns import MAX_FEATURES, n_drawn
from weald.ensembles.grown import Grown
from weald.ensembles.judging import CURVES
from weald.ensembles.predictor import Predictor
from weald.ensembles.scored import ScoredModel
from weald.ensembles.scoring import HeldOutScorer, Scoring
from weald.ensembles.staging import staged_scores
from weald.ensembles.tree_learners import in_user_units
from weald.losses import Loss, scaled, units_of
from weald.parameters import (
    ColumnDirections,
    ColumnGroups,
    Columns,
    Jobs,
    Limit,
    NoneOr,
    OneOf,
    Real,
    Seed,
    Whole,
)
from weald.resampling import distinct_rows
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search

# early_stopping="auto" holds rows out if there are more, as scikit-learn does.
_MANY_ROWS = 10_000


class BoostedTrees(BaggedBoosters, ScoredModel):
    """Trees added one after another, each to the gradient of the loss at the scores so far.

    Parameters
    ----------
    loss : str or object
        What is made small; or any object with a method ``gradient_hessian(y, score)``, as
        `weald.losses.user` tells.
    n_estimators : int, default=100
        Most rounds; with many classes a round is one tree per class.
    n_bags : int or None, default=None
        Fit so many boosters, each on a bootstrap sample of its own, on shared bins; the mean of
        their answers is the model's. It costs as many times as much, and gives an out-of-bag
        ledger, the spread of the boosters, and intervals. Each of them stops early by itself. None:
        one booster, on all rows.
    learning_rate : float, default=0.1
        What a tree's answers are multiplied by.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree.
    max_depth : int or None, default=None
        Most questions between the root and a leaf.
    min_samples_leaf : int, default=20
        Fewest rows of a leaf. Rows count by their weights if these are whole numbers.
    min_child_weight : float, default=1e-3
        Least sum of hessians of a leaf.
    l2_regularization : float, default=0.0
        Added to the sum of hessians of a leaf.
    l1_regularization : float, default=0.0
        Taken off the size of the sum of gradients of a leaf, in its value and in every gain.
    min_gain : float, default=0.0
        What a split must gain more than: the drop of the loss, penalties included. Twice as much
        is xgboost's ``gamma``, because its gain has no factor of one half.
    prune : {"before", "after"}, default="before"
        When `min_gain` is asked for: before a split is made, or after a tree has grown to its other
        limits; then splits of too little gain are taken back as long as their children are leaves,
        so that one may stay for what follows it. Not after "symmetric" growth.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=None
        How many columns are looked at for a split: so many, a share of them, their square root,
        logarithm or third, or all. Where none of those drawn can be cut at all, further ones are
        drawn until one can (not for "tree").
    feature_sampling : {"tree", "level", "node"}, default="node"
        Whether `max_features` are drawn once for a tree, for all nodes of one depth, or for every
        node (not with "symmetric" growth, whose levels ask one column).
    monotonic_cst : array, dict or None, default=None
        For each column, or by name, 1 if answers must not fall along it, -1 if they must not rise,
        0 if they may do both. For numbers and two classes (then of the second one). Missing values
        are not compared.
    interaction_cst : {"pairwise", "no_interactions"}, list or None, default=None
        Groups of columns, by name or position, that may meet on a way from a root to a leaf; those
        in no group are one together. "pairwise": all groups of two, "no_interactions": of one.
    subsample : float, default=1.0
        Share of the rows each round sees, drawn without replacement.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Which leaves are split first: those that gain most, or those nearest to the root. Symmetric:
        all of a level by one test, where it leaves no child too small; a level that would exceed
        `max_leaf_nodes` is not made, so powers of two fit it best.
    max_bins : int or None, default=None
        Most bins a column is cut into, up to 65535; None means 255. Up to so many distinct values
        are all told apart. A column of more than 255 bins makes the fit slower, because rows are
        then kept sorted instead of counted.
    exact : bool, default=False
        Look at every split between two values that are neighbours in a node, however many values
        there are, instead of at bins; `max_bins` must then be None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. Categories need bins: not `exact`, not
        "symmetric" growth, and at most 255 `max_bins`.
    early_stopping : bool or "auto", default=False
        Stop when the rows that judge (`X_val` of `fit`, or else `validation_fraction` of the rows,
        held out) are no longer predicted better; the model is cut back to the best round. "auto"
        stops early if `X_val` is given or there are more than 10,000 rows. After a held-out
        fraction the questions of the trees stay and their leaves are estimated anew on all rows.
    validation_fraction : float, default=0.1
        Share of rows held out for early stopping, if there is no `X_val`; of every class alike.
    n_iter_no_change : int, default=10
        Rounds without progress after which early stopping ends the fit.
    tol : float, default=1e-7
        How much better counts as better: of the loss, as a share of that before the first round;
        of another `scoring`, in its own units.
    scoring : str, callable or None, default="loss"
        By what the rows that judge are judged: "loss", the name of one of scikit-learn's scorers,
        a callable ``scorer(estimator, X, y)`` whose number is to rise, or None for the `score`
        method.
    warm_start : bool, default=False
        Go on from the rounds of the last fit, up to `n_estimators` in all. On the same rows that
        ends at the model of one fit. Not with `n_bags`.
    random_state : int, RandomState or None, default=None
        Keys the draws of `n_bags`, `subsample`, `max_features` and `early_stopping`; a fit that
        draws nothing ignores it.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The model is the same for any number.

    Attributes
    ----------
    n_estimators_ : int
        Rounds in the model; with `n_bags` the most of any booster.
    train_loss_ : array, shape (rounds + 1,)
        If there are rows to judge by: the mean loss of the rows learnt from, before the first round
        and after each that was made; with `n_bags` a row for each booster, NaN after its end.
    validation_loss_ : array, shape (rounds + 1,)
        Likewise of the rows to judge by.
    validation_score_ : array, shape (rounds + 1,)
        Likewise what `scoring` says of the rows to judge by; of "loss", the loss times -1.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1),
        "n_bags": NoneOr(Whole(2, 10_000)),
        "learning_rate": Real(0.0, open_below=True),
        "max_leaf_nodes": NoneOr(Whole(2)),
        "max_depth": NoneOr(Whole(1)),
        "min_samples_leaf": Whole(1),
        "min_child_weight": Real(0.0),
        "l2_regularization": Real(0.0),
        "l1_regularization": Real(0.0),
        "min_gain": Real(0.0),
        "prune": OneOf(("before", "after")),
        "max_features": MAX_FEATURES,
        "feature_sampling": OneOf(("tree", "level", "node")),
        "monotonic_cst": NoneOr(ColumnDirections()),
        "interaction_cst": NoneOr(ColumnGroups(("pairwise", "no_interactions"))),
        "subsample": Real(0.0, 1.0, open_below=True),
        "growth": OneOf(("best_first", "depth_wise", "symmetric")),
        "max_bins": NoneOr(Whole(2, 65535)),
        "exact": OneOf((True, False)),
        "categorical_features": Columns(),
        "early_stopping": OneOf((True, False, "auto")),
        "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
        "n_iter_no_change": Whole(1),
        "tol": Real(0.0),
        "scoring": NoneOr(Scoring()),
        "warm_start": OneOf((True, False)),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        loss: Any,
        n_estimators: int,
        n_bags: int | None,
        learning_rate: float,
        max_leaf_nodes: int | None,
        max_depth: int | None,
        min_samples_leaf: int,
        min_child_weight: float,
        l2_regularization: float,
        l1_regularization: float,
        min_gain: float,
        prune: str,
        max_features: float | str | None,
        feature_sampling: str,
        monotonic_cst: Any,
        interaction_cst: Any,
        subsample: float,
        growth: str,
        max_bins: int | None,
        exact: bool,
        categorical_features: Any,
        early_stopping: bool | str,
        validation_fraction: float,
        n_iter_no_change: int,
        tol: float,
        scoring: Any,
        warm_start: bool,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.n_bags = n_bags
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l2_regularization = l2_regularization
        self.l1_regularization = l1_regularization
        self.min_gain = min_gain
        self.prune = prune
        self.max_features = max_features
        self.feature_sampling = feature_sampling
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.subsample = subsample
        self.growth = growth
        self.max_bins = max_bins
        self.exact = exact
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(
        self,
        rows: Rows,
        loss: Loss,
        *,
        strata: bool,
        kept: NDArray[np.bool_],
        validation: ValidationRows | None = None,
        class_weight: Floats | None = None,
    ) -> None:
        """Fit the scores of a loss: one booster on all rows, or several on bags of them.

        `strata`: the target holds classes to hold out alike. `kept` marks those of the rows passed
        to fit that `rows` holds. `class_weight` is what the rows of each class weigh beside their
        weights; it changes no count of rows and no draw.
        """
        stops = self._stops_early(rows, validation)
        is_judged = stops or validation is not None
        self._refuse_judging_without_loss(loss, is_judged)
        earlier = self._earlier(rows, loss, is_judged)
        distinct = None
        if self.n_bags is not None:
            distinct = distinct_rows(rows, n_threads=self._n_threads)
        training = prepare(
            rows,
            fraction=self.subsample,
            held_fraction=self.validation_fraction if stops and validation is None else None,
            asked_by="early_stopping=False",
            random_state=self._seed_after(earlier),
            strata=strata,
            n_threads=self._n_threads,
            validation=validation,
            draws_columns=self.max_features is not None,
            distinct=distinct,
        )
        if class_weight is not None:
            training = replace(training, rows=weighed_by_class(training.rows, class_weight))
        binned = self._binned(training)
        if distinct is None or self.n_bags is None:
            recipe = self._recipe(binned, training, loss, stops)
            self._keep([recipe.booster(training, earlier=earlier)], loss)
            return
        bags = BoosterBags.of(training, distinct, kept, class_weight)
        recipe = self._recipe(binned, bags.training_of(0), loss, stops)
        numbers = range(self.n_bags)
        boosters = [recipe.booster(bags.training_of(k), number=k) for k in numbers]
        self._keep(boosters, loss, bags)

    def _recipe(
        self, binned: BinnedTable | SortedTable, training: Training, loss: Loss, stops: bool
    ) -> Recipe:
        limits = self._tree_limits(training, loss)
        return Recipe(
            loss,
            TreeGrower(binned, "newton", limits, n_threads=self._n_threads),
            self._plan,
            getattr(self, "classes_", None),
            n_estimators=self.n_estimators,
            learning_rate=float(self.learning_rate),
            limits=limits,
            fraction=self.subsample,
            patience=self.n_iter_no_change if stops else None,
            tol=float(self.tol),
            scorer=partial(self._scorer, loss),
            n_threads=self._n_threads,
        )

    def _refuse_going_on_with_bags(self) -> None:
        if self.n_bags is not None and self.warm_start:
            raise ValueError(
                f"n_bags={self.n_bags} with warm_start=True: boosters that went on with other rows "
                "would have seen what their out-of-bag ledger says they have not. Set "
                "warm_start=False, or n_bags=None to go on with one booster."
            )

    def _earlier(self, rows: Rows, loss: Loss, is_judged: bool) -> Grown | None:
        """What an earlier fit grew and this one goes on from."""
        if not self.warm_start or not hasattr(self, "_grown"):
            return None
        if len(self._grown) > 1:
            raise ValueError(
                f"warm_start goes on from one booster; the last fit made {len(self._grown)} of "
                "them (n_bags). Set warm_start=False to begin anew."
            )
        (grown,) = self._grown
        grown.check(self, loss, self._plan, is_judged=is_judged)
        return grown.in_units_of(rows, loss)

    def _seed_after(self, earlier: Grown | None) -> Any:
        """A seed that is not written down is that of the first fit."""
        if earlier is None or isinstance(self.random_state, (int, np.integer)):
            return self.random_state
        return earlier.seed

    def _stops_early(self, rows: Rows, validation: ValidationRows | None) -> bool:
        if isinstance(self.early_stopping, str):
            n = rows.n if rows.copies is None else int(rows.copies.sum())
            return validation is not None or n > _MANY_ROWS
        return bool(self.early_stopping)

    def _refuse_judging_without_loss(self, loss: Loss, is_judged: bool) -> None:
        by_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        if is_judged and by_loss and not getattr(loss, "has_loss", True):
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
        self._grown = [booster.grown for booster in boosters]
        self.n_estimators_ = max(forest.n_trees for forest in forests) // loss.n_scores
        self.forest_, self._parts, self._record = forests[0], [], None
        if bags is not None:
            self.forest_, self._parts, self._draws = joined_boosters(forests), forests, bags.draws
            self._record = self._booster_record(bags)
        for name in CURVES:
            self.__dict__.pop(f"{name}_", None)
            curves = [booster.curves[name] for booster in boosters if name in booster.curves]
            if curves:
                setattr(self, f"{name}_", curves[0] if bags is None else side_by_side(curves))

    def _keep_constant(self, rows: Rows, loss: Loss) -> None:
        """Keep a model without trees, which always answers the same."""
        empty = ForestBuilder(np.zeros(1), self._plan.n_columns).build()
        classes = getattr(self, "classes_", None)
        grown = Grown(empty, rows.target_exponent, rows.weight_exponent, 0, {}, self._plan, classes)
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

    def predictor(self) -> Predictor:
        """Make a small copy of the model that only predicts, as `TreeModel.predictor` tells."""
        alone = super().predictor()
        return bag_predictor_of(alone, self._parts) if self._parts else alone

    # What a leaf of a boosted tree weighs is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _binned(self, training: Training) -> BinnedTable | SortedTable:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        if self.growth == "symmetric":
            refuse_levels(training.rows.table, "growth='symmetric'")
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
