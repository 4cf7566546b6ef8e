"""Second-order boosted trees: the flagship."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from weald.data import Rows, bin_rows, class_rows, number_rows, refuse_levels
from weald.ensembles.base import Floats
from weald.ensembles.boosting import HeldOut, Training, boost, prepare
from weald.ensembles.scored import ScoredClassifier, ScoredModel
from weald.ensembles.tree_learners import NewtonTrees, in_user_units
from weald.losses import (
    BuiltinLoss,
    Loss,
    LossChoice,
    UserLoss,
    class_loss,
    refuse_targets,
    takes_positive_only,
)
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
        )
        rows = training.rows
        base = loss.base_scores(training.y, rows.weight, training.seen_copies)
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        held_out = HeldOut(training, loss, scores, self.n_iter_no_change, self.tol)
        forest = ForestBuilder(base, self._plan.n_columns)
        trees = NewtonTrees(
            self._grower(training), forest, float(self.learning_rate), self._n_threads
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


class BoostedTreesRegressor(RegressorMixin, BoostedTrees):
    """Boosted regression trees: second order, on histograms, with any of many losses.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} \
or object, default="squared_error"
        What is made small. "absolute_error", "huber" and "quantile" have the best constant of its
        residuals in every leaf; "poisson", "gamma" and "tweedie" predict e to the score. An object
        needs a method ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    quantile : float or None, default=None
        The level of loss="quantile"; 0.5 is the median.
    huber_alpha : float or None, default=None
        Of loss="huber": the share of rows whose residuals count squared, in every round; the others
        count by their size. None means 0.9.
    tweedie_power : float or None, default=None
        Of loss="tweedie": how the variance grows with the mean, between 1 (Poisson) and 2 (gamma).
        None means 1.5.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = BoostedTreesRegressor(random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 3)
    0.999
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **BoostedTrees._limits,
        "loss": LossChoice(
            OneOf(
                (
                    "squared_error",
                    "absolute_error",
                    "huber",
                    "quantile",
                    "poisson",
                    "gamma",
                    "tweedie",
                )
            ),
            ("gradient_hessian",),
        ),
        "quantile": NoneOr(Real(0.0, 1.0)),
        "huber_alpha": NoneOr(Real(0.0, 1.0, open_below=True)),
        "tweedie_power": NoneOr(Real(1.0, 2.0, open_below=True, open_above=True)),
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: float | None = None,
        huber_alpha: float | None = None,
        tweedie_power: float | None = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.quantile = quantile
        self.huber_alpha = huber_alpha
        self.tweedie_power = tweedie_power

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            loss = self._chosen_loss()
            rows = number_rows(self, X, y, sample_weight)
            refuse_targets(loss, rows.target)
            if isinstance(loss, BuiltinLoss):
                rows = rows.with_moderate_target()
            self._boost(rows, loss, strata=False)
        return self

    def _chosen_loss(self) -> Loss:
        """The loss, with its own parameter; those of other losses must be left alone."""
        if not isinstance(self.loss, str):
            return UserLoss(self.loss, 1, self._n_threads, of_classes=False)
        own = {"quantile": "quantile", "huber": "huber_alpha", "tweedie": "tweedie_power"}
        for name, parameter in own.items():
            if name != self.loss and getattr(self, parameter) is not None:
                raise ValueError(
                    f"{parameter}={getattr(self, parameter)!r} is only used with loss={name!r}; "
                    f"got loss={self.loss!r}. Leave {parameter} at None or choose that loss."
                )
        if self.loss == "quantile" and self.quantile is None:
            raise ValueError(
                "loss='quantile' needs the parameter quantile, a float in the range [0, 1]; "
                "got None. quantile=0.5 predicts the median."
            )
        if self.loss == "huber":
            level = 0.9 if self.huber_alpha is None else float(self.huber_alpha)
            return BuiltinLoss("huber", 1, self._n_threads, level=level)
        value = {"quantile": self.quantile, "tweedie": self.tweedie_power or 1.5}.get(self.loss)
        return BuiltinLoss(self.loss, 1, self._n_threads, float(value or 0.0))

    def predict(self, X: object) -> Floats:
        """Predict a number for each row."""
        return self._predictions(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = takes_positive_only(self.loss)
        # Its R squared is that of a mean, which a quantile is not.
        tags.regressor_tags.poor_score = isinstance(self.loss, str) and self.loss == "quantile"
        return tags


class BoostedTreesClassifier(ScoredClassifier, BoostedTrees):
    """Boosted trees for two or many classes: second order, on histograms.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object, default="log_loss"
        What is made small; "exponential" is AdaBoost's, for two classes. An object needs a method
        ``gradient_hessian(y, score)`` (see `weald.losses.user`).

    Examples
    --------
    >>> from weald import BoostedTreesClassifier
    >>> from weald.datasets import load_pima
    >>> pima = load_pima()
    >>> model = BoostedTreesClassifier(n_estimators=20).fit(pima.data[:500], pima.target[:500])
    >>> round(model.score(pima.data[500:], pima.target[500:]), 2)
    0.81
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **BoostedTrees._limits,
        "loss": LossChoice(OneOf(("log_loss", "exponential")), ("gradient_hessian",)),
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            loss = class_loss(self.loss, len(self.classes_), self._n_threads)
            # One class leaves nothing to learn: no score, no tree, always the same answer.
            if len(self.classes_) == 1:
                self._keep(ForestBuilder(np.zeros(1), self._plan.n_columns), rows, loss)
            else:
                self._boost(rows, loss, strata=True)
        return self
