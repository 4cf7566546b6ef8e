"""What both kinds of boosted trees share: their parameters and the fit of their scores."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from weald.data import Rows, bin_rows, refuse_levels
from weald.ensembles.boosting import HeldOut, Training, boost, prepare
from weald.ensembles.constraints import directions_of, groups_of
from weald.ensembles.drawn_columns import MAX_FEATURES, n_drawn
from weald.ensembles.scored import ScoredModel
from weald.ensembles.tree_learners import NewtonTrees, in_user_units
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
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search


class BoostedTrees(ScoredModel):
    """Trees added one after another, each to the gradient of the loss at the scores so far.

    Parameters
    ----------
    loss : str or object
        What is made small; or any object with a method ``gradient_hessian(y, score)``, as
        `weald.losses.user` tells.
    n_estimators : int, default=100
        Most rounds; with many classes a round is one tree per class.
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
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the rows and stop when their loss no longer falls; the
        model is cut back to the round of least loss.
    validation_fraction : float, default=0.1
        Share of rows held out for early stopping; of every class alike.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which early stopping ends the fit.
    tol : float, default=1e-7
        How much better counts as better, as a share of the loss before the first round.
    random_state : int, RandomState or None, default=None
        Keys the draws of `subsample`, `max_features` and `early_stopping`; a fit that draws nothing
        ignores it.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The model is the same for any number.

    Attributes
    ----------
    n_estimators_ : int
        Rounds in the model.
    validation_loss_ : array
        With early stopping: the mean loss of the held-out rows before the first round and after
        each.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1),
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
        "early_stopping": OneOf((True, False)),
        "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
        "n_iter_no_change": Whole(1),
        "tol": Real(0.0),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        loss: Any,
        n_estimators: int,
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
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        tol: float,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
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
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(self, rows: Rows, loss: Loss, strata: bool) -> None:
        """Fit the scores of a loss; `strata`: the target holds classes to hold out alike."""
        training = prepare(
            rows,
            fraction=self.subsample,
            held_fraction=self.validation_fraction if self.early_stopping else None,
            asked_by="early_stopping=False",
            random_state=self.random_state,
            strata=strata,
            n_threads=self._n_threads,
            draws_columns=self.max_features is not None,
        )
        rows = training.rows
        base = loss.base_scores(training.y, rows.weight, training.seen_copies)
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        held_out = HeldOut(training, loss, scores, self.n_iter_no_change, self.tol)
        forest = ForestBuilder(base, self._plan.n_columns)
        limits = self._tree_limits(training, loss)
        trees = NewtonTrees(
            self._grower(training, limits),
            forest,
            float(self.learning_rate),
            self._n_threads,
            directions=limits.directions,
        )
        boost(
            training,
            loss,
            scores,
            trees,
            rounds=range(self.n_estimators),
            fraction=self.subsample,
            watcher=held_out,
        )
        if self.early_stopping:
            forest.cut_back(held_out.best_round * loss.n_scores)
        self._keep(forest, rows, loss)
        if self.early_stopping:
            self.validation_loss_ = np.array(held_out.losses)

    def _keep(self, forest: ForestBuilder, rows: Rows, loss: Loss) -> None:
        self.__dict__.pop("validation_loss_", None)
        self.n_estimators_ = len(forest) // loss.n_scores
        self._fitted_loss = loss
        self.forest_ = in_user_units(forest, rows, loss)

    # What a leaf of a boosted tree weighs is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _grower(self, training: Training, limits: TreeLimits) -> TreeGrower:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        if self.growth == "symmetric":
            refuse_levels(training.rows.table, "growth='symmetric'")
        binned = bin_rows(
            training.rows,
            max_bins=self.max_bins,
            exact=self.exact,
            n_threads=self._n_threads,
            learn_from=None if training.held_out is None else ~training.held_out,
        )
        return TreeGrower(binned, "newton", limits, n_threads=self._n_threads)

    def _tree_limits(self, training: Training, loss: Loss) -> TreeLimits:
        self._refuse_limits_of_nodes()
        n_columns, names = self._plan.n_columns, getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        max_features = n_drawn(self.max_features, n_columns)
        directions = directions_of(self.monotonic_cst, self._plan, names)
        if directions is not None and loss.n_scores > 1:
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
