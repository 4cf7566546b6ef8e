"""The parameters of gradient boosting: scikit-learn's, with its meanings, and what comes on top."""

import inspect
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from weald.advice import Ignored
from weald.data import bin_rows
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

# What only our own trees understand; other members have parameters of their own.
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


class GradientParameters(ScoredModel):
    """Members added one after another, each a step along the negative gradient of the loss.

    Parameters
    ----------
    loss : str or object
        What is made small; or any object with a method ``gradient(y, score)`` or
        ``gradient_hessian(y, score)``, as `weald.losses.user` tells.
    learning_rate : float, default=0.1
        What every step is multiplied by.
    n_estimators : int, default=100
        Most rounds; with many classes a round is one member per class.
    subsample : float, default=1.0
        Share of the rows each round sees, drawn without replacement; below 1 the others give
        `oob_improvement_`.
    criterion : {"friedman_mse", "squared_error"}, default="friedman_mse"
        How a split is judged; both names mean the same order of splits.
    min_samples_split : int or float, default=2
        Fewest rows a node must hold to be split; a float is a share of the rows.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf, whatever they weigh; a float is a share of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight of all rows that a leaf must hold.
    max_depth : int or None, default=3
        Most questions between the root and a leaf.
    min_impurity_decrease : float, default=0.0
        What a split must lower the mean squared error of the gradients by, more than it.
    init : {None, "zero"} or estimator, default=None
        Where to start: None at the best constant, "zero" at the score 0, an estimator at its
        answers (`predict_proba` of a classifier).
    random_state : int, RandomState or None, default=None
        Keys the draws of `subsample`, `max_features` and `n_iter_no_change`, and members that have
        a random state.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=None
        How many columns are drawn for every split of our own trees: so many, a share of them, their
        square root, logarithm or third, or all. Where none of those drawn can be cut at all,
        further ones are drawn until one can.
    verbose : int, default=0
        1 prints the losses of some rounds, 2 of all.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree, those that gain most first.
    warm_start : bool, default=False
        Go on from the model of the last fit, up to `n_estimators` rounds.
    validation_fraction : float, default=0.1
        Share of rows held out for `n_iter_no_change`; of every class alike.
    n_iter_no_change : int or None, default=None
        Hold rows out, and end the fit when their loss is not below that of at least one of so many
        rounds before.
    tol : float, default=0.0001
        How much below counts.
    ccp_alpha : float, default=0.0
        Splits that are worth no more than this a leaf are taken back (minimal cost-complexity
        pruning).
    estimator : regressor or None, default=None
        The member: None is a tree of our own; otherwise any regressor, cloned for every step.
        Sample weights are passed if its `fit` takes them.
    step : {"auto", "leaf", "line_search", "constant"}, default="auto"
        How far to go in the direction of a member. "leaf": in each leaf of a tree to its own best
        constant (by one Newton step, or exactly for losses of quantiles and of Huber);
        "line_search": one step for all rows, where the loss is least; "constant": 1. "auto" takes
        "leaf" for our own trees, if the loss has a hessian, and "line_search" otherwise.
    max_bins : int or None, default=None
        Most bins a column is cut into for our own trees, at most 65535; None means 255. Up to so
        many distinct values are all told apart.
    exact : bool, default=False
        Look for our own trees' splits between all neighbouring values, as scikit-learn's trees do,
        instead of at bins; `max_bins` must then be None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. Only our own trees with at most 255 bins split
        them; an `estimator` or `init` needs numbers.
    n_jobs : int or None, default=None
        Threads of our own trees and losses; None means all usable cores. The model is the same for
        any number.
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
        self.n_jobs = n_jobs

    def _step_for(self, loss: Loss) -> str:
        """What `step` means for this loss and these members."""
        is_ours, has_hessian = self.estimator is None, getattr(loss, "has_hessian", True)
        if self.step == "auto":
            return "leaf" if is_ours and has_hessian else "line_search"
        if self.step == "leaf" and not is_ours:
            raise ValueError(
                "step='leaf' is for our own trees, whose leaves are known; got estimator="
                f"{type(self.estimator).__name__}. Use step='line_search' or 'constant'."
            )
        if self.step == "leaf" and not has_hessian:
            raise ValueError(
                f"step='leaf' needs second derivatives, and the loss {loss.name} has no method "
                "gradient_hessian(y, score). Add it, or use step='line_search'."
            )
        return str(self.step)

    def _refuse_parameters_of_trees(self) -> None:
        """With members of other makers the parameters of trees would do nothing."""
        parameters = inspect.signature(type(self)).parameters
        for name in _OF_TREES:
            value = getattr(self, name)
            if self.estimator is not None and value != parameters[name].default:
                raise ValueError(
                    f"{name}={value!r} is a parameter of our own trees and would do nothing "
                    f"with estimator={type(self.estimator).__name__}. Set it on the estimator, "
                    f"if it has one like it; leave {name} at {parameters[name].default!r}."
                )

    def _trees(self, training: Training, forest: ForestBuilder, loss: Loss) -> DescentTrees:
        """What grows our own trees, within the limits of the parameters."""
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
    """A number of rows, from such a number or from a share."""
    return int(limit) if isinstance(limit, (int, np.integer)) else max(1, math.ceil(limit * n))
