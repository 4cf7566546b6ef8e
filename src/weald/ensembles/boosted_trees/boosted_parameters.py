"""Parameters of boosted trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from weald.advice import Ignored
from weald.data import refuse_beyond_memory
from weald.ensembles.boosted_trees.checkpoint import SnapshotPath
from weald.ensembles.max_features import MAX_FEATURES
from weald.ensembles.rounds.scoring import Scoring
from weald.ensembles.scored import ScoredModel
from weald.losses import BuiltinLoss, Loss, UserLoss, quantile_losses
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
    Verbosity,
    Whole,
)


class BoostedParameters(ScoredModel):
    """Gradient boosting with second-order (Newton) trees on histograms.

    Parameters
    ----------
    loss : str or object
        Loss function to minimise: a name, or an object with a method ``gradient_hessian(y, score)``
        (see `weald.losses.user`).
    n_estimators : int, default=100
        Maximum number of boosting rounds. A round grows one tree, or one per class with three or
        more classes (but see `multi_class`).
    n_bags : int or None, default=None
        Number of boosters to fit on bootstrap samples and to average (bagging of boosters). The
        training time is multiplied by it. It provides an out-of-bag ledger, standard deviations and
        prediction intervals. Early stopping applies to each booster separately. None: a single
        booster, fitted on all rows.
    learning_rate : float, default=0.1
        Shrinkage: factor of the leaf values of each tree.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of each tree; None: no limit.
    max_depth : int or None, default=None
        Maximum depth of each tree; None: no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows in a leaf, regardless of their weights.
    min_child_weight : float, default=1e-3
        Minimum sum of hessians in a leaf.
    l2_regularization : float, default=0.0
        L2 penalty on leaf values: added to the sum of hessians of a leaf.
    l1_regularization : float, default=0.0
        L1 penalty on leaf values: the sum of gradients of a leaf is shrunk towards 0 by this amount
        (soft thresholding), in leaf values and in split gains.
    min_gain : float, default=0.0
        Minimum gain to make a split: the decrease of the regularised loss must exceed it. XGBoost's
        ``gamma`` corresponds to ``2 * min_gain``, because its gain lacks the factor 1/2.
    prune : {"before", "after"}, default="before"
        When `min_gain` is applied: "before" a split is made, or "after" the tree is grown. In the
        latter case splits of insufficient gain are pruned bottom-up, which keeps those that make
        better splits below them possible. "after" is not available with growth="symmetric".
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=None
        Column subsampling: number of columns considered for splits. A count, a fraction, the square
        root, binary logarithm or third of all columns, or all (None). More are drawn while none
        of them allows a split, except with feature_sampling="tree".
    feature_sampling : {"tree", "level", "node"}, default="node"
        Whether `max_features` columns are drawn once per tree, per level or per node. "node" is not
        available with growth="symmetric", where all nodes of a level are split on the same column.
    monotonic_cst : array, dict or None, default=None
        Monotonic constraints, one per column or as a dict by column name: 1 for predictions that
        increase with the column, -1 for predictions that decrease, 0 for no constraint. Available
        for regression and binary classification, where they apply to the probability of the
        second class. Missing values are not constrained.
    interaction_cst : {"pairwise", "no_interactions"}, list or None, default=None
        Interaction constraints: groups of columns, by name or position, that may be used together
        on a path from the root to a leaf. Columns in no group form one more group. "pairwise": all
        groups of two columns; "no_interactions": groups of one. None: no constraint.
    subsample : float, default=1.0
        Row subsampling: fraction of the rows drawn for each round, without replacement.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Tree growth policy. "best_first": leaf-wise, the leaf of largest gain is split next.
        "depth_wise": level by level. "symmetric": oblivious trees, all nodes of a level share one
        split (a node stays a leaf if a child would be too small); a level that would exceed
        `max_leaf_nodes` is not added, so choose a power of two.
    max_bins : int or None, default=None
        Maximum number of histogram bins per column, up to 65535; None means 255. Columns with
        at most so many distinct values get a bin for each. More than 255 bins slow down training,
        because nodes are then searched over sorted rows instead of histograms.
    exact : bool, default=False
        Exact split search: consider every threshold between distinct values of a node instead of
        histogram bins. Requires max_bins=None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of string and unordered categorical dtype ("from_dtype"), those
        listed by name, position or boolean mask, or none (None).
    early_stopping : bool or "auto", default=False
        Whether to stop when the score of the validation set no longer improves, and to keep the
        rounds up to the best one. The validation set is `X_val` of `fit`, or else
        `validation_fraction` of the rows, held out. "auto": stop early if `X_val` is given or there
        are more than 10,000 rows. With a held-out fraction, the leaf values of the kept trees are
        then refitted on all rows; staged predictions, curves and `warm_start` refer to the model
        before that.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for early stopping if there is no `X_val`; stratified by class
        for classification.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which early stopping ends the fit.
    tol : float, default=1e-7
        Minimum improvement for early stopping: relative to the loss before the first round if
        scoring="loss", otherwise absolute.
    scoring : str, callable or None, default="loss"
        Score of the validation set: "loss", the name of a scikit-learn scorer, a callable
        ``scorer(estimator, X, y)`` that returns a number to maximise, or None for the estimator's
        `score` method.
    warm_start : bool, default=False
        Continue from the rounds of the previous fit, up to `n_estimators` in total. On the same
        rows the result is that of a single fit. Not available with `n_bags`.
    verbose : int, default=0
        If positive, show a progress bar on stderr.
    time_limit : float or None, default=None
        Time limit in seconds: no further round is started afterwards, and the rounds so far are the
        model. It then depends on the speed of the machine and is not reproducible. Not available
        with `n_bags`.
    checkpoint : path or None, default=None
        Path of a checkpoint file, ending in ".npz", to which the training state is saved
        periodically. A fit with the same data and parameters resumes from it, and results in
        the model of an uninterrupted fit. Not available with `n_bags`.
    random_state : int, RandomState or None, default=None
        Seed of the random draws of `n_bags`, `subsample`, `max_features` and `early_stopping`;
        without effect if none of them is used.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The model does not depend on it.

    Attributes
    ----------
    n_estimators_ : int
        Number of rounds in the model; with `n_bags` the maximum over the boosters.
    stopped_by_ : str
        What ended training: "n_estimators", "early_stopping", "time_limit" or "callback"; with
        `n_bags` a list of these, one per booster.
    train_loss_ : array, shape (rounds + 1,)
        Mean loss of the training rows (of a subsample of about 10,000 if there are more), before
        the first and after each round; with `n_bags` of shape (boosters, rounds + 1), padded with
        NaN. Set only if there is a validation set.
    validation_loss_ : array, shape (rounds + 1,)
        Mean loss of the validation set, likewise.
    validation_score_ : array, shape (rounds + 1,)
        `scoring` of the validation set, likewise; the negative loss if scoring="loss".
    """

    _ignored: ClassVar[Mapping[str, Ignored]] = {
        **dict.fromkeys(
            ("n_iter_no_change", "validation_fraction", "tol"),
            (lambda model: not model.early_stopping, "set early_stopping=True"),
        ),
        "prune": (lambda model: model.min_gain == 0, "splits are pruned by min_gain, which is 0"),
        "feature_sampling": (
            lambda model: model.max_features is None,
            "max_features=None considers all columns; set max_features",
        ),
    }
    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1, 2**31 - 1),
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
        "verbose": Verbosity(),
        "time_limit": NoneOr(Real(0.0, open_below=True)),
        "checkpoint": NoneOr(SnapshotPath()),
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
        verbose: int,
        time_limit: float | None,
        checkpoint: Any,
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
        self.verbose = verbose
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs


def regression_loss(model: Any) -> Loss:
    """Regression loss of a model; raise if a parameter of another loss is set."""
    if not isinstance(model.loss, str):
        return UserLoss(model.loss, 1, model._n_threads, of_classes=False)
    parameter_of = {"quantile": "quantile", "huber": "huber_alpha", "tweedie": "tweedie_power"}
    for name, parameter in parameter_of.items():
        if name != model.loss and getattr(model, parameter) is not None:
            raise ValueError(
                f"{parameter}={getattr(model, parameter)!r} is only used with loss={name!r}; "
                f"got loss={model.loss!r}. Leave {parameter} at None or choose that loss."
            )
    if model.loss == "quantile" and model.quantile is None:
        raise ValueError(
            "loss='quantile' needs the parameter quantile, a float in the range [0, 1]; "
            "got None. quantile=0.5 predicts the median."
        )
    if isinstance(model.quantile, (list, tuple, np.ndarray)):
        return quantile_losses(model.quantile, model._n_threads)
    if model.loss == "huber":
        level = 0.9 if model.huber_alpha is None else float(model.huber_alpha)
        return BuiltinLoss("huber", 1, model._n_threads, level=level)
    value = {"quantile": model.quantile, "tweedie": model.tweedie_power or 1.5}.get(model.loss)
    return BuiltinLoss(model.loss, 1, model._n_threads, float(value or 0.0))


def check_vector_leaves(model: Any) -> None:
    """Raise for an L1 penalty, which trees with vector leaves do not support."""
    if model.multi_class == "vector_leaves" and model.l1_regularization > 0:
        raise ValueError(
            f"l1_regularization={model.l1_regularization!r} with multi_class='vector_leaves': "
            "trees with vector leaves do not support an L1 penalty. Set l1_regularization=0.0, "
            "or multi_class='tree_per_class'."
        )


def check_memory(n_rows: int, n_classes: int) -> None:
    """Raise if scores, gradients and hessians of all rows and classes exceed the memory."""
    refuse_beyond_memory(
        3 * 8 * n_rows * n_classes,
        f"Boosted trees of {n_classes:,} classes on {n_rows:,} rows",
        "Use fewer rows or classes, or RandomForestClassifier with max_leaf_nodes, which stores "
        "class probabilities only in its leaves.",
    )
