"""Bagging: base estimators fitted on bootstrap samples, whose predictions are averaged."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.calls import available_where
from weald.data import advise_of_one_class, extreme_exponent
from weald.ensembles.bagging.bag_fitting import BagTask
from weald.ensembles.bagging.bag_record import oob_results
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.bagging.bagging_base import BAGGING_LIMITS, Bagging
from weald.ensembles.exact_means import exact_means
from weald.ensembles.forests import bagged_trees
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.forests.outputs import without_axis
from weald.ensembles.members.members import Outcome, n_rows_of
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import routed_prediction
from weald.ensembles.members.samples import as_table, class_sample, number_sample
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.parameters import Limit

Floats = NDArray[np.float64]


def _has_decision_function(self: Any) -> bool:
    return hasattr(self._base_estimator(), "decision_function")


class BaggingClassifier(BaggedClassifier, ClassifierMixin, Bagging):
    """Bagging of classifiers: averages the class probabilities of its base estimators.

    A drop-in replacement for scikit-learn's class of the same name. Base estimators without
    `predict_proba` vote.

    Attributes
    ----------
    classes_ : array
        Sorted class labels.
    n_classes_ : int
        Number of classes.
    oob_decision_function_ : array, shape (rows, classes)
        Out-of-bag class probabilities, with `oob_score`; NaN for rows that every base estimator
        drew and for rows of weight zero.

    Notes
    -----
    weights="oob": a base estimator with the out-of-bag error rate e, among C classes, has the
    weight ln((1 - e)(C - 1) / e); 0 if it is no better than chance. Without any error, half an
    error is counted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from weald import BaggingClassifier
    >>> cancer = load_breast_cancer()
    >>> bag = BaggingClassifier(KNeighborsClassifier(), 30, oob_score=True, random_state=0)
    >>> bag = bag.fit(cancer.data, cancer.target)
    >>> round(bag.oob_score_, 2), len(bag.estimators_)
    (0.94, 30)
    """

    classes_: NDArray[Any]
    _limits: ClassVar[Mapping[str, Limit]] = BAGGING_LIMITS
    _engine: ClassVar[type] = bagged_trees.BaggingClassifier

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 10,
        *,
        max_samples: float | None = None,
        max_features: float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        weights: Any = None,
        diversifiers: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.weights = weights
        self.diversifiers = diversifiers

    def _default_estimator(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array, shape (rows,)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights. With `bootstrap`, rows are drawn with probability proportional to their
            weight; otherwise the weights are passed to the base estimators.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers. Whole groups are drawn, and are
            out-of-bag together; rows keep their weights.
        **fit_params
            Passed to the base estimators, if metadata routing is enabled.
        """
        with self._fitting():
            X = as_table(X)
            if self._is_forest(X) and not fit_params:
                self._fit_forest(X, y, sample_weight, groups)
                self.classes_ = self._forest_model.classes_
                self._n_rows_seen = n_rows_of(X)
                advise_of_one_class(self.classes_, self._n_rows_seen)
            else:
                self._fit_any(X, y, sample_weight, groups, fit_params)
            self.n_classes_ = len(self.classes_)
            if self._record is not None:
                self._warn_of_unscored()
                self.oob_decision_function_ = self.oob_.predictions
                self.oob_score_ = 1.0 - self._oob_error()
        return self

    def _fit_any(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, fit_params: dict[str, Any]
    ) -> None:
        before: Any = getattr(self, "classes_", None)
        sample, classes = class_sample(self, X, y, sample_weight, groups)
        if self._n_kept() and not np.array_equal(before, classes):
            raise ValueError(
                f"The base estimators kept by warm_start=True were fitted on the classes {before}; "
                f"y has {classes}. Set warm_start=False to fit all of them."
            )
        have_proba = all(hasattr(kind, "predict_proba") for kind in self._kinds())
        method = "predict_proba" if have_proba else "predict"
        self.classes_, self._n_rows_seen = classes, len(sample.place)
        response = ResponseMethod(method, np.arange(len(classes)))
        self._fit_estimators(sample, response, classes, fit_params)

    def _oob_weights(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> Floats:
        """ln((1 - e)(C - 1) / e), at least 0; all equal if none is better than chance."""
        errors = np.full(len(tasks), 0.5)
        results = oob_results(tasks, outcomes, rows, len(classes))
        for k, (target, predicted, weight) in enumerate(results):
            if len(target):
                wrong = (np.argmax(predicted, axis=1) != target).astype(np.float64)
                errors[k] = max(float(exact_means(wrong, weight)), 0.5 / len(target))
        odds = (1 - errors) * max(1, len(classes) - 1) / errors
        weights = np.maximum(_native.log(np.maximum(odds, 1.0)), 0.0)
        return weights if weights.any() else np.ones(len(weights))

    def _as_probabilities(self, predicted: Floats) -> Floats:
        if self._response_method.method == "predict" or predicted.shape[1] != len(self.classes_):
            return np.eye(len(self.classes_))[predicted[:, 0].astype(np.intp)]
        return predicted

    def predict_proba(self, X: Any, *, return_std: bool = False, **params: Any) -> Any:
        """Predict class probabilities: the mean over the base estimators, or their vote shares.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the base estimators' class probabilities, of
            shape (rows, classes).
        **params
            Passed to the base estimators, if metadata routing is enabled.
        """
        response = self._response_to("predict_proba", params)
        predicted = self._mean_and_std if return_std else self._ensemble_predictions
        return predicted(X, response)

    def predict_log_proba(self, X: Any, **params: Any) -> Floats:
        """Logarithms of the class probabilities; -inf for a probability of 0.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        **params
            Passed to the base estimators, if metadata routing is enabled.
        """
        response = self._response_to("predict_log_proba", params)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._ensemble_predictions(X, response)))

    def predict(self, X: Any, **params: Any) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        **params
            Passed to the base estimators, if metadata routing is enabled.
        """
        probabilities = self._ensemble_predictions(X, self._response_to("predict", params))
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    @available_where(_has_decision_function)
    def decision_function(self, X: Any, **params: Any) -> Floats:
        """Mean of the base estimators' decision functions, if they have one.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        **params
            Passed to the base estimators, if metadata routing is enabled.
        """
        check_is_fitted(self)
        response = ResponseMethod("decision_function", np.arange(len(self.classes_)))
        if params:
            routed = routed_prediction(self, "decision_function", params, "decision_function")
            response = replace(response, params=routed)
        weights, predictions = self.weights_, self._predictions(X, response)
        total: Any = sum(w * predicted for w, predicted in zip(weights, predictions, strict=True))
        mean = total / float(weights.sum())
        return np.asarray(mean[:, 0] if mean.shape[1] == 1 else mean)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "classes": self.classes_}


class BaggingRegressor(BaggedRegressor, Regressor, Bagging):
    """Bagging of regressors: averages the predictions of its base estimators.

    A drop-in replacement for scikit-learn's class of the same name.

    Attributes
    ----------
    oob_prediction_ : array, shape (rows,) or (rows, outputs)
        Out-of-bag predictions, with `oob_score`; NaN for rows that every base estimator drew and
        for rows of weight zero.

    Notes
    -----
    weights="oob": the inverse of the out-of-bag mean squared error of each base estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import BaggingRegressor
    >>> x = np.linspace(0, 1, 50)[:, np.newaxis]
    >>> bag = BaggingRegressor(LinearRegression(), 20, random_state=0).fit(x, 3 * x[:, 0])
    >>> number, std = bag.predict([[2.0]], return_std=True)
    >>> number.round(6).tolist(), std.round(6).tolist()
    ([6.0], [0.0])
    """

    _limits: ClassVar[Mapping[str, Limit]] = BAGGING_LIMITS
    _engine: ClassVar[type] = bagged_trees.BaggingRegressor
    _takes_several: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 10,
        *,
        max_samples: float | None = None,
        max_features: float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        weights: Any = None,
        diversifiers: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.weights = weights
        self.diversifiers = diversifiers

    def _default_estimator(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array of finite numbers, shape (rows,) or (rows, outputs)
            Target values; several outputs if the base estimator supports them.
        sample_weight : array, shape (rows,), or None
            Row weights. With `bootstrap`, rows are drawn with probability proportional to their
            weight; otherwise the weights are passed to the base estimators.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers. Whole groups are drawn, and are
            out-of-bag together; rows keep their weights.
        **fit_params
            Passed to the base estimators, if metadata routing is enabled.
        """
        with self._fitting():
            X = as_table(X)
            if self._is_forest(X) and not fit_params:
                self._fit_forest(X, y, sample_weight, groups)
                self._n_rows_seen = n_rows_of(X)
            else:
                sample = number_sample(
                    self, X, y, sample_weight, groups, several=self._takes_several
                )
                self._n_rows_seen = len(sample.place)
                width = 1 if sample.y.ndim == 1 else sample.y.shape[1]
                self._refuse_estimates(width)
                response = ResponseMethod("predict", width=width)
                self._fit_estimators(sample, response, None, fit_params)
            if self._record is not None:
                self._warn_of_unscored()
                self.oob_prediction_ = self.oob_.predictions
                self.oob_score_ = self._r_squared()
            elif self.oob_score:  # a forest of several outputs, which has warned already
                self.oob_prediction_ = self._forest_model.oob_prediction_
                self.oob_score_ = self._forest_model.oob_score_
        return self

    def _refuse_estimates(self, n_outputs: int) -> None:
        if n_outputs > 1 and self._estimates_out_of_bag():
            raise ValueError(
                "oob_score, weights='oob' and n_estimators='auto' support one output if the base "
                f"estimators are not the default trees; y has {n_outputs} columns. Use "
                "cross-validation, or fit one model per column."
            )

    def _oob_weights(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> Floats:
        """Inverse mean squared errors; all equal if there are no errors."""
        errors = np.full(len(tasks), np.inf)
        exponent = extreme_exponent(rows.sample.y)
        for k, (target, predicted, weight) in enumerate(oob_results(tasks, outcomes, rows, None)):
            if len(target):
                gaps = np.ldexp(predicted[:, 0] - target, -exponent)
                errors[k] = float(exact_means(gaps**2, weight))
        smallest = errors.min()
        if not np.isfinite(smallest) or errors.max() == 0:
            return np.ones(len(errors))
        return np.asarray(np.maximum(smallest, 1e-300) / np.maximum(errors, 1e-300))

    def _forest_with_rows(self) -> Any:
        return getattr(self, "_forest_model", None)

    def _r_squared(self) -> float:
        """R² of the out-of-bag predictions; NaN for fewer than two rows."""
        assert self._record is not None
        scored = ~np.isnan(self._record.predictions[:, 0])
        target, weight = self._record.target[scored], self._record.weight
        if len(target) < 2:
            return float("nan")
        weight = None if weight is None else weight[scored]
        exponent = extreme_exponent(target)
        scaled = np.ldexp(target, -exponent)
        residuals = scaled - np.ldexp(self._record.predictions[scored, 0], -exponent)
        variance = float(exact_means((scaled - float(exact_means(scaled, weight))) ** 2, weight))
        return 1.0 - float(exact_means(residuals**2, weight)) / variance if variance > 0 else 0.0

    def predict(self, X: Any, *, return_std: bool = False, **params: Any) -> Any:
        """Predict the target: the weighted mean over the base estimators.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the base estimators' predictions.
        **params
            Passed to the base estimators, if metadata routing is enabled.
        """
        response = self._response_to("predict", params)
        if return_std:
            mean, std = self._mean_and_std(X, response)
            return without_axis(mean), without_axis(std)
        return without_axis(self._ensemble_predictions(X, response))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base_estimator()).target_tags
        is_supported = self._is_forest(None) or not self._estimates_out_of_bag()
        tags.target_tags.multi_output = inner.multi_output and is_supported
        return tags
