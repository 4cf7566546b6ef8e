"""Stacking: a final model learns from the members' out-of-fold answers, layer upon layer."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from weald.ensembles.combining.combination import pairs_in, replaced
from weald.ensembles.combining.final_estimators import WORDS
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
    "final_estimator": NoneOr(EstimatorOr(WORDS)),
    "cv": NoneOr(Folds(("prefit",))),
    "n_jobs": Jobs(),
    "passthrough": OneOf((True, False)),
    "verbose": Verbosity(),
    "layers": NoneOr(Layers()),
    "refit": OneOf((True, False)),
}


class Stacking(Stacked):
    """Layers of members, each layer learning from the out-of-fold answers of the one below.

    Every member of every layer is fitted on the same folds, and whatever learns from answers sees
    only answers to rows that the member had not seen. Rows that no fold tests (the first ones of a
    split by time) are left out of what learns from them. When predicting, the members are those
    fitted on all rows, or, without `refit`, all fold models together.

    Parameters
    ----------
    cv : int, splitter, splits, "prefit" or None, default=None
        The folds, as in scikit-learn: None means 5. Splits need not be a partition: with
        TimeSeriesSplit rows before the first test part are left out, and a row that several folds
        test gets the mean answer. "prefit": the members are fitted already and `fit` gets rows they
        have not seen. `weald.resampling.ContentKFold` gives folds that do not depend on the order
        of the rows.
    layers : list of lists of (str, estimator) pairs, or None, default=None
        Further layers, from the second on; names are unique over all layers.
    refit : bool, default=True
        Fit the members again on all rows. False: the fold models are kept and answer together, by
        their mean, which saves one fit per member.

    Attributes
    ----------
    layers_ : list of Bunch
        The fitted members of every layer by name, the first layer first.
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
            members = checked_estimators(self, layer, taken=taken)
            for name, estimator in members:
                self._check_kind(name, estimator)
            taken += [name for name, _ in layer]
            found.append(members)
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
    """Stacked classifiers: a final classifier on the out-of-fold answers of the others.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        What combines the members' answers. None: scikit-learn's LogisticRegression. "nonnegative":
        a logistic model of the members' log probabilities without negative weights. "greedy": a
        mean of members chosen one after another (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from weald import BoostedTreesClassifier, StackingClassifier
    >>> cancer = load_breast_cancer()
    >>> members = [
    ...     ("trees", BoostedTreesClassifier(n_estimators=20)),
    ...     ("near", KNeighborsClassifier(15)),
    ...     ("bayes", GaussianNB()),
    ... ]
    >>> stack = StackingClassifier(members, "greedy").fit(cancer.data[:400], cancer.target[:400])
    >>> round(stack.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    >>> stack.final_estimator_.weights_.round(2).tolist()
    [0.18, 0.35, 0.47]

    Another final model costs no member's fit:

    >>> stack = stack.refit_final("nonnegative")
    >>> round(stack.score(cancer.data[400:], cancer.target[400:]), 2)
    0.96
    """

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
    """Stacked regressors: a final regressor on the out-of-fold predictions of the others.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        What combines the members' predictions. None: scikit-learn's RidgeCV. "nonnegative": the
        linear model of least squared error without intercept and negative weights. "greedy": a
        mean of members chosen one after another (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BoostedTreesRegressor, StackingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = 3 * X[:, 0] + np.where(X[:, 1] > 0, 2.0, -2.0) + rng.normal(size=400)
    >>> members = [("trees", BoostedTreesRegressor()), ("line", LinearRegression())]
    >>> stack = StackingRegressor(members, "nonnegative").fit(X[:300], y[:300])
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
