"""Blending: a final model learns from the members' answers to a part of the rows held out."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from weald.ensembles.combining.final_estimators import WORDS
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
    "final_estimator": NoneOr(EstimatorOr(WORDS)),
    "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
    "passthrough": OneOf((True, False)),
    "refit": OneOf((True, False)),
    "random_state": Seed(),
    "n_jobs": Jobs(),
    "verbose": Verbosity(),
}


class Blending(Stacked):
    """Members fitted on one part of the rows, a final model fitted on their answers to the other.

    Cheaper than stacking, one fit per member or two, and simpler to reason about; the final model
    sees fewer rows. The part held out is drawn by what the rows hold: their order does not matter,
    and equal rows are on the same side.

    Parameters
    ----------
    validation_fraction : float, default=0.2
        Share of the rows (of every class alike; with groups, of the groups) that is held out.
    refit : bool, default=True
        Fit the members again on all rows once the final model is fitted. False: they stay as they
        were when they answered, without the rows held out.
    random_state : int, RandomState or None, default=None
        Keys the draw of the part held out.
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
                f"{type(self).__name__} needs rows (or groups) to hold out and others to keep; "
                f"there are n_samples = {sample.n}."
            )
        return [(np.flatnonzero(~held), np.flatnonzero(held))]

    def _models_of(self, found: OutOfFold) -> list[Any]:
        return found.whole if self.refit else [models[0] for models in found.by_fold]


class BlendingClassifier(Blending, StackedClassifier):
    """Blended classifiers: a final classifier on the others' answers to rows held out.

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
    >>> from weald import BlendingClassifier, BoostedTreesClassifier
    >>> cancer = load_breast_cancer()
    >>> members = [("trees", BoostedTreesClassifier(n_estimators=20)), ("bayes", GaussianNB())]
    >>> blend = BlendingClassifier(members, random_state=0)
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
    """Blended regressors: a final regressor on the others' predictions of rows held out.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        What combines the members' predictions. None: scikit-learn's LinearRegression.
        "nonnegative": the linear model of least squared error without intercept and negative
        weights. "greedy": a mean of members chosen one after another
        (`weald.ensembles.GreedySelection`).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BlendingRegressor, BoostedTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = 3 * X[:, 0] + np.where(X[:, 1] > 0, 2.0, -2.0) + rng.normal(size=400)
    >>> members = [("trees", BoostedTreesRegressor()), ("line", LinearRegression())]
    >>> blend = BlendingRegressor(members, random_state=0).fit(X[:300], y[:300])
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
