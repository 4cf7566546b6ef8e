"""Parameters of boosted trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from weald.advice import Ignored
from weald.data import Rows, refuse_beyond_memory
from weald.ensembles.boosted_trees.auto_settings import is_auto, may_stop_early
from weald.ensembles.boosted_trees.checkpoint import SnapshotPath
from weald.ensembles.max_features import MAX_FEATURES
from weald.ensembles.rounds.scoring import Metrics, Scoring
from weald.ensembles.scored import ScoredModel
from weald.losses import BuiltinLoss, Loss, UserLoss, quantile_losses
from weald.parameters import (
    AnyOf,
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

_AUTO = OneOf(("auto",))


class BoostedParameters(ScoredModel):
    """Gradient boosting with second-order (Newton) trees on histograms.

    Parameters
    ----------
    loss : str or object
        Loss function to minimise: a name, or an object with a method ``gradient_hessian(y, score)``
        (see `weald.losses.user`).
    quality : {"fast", "default", "best"}, default="default"
        How much time the parameters that are "auto" may take. "fast": 100 rounds of one booster at
        a learning rate of 0.1. "default": early stopping; up to 30,000 rows (of queries to rank:
        100,000) the mean of five boosters, above one booster. "best": smaller learning rate, more
        boosters and patience. The values are in `auto_settings_`. Parameters that are set are never
        changed.
    n_estimators : int or "auto", default="auto"
        Number of boosting rounds, at most, if there is early stopping. A round grows one tree, or
        one per class with three or more classes (but see `multi_class`), for each booster (see
        `n_bags`). "auto": early stopping decides, unless it is switched off or quality="fast": then
        100.
    n_bags : int, None or "auto", default="auto"
        Number of boosters whose mean score is the model. The rows are dealt out into five folds
        (into `n_bags`, if fewer), again for every five boosters; each booster leaves out one fold,
        and in the end its leaf values are estimated on all rows. The left-out rows decide when to
        stop, so that none is lost for training, and provide an out-of-bag ledger, standard
        deviations and prediction intervals. The training time is multiplied by `n_bags`. None: one
        booster. "auto": 5 up to 30,000 rows (10 if quality="best", 5 above), if there is early
        stopping, n_estimators is "auto" and there is no `X_val`; otherwise None.
    learning_rate : float or "auto", default="auto"
        Shrinkage: factor of the leaf values of each tree. "auto": 0.1 without early stopping;
        otherwise 0.05 up to 30,000 rows and 0.1 above, half of that if quality="best".
    max_leaf_nodes : int, None or "auto", default="auto"
        Maximum number of leaves of each tree; None: no limit. "auto": 16 up to 30,000 rows, 31
        above and if quality="fast".
    max_depth : int or None, default=None
        Maximum depth of each tree; None: no limit.
    min_samples_leaf : int or "auto", default="auto"
        Minimum number of rows in a leaf, regardless of their weights. "auto": 5 up to 30,000 rows
        with early stopping, otherwise 20; at most a tenth of the rows, unless quality="fast".
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
    max_features : int, float, {"sqrt", "log2", "third", "auto"} or None, default="auto"
        Column subsampling: number of columns considered for splits. A count, a fraction, the square
        root, binary logarithm or third of all columns, or all (None). More are drawn while none
        of them allows a split, except with feature_sampling="tree". "auto": 0.6 up to 30,000 rows
        (per level for symmetric trees) and if quality="best", all above and if quality="fast".
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
    subsample : float or "auto", default="auto"
        Row subsampling: fraction of the training rows used in each round, drawn without
        replacement. "auto": 0.8 up to 30,000 rows and if quality="best", 1.0 above and if
        quality="fast".
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Tree growth policy. "best_first": leaf-wise, the leaf of largest gain is split next.
        "depth_wise": level by level. "symmetric": oblivious trees, all nodes of a level share one
        split (a node stays a leaf if a child would be too small); a level that would exceed
        `max_leaf_nodes` is not added, so choose a power of two.
    max_bins : int or None, default=None
        Maximum number of histogram bins per column, up to 65535; None means 255. Columns with
        at most so many distinct values get a bin for each. More than 255 bins slow down training:
        1,000 bins take about three times as long.
    exact : bool, default=False
        Exact split search: consider every threshold between distinct values of a node instead of
        histogram bins. Requires max_bins=None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of string and unordered categorical dtype ("from_dtype"), those
        listed by name, position or boolean mask, or none (None).
    target_statistics : bool or "auto", default="auto"
        Whether categorical columns of more than 10 levels, some of which have fewer than 30 rows,
        get target statistics: the mean target of the level (its share of each class) as further
        numeric columns, computed for each row without the row's own fold. Only levels of at least
        30 rows of such a column are split in sets. "auto": unless quality="fast", with more than 10
        classes, or with an `offset` of a loss without a log link. With a log link the statistic is
        a rate: the sum of the targets by the sum of the exposures, exp(offset).
    early_stopping : bool or "auto", default="auto"
        Whether to stop when the validation loss no longer improves; the model is truncated to the
        best round. The validation set is `X_val`, or with `n_bags` the left-out folds, or else
        `validation_fraction` of the rows. After a fit without `X_val`, leaf values are estimated
        again on all rows. "auto": if n_estimators="auto" and quality is not "fast".
    validation_fraction : float, default=0.1
        Fraction of the rows held out for early stopping of a single booster, stratified by class.
        Not used with `X_val` or `n_bags`.
    n_iter_no_change : int or "auto", default="auto"
        Number of rounds without improvement after which early stopping ends the fit. "auto": 50
        (100 if quality="best", 10 if quality="fast"), but where the loss of the left-out folds
        decides a fifth of that plus a fifth of the best round, if that is less. Thrice as many for
        a ranker's losses "ndcg" and "map", which change in steps.
    tol : float, default=1e-7
        Minimum improvement for early stopping: relative to the loss before the first round if
        scoring="loss", otherwise absolute.
    scoring : str, callable or None, default="loss"
        Score of the validation set: "loss", the name of a scikit-learn scorer, a name in `metrics`,
        a callable ``scorer(estimator, X, y)`` that returns a number to maximise, or None for the
        estimator's `score` method. It decides when to stop, by the first validation set if there
        are several.
    metrics : list of str, dict or None, default=None
        Further scores of every validation set after each round, for `history_` only: names of
        scikit-learn scorers, or a dict of names and scorers. The loss is always recorded. A score
        that is not finite is recorded as NaN, with a warning.
    warm_start : bool, default=False
        Continue from the rounds of the previous fit, up to `n_estimators` in total. On the same
        rows the result is that of a single fit. Parameters that are "auto" keep the values of
        the first fit.
    verbose : int, default=0
        If positive, show a progress bar on stderr.
    time_limit : float or None, default=None
        Time limit in seconds: no further round is started afterwards, and the rounds so far are the
        model. It then depends on the speed of the machine and is not reproducible.
    checkpoint : path or None, default=None
        Path of a checkpoint file, ending in ".npz", to which the training state is saved
        periodically. A fit with the same data and parameters resumes from it, and results in
        the model of an uninterrupted fit.
    random_state : int, RandomState or None, default=None
        Seed of the random draws of `n_bags`, `subsample`, `max_features` and `early_stopping`.
        None means 0: two fits are equal.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The model does not depend on it.

    Attributes
    ----------
    n_estimators_ : int
        Number of rounds in the model.
    auto_settings_ : dict
        The value of every parameter that may be "auto", as given or as chosen, if it has an effect:
        a fit with ``**auto_settings_`` gives the same model.
    n_bags_ : int or None
        Number of boosters, as given or as chosen; likewise the following.
    learning_rate_ : float
        Learning rate.
    max_leaf_nodes_ : int or None
        Maximum number of leaves.
    min_samples_leaf_ : int
        Minimum number of rows in a leaf.
    max_features_ : int, float, str or None
        Column subsampling.
    subsample_ : float
        Row subsampling.
    target_statistics_ : bool
        Whether categorical columns of many levels, if there are any, have target statistics.
    early_stopping_ : bool
        Whether there was early stopping.
    n_iter_no_change_ : int
        The longest patience of early stopping, if there is any.
    stopped_by_ : str
        What ended training: "n_estimators", "early_stopping", "time_limit" or "callback".
    history_ : History
        Losses and metrics before the first and after each round, by name: "train loss",
        "validation loss", "validation roc_auc"; prints as a table. With a dict of validation sets,
        names begin with those of the sets.
    train_loss_ : array, shape (rounds + 1,)
        Mean loss of the training rows (of a subsample of about 5,000 if there are more), before
        the first and after each round; NaN if a user's loss has no finite value.
    validation_loss_ : array, shape (rounds + 1,)
        Mean loss of the validation set, likewise (of several: of the first). Set only if there is
        a validation set.
    validation_score_ : array, shape (rounds + 1,)
        `scoring` of that validation set, likewise; the negative loss if scoring="loss".
    """

    _ignored: ClassVar[Mapping[str, Ignored]] = {
        **dict.fromkeys(
            ("n_iter_no_change", "validation_fraction", "tol"),
            (lambda model: not may_stop_early(model), "set early_stopping=True"),
        ),
        "prune": (lambda model: model.min_gain == 0, "splits are pruned by min_gain, which is 0"),
    }
    _limits: ClassVar[Mapping[str, Limit]] = {
        "quality": OneOf(("fast", "default", "best")),
        "n_estimators": AnyOf((_AUTO, Whole(1, 2**31 - 1))),
        "n_bags": AnyOf((_AUTO, NoneOr(Whole(2, 10_000)))),
        "learning_rate": AnyOf((_AUTO, Real(0.0, open_below=True))),
        "max_leaf_nodes": AnyOf((_AUTO, NoneOr(Whole(2)))),
        "max_depth": NoneOr(Whole(1)),
        "min_samples_leaf": AnyOf((_AUTO, Whole(1))),
        "min_child_weight": Real(0.0),
        "l2_regularization": Real(0.0),
        "l1_regularization": Real(0.0),
        "min_gain": Real(0.0),
        "prune": OneOf(("before", "after")),
        "max_features": AnyOf((_AUTO, MAX_FEATURES)),
        "feature_sampling": OneOf(("tree", "level", "node")),
        "monotonic_cst": NoneOr(ColumnDirections()),
        "interaction_cst": NoneOr(ColumnGroups(("pairwise", "no_interactions"))),
        "subsample": AnyOf((_AUTO, Real(0.0, 1.0, open_below=True))),
        "growth": OneOf(("best_first", "depth_wise", "symmetric")),
        "max_bins": NoneOr(Whole(2, 65535)),
        "exact": OneOf((True, False)),
        "categorical_features": Columns(),
        "target_statistics": OneOf((True, False, "auto")),
        "early_stopping": OneOf((True, False, "auto")),
        "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
        "n_iter_no_change": AnyOf((_AUTO, Whole(1))),
        "tol": Real(0.0),
        "scoring": NoneOr(Scoring()),
        "metrics": NoneOr(Metrics()),
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
        quality: str,
        n_estimators: int | str,
        n_bags: int | str | None,
        learning_rate: float | str,
        max_leaf_nodes: int | str | None,
        max_depth: int | None,
        min_samples_leaf: int | str,
        min_child_weight: float,
        l2_regularization: float,
        l1_regularization: float,
        min_gain: float,
        prune: str,
        max_features: float | str | None,
        feature_sampling: str,
        monotonic_cst: Any,
        interaction_cst: Any,
        subsample: float | str,
        growth: str,
        max_bins: int | None,
        exact: bool,
        categorical_features: Any,
        target_statistics: bool | str,
        early_stopping: bool | str,
        validation_fraction: float,
        n_iter_no_change: int | str,
        tol: float,
        scoring: Any,
        metrics: Any,
        warm_start: bool,
        verbose: int,
        time_limit: float | None,
        checkpoint: Any,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
    ) -> None:
        self.loss = loss
        self.quality = quality
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
        self.target_statistics = target_statistics
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.metrics = metrics
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _lists_sparse_codes(self) -> bool:
        """Whether the codes of sparse tables may be kept in lists."""
        return not self.exact and self.growth != "symmetric"


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


def in_moderate_units(rows: Rows, loss: Loss) -> Rows:
    """Divide extreme targets of weald's own losses by a power of two; users' losses see theirs."""
    if not isinstance(loss, BuiltinLoss):
        return rows
    return rows.with_moderate_target(None if loss.of_exponents else rows.offset)


def check_vector_leaves(model: Any) -> None:
    """Raise for an L1 penalty, which trees with vector leaves do not support."""
    if model.multi_class == "vector_leaves" and model.l1_regularization > 0:
        raise ValueError(
            f"l1_regularization={model.l1_regularization!r} with multi_class='vector_leaves': "
            "trees with vector leaves do not support an L1 penalty. Set l1_regularization=0.0, "
            "or multi_class='tree_per_class'."
        )


def check_memory(n_rows: int, n_scores: int, n_boosters: int | None) -> None:
    """Raise if scores, gradients and hessians of all rows exceed the memory.

    Each of several boosters has scores of its own; one more array holds the validation scores.
    """
    n_arrays = 3 if n_boosters is None else n_boosters + 3
    boosters = "Boosted trees" if n_boosters is None else f"{n_boosters} boosters (n_bags)"
    refuse_beyond_memory(
        n_arrays * 8 * n_rows * n_scores,
        f"{boosters} with {n_scores:,} scores (classes or quantiles) on each of {n_rows:,} rows",
        "Use fewer rows, classes or boosters (n_bags=None), or RandomForestClassifier with "
        "max_leaf_nodes, which stores class probabilities only in its leaves.",
    )


def check_symmetric_growth(model: Any) -> None:
    """Raise for parameters that apply to single nodes, which symmetric trees do not have."""
    if model.growth != "symmetric":
        return
    given = model.max_features is not None and not is_auto(model.max_features)
    if given and model.feature_sampling == "node":
        raise ValueError(
            "growth='symmetric' splits all nodes of a level on the same column, so that "
            f"columns cannot be sampled per node; got max_features={model.max_features!r} with "
            "feature_sampling='node'. Use feature_sampling='level' or 'tree'."
        )
    if model.prune == "after" and model.min_gain > 0:
        raise ValueError(
            "growth='symmetric' splits whole levels, so that single splits cannot be pruned; "
            "got prune='after'. Use prune='before' or another growth."
        )
