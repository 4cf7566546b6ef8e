"""Parameters of gradient boosting: scikit-learn's, and a few more."""

import inspect
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from weald.advice import Ignored
from weald.data import Rows, bin_rows
from weald.data.level_means import LevelRule
from weald.ensembles.dropped_levels import STATISTICS_LIMITS, EncodesDroppedLevels
from weald.ensembles.max_features import MAX_FEATURES, n_drawn
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.tree_learners import DescentTrees
from weald.ensembles.scored import ScoredModel
from weald.losses import Loss, times_power, units_of
from weald.parameters import (
    AnyOf,
    Columns,
    Jobs,
    Limit,
    NoneOr,
    ObjectWith,
    OneOf,
    Real,
    Seed,
    Whole,
)
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search, pruned_newton_tree

# Parameters that only weald's own trees use.
_OF_TREES = (
    "criterion",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_depth",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
    "max_bins",
    "exact",
)


class GradientParameters(ScoredModel, EncodesDroppedLevels):
    """Additive model whose base estimators are fitted to the negative gradient of the loss.

    Parameters
    ----------
    loss : str or object
        Loss function to minimise; or any object with a method ``gradient(y, score)`` or
        ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    learning_rate : float, default=0.1
        Shrinkage: factor of every step.
    n_estimators : int, default=100
        Maximum number of boosting rounds; with three or more classes a round has one base
        estimator per class.
    subsample : float, default=1.0
        Share of the rows sampled without replacement for each round; below 1 the others give
        `oob_improvement_`.
    criterion : {"friedman_mse", "squared_error"}, default="friedman_mse"
        Split criterion; both names give the same splits.
    min_samples_split : int or float, default=2
        Minimum number of rows of a node to be split; a float is a share of the rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, regardless of weights; a float is a share of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum share of the total weight of all rows in a leaf.
    max_depth : int or None, default=3
        Maximum depth of each tree.
    min_impurity_decrease : float, default=0.0
        A split must decrease the mean squared error of the gradients by more than this.
    init : {None, "zero"} or estimator, default=None
        Initial scores: None: the best constant; "zero": 0; an estimator: its predictions
        (`predict_proba` of a classifier).
    random_state : int, RandomState or None, default=None
        Seed of `subsample`, `max_features` and the validation set of `n_iter_no_change`, and of
        base estimators that have a `random_state`.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=None
        Number of columns sampled for every split of weald's own trees: a count, a share, the
        square root, logarithm or third of the number of columns, or all. If none of the sampled
        columns can be split, more are sampled until one can.
    verbose : int, default=0
        1 prints the losses of some rounds, 2 of all.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree, grown leaf-wise.
    warm_start : bool, default=False
        Continue the previous fit up to `n_estimators` rounds.
    validation_fraction : float, default=0.1
        Share of rows held out as validation set for `n_iter_no_change`; stratified by class.
    n_iter_no_change : int or None, default=None
        Early stopping: stop when the validation loss is not below that of at least one of this
        many previous rounds.
    tol : float, default=0.0001
        Minimum improvement for early stopping.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: splits whose gain per leaf is at
        most this are pruned.
    estimator : regressor or None, default=None
        Base estimator: None for weald's own trees; otherwise any regressor, cloned in every
        round. Sample weights are passed if its `fit` takes them.
    step : {"auto", "leaf", "line_search", "constant"}, default="auto"
        Step size along a base estimator. "leaf": the best constant of each leaf of a tree (one
        Newton step, or exact for quantile and Huber losses); "line_search": one step for all rows
        that minimises the loss; "constant": 1. "auto" is "leaf" for weald's own trees if the loss
        has a hessian, and "line_search" otherwise.
    max_bins : int or None, default=None
        Maximum number of bins per column for weald's own trees, at most 65535; None means 255.
        Columns with at most this many distinct values are split exactly.
    exact : bool, default=False
        Search the splits of weald's own trees between all neighbouring values, as scikit-learn
        does, instead of at bins; `max_bins` must then be None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes, or those listed by
        name, position or a mask, or none. Supported by weald's own trees with at most 255 bins;
        an `estimator` or `init` needs numbers.
    n_jobs : int or None, default=None
        Number of threads of weald's own trees and losses; None means all usable cores. The model
        is the same for any number.
    """

    _ignored: ClassVar[Mapping[str, Ignored]] = dict.fromkeys(
        ("validation_fraction", "tol"),
        (
            lambda model: model.n_iter_no_change is None,
            "early stopping is off; set n_iter_no_change, for example n_iter_no_change=10",
        ),
    )
    _limits: ClassVar[Mapping[str, Limit]] = {
        "learning_rate": Real(0.0, open_below=True),
        "n_estimators": Whole(1, 2**31 - 1),
        "subsample": Real(0.0, 1.0, open_below=True),
        "criterion": OneOf(("friedman_mse", "squared_error")),
        "min_samples_split": AnyOf((Whole(2), Real(0.0, 1.0, open_below=True))),
        "min_samples_leaf": AnyOf((Whole(1), Real(0.0, 1.0, open_below=True, open_above=True))),
        "min_weight_fraction_leaf": Real(0.0, 0.5),
        "max_depth": NoneOr(Whole(1)),
        "min_impurity_decrease": Real(0.0),
        "init": NoneOr(AnyOf((OneOf(("zero",)), ObjectWith(("fit", "predict", "get_params"))))),
        "random_state": Seed(),
        "max_features": MAX_FEATURES,
        "verbose": Whole(0),
        "max_leaf_nodes": NoneOr(Whole(2)),
        "warm_start": OneOf((True, False)),
        "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
        "n_iter_no_change": NoneOr(Whole(1)),
        "tol": Real(0.0),
        "ccp_alpha": Real(0.0),
        "estimator": NoneOr(ObjectWith(("fit", "predict", "get_params"))),
        "step": OneOf(("auto", "leaf", "line_search", "constant")),
        "max_bins": NoneOr(Whole(2, 65535)),
        "exact": OneOf((True, False)),
        "categorical_features": Columns(),
        **STATISTICS_LIMITS,
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        loss: Any,
        learning_rate: float,
        n_estimators: int,
        subsample: float,
        criterion: str,
        min_samples_split: int | float,
        min_samples_leaf: int | float,
        min_weight_fraction_leaf: float,
        max_depth: int | None,
        min_impurity_decrease: float,
        init: Any,
        random_state: int | np.random.RandomState | None,
        max_features: float | str | None,
        verbose: int,
        max_leaf_nodes: int | None,
        warm_start: bool,
        validation_fraction: float,
        n_iter_no_change: int | None,
        tol: float,
        ccp_alpha: float,
        estimator: Any,
        step: str,
        max_bins: int | None,
        exact: bool,
        categorical_features: Any,
        target_statistics: Any,
        n_jobs: int | None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.estimator = estimator
        self.step = step
        self.max_bins = max_bins
        self.exact = exact
        self.categorical_features = categorical_features
        self.target_statistics = target_statistics
        self.n_jobs = n_jobs

    def _step_for(self, loss: Loss) -> str:
        """Resolve `step` for this loss and base estimator."""
        is_ours, has_hessian = self.estimator is None, getattr(loss, "has_hessian", True)
        if self.step == "auto":
            return "leaf" if is_ours and has_hessian else "line_search"
        if self.step == "leaf" and not is_ours:
            raise ValueError(
                "step='leaf' requires weald's own trees (estimator=None); got estimator="
                f"{type(self.estimator).__name__}. Use step='line_search' or 'constant'."
            )
        if self.step == "leaf" and not has_hessian:
            raise ValueError(
                f"step='leaf' requires hessians, and the loss {loss.name} has no method "
                "gradient_hessian(y, score). Add it, or use step='line_search'."
            )
        return str(self.step)

    @property
    def _numbers_levels(self) -> LevelRule | None:
        is_ours = self.estimator is None and (self.init is None or isinstance(self.init, str))
        return super()._numbers_levels if is_ours else None

    def _takes_statistics_of(self, rows: Rows, n_classes: int) -> bool:
        """Not with an offset, nor if rows that are out-of-bag for a tree are in its statistics."""
        if rows.offset is None and self.subsample == 1.0:
            return super()._takes_statistics_of(rows, n_classes)
        if self.target_statistics is True:
            raise ValueError(
                "target_statistics=True cannot be combined with offset or subsample < 1: the mean "
                "target of a category says little without the offsets of its rows, and out-of-bag "
                "losses would use statistics that know the targets. Leave target_statistics at "
                "'auto', or use BoostedTrees."
            )
        return False

    def _refuse_parameters_of_trees(self) -> None:
        """Refuse tree parameters that would have no effect with a foreign `estimator`."""
        parameters = inspect.signature(type(self)).parameters
        for name in _OF_TREES:
            value = getattr(self, name)
            if self.estimator is not None and value != parameters[name].default:
                raise ValueError(
                    f"{name}={value!r} is a parameter of weald's own trees and has no effect "
                    f"with estimator={type(self.estimator).__name__}. Set the corresponding "
                    f"parameter of the estimator; leave {name} at {parameters[name].default!r}."
                )

    def _trees(self, training: Training, forest: ForestBuilder, loss: Loss) -> DescentTrees:
        """Make the learner that grows weald's own trees."""
        rows, n_threads = training.rows, self._n_threads
        seen = np.ones(rows.n, dtype=bool) if training.held_out is None else ~training.held_out
        n, weights = int(seen.sum()), rows.total_weight
        total = self.subsample * (n if weights is None else math.fsum(weights[seen]))
        n_columns = self._plan.n_columns
        max_features = n_drawn(self.max_features, n_columns)
        unit = 2.0 * units_of(loss, rows.target_exponent)[0]  # of squared gradients
        limits = TreeLimits(
            growth="best_first",
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, _count(self.min_samples_split, self.subsample * n)),
            min_samples_leaf=_count(self.min_samples_leaf, self.subsample * n),
            min_child_weight=float(self.min_weight_fraction_leaf) * total,
            min_gain=float(times_power(float(self.min_impurity_decrease) * total / 2.0, -unit)),
            max_features=None if max_features == n_columns else max_features,
            feature_sampling="node",
            seed=training.seed,
        )
        check_search(growth="best_first", max_bins=self.max_bins, exact=self.exact)
        binned = bin_rows(
            rows,
            max_bins=self.max_bins,
            exact=self.exact,
            n_threads=n_threads,
            learn_from=None if training.held_out is None else ~training.held_out,
        )
        return DescentTrees(
            TreeGrower(binned, "newton", limits, n_threads=n_threads),
            forest,
            step=self._step_for(loss),
            learning_rate=float(self.learning_rate),
            prune=partial(pruned_newton_tree, alpha=float(times_power(self.ccp_alpha, -unit))),
            n_threads=n_threads,
        )


def _count(limit: int | float, n: float) -> int:
    """Convert a count or share to a number of rows."""
    return int(limit) if isinstance(limit, (int, np.integer)) else max(1, math.ceil(limit * n))
