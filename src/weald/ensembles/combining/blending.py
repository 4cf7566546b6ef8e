"""Blending: a final estimator fitted on predictions of the base estimators for held-out rows."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from weald.ensembles.combining.final_estimators import COMBINER_NAMES
from weald.ensembles.combining.out_of_fold import OutOfFold, Splits
from weald.ensembles.combining.stacked import Stacked
from weald.ensembles.combining.stacked_kinds import (
    StackedClassifier,
    StackedRegressor,
    weighted_by_default,
)
from weald.ensembles.members.members import Named
from weald.ensembles.members.routing import Routed
from weald.ensembles.members.samples import Sample
from weald.parameters import EstimatorOr, Jobs, Limit, Members, NoneOr, OneOf, Real, Seed, Verbosity
from weald.resampling import hold_out_rows, seed_of

_LIMITS: Mapping[str, Limit] = {
    "estimators": Members(),
    "final_estimator": NoneOr(EstimatorOr(COMBINER_NAMES)),
    "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
    "passthrough": OneOf((True, False)),
    "refit": OneOf((True, False)),
    "random_state": Seed(),
    "n_jobs": Jobs(),
    "verbose": Verbosity(),
}


class Blending(Stacked):
    """Base class of blending.

    The base estimators are fitted on one part of the rows, the final estimator on their predictions
    for the other part. Cheaper than stacking, since each base estimator is fitted once or twice,
    but the final estimator is fitted on fewer rows. Rows are held out by their content, so that the
    split does not depend on their order; to keep equal rows together, pass them as one group.

    Parameters
    ----------
    validation_fraction : float, default=0.2
        Fraction of the rows to hold out, stratified by class; with groups, of the groups.
    refit : bool, default=True
        Whether to refit the base estimators on all rows. False: keep those fitted without the
        held-out rows.
    random_state : int, RandomState or None, default=None
        Seed of the split.
    """

    validation_fraction: float
    random_state: Any

    def _splits(self, sample: Sample, routed: Routed) -> Splits | None:
        held = hold_out_rows(
            sample.X,
            sample.y,
            sample.groups,
            sample.y.astype(np.int64) if is_classifier(self) else None,
            self.validation_fraction,
            weight=sample.weight,
            seed=seed_of(self.random_state),
        )
        if held.all() or not held.any():
            raise ValueError(
                f"{type(self).__name__} requires rows (or groups) to hold out and others to fit "
                f"on; got n_samples = {sample.n}. Pass more rows or change validation_fraction."
            )
        return [(np.flatnonzero(~held), np.flatnonzero(held))]

    def _models_of(self, found: OutOfFold) -> list[Any]:
        return found.whole if self.refit else [models[0] for models in found.by_fold]


class BlendingClassifier(Blending, StackedClassifier):
    """Blending of classifiers.

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
    >>> from weald import BlendingClassifier, BoostedTreesClassifier
    >>> cancer = load_breast_cancer()
    >>> estimators = [("trees", BoostedTreesClassifier(n_estimators=20)), ("bayes", GaussianNB())]
    >>> blend = BlendingClassifier(estimators, random_state=0)
    >>> blend = blend.fit(cancer.data[:400], cancer.target[:400])
    >>> round(blend.score(cancer.data[400:], cancer.target[400:]), 2)
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
        validation_fraction: float = 0.2,
        stack_method: str = "auto",
        passthrough: bool = False,
        refit: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.validation_fraction = validation_fraction
        self.stack_method = stack_method
        self.passthrough = passthrough
        self.refit = refit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class BlendingRegressor(Blending, StackedRegressor):
    """Blending of regressors.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        Regressor that combines the predictions of the base estimators. None: scikit-learn's
        LinearRegression. "nonnegative": non-negative least squares without intercept. "greedy":
        greedy ensemble selection (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BlendingRegressor, BoostedTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = 3 * X[:, 0] + np.where(X[:, 1] > 0, 2.0, -2.0) + rng.normal(size=400)
    >>> trees = BoostedTreesRegressor(quality="fast")
    >>> estimators = [("trees", trees), ("linear", LinearRegression())]
    >>> blend = BlendingRegressor(estimators, random_state=0).fit(X[:300], y[:300])
    >>> round(blend.score(X[300:], y[300:]), 2)
    0.89
    """

    _limits: ClassVar[Mapping[str, Limit]] = _LIMITS

    def __init__(
        self,
        estimators: Sequence[Named],
        final_estimator: Any = None,
        *,
        validation_fraction: float = 0.2,
        passthrough: bool = False,
        refit: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.validation_fraction = validation_fraction
        self.passthrough = passthrough
        self.refit = refit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _default_final(self) -> Any:
        from sklearn.linear_model import LinearRegression

        return weighted_by_default(LinearRegression())
