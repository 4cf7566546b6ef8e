"""Second-order boosted trees: `BoostedTreesClassifier` and `BoostedTreesRegressor`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from weald.data import (
    class_rows,
    has_several,
    number_rows,
    read_once,
    rows_of_weight,
    validation_classes,
    validation_numbers,
)
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.boosted_trees.boosted_parameters import (
    check_vector_leaves,
    in_moderate_units,
    regression_loss,
)
from weald.ensembles.boosted_trees.boosted_predictions import PredictsClasses, PredictsNumbers
from weald.ensembles.boosted_trees.parts.parts_fit import fit_in_parts
from weald.ensembles.boosted_trees.several_targets import (
    refuse_offsets,
    rows_of_targets,
    takes_several,
    validation_of_targets,
)
from weald.ensembles.class_weights import rows_of_classes
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.rounds.callbacks import callback_inputs
from weald.losses import (
    LossChoice,
    class_loss,
    refuse_targets,
    takes_positive_only,
)
from weald.parameters import AnyOf, ClassWeight, Levels, Limit, NoneOr, OneOf, Real


class BoostedTreesRegressor(PredictsNumbers, BaggedRegressor, BoostedTrees):
    """Gradient boosting for regression, with second-order (Newton) trees on histograms.

    Missing values and categories are supported natively. Several targets are fitted together, by
    one number of rounds; every target counts in units of its standard deviation, in which
    `min_gain` and `history_` are, too. With several boosters (`n_bags`), `oob_prediction_` then
    holds predictions of each row by the booster that left it out, of shape (rows, targets).

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
    multi_output : {"tree_per_target", "vector_leaves"}, default="tree_per_target"
        Trees per round for several targets: one per target, or a single tree whose leaves hold a
        value for each, which is a smaller model and better for targets that follow the same
        columns.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = BoostedTreesRegressor(quality="fast").fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 3)
    0.999
    """

    _takes_several: ClassVar[bool] = True
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
        "multi_output": OneOf(("tree_per_target", "vector_leaves")),
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: Any = None,
        huber_alpha: float | None = None,
        tweedie_power: float | None = None,
        multi_output: str = "tree_per_target",
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
        target_statistics: bool | str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        scoring: Any = "loss",
        metrics: Any = None,
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
            target_statistics=target_statistics,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            metrics=metrics,
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
        self.multi_output = multi_output

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
        offset: object = None,
        offset_val: object = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported. Or
            a table that is larger than memory, from `weald.parts`, or a Dask data frame or array,
            on which the workers of the default client train (guide "Clusters").
        y : array, shape (rows,) or (rows, targets)
            Target values, finite numbers. Several targets require loss="squared_error", without
            `offset`, an L1 penalty and target statistics, and with vector leaves without monotonic
            constraints; otherwise these apply to every target.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights. They do not affect `min_samples_leaf`, which counts rows.
        X_val, y_val : table and array, dicts of them, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
            Several sets are given by name, as ``X_val={"a": …, "b": …}, y_val={"a": …, "b": …}``:
            all are in `history_`, and the first decides when to stop.
        sample_weight_val : array, dict or None, default=None
            Sample weights of the validation set, or of some of several.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients or customers: whole groups are sampled or held out
            together. Requires `subsample`, `n_bags` or early stopping without `X_val`.
        offset : array, shape (rows,), or None, default=None
            Raw score of each row to which the model adds its own, before the link: the logarithm of
            the exposure for losses with a log link, or the prediction of another model to start
            from; shape (rows, quantiles) for a list of quantiles. `predict` does not know it: pass
            offsets there too.
        offset_val : array, dict or None, default=None
            Offsets of the validation set, or of each of several; required if `offset` and `X_val`
            are given.

        Returns
        -------
        self
        """
        with self._fitting():
            of_validation = X_val, y_val, sample_weight_val, offset_val
            if fit_in_parts(self, X, y, sample_weight, groups, offset, *of_validation):
                return self
            y, sample_weight = read_once(y, sample_weight)
            self.__dict__.pop("oob_prediction_", None)
            if has_several(y):
                refuse_offsets(offset, offset_val)
                validation_set = (X_val, y_val, sample_weight_val)
                self._fit_targets(X, y, sample_weight, validation_set, groups)
                return self
            if self.warm_start and getattr(self, "n_outputs_", 1) > 1:
                raise ValueError(
                    f"warm_start continues a fit of {self.n_outputs_} targets; y has one. Set "
                    "warm_start=False to fit from scratch."
                )
            loss = regression_loss(self)
            rows = number_rows(self, X, y, sample_weight)
            kept = rows_of_weight(y, sample_weight)
            rows = self._with_groups_and_offset(rows, groups, offset, kept, loss)
            refuse_targets(loss, rows.target)
            rows = in_moderate_units(rows, loss)
            validation = validation_numbers(self, X_val, y_val, sample_weight_val)
            if validation is not None:
                refuse_targets(loss, validation.target, "y_val")
            validation = self._with_offset_val(validation, rows, X_val, offset_val, loss)
            inputs = callback_inputs(X, y, sample_weight, offset)
            self._boost(rows, loss, validation, inputs, kept=kept)
        return self

    def _fit_targets(
        self, X: object, y: Any, sample_weight: object, validation_set: Any, groups: object
    ) -> None:
        """Fit several targets together."""
        rows, loss = rows_of_targets(self, X, y, sample_weight)
        kept = rows_of_weight(y, sample_weight)
        rows = self._with_groups_and_offset(rows, groups, None, kept, loss)
        validation = validation_of_targets(self, validation_set, loss)
        self._boost(rows, loss, validation, callback_inputs(X, y, sample_weight, None), kept=kept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = takes_several(self)
        tags.target_tags.positive_only = takes_positive_only(self.loss)
        # R² measures predictions of the mean, not of a quantile.
        tags.regressor_tags.poor_score = isinstance(self.loss, str) and self.loss == "quantile"
        return tags


class BoostedTreesClassifier(PredictsClasses, BaggedClassifier, BoostedTrees):
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
        target_statistics: bool | str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        scoring: Any = "loss",
        metrics: Any = None,
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
            target_statistics=target_statistics,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            metrics=metrics,
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
        offset: object = None,
        offset_val: object = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported. Or
            a table that is larger than memory, from `weald.parts`, or a Dask data frame or array,
            on which the workers of the default client train (guide "Clusters").
        y : array, shape (rows,)
            Class labels, numbers or strings.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights. They do not affect `min_samples_leaf`, which counts rows.
        X_val, y_val : table and array, dicts of them, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
            Several sets are given by name, as ``X_val={"a": …, "b": …}, y_val={"a": …, "b": …}``:
            all are in `history_`, and the first decides when to stop.
        sample_weight_val : array, dict or None, default=None
            Sample weights of the validation set, or of some of several.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients or customers: whole groups are sampled or held out
            together. Requires `subsample`, `n_bags` or early stopping without `X_val`.
        offset : array, shape (rows,), or None, default=None
            Raw score (log-odds) of each row to which the model adds its own, such as the
            `decision_function` of another model to start from; shape (rows, classes) for three or
            more classes. `predict` does not know it: pass offsets there too.
        offset_val : array, dict or None, default=None
            Offsets of the validation set, or of each of several; required if `offset` and `X_val`
            are given.

        Returns
        -------
        self
        """
        with self._fitting():
            of_validation = X_val, y_val, sample_weight_val, offset_val
            if fit_in_parts(self, X, y, sample_weight, groups, offset, *of_validation):
                return self
            y, sample_weight = read_once(y, sample_weight)
            takes_bytes = isinstance(self.loss, str)  # user-defined losses receive floats
            rows, self.classes_ = class_rows(self, X, y, sample_weight, takes_bytes=takes_bytes)
            kept = rows_of_weight(y, sample_weight)
            loss = class_loss(self.loss, len(self.classes_), self._n_threads)
            check_vector_leaves(self)
            rows = self._with_groups_and_offset(rows, groups, offset, kept, loss)
            rows, kept, weight = rows_of_classes(self.class_weight, rows, kept, self.classes_)
            validation = validation_classes(self, X_val, y_val, sample_weight_val, self.classes_)
            validation = self._with_offset_val(validation, rows, X_val, offset_val, loss)
            if len(self.classes_) == 1:
                self._keep_constant(rows, loss)
            else:
                inputs = callback_inputs(X, y, sample_weight, offset)
                self._boost(rows, loss, validation, inputs, kept=kept, class_weight=weight)
        return self
