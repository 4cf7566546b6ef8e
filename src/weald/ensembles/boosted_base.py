"""What both kinds of boosted trees share: their parameters and the fit of their scores."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from weald.data import Rows, bin_rows, refuse_levels
from weald.ensembles.base import Floats
from weald.ensembles.boosting import HeldOut, Learner, Training, boost, prepare
from weald.ensembles.class_weights import weighed_by_class
from weald.ensembles.scored import ScoredModel
from weald.ensembles.tree_learners import NewtonTrees, in_user_units
from weald.ensembles.vector_trees import VectorTrees
from weald.losses import Loss
from weald.parameters import Columns, Jobs, Limit, NoneOr, OneOf, Real, Seed, Whole
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
        Keys the draws of `subsample` and `early_stopping`; a fit that draws nothing ignores it.
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

    def _boost(
        self, rows: Rows, loss: Loss, strata: bool, class_weight: Floats | None = None
    ) -> None:
        """Fit the scores of a loss; `strata`: the target holds classes to hold out alike.

        `class_weight` is what the rows of each class weigh beside their weights; it changes no
        count of rows and no draw.
        """
        training = prepare(
            rows,
            fraction=self.subsample,
            held_fraction=self.validation_fraction if self.early_stopping else None,
            asked_by="early_stopping=False",
            random_state=self.random_state,
            strata=strata,
            n_threads=self._n_threads,
        )
        if class_weight is not None:
            training = replace(training, rows=weighed_by_class(training.rows, class_weight))
        rows = training.rows
        base = loss.base_scores(training.y, rows.weight, training.seen_copies)
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        held_out = HeldOut(training, loss, scores, self.n_iter_no_change, self.tol)
        forest = ForestBuilder(base, self._plan.n_columns)
        trees = self._learner(training, loss, forest)
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
            forest.cut_back(held_out.best_round * self._trees_a_round(loss))
        self._keep(forest, rows, loss)
        if self.early_stopping:
            self.validation_loss_ = np.array(held_out.losses)

    def _trees_a_round(self, loss: Loss) -> int:
        return loss.n_scores

    def _learner(self, training: Training, loss: Loss, forest: ForestBuilder) -> Learner:
        """What grows the trees of a round."""
        rate, grower = float(self.learning_rate), self._grower(training)
        if self._trees_a_round(loss) == loss.n_scores:
            return NewtonTrees(grower, forest, rate, self._n_threads)
        l2 = training.in_weight_units(self.l2_regularization)
        return VectorTrees(grower, forest, rate, l2, self._n_threads)

    def _keep(self, forest: ForestBuilder, rows: Rows, loss: Loss) -> None:
        self.__dict__.pop("validation_loss_", None)
        self.n_estimators_ = len(forest) // self._trees_a_round(loss)
        self._fitted_loss = loss
        self.forest_ = in_user_units(forest, rows, loss)

    # What a leaf of a boosted tree weighs is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _grower(self, training: Training) -> TreeGrower:
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
        limits = TreeLimits(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_child_weight=training.in_weight_units(self.min_child_weight),
            min_gain=0.0,
            l2=training.in_weight_units(self.l2_regularization),
        )
        return TreeGrower(binned, "newton", limits, n_threads=self._n_threads)
