"""Stacking: a final estimator fitted on out-of-fold predictions, in one or more layers."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from weald.ensembles.combining.combination import pairs_in, replaced
from weald.ensembles.combining.final_estimators import COMBINER_NAMES
from weald.ensembles.combining.out_of_fold import Splits, splits_of
from weald.ensembles.combining.stacked import Stacked
from weald.ensembles.combining.stacked_kinds import (
    StackedClassifier,
    StackedRegressor,
    weighted_by_default,
)
from weald.ensembles.members.members import Named, checked_estimators
from weald.ensembles.members.routing import Routed
from weald.ensembles.members.samples import Sample
from weald.parameters import (
    EstimatorOr,
    Folds,
    Jobs,
    Layers,
    Limit,
    Members,
    NoneOr,
    OneOf,
    Verbosity,
)

_LIMITS: Mapping[str, Limit] = {
    "estimators": Members(),
    "final_estimator": NoneOr(EstimatorOr(COMBINER_NAMES)),
    "cv": NoneOr(Folds(("prefit",))),
    "n_jobs": Jobs(),
    "passthrough": OneOf((True, False)),
    "verbose": Verbosity(),
    "layers": NoneOr(Layers()),
    "refit": OneOf((True, False)),
}


class Stacking(Stacked):
    """Base class of stacking.

    Each layer is fitted on the out-of-fold predictions of the previous one, and the final estimator
    on those of the last one; all layers use the same folds. Rows in no test fold, such as the first
    ones of a TimeSeriesSplit, are left out of the next layer. New rows are predicted by the base
    estimators fitted on all rows or, without `refit`, by the mean of the models of all folds.

    Parameters
    ----------
    cv : int, splitter, splits, "prefit" or None, default=None
        Cross-validation folds, as in scikit-learn: None means 5. Splits need not be a partition:
        rows in no test fold are left out, and rows in several get their mean prediction. "prefit":
        the base estimators are fitted already, on other rows than those passed to `fit`.
        `weald.resampling.ContentKFold` makes folds that do not depend on the row order.
    layers : list of lists of (str, estimator) pairs, or None, default=None
        Further layers, from the second on; names are unique over all layers.
    refit : bool, default=True
        Whether to refit the base estimators on all rows. False: keep the models of all folds and
        average their predictions, which saves one fit per base estimator.

    Attributes
    ----------
    layers_ : list of Bunch
        The fitted base estimators of each layer, by name.
    """

    cv: Any
    layers: Sequence[Sequence[Named]] | None

    def _all_named(self) -> list[Named]:
        further = self.layers if isinstance(self.layers, (list, tuple)) else ()
        return self._named() + [pair for layer in further for pair in pairs_in(layer)]

    def _replace_estimator(self, name: str, estimator: Any) -> None:
        if name in dict(self._named()):
            self.estimators = replaced(self.estimators, name, estimator)
        elif self.layers is not None:
            self.layers = [replaced(layer, name, estimator) for layer in self.layers]

    def _estimators_by_layer(self) -> list[list[Named]]:
        found = [self._checked_estimators()]
        taken = [name for name, _ in self.estimators]
        for layer in self.layers or ():
            estimators = checked_estimators(self, layer, taken=taken)
            for name, estimator in estimators:
                self._check_kind(name, estimator)
            taken += [name for name, _ in layer]
            found.append(estimators)
        return found

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str)

    def _splits(self, sample: Sample, routed: Routed) -> Splits | None:
        return None if self._is_prefit() else splits_of(self, self.cv, sample, routed.splitter)

    def _set_layers(self) -> None:
        from sklearn.utils import Bunch

        super()._set_layers()
        self.layers_ = [Bunch(**layer.models) for layer in self._layers]


class StackingClassifier(Stacking, StackedClassifier):
    """Stacking of classifiers.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        Classifier that combines the predictions of the base estimators. None: scikit-learn's
        LogisticRegression. "nonnegative": logistic regression on the log probabilities of the base
        estimators, with non-negative weights. "greedy": greedy ensemble selection
        (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from weald import BoostedTreesClassifier, StackingClassifier
    >>> cancer = load_breast_cancer()
    >>> estimators = [
    ...     ("trees", BoostedTreesClassifier(quality="fast", n_estimators=20)),
    ...     ("knn", KNeighborsClassifier(15)),
    ...     ("bayes", GaussianNB()),
    ... ]
    >>> stack = StackingClassifier(estimators, "greedy")
    >>> stack = stack.fit(cancer.data[:400], cancer.target[:400])
    >>> round(stack.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    >>> stack.final_estimator_.weights_.round(2).tolist()
    [0.18, 0.35, 0.47]

    Another final estimator can be fitted without refitting the base estimators:

    >>> stack = stack.refit_final("nonnegative")
    >>> round(stack.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    """

    _takes_several: ClassVar[bool] = True
    _limits: ClassVar[Mapping[str, Limit]] = {
        **_LIMITS,
        "stack_method": OneOf(("auto", "predict_proba", "decision_function", "predict")),
    }

    def __init__(
        self,
        estimators: Sequence[Named],
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        layers: Sequence[Sequence[Named]] | None = None,
        refit: bool = True,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.layers = layers
        self.refit = refit


class StackingRegressor(Stacking, StackedRegressor):
    """Stacking of regressors.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        Regressor that combines the predictions of the base estimators. None: scikit-learn's
        RidgeCV. "nonnegative": non-negative least squares without intercept. "greedy": greedy
        ensemble selection (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BoostedTreesRegressor, StackingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = 3 * X[:, 0] + np.where(X[:, 1] > 0, 2.0, -2.0) + rng.normal(size=400)
    >>> trees = BoostedTreesRegressor(quality="fast")
    >>> estimators = [("trees", trees), ("linear", LinearRegression())]
    >>> stack = StackingRegressor(estimators, "nonnegative").fit(X[:300], y[:300])
    >>> stack.final_estimator_.weights_.round(2).tolist()
    [0.72, 0.3]
    >>> round(stack.score(X[300:], y[300:]), 2)
    0.9
    """

    _limits: ClassVar[Mapping[str, Limit]] = _LIMITS

    def __init__(
        self,
        estimators: Sequence[Named],
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
        layers: Sequence[Sequence[Named]] | None = None,
        refit: bool = True,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.layers = layers
        self.refit = refit

    def _default_final(self) -> Any:
        from sklearn.linear_model import RidgeCV

        return weighted_by_default(RidgeCV())
