"""Second-order boosted trees: the flagship."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from weald.data import class_rows, number_rows
from weald.ensembles.base import Floats
from weald.ensembles.boosted_base import BoostedTrees
from weald.ensembles.scored import ScoredClassifier
from weald.losses import (
    BuiltinLoss,
    Loss,
    LossChoice,
    UserLoss,
    class_loss,
    refuse_targets,
    takes_positive_only,
)
from weald.parameters import Limit, NoneOr, OneOf, Real
from weald.trees import ForestBuilder


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
