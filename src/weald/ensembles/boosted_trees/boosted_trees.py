"""Second-order boosted trees: the flagship."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from weald.data import (
    checked_weights,
    class_rows,
    finite_target,
    number_rows,
    read_once,
    readable_target,
    refuse_beyond_memory,
    rows_of_weight,
    validation_classes,
    validation_numbers,
)
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.boosted_trees.boosted_parameters import number_loss
from weald.ensembles.boosted_trees.booster_predictor import log_shares
from weald.ensembles.class_weights import judged_by_class, weights_of_classes, without_classes
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.ensembles.rounds.callbacks import callback_inputs
from weald.ensembles.scored import ScoredClassifier
from weald.losses import (
    BuiltinLoss,
    Loss,
    LossChoice,
    QuantileLosses,
    class_loss,
    pinball_saved,
    refuse_targets,
    takes_positive_only,
)
from weald.parameters import AnyOf, ClassWeight, Levels, Limit, NoneOr, OneOf, Real


class BoostedTreesRegressor(BaggedRegressor, Regressor, BoostedTrees):
    """Boosted regression trees: second order, on histograms, with any of many losses.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} \
or object, default="squared_error"
        What is made small. "absolute_error", "huber" and "quantile" have the best constant of its
        residuals in every leaf; "poisson", "gamma" and "tweedie" predict e to the score. An object
        needs a method ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    quantile : float, list of float or None, default=None
        The level of loss="quantile"; 0.5 is the median. Of a list of increasing levels `predict`
        gives a column each: a tree per level and round, whose sums are put in order in every row,
        so that predictions never cross. `score` is then the share of the pinball loss of the best
        constants that they save.
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
        "quantile": NoneOr(AnyOf((Real(0.0, 1.0), Levels()))),
        "huber_alpha": NoneOr(Real(0.0, 1.0, open_below=True)),
        "tweedie_power": NoneOr(Real(1.0, 2.0, open_below=True, open_above=True)),
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: Any = None,
        huber_alpha: float | None = None,
        tweedie_power: float | None = None,
        n_estimators: int = 100,
        n_bags: int | None = None,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = None,
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float = 1.0,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: Any = "loss",
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
        checkpoint: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            n_estimators=n_estimators,
            n_bags=n_bags,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            l1_regularization=l1_regularization,
            min_gain=min_gain,
            prune=prune,
            max_features=max_features,
            feature_sampling=feature_sampling,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            warm_start=warm_start,
            verbose=verbose,
            time_limit=time_limit,
            checkpoint=checkpoint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.quantile = quantile
        self.huber_alpha = huber_alpha
        self.tweedie_power = tweedie_power

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        X_val: object = None,
        y_val: object = None,
        sample_weight_val: object = None,
        *,
        groups: object = None,
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            What each row counts in sums; `min_samples_leaf` and other counts are of rows.
        X_val, y_val : table and array, or None
            Rows to judge by, for early stopping and `validation_loss_`. Nothing is learnt from
            them: no bin, no category, no score.
        sample_weight_val : array or None
            The weights of those rows.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers, for fits that draw or hold out rows:
            whole groups are drawn and held out together.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            self._refuse_going_on_with_bags()
            loss = number_loss(self)
            rows = number_rows(self, X, y, sample_weight)
            rows = rows.in_groups(groups, rows_of_weight(y, sample_weight))
            refuse_targets(loss, rows.target)
            if isinstance(loss, BuiltinLoss):
                rows = rows.with_moderate_target()
            validation = validation_numbers(self, X_val, y_val, sample_weight_val)
            if validation is not None:
                refuse_targets(loss, validation.target)
            kept = self._rows_of_bags(y, sample_weight)
            inputs = callback_inputs(X, y, sample_weight)
            self._boost(rows, loss, validation, inputs, strata=False, kept=kept)
        return self

    def predict(self, X: object, *, return_std: bool = False) -> Any:
        """Predict a number for each row; for a list of quantiles an array (rows, quantiles).

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the boosters about their mean: how much they
            disagree. Needs `n_bags`.
        """
        if not return_std:
            return self._as_answers(self._predictions(X))
        mean, std = self._with_spread(X)
        return self._as_answers(mean), self._as_answers(std)

    def _as_answers(self, numbers: Floats) -> Floats:
        return numbers if self._answers_levels else numbers[:, 0]

    @property
    def _answers_levels(self) -> bool:
        return isinstance(self._fitted_loss, QuantileLosses)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """R squared; for a list of quantiles D squared of their pinball losses."""
        check_is_fitted(self)
        if not isinstance(self._fitted_loss, QuantileLosses):
            return float(super().score(X, y, sample_weight))
        target = finite_target(column_or_1d(readable_target(y)))
        predictions = self.predict(X)
        check_consistent_length(predictions, target)
        weight = None if sample_weight is None else checked_weights(sample_weight, len(target))
        return pinball_saved(self._fitted_loss, target, predictions, weight)

    def staged_predict(self, X: object) -> Iterator[Floats]:
        """Predictions after each round, before the leaves were estimated anew on all rows.

        Yields
        ------
        array, shape (rows,); for a list of quantiles (rows, quantiles)
        """
        for predictions in self._staged_predictions(X):
            yield self._as_answers(predictions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = takes_positive_only(self.loss)
        # Its R squared is that of a mean, which a quantile is not.
        tags.regressor_tags.poor_score = isinstance(self.loss, str) and self.loss == "quantile"
        return tags


class BoostedTreesClassifier(BaggedClassifier, ScoredClassifier, BoostedTrees):
    """Boosted trees for two or many classes: second order, on histograms.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object, default="log_loss"
        What is made small; "exponential" is AdaBoost's, for two classes. An object needs a method
        ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    multi_class : {"tree_per_class", "vector_leaves"}, default="tree_per_class"
        How three classes and more are learnt in a round: a tree for each, or one tree whose leaves
        hold a step for each. The latter is a smaller model; small tables of many classes are learnt
        better by it, large ones need more rounds. Two classes have one score, for which both are
        the same.
    class_weight : dict, "balanced" or None, default=None
        What the rows of each class weigh beside their own weights; labels that a dict does not name
        weigh 1. Balanced: all classes weigh the same together. Rows that judge, `X_val` too, weigh
        by their class likewise. It changes no count of rows, as of `min_samples_leaf`, and no draw.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import BoostedTreesClassifier
    >>> cancer = load_breast_cancer()
    >>> model = BoostedTreesClassifier(n_estimators=20).fit(cancer.data[:400], cancer.target[:400])
    >>> round(model.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **BoostedTrees._limits,
        "loss": LossChoice(OneOf(("log_loss", "exponential")), ("gradient_hessian",)),
        "multi_class": OneOf(("tree_per_class", "vector_leaves")),
        "class_weight": ClassWeight(("balanced",)),
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        n_estimators: int = 100,
        n_bags: int | None = None,
        learning_rate: float = 0.1,
        multi_class: str = "tree_per_class",
        class_weight: Any = None,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = None,
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float = 1.0,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        scoring: Any = "loss",
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
        checkpoint: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            n_estimators=n_estimators,
            n_bags=n_bags,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            l1_regularization=l1_regularization,
            min_gain=min_gain,
            prune=prune,
            max_features=max_features,
            feature_sampling=feature_sampling,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            warm_start=warm_start,
            verbose=verbose,
            time_limit=time_limit,
            checkpoint=checkpoint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.multi_class = multi_class
        self.class_weight = class_weight

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        X_val: object = None,
        y_val: object = None,
        sample_weight_val: object = None,
        *,
        groups: object = None,
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            What each row counts in sums; `min_samples_leaf` and other counts are of rows.
        X_val, y_val : table and array, or None
            Rows to judge by, for early stopping and `validation_loss_`. Nothing is learnt from
            them: no bin, no category, no score.
        sample_weight_val : array or None
            The weights of those rows.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers, for fits that draw or hold out rows:
            whole groups are drawn and held out together.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            self._refuse_going_on_with_bags()
            takes_bytes = isinstance(self.loss, str)  # a loss of the user's is told floats
            rows, self.classes_ = class_rows(self, X, y, sample_weight, takes_bytes=takes_bytes)
            rows = rows.in_groups(groups, rows_of_weight(y, sample_weight))
            _refuse_too_many(rows.n, len(self.classes_))
            loss = class_loss(self.loss, len(self.classes_), self._n_threads)
            self._refuse_penalty_of_vectors()
            weight = weights_of_classes(self.class_weight, rows, self.classes_)
            kept = self._rows_of_bags(y, sample_weight)
            if weight is not None:
                if kept is not None:
                    kept[kept] = weight[rows.target.astype(np.intp)] > 0
                rows = without_classes(rows, weight)
            validation = validation_classes(self, X_val, y_val, sample_weight_val, self.classes_)
            if len(self.classes_) == 1:
                self._keep_constant(rows, loss)
            else:
                validation = judged_by_class(validation, weight)
                inputs = callback_inputs(X, y, sample_weight)
                self._boost(
                    rows, loss, validation, inputs, strata=True, kept=kept, class_weight=weight
                )
        return self

    def predict_proba(self, X: object, *, return_std: bool = False) -> Any:
        """Probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the boosters' probabilities about their mean: how
            much they disagree. Needs `n_bags`.
        """
        return self._with_spread(X) if return_std else super().predict_proba(X)

    def decision_function(self, X: object) -> Floats:
        """Raw scores: one for two classes (of log_loss: the log odds), else one per class.

        With `n_bags` the logarithms of the mean probabilities, of two classes the log odds.
        """
        check_is_fitted(self)
        return log_shares(self._mean_answers(X)) if self._parts else super().decision_function(X)

    def staged_decision_function(self, X: object) -> Iterator[Floats]:
        """Raw scores after each round; with `n_bags` the logarithms of mean probabilities.

        Yields
        ------
        array, shape (rows,) for two classes, else (rows, classes)
        """
        check_is_fitted(self)
        if not self._parts:
            yield from super().staged_decision_function(X)
            return
        for shares in self._staged_means(X):
            yield log_shares(shares)

    def _refuse_penalty_of_vectors(self) -> None:
        if self.multi_class == "vector_leaves" and self.l1_regularization > 0:
            raise ValueError(
                f"l1_regularization={self.l1_regularization!r} with multi_class='vector_leaves': "
                "the steps of a leaf that holds one for each class know no l1. Set "
                "l1_regularization=0.0, or multi_class='tree_per_class'."
            )

    def _trees_a_round(self, loss: Loss) -> int:
        return 1 if self.multi_class == "vector_leaves" else loss.n_scores


def _refuse_too_many(n_rows: int, n_classes: int) -> None:
    """Scores, gradients and hessians are kept for every row and class."""
    refuse_beyond_memory(
        3 * 8 * n_rows * n_classes,
        f"Boosted trees of {n_classes:,} classes on {n_rows:,} rows",
        "Take fewer rows or classes, or RandomForestClassifier with max_leaf_nodes, which keeps "
        "shares of the classes only in its leaves.",
    )
