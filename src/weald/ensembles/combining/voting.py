"""Voting: base estimators fitted on all rows, combined by a fixed rule."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald import aggregation
from weald.aggregation.ranks import RankTable
from weald.calls import available_where
from weald.ensembles.combining.combination import Floats
from weald.ensembles.combining.nonnegative import NonNegativeSum, mixture_weights
from weald.ensembles.combining.vote_weights import weights_of_votes
from weald.ensembles.combining.voting_base import LIMITS, Voting
from weald.ensembles.members.members import Named
from weald.ensembles.members.samples import Sample, class_sample, number_sample
from weald.ensembles.regressing import Regressor
from weald.parameters import Limit, NoneOr, OneOf


def _is_soft(self: Any) -> bool:
    if self.voting == "hard":
        raise AttributeError("predict_proba is not available when voting='hard'")
    return True


class VotingClassifier(ClassifierMixin, Voting):
    """Voting of classifiers: by majority, or by combining their class probabilities.

    Parameters
    ----------
    voting : {"hard", "soft"}, default="hard"
        "hard": majority vote over the predicted classes; ties go to the first class. "soft": the
        most probable class after combining the class probabilities by `rule`.
    flatten_transform : bool, default=True
        Whether `transform` with soft voting returns an array of shape (rows, estimators * classes)
        or (estimators, rows, classes).
    rule : str or None, default=None
        Combination rule of soft voting: "mean" (also None), "product", "geometric_mean",
        "minimum", "maximum", "median" or "rank_mean", as in `weald.aggregation`. "rank_mean"
        replaces each probability by its rank among the out-of-fold probabilities of the same base
        estimator; the result orders the rows but is no calibrated probability.

    Attributes
    ----------
    classes_ : array
        Sorted class labels.
    le_ : LabelEncoder
        Encodes labels as the class indices that the base estimators are fitted on.

    Notes
    -----
    weights="oof": with hard voting, ln((1 - e) / e) for the out-of-fold error rate e of each base
    estimator (0 if e is at least one half; without any error, half an error is counted). With soft
    voting, the non-negative weights with sum 1 that minimise the log loss of the mean out-of-fold
    probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from weald import BoostedTreesClassifier, VotingClassifier
    >>> cancer = load_breast_cancer()
    >>> estimators = [
    ...     ("trees", BoostedTreesClassifier(n_estimators=20)),
    ...     ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
    ...     ("bayes", GaussianNB()),
    ... ]
    >>> vote = VotingClassifier(estimators, voting="soft", rule="geometric_mean", weights="oof")
    >>> vote = vote.fit(cancer.data[:400], cancer.target[:400])
    >>> round(vote.score(cancer.data[400:], cancer.target[400:]), 2)
    0.98
    """

    classes_: NDArray[Any]

    _limits: ClassVar[Mapping[str, Limit]] = {
        **LIMITS,
        "voting": OneOf(("hard", "soft")),
        "flatten_transform": OneOf((True, False)),
        "rule": NoneOr(
            OneOf(
                (
                    "mean",
                    "product",
                    "geometric_mean",
                    "minimum",
                    "maximum",
                    "median",
                    "rank_mean",
                )
            )
        ),
    }

    def __init__(
        self,
        estimators: Sequence[Named],
        *,
        voting: str = "hard",
        weights: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: bool = False,
        rule: str | None = None,
        prefit: bool = False,
        cv: Any = None,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.rule = rule
        self.prefit = prefit
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the base estimators on all rows, and the out-of-fold weights or ranks if needed.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array, shape (rows,)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights, passed to all base estimators (in a pipeline: to the last step); with
            metadata routing enabled, to those that request them.
        groups : array, shape (rows,), or None
            Group labels, passed to `cv`.
        **fit_params
            Passed to the base estimators that request them, if metadata routing is enabled.
        """
        with self._fitting():
            self._check_rule(self._rule())
            sample, labels = class_sample(self, X, y, sample_weight, groups)
            self.classes_ = self._all_classes(labels)
            if self.prefit:
                sample.y[:] = np.searchsorted(self.classes_, labels)[sample.y]
            from sklearn.preprocessing import LabelEncoder

            self.le_ = LabelEncoder().fit(self.classes_)
            names = self.classes_ if self.prefit else np.arange(len(self.classes_))
            self._fit(sample, fit_params, names)
        return self

    def _all_classes(self, labels: NDArray[Any]) -> NDArray[Any]:
        """The classes of y and, with `prefit`, those of the base estimators."""
        if not self.prefit:
            return labels
        known = [np.asarray(m.classes_) for _, m in self._named() if hasattr(m, "classes_")]
        return np.unique(np.concatenate([labels, *known]))

    def _rule(self) -> str:
        if self.voting == "hard":
            if self.rule is not None:
                raise ValueError(f"rule={self.rule!r} requires voting='soft'. Got voting='hard'.")
            return "majority"
        return self.rule or "mean"

    def _method_name(self) -> str:
        return "predict" if self.voting == "hard" else "predict_proba"

    def _needs_out_of_fold(self) -> bool:
        return super()._needs_out_of_fold() or self._rule() == "rank_mean"

    def _fit_combiner(self, predictions: Floats, sample: Sample) -> None:
        if self._rule() == "rank_mean":
            self._reference = [
                [RankTable(column, sample.weight) for column in of_estimator.T]
                for of_estimator in predictions
            ]
        if not isinstance(self.weights, str):
            return
        if self.voting == "hard":
            votes = predictions[:, :, 0].astype(np.int64)
            self.weights_ = weights_of_votes(votes, sample.y, sample.weight)
        else:
            self.weights_ = mixture_weights(predictions, sample.y, sample.weight)

    def _proba(self, predictions: Floats) -> Floats:
        rule = self._rule()
        if rule == "rank_mean":
            ranked = [
                np.stack([table(column) for table, column in zip(tables, own.T, strict=True)], 1)
                for tables, own in zip(self._reference, predictions, strict=True)
            ]
            return aggregation.shares(self._combined("mean", np.stack(ranked)))
        combined = self._combined(rule, predictions)
        return combined if rule == "mean" else aggregation.shares(combined)

    @available_where(_is_soft)
    def predict_proba(self, X: Any, *, return_std: bool = False) -> Any:
        """Class probabilities, in the order of `classes_`; only with voting="soft".

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the base estimators' class probabilities about
            those of the ensemble.
        """
        predictions = self._predictions(X)
        combined = self._proba(predictions)
        if return_std:
            return combined, aggregation.disagreement(predictions, combined)
        return combined

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes or the most probable class; ties go to the first."""
        predictions = self._predictions(X)
        if self.voting == "soft":
            chosen = np.argmax(self._proba(predictions), axis=1)
        else:
            votes = predictions[:, :, 0].astype(np.int64)
            shares = aggregation.vote_shares(votes, len(self.classes_), self.weights_)
            chosen = np.argmax(shares, axis=1)
        return np.asarray(self.classes_[chosen])

    def transform(self, X: Any) -> NDArray[Any]:
        """Predictions of the base estimators.

        Returns
        -------
        array
            voting="hard": class indices of shape (rows, estimators). voting="soft": class
            probabilities of shape (rows, estimators * classes), or (estimators, rows, classes)
            without `flatten_transform`.
        """
        predictions = self._predictions(X)
        if self.voting == "hard":
            return predictions[:, :, 0].T.astype(np.int64)
        return np.hstack(list(predictions)) if self.flatten_transform else predictions

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns returned by `transform`.

        Parameters
        ----------
        input_features : None
            Ignored.
        """
        check_is_fitted(self)
        if self.voting == "soft" and not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        start = type(self).__name__.lower()
        names = [f"{start}_{name}" for name in self._estimator_names()]
        if self.voting == "soft":
            names = [f"{name}{k}" for name in names for k in range(len(self.classes_))]
        return np.asarray(names, dtype=object)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {
            **super()._fingerprint_arrays(),
            "rule": np.array([self._rule()]),
            "classes": self.classes_,
        }
        if self._rule() == "rank_mean":
            tables = [table for of_estimator in self._reference for table in of_estimator]
            arrays["reference scores"] = np.concatenate([table.scores for table in tables])
            arrays["reference ranks"] = np.concatenate([table.below for table in tables])
        return arrays


class VotingRegressor(Regressor, Voting):
    """Voting of regressors: the mean, median, minimum or maximum of their predictions.

    Parameters
    ----------
    rule : {"mean", "median", "minimum", "maximum"}, default="mean"
        Combination rule.

    Notes
    -----
    weights="oof": non-negative least squares on the out-of-fold predictions, divided by the sum of
    the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BoostedTreesRegressor, VotingRegressor
    >>> x = np.linspace(0, 6, 300)[:, np.newaxis]
    >>> estimators = [("trees", BoostedTreesRegressor()), ("linear", LinearRegression())]
    >>> vote = VotingRegressor(estimators).fit(x, np.sin(x[:, 0]))
    >>> mean, std = vote.predict([[1.5]], return_std=True)
    >>> mean.round(2).tolist(), std.round(2).tolist()
    ([0.76], [0.34])
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **LIMITS,
        "rule": OneOf(("mean", "median", "minimum", "maximum")),
    }

    rule: str

    def __init__(
        self,
        estimators: Sequence[Named],
        *,
        weights: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        rule: str = "mean",
        prefit: bool = False,
        cv: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.rule = rule
        self.prefit = prefit
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the base estimators on all rows, and the out-of-fold weights or ranks if needed.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array of finite numbers, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights, passed to all base estimators (in a pipeline: to the last step); with
            metadata routing enabled, to those that request them.
        groups : array, shape (rows,), or None
            Group labels, passed to `cv`.
        **fit_params
            Passed to the base estimators that request them, if metadata routing is enabled.
        """
        with self._fitting():
            self._check_rule(self.rule)
            sample = number_sample(self, X, y, sample_weight, groups)
            self._fit(sample, fit_params, None)
        return self

    def _fit_combiner(self, predictions: Floats, sample: Sample) -> None:
        weights = NonNegativeSum().fit(predictions, sample.y, sample.weight).weights_
        total = weights.sum()
        self.weights_ = weights / total if total > 0 else np.ones(len(weights))

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the base estimators' predictions about that of
            the ensemble.
        """
        predictions = self._predictions(X)[:, :, 0]
        combined = self._combined(self.rule, predictions)
        if return_std:
            return combined, aggregation.disagreement(predictions, combined)
        return combined

    def transform(self, X: Any) -> Floats:
        """Predictions of the base estimators, of shape (rows, estimators)."""
        return np.asarray(self._predictions(X)[:, :, 0].T)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns returned by `transform`.

        Parameters
        ----------
        input_features : None
            Ignored.
        """
        check_is_fitted(self)
        start = type(self).__name__.lower()
        names = [f"{start}_{name}" for name in self._estimator_names()]
        return np.asarray(names, dtype=object)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "rule": np.array([self.rule])}
