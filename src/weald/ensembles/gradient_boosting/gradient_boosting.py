"""Gradient boosting with any loss and any regressor as base estimator."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from weald.data import class_rows, number_rows, read_once, rows_of_weight, with_offset
from weald.ensembles.base import Floats
from weald.ensembles.gradient_boosting.descent import GradientBoosting
from weald.ensembles.gradient_boosting.gradient_parameters import GradientParameters
from weald.ensembles.gradient_boosting.soft_targets import as_shares, is_table_of_shares, share_rows
from weald.ensembles.rounds.loss_curves import Monitor
from weald.ensembles.scored import ScoredClassifier, ScoredRegressor
from weald.losses import (
    BuiltinLoss,
    Loss,
    LossChoice,
    UserLoss,
    class_loss,
    refuse_targets,
    takes_positive_only,
)
from weald.parameters import Limit, OneOf, Real

_METHODS = ("gradient", "gradient_hessian")


class GradientBoostingRegressor(ScoredRegressor, GradientBoosting):
    """Gradient boosting for regression with any loss and any regressor as base estimator.

    It has scikit-learn's parameters and attributes; the default base estimators are weald's own
    trees on histograms of `max_bins` bins.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma"} or object, \
default="squared_error"
        Loss function to minimise. "poisson" and "gamma" have a log link. An object needs a method
        ``gradient(y, score)`` or ``gradient_hessian(y, score)`` (see `weald.losses.user`).
    alpha : float, default=0.9
        Quantile level of loss="quantile"; for loss="huber" the quantile of the absolute residuals
        that separates squared from absolute loss, updated in every round.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import GradientBoostingRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = GradientBoostingRegressor(loss="huber", n_estimators=50).fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 2)
    1.0
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **GradientParameters._limits,
        "loss": LossChoice(
            OneOf(("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma")),
            _METHODS,
        ),
        "alpha": Real(0.0, 1.0, open_below=True, open_above=True),
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "friedman_mse",
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: int | np.random.RandomState | None = None,
        max_features: float | str | None = None,
        alpha: float = 0.9,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        estimator: Any = None,
        step: str = "auto",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            learning_rate=learning_rate,
            n_estimators=n_estimators,
            subsample=subsample,
            criterion=criterion,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_depth=max_depth,
            min_impurity_decrease=min_impurity_decrease,
            init=init,
            random_state=random_state,
            max_features=max_features,
            verbose=verbose,
            max_leaf_nodes=max_leaf_nodes,
            warm_start=warm_start,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            ccp_alpha=ccp_alpha,
            estimator=estimator,
            step=step,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            target_statistics=target_statistics,
            n_jobs=n_jobs,
        )
        self.alpha = alpha

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        monitor: Monitor | None = None,
        *,
        groups: object = None,
        offset: object = None,
    ) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; missing values if the base estimator supports
            them (weald's own trees do).
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Sample weights; `min_samples_leaf` and other counts are numbers of rows.
        monitor : callable or None
            Called after each round as ``monitor(i, self, locals)`` with the index of the round,
            this estimator in its current state (it can predict) and a dict of local variables of
            the fit; fitting stops after a round for which it returns True.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers, for fits that sample or hold out rows:
            groups are sampled and held out as a whole.
        offset : array, shape (rows,), or None
            Raw score of each row to which the model adds its own, before the link: the logarithm of
            the exposure for losses with a log link, or the prediction of another model to start
            from. `predict` does not know it: pass offsets there too.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            loss = self._chosen_loss()
            rows = number_rows(self, X, y, sample_weight)
            kept, in_exponent = rows_of_weight(y, sample_weight), loss.of_exponents
            rows = rows.in_groups(groups, kept)
            rows = with_offset(rows, offset, kept, loss.n_scores, of_exponents=in_exponent)
            rows = self._without_unused_numbers(rows, 0)
            refuse_targets(loss, rows.target)
            if isinstance(loss, BuiltinLoss) and (self.init is None or not loss.has_log_link):
                rows = rows.with_moderate_target(None if in_exponent else rows.offset)
            exponent = rows.target_exponent
            self._descend(
                rows, loss, lambda target: np.ldexp(target, exponent), strata=False, monitor=monitor
            )
        return self

    def _chosen_loss(self) -> Loss:
        if not isinstance(self.loss, str):
            return UserLoss(self.loss, 1, self._n_threads, of_classes=False)
        if self.loss == "huber":
            return BuiltinLoss("huber", 1, self._n_threads, level=float(self.alpha))
        parameter = float(self.alpha) if self.loss == "quantile" else 0.0
        return BuiltinLoss(self.loss, 1, self._n_threads, parameter)

    def _constant_model(self) -> Any:
        from sklearn.dummy import DummyRegressor

        constant = float(self._fitted_loss.predictions(self._start.base[np.newaxis])[0, 0])
        return DummyRegressor(strategy="constant", constant=constant).fit([[0.0]], [constant])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = takes_positive_only(self.loss)
        # R² measures the prediction of the mean, not of a quantile.
        tags.regressor_tags.poor_score = isinstance(self.loss, str) and self.loss == "quantile"
        return tags


class GradientBoostingClassifier(ScoredClassifier, GradientBoosting):
    """Gradient boosting for classification with any loss and any regressor as base estimator.

    It has scikit-learn's parameters and attributes; the default base estimators are weald's own
    trees on histograms of `max_bins` bins.

    Parameters
    ----------
    loss : {"log_loss", "exponential", "kl"} or object, default="log_loss"
        Loss function to minimise. "exponential" is AdaBoost's, for two classes. "kl" is log loss
        for soft targets: `y` may be an array of probabilities with a column per class. An object
        needs a method ``gradient(y, score)`` or ``gradient_hessian(y, score)`` (see
        `weald.losses.user`).

    Attributes
    ----------
    n_classes_ : int
        Number of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import GradientBoostingClassifier
    >>> cancer = load_breast_cancer()
    >>> model = GradientBoostingClassifier(n_estimators=50)
    >>> model = model.fit(cancer.data[:400], cancer.target[:400])
    >>> round(model.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **GradientParameters._limits,
        "loss": LossChoice(OneOf(("log_loss", "exponential", "kl")), _METHODS),
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "friedman_mse",
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: int | np.random.RandomState | None = None,
        max_features: float | str | None = None,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        estimator: Any = None,
        step: str = "auto",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            learning_rate=learning_rate,
            n_estimators=n_estimators,
            subsample=subsample,
            criterion=criterion,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_depth=max_depth,
            min_impurity_decrease=min_impurity_decrease,
            init=init,
            random_state=random_state,
            max_features=max_features,
            verbose=verbose,
            max_leaf_nodes=max_leaf_nodes,
            warm_start=warm_start,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            ccp_alpha=ccp_alpha,
            estimator=estimator,
            step=step,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            target_statistics=target_statistics,
            n_jobs=n_jobs,
        )

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        monitor: Monitor | None = None,
        *,
        groups: object = None,
        offset: object = None,
    ) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; missing values if the base estimator supports
            them (weald's own trees do).
        y : array, shape (rows,)
            Class labels of any type; with loss="kl" also probabilities, shape (rows, classes).
        sample_weight : array, shape (rows,), or None
            Sample weights; `min_samples_leaf` and other counts are numbers of rows.
        monitor : callable or None
            Called after each round as ``monitor(i, self, locals)`` with the index of the round,
            this estimator in its current state (it can predict) and a dict of local variables of
            the fit; fitting stops after a round for which it returns True.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers, for fits that sample or hold out rows:
            groups are sampled and held out as a whole.
        offset : array, shape (rows,), or None
            Raw score (log-odds) of each row to which the model adds its own, such as the
            `decision_function` of another model to start from; shape (rows, classes) for three or
            more classes. `predict` does not know it: pass offsets there too.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            if self.loss == "kl" and is_table_of_shares(y):
                rows, self.classes_ = share_rows(self, X, y, sample_weight)
            else:
                rows, self.classes_ = class_rows(self, X, y, sample_weight)
            kept = rows_of_weight(y, sample_weight)
            rows = rows.in_groups(groups, kept)
            self.n_classes_ = len(self.classes_)
            loss = class_loss(self.loss, self.n_classes_, self._n_threads)
            rows = with_offset(rows, offset, kept, loss.n_scores, of_exponents=True)
            if self.loss == "kl":
                rows = as_shares(rows, self.n_classes_)
            rows = self._without_unused_numbers(rows, self.n_classes_)
            if self.n_classes_ == 1:
                self._keep_one_class(rows, loss)
            else:
                strata = self.loss != "kl"
                self._descend(rows, loss, self._labels_of, strata=strata, monitor=monitor)
        return self

    def _labels_of(self, target: Floats) -> NDArray[Any]:
        """Class labels for an `init` estimator."""
        if self.loss != "kl":
            return np.asarray(self.classes_[target.astype(np.intp)])
        shares = np.column_stack([1.0 - target, target]) if target.ndim == 1 else target
        if self.init is not None and not np.isin(shares, (0.0, 1.0)).all():
            raise ValueError(
                "An init estimator is fitted to class labels, and y holds probabilities. "
                "Use init=None or init='zero'."
            )
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def _by_round(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        return leaves.reshape(len(leaves), self.n_estimators_, self.n_trees_per_iteration_)

    def predict_log_proba(
        self, X: object, *, offset: object = None, n_rounds: int | None = None
    ) -> Floats:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X, offset, n_rounds
            As in `decision_function`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset, n_rounds=n_rounds))

    def _constant_model(self) -> Any:
        from sklearn.dummy import DummyClassifier

        shares = np.ones(1)
        if self.n_classes_ > 1:
            shares = self._fitted_loss.predictions(self._start.base[np.newaxis])[0]
        dummy = DummyClassifier(strategy="prior")
        return dummy.fit(np.zeros((self.n_classes_, 1)), self.classes_, sample_weight=shares)
