"""What voting of classes and of numbers shares: members that are all asked, weights of theirs."""

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

# Rules that know no weights: the least, greatest and middle answer.
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
    """Members that are all asked, and a rule that combines their answers.

    Parameters
    ----------
    weights : array of numbers, "oof" or None, default=None
        How much each member counts, in the order of `estimators`. None: all the same. "oof": learnt
        from the members' out-of-fold answers, never from rows they were fitted on.
    n_jobs : int or None, default=None
        How many fits run at a time, as in scikit-learn: None means one (or what a joblib context
        says), -1 all cores. Members of weald that may use all cores are fitted side by side.
    verbose : bool, default=False
        Print a line for every fit.
    prefit : bool, default=False
        The members are fitted already and are used as they are. What is learnt from out-of-fold
        answers is then learnt from the rows passed to `fit`, which the members must not have seen.
    cv : int, splitter, splits or None, default=None
        The folds of out-of-fold answers, as in scikit-learn: None means 5.
        `weald.resampling.ContentKFold` gives folds that do not depend on the order of the rows.
        Only looked at where something is learnt out of fold.

    Attributes
    ----------
    weights_ : array or None
        The weights in use, of the members not dropped; None: all the same.
    """

    voting: str
    rule: str | None
    weights: Any
    prefit: bool
    cv: Any
    verbose: bool
    weights_: Floats | None

    _responses: list[ResponseMethod]

    def _method(self) -> str:
        return "predict"

    def _needs_out_of_fold(self) -> bool:
        return isinstance(self.weights, str)

    def _fit(self, sample: Sample, others: Mapping[str, Any], classes: NDArray[Any] | None) -> None:
        members = self._checked_estimators()
        given = self._given_weights(members)
        names = [name for name, _ in members]
        width = len(classes) if classes is not None and self._method() == "predict_proba" else 1
        responses = response_methods(members, self._method(), classes)
        self._responses = [replace(response, width=width) for response in responses]
        if self.prefit:
            models = [model for _, model in members]
            for model in models:
                check_is_fitted(model)
        predictions, covered = None, None
        if self.prefit and self._needs_out_of_fold():
            predictions = self._all_predictions(dict(members), self._responses, sample.X)
        elif not self.prefit:
            routed = routed_params(self, members, sample, others)
            models, predictions, covered = self._fitted(members, sample, routed)
        self._set_estimators(names, models)
        self.weights_ = given
        if predictions is not None:
            held_out = sample if covered is None else sample.take(np.flatnonzero(covered))
            stacked = np.stack(predictions) if covered is None else np.stack(predictions)[:, covered]
            self._learn(stacked, held_out)

    def _fitted(
        self, members: Sequence[Named], sample: Sample, routed: Routed
    ) -> tuple[list[Any], list[Floats] | None, NDArray[np.bool_] | None]:
        """The members fitted on all rows; their out-of-fold answers where these are needed."""
        if self._needs_out_of_fold():
            splits = splits_of(self, self.cv, sample, routed.splitter)
            found = out_of_fold(
                self, members, self._responses, sample, splits, routed.members, refit=True
            )
            return found.whole, found.predictions, found.covered
        jobs = [Job(name, estimator) for name, estimator in members]
        outcomes = fit_estimators(
            self,
            jobs,
            sample.X,
            sample.y,
            routed.members,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return [outcome.fitted for outcome in outcomes], None, None

    def _learn(self, predictions: Floats, sample: Sample) -> None:
        """Learn from answers of the shape (members, rows, columns) to rows not seen."""
        raise NotImplementedError

    def _given_weights(self, members: Sequence[Named]) -> Floats | None:
        """The weights of members not dropped, as far as they were given."""
        if self.weights is None or isinstance(self.weights, str):
            return None
        weights = np.asarray(self.weights, dtype=np.float64)
        if len(weights) != len(self.estimators):
            raise ValueError(
                f"There must be as many weights as members: {len(self.estimators)}. "
                f"Got {len(weights)}."
            )
        by_name = dict(zip((name for name, _ in self.estimators), weights, strict=True))
        kept = np.array([by_name[name] for name, _ in members])
        return checked_weights(kept, len(kept))

    def _check_rule(self, rule: str) -> None:
        if rule in _UNWEIGHTED and self.weights is not None:
            raise ValueError(
                f"The rule {rule!r} knows no weights; leave weights=None. "
                "Weights count in a vote, a mean, a product and a mean of ranks."
            )

    def _predictions(self, X: Any) -> Floats:
        """What all members say, of the shape (members, rows, columns)."""
        X = self._table_to_predict(X)
        models = dict(zip(self._estimator_names(), self.estimators_, strict=True))
        return np.stack(self._all_predictions(models, self._responses, X))

    def _combined(self, rule: str, predictions: Floats) -> Floats:
        if rule == "mean" and self.weights_ is not None:
            return aggregation.weighted_mean(predictions, self.weights_)
        if rule in ("product", "geometric_mean"):
            return getattr(aggregation, rule)(predictions, self.weights_)  # type: ignore[no-any-return]
        return getattr(aggregation, rule)(predictions)  # type: ignore[no-any-return]

    def _learnt(self) -> dict[str, NDArray[Any]]:
        weights = np.zeros(0) if self.weights_ is None else self.weights_
        return {**super()._learnt(), "weights": weights}

    def get_metadata_routing(self) -> Any:
        """How metadata of fit is passed on: see scikit-learn's user guide of metadata routing."""
        return router(self, self._named(), splitter=self.cv)
