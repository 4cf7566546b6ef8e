"""Base class of voting classifiers and regressors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald import aggregation
from weald.aggregation.arrays import checked_weights
from weald.ensembles.combining.combination import Combination, Floats, response_methods
from weald.ensembles.combining.out_of_fold import out_of_fold, splits_of
from weald.ensembles.members.members import Job, Named, fit_estimators
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import Routed, routed_params, router
from weald.ensembles.members.samples import Sample
from weald.parameters import Folds, Jobs, Limit, Members, NoneOr, NumbersOr, OneOf, Verbosity

# Combination rules without weights.
_UNWEIGHTED = ("minimum", "maximum", "median")

LIMITS: Mapping[str, Limit] = {
    "estimators": Members(),
    "weights": NoneOr(NumbersOr(("oof",))),
    "prefit": OneOf((True, False)),
    "cv": NoneOr(Folds()),
    "n_jobs": Jobs(),
    "verbose": Verbosity(),
}


class Voting(Combination):
    """Base class of voting: base estimators whose predictions are combined by a fixed rule.

    Parameters
    ----------
    weights : array of numbers, "oof" or None, default=None
        Weights of the base estimators, in the order of `estimators`. None: equal weights. "oof":
        fitted on out-of-fold predictions.
    n_jobs : int or None, default=None
        Number of parallel fits, as in scikit-learn: None means 1 unless in a joblib context, -1
        all cores. With None, weald's own base estimators of n_jobs=None share all cores.
    verbose : bool, default=False
        Whether to print a line for each fit.
    prefit : bool, default=False
        Whether the base estimators are fitted already, and used without refitting. "oof" weights
        and ranks are then computed on the rows passed to `fit`, on which the base estimators must
        not have been fitted.
    cv : int, splitter, splits or None, default=None
        Folds of the out-of-fold predictions, as in scikit-learn: None means 5; ignored if none are
        needed. `weald.resampling.ContentKFold` makes folds that do not depend on the row order.

    Attributes
    ----------
    weights_ : array or None
        Weights of the base estimators that are not dropped; None: equal weights.
    """

    voting: str
    rule: str | None
    weights: Any
    prefit: bool
    cv: Any
    verbose: bool
    weights_: Floats | None

    _responses: list[ResponseMethod]

    def _method_name(self) -> str:
        return "predict"

    def _needs_out_of_fold(self) -> bool:
        return isinstance(self.weights, str)

    def _fit(self, sample: Sample, others: Mapping[str, Any], classes: NDArray[Any] | None) -> None:
        estimators = self._checked_estimators()
        given = self._given_weights(estimators)
        names = [name for name, _ in estimators]
        width = (
            len(classes) if classes is not None and self._method_name() == "predict_proba" else 1
        )
        responses = response_methods(estimators, self._method_name(), classes)
        self._responses = [replace(response, width=width) for response in responses]
        if self.prefit:
            models = [model for _, model in estimators]
            for model in models:
                check_is_fitted(model)
        predictions, covered = None, None
        if self.prefit and self._needs_out_of_fold():
            predictions = self._all_predictions(dict(estimators), self._responses, sample.X)
        elif not self.prefit:
            routed = routed_params(self, estimators, sample, others)
            models, predictions, covered = self._fitted(estimators, sample, routed)
        self._set_estimators(names, models)
        self.weights_ = given
        if predictions is not None:
            held_out = sample if covered is None else sample.take(np.flatnonzero(covered))
            stacked = np.stack(predictions)
            self._fit_combiner(stacked if covered is None else stacked[:, covered], held_out)

    def _fitted(
        self, estimators: Sequence[Named], sample: Sample, routed: Routed
    ) -> tuple[list[Any], list[Floats] | None, NDArray[np.bool_] | None]:
        """Base estimators fitted on all rows, and their out-of-fold predictions if needed."""
        if self._needs_out_of_fold():
            splits = splits_of(self, self.cv, sample, routed.splitter)
            found = out_of_fold(
                self, estimators, self._responses, sample, splits, routed.estimators, refit=True
            )
            return found.whole, found.predictions, found.covered
        jobs = [Job(name, estimator) for name, estimator in estimators]
        outcomes = fit_estimators(
            self,
            jobs,
            sample.X,
            sample.y,
            routed.estimators,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return [outcome.fitted for outcome in outcomes], None, None

    def _fit_combiner(self, predictions: Floats, sample: Sample) -> None:
        """Fit weights or ranks on held-out predictions of shape (estimators, rows, columns)."""
        raise NotImplementedError

    def _given_weights(self, estimators: Sequence[Named]) -> Floats | None:
        """The given weights of the base estimators that are not dropped; None if none are given."""
        if self.weights is None or isinstance(self.weights, str):
            return None
        weights = np.asarray(self.weights, dtype=np.float64)
        if len(weights) != len(self.estimators):
            raise ValueError(
                f"Number of `estimators` and weights must be equal; got {len(weights)} weights, "
                f"{len(self.estimators)} estimators."
            )
        by_name = dict(zip((name for name, _ in self.estimators), weights, strict=True))
        kept = np.array([by_name[name] for name, _ in estimators])
        return checked_weights(kept, len(kept))

    def _check_rule(self, rule: str) -> None:
        if rule in _UNWEIGHTED and self.weights is not None:
            raise ValueError(
                f"rule={rule!r} does not support weights. Set weights=None, or another rule, such "
                "as 'mean'."
            )

    def _predictions(self, X: Any) -> Floats:
        """Predictions of all base estimators, of shape (estimators, rows, columns)."""
        X = self._table_to_predict(X)
        models = dict(zip(self._estimator_names(), self.estimators_, strict=True))
        return np.stack(self._all_predictions(models, self._responses, X))

    def _combined(self, rule: str, predictions: Floats) -> Floats:
        if rule == "mean" and self.weights_ is not None:
            return aggregation.weighted_mean(predictions, self.weights_)
        if rule in ("product", "geometric_mean"):
            return getattr(aggregation, rule)(predictions, self.weights_)  # type: ignore[no-any-return]
        return getattr(aggregation, rule)(predictions)  # type: ignore[no-any-return]

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        weights = np.zeros(0) if self.weights_ is None else self.weights_
        return {**super()._fingerprint_arrays(), "weights": weights}

    def get_metadata_routing(self) -> Any:
        """Metadata routing of this object; see scikit-learn's user guide on metadata routing."""
        return router(self, self._named(), splitter=self.cv)
