"""Second-order boosted trees: `BoostedTreesClassifier` and `BoostedTreesRegressor`."""

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
    rows_of_weight,
    validation_classes,
    validation_numbers,
)
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.boosted_trees.boosted_parameters import check_vector_leaves, regression_loss
from weald.ensembles.class_weights import validation_by_class, weights_of_classes, without_classes
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.ensembles.rounds.callbacks import callback_inputs
from weald.ensembles.scored import ScoredClassifier
from weald.losses import (
    BuiltinLoss,
    LossChoice,
    QuantileLosses,
    class_loss,
    pinball_saved,
    refuse_targets,
    takes_positive_only,
)
from weald.parameters import AnyOf, ClassWeight, Levels, Limit, NoneOr, OneOf, Real


class BoostedTreesRegressor(BaggedRegressor, Regressor, BoostedTrees):
    """Gradient boosting for regression, with second-order (Newton) trees on histograms.

    Missing values and categories are supported natively.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"} \
or object, default="squared_error"
        Loss function to minimise. With "absolute_error", "huber" and "quantile", leaf values are
        the exact minimisers of the loss of their residuals; with all others they are Newton steps.
        "poisson", "gamma" and "tweedie" use a log link: predictions are ``exp(score)``. Other
        losses: an object with a method ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    quantile : float, list of float or None, default=None
        Quantile level for loss="quantile"; 0.5 is the median. For a list of increasing levels,
        `predict` returns a column for each: a round grows one tree per level, and the predictions
        of each row are sorted, so that quantiles never cross. `score` is then the fraction of
        pinball loss explained (D²).
    huber_alpha : float or None, default=None
        For loss="huber": quantile of the absolute residuals, computed in each round, above which
        the loss is linear instead of squared. None means 0.9.
    tweedie_power : float or None, default=None
        For loss="tweedie": power of the mean that the variance is proportional to, between 1
        (Poisson) and 2 (gamma), exclusive. None means 1.5.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = BoostedTreesRegressor(quality="fast").fit(x, np.sin(x[:, 0]))
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
        quality: str = "default",
        n_estimators: int | str = "auto",
        n_bags: int | str | None = "auto",
        learning_rate: float | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = "auto",
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float | str = "auto",
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
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
            quality=quality,
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
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
        y : array, shape (rows,)
            Target values, finite numbers.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights. They do not affect `min_samples_leaf`, which counts rows.
        X_val, y_val : table and array, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
        sample_weight_val : array or None, default=None
            Sample weights of the validation set.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients or customers: whole groups are sampled or held out
            together. Requires `subsample`, `n_bags` or early stopping without `X_val`.

        Returns
        -------
        self
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            loss = regression_loss(self)
            rows = number_rows(self, X, y, sample_weight)
            rows = rows.in_groups(groups, rows_of_weight(y, sample_weight))
            refuse_targets(loss, rows.target)
            if isinstance(loss, BuiltinLoss):
                rows = rows.with_moderate_target()
            validation = validation_numbers(self, X_val, y_val, sample_weight_val)
            if validation is not None:
                refuse_targets(loss, validation.target)
            kept = rows_of_weight(y, sample_weight)
            self._boost(rows, loss, validation, callback_inputs(X, y, sample_weight), kept=kept)
        return self

    def predict(self, X: object, *, return_std: bool = False) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also return the standard deviation of the boosters' predictions. Requires `n_bags`.

        Returns
        -------
        array, shape (rows,), or (rows, quantiles) for a list of quantiles
            Predictions; with `return_std` a tuple of predictions and standard deviations.
        """
        if not return_std:
            return self._in_shape(self._predictions(X))
        mean, std = self._mean_and_std(X)
        return self._in_shape(mean), self._in_shape(std)

    def _in_shape(self, predictions: Floats) -> Floats:
        return predictions if self._predicts_quantiles else predictions[:, 0]

    @property
    def _predicts_quantiles(self) -> bool:
        return isinstance(self._fitted_loss, QuantileLosses)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return R²; for a list of quantiles D², the fraction of pinball loss explained."""
        check_is_fitted(self)
        if not isinstance(self._fitted_loss, QuantileLosses):
            return float(super().score(X, y, sample_weight))
        target = finite_target(column_or_1d(readable_target(y)))
        predictions = self.predict(X)
        check_consistent_length(predictions, target)
        weight = None if sample_weight is None else checked_weights(sample_weight, len(target))
        return pinball_saved(self._fitted_loss, target, predictions, weight)

    def staged_predict(self, X: object) -> Iterator[Floats]:
        """Predict after each round; the last stage equals `predict`.

        Yields
        ------
        array, shape (rows,); for a list of quantiles (rows, quantiles)
        """
        for predictions in self._staged_predictions(X):
            yield self._in_shape(predictions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = takes_positive_only(self.loss)
        # R² measures predictions of the mean, not of a quantile.
        tags.regressor_tags.poor_score = isinstance(self.loss, str) and self.loss == "quantile"
        return tags


class BoostedTreesClassifier(BaggedClassifier, ScoredClassifier, BoostedTrees):
    """Gradient boosting for classification, with second-order (Newton) trees on histograms.

    Missing values and categories are supported natively.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or object, default="log_loss"
        Loss function to minimise: "log_loss" (cross-entropy), or "exponential", AdaBoost's loss,
        for two classes only. Other losses: an object with a method ``gradient_hessian(y, score)``
        (see `weald.losses.user`).
    multi_class : {"auto", "tree_per_class", "vector_leaves"}, default="auto"
        Trees per round for three or more classes: one per class, or a single tree whose leaves hold
        a value for each class, which is a smaller model and better for small tables of many
        classes. "auto": vector leaves up to 30,000 rows (for log_loss without l1_regularization,
        grown leaf-wise on bins), one tree per class above and if quality="fast".
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class; classes missing in a dict have factor 1. "balanced":
        all classes have the same total weight. They apply to validation rows, too, including
        `X_val`. They affect neither row counts, as of `min_samples_leaf`, nor row sampling.

    Attributes
    ----------
    multi_class_ : str
        Trees per round of three or more classes, as given or as chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import BoostedTreesClassifier
    >>> cancer = load_breast_cancer()
    >>> model = BoostedTreesClassifier().fit(cancer.data[:400], cancer.target[:400])
    >>> round(model.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    >>> model.n_estimators_, model.n_bags_, model.learning_rate_
    (87, 5, 0.05)
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **BoostedTrees._limits,
        "loss": LossChoice(OneOf(("log_loss", "exponential")), ("gradient_hessian",)),
        "multi_class": OneOf(("auto", "tree_per_class", "vector_leaves")),
        "class_weight": ClassWeight(("balanced",)),
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        quality: str = "default",
        n_estimators: int | str = "auto",
        n_bags: int | str | None = "auto",
        learning_rate: float | str = "auto",
        multi_class: str = "auto",
        class_weight: Any = None,
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = "auto",
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float | str = "auto",
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
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
            quality=quality,
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
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
        y : array, shape (rows,)
            Class labels, numbers or strings.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights. They do not affect `min_samples_leaf`, which counts rows.
        X_val, y_val : table and array, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
        sample_weight_val : array or None, default=None
            Sample weights of the validation set.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients or customers: whole groups are sampled or held out
            together. Requires `subsample`, `n_bags` or early stopping without `X_val`.

        Returns
        -------
        self
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            takes_bytes = isinstance(self.loss, str)  # user-defined losses receive floats
            rows, self.classes_ = class_rows(self, X, y, sample_weight, takes_bytes=takes_bytes)
            rows = rows.in_groups(groups, rows_of_weight(y, sample_weight))
            loss = class_loss(self.loss, len(self.classes_), self._n_threads)
            check_vector_leaves(self)
            weight = weights_of_classes(self.class_weight, rows, self.classes_)
            kept = rows_of_weight(y, sample_weight)
            if weight is not None:
                kept[kept] = weight[rows.target.astype(np.intp)] > 0
                rows = without_classes(rows, weight)
            validation = validation_classes(self, X_val, y_val, sample_weight_val, self.classes_)
            if len(self.classes_) == 1:
                self._keep_constant(rows, loss)
            else:
                validation = validation_by_class(validation, weight)
                inputs = callback_inputs(X, y, sample_weight)
                own = len(self.classes_)
                self._boost(
                    rows, loss, validation, inputs, kept=kept, n_classes=own, class_weight=weight
                )
        return self

    def predict_proba(self, X: object, *, return_std: bool = False) -> Any:
        """Predict class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also return the standard deviation of the boosters' probabilities. Requires `n_bags`.

        Returns
        -------
        array, shape (rows, classes)
            Probabilities; with `return_std` a tuple of probabilities and standard deviations.
        """
        return self._mean_and_std(X) if return_std else super().predict_proba(X)
