"""The parameters of boosted trees."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from weald.advice import Ignored
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
        Fewest rows of a leaf, whatever they weigh.
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
        listed by name, position or a mask, or none.
    early_stopping : bool or "auto", default=False
        Stop when the rows that judge (`X_val` of `fit`, or else `validation_fraction` of the rows,
        held out) are no longer predicted better; the model is cut back to the best round. "auto"
        stops early if `X_val` is given or there are more than 10,000 rows. After a held-out
        fraction the questions of the trees stay and their leaves are estimated anew on all rows;
        stages, curves and `warm_start` are about the model before that.
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
    verbose : int, default=0
        0 prints nothing; 1 and more show a progress bar on stderr.
    time_limit : float or None, default=None
        Seconds after which no further round begins; what is there by then is the model. Such a
        model depends on the machine's speed and is not reproducible. Not with `n_bags`.
    checkpoint : path or None, default=None
        A file, ending in ".npz", that the rounds are saved to every now and then. A fit on the same
        data with the same parameters goes on from it, and ends at the model of a fit that was
        never interrupted. Not with `n_bags`.
    random_state : int, RandomState or None, default=None
        Keys the draws of `n_bags`, `subsample`, `max_features` and `early_stopping`; a fit that
        draws nothing ignores it.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The model is the same for any number.

    Attributes
    ----------
    n_estimators_ : int
        Rounds in the model; with `n_bags` the most of any booster.
    stopped_by_ : str
        What ended the fit: "n_estimators", "early_stopping", "time_limit" or "callback"; with
        `n_bags` a list with what ended each booster.
    train_loss_ : array, shape (rounds + 1,)
        If there are rows to judge by: the mean loss of the rows learnt from (of about 10,000 of
        them if there are more), before the first round and after each that was made; with `n_bags`
        a row for each booster, NaN after its end.
    validation_loss_ : array, shape (rounds + 1,)
        Likewise of the rows to judge by.
    validation_score_ : array, shape (rounds + 1,)
        Likewise what `scoring` says of the rows to judge by; of "loss", the loss times -1.
    """

    _ignored: ClassVar[Mapping[str, Ignored]] = {
        **dict.fromkeys(
            ("n_iter_no_change", "validation_fraction", "tol"),
            (lambda model: not model.early_stopping, "set early_stopping=True"),
        ),
        "prune": (lambda model: model.min_gain == 0, "splits are pruned by min_gain, which is 0"),
        "feature_sampling": (
            lambda model: model.max_features is None,
            "max_features=None takes all columns; set max_features to draw some",
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


def number_loss(model: Any) -> Loss:
    """The loss, with its own parameter; those of other losses must be left alone."""
    if not isinstance(model.loss, str):
        return UserLoss(model.loss, 1, model._n_threads, of_classes=False)
    own = {"quantile": "quantile", "huber": "huber_alpha", "tweedie": "tweedie_power"}
    for name, parameter in own.items():
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
