"""Bagging: members of any kind on bootstrap samples, whose mean or vote answers."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import extreme_exponent
from weald.ensembles.bagging.bag_members import BagTask
from weald.ensembles.bagging.bag_record import judged
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.bagging.bagging_base import BAGGING_LIMITS, Bagging
from weald.ensembles.exact_means import exact_means
from weald.ensembles.forests import bagged_trees
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.members.answers import Question
from weald.ensembles.members.members import Outcome, n_rows_of
from weald.ensembles.members.samples import as_table, class_sample, number_sample
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.parameters import Limit

Floats = NDArray[np.float64]


def _decides(self: Any) -> bool:
    return hasattr(self._member(), "decision_function")


class BaggingClassifier(BaggedClassifier, ClassifierMixin, Bagging):
    """Bagging of classifiers: each learns from rows of its own, the mean of their shares answers.

    A drop-in for scikit-learn's class of the same name. Members without `predict_proba` vote.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    n_classes_ : int
        How many there are.
    oob_decision_function_ : array, shape (rows, classes)
        With `oob_score`: mean shares by the members that did not see the row; NaN where all did,
        and for rows of weight zero.

    Notes
    -----
    weights="oob": with e the share of rows that a member did not see and took for another class,
    and C classes, its weight is ln((1 - e)(C - 1) / e); 0 for one that guesses no better than
    chance, half an error where it made none.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from weald import BaggingClassifier
    >>> from weald.datasets import load_pima
    >>> pima = load_pima()
    >>> bag = BaggingClassifier(KNeighborsClassifier(), 30, oob_score=True, random_state=0)
    >>> bag = bag.fit(pima.data, pima.target)
    >>> round(bag.oob_score_, 2), len(bag.estimators_)
    (0.71, 30)
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

    def _default_member(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : table
            Whatever the members take.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            What each row counts: with `bootstrap` how probable it is to be drawn; else passed to
            the members.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers. Whole groups are drawn, and are out of
            bag together; rows keep their weights.
        **fit_params
            With metadata routing enabled: passed to the members.
        """
        with self._fitting():
            X = as_table(X)
            if self._is_grove(X) and not fit_params:
                self._fit_grove(X, y, sample_weight, groups)
                self.classes_ = self._grove.classes_
                self._n_rows_seen = n_rows_of(X)
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
                f"The members kept by warm_start=True know the classes {before}; got {classes}."
            )
        have_shares = all(hasattr(kind, "predict_proba") for kind in self._kinds())
        method = "predict_proba" if have_shares else "predict"
        self.classes_, self._n_rows_seen = classes, len(sample.place)
        self._fit_members(sample, Question(method, np.arange(len(classes))), classes, fit_params)

    def _learnt_weights(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> Floats:
        """ln((1 - e)(C - 1) / e), at least 0; all the same if nobody is better than chance."""
        errors = np.full(len(tasks), 0.5)
        for k, (target, said, weight) in enumerate(judged(tasks, outcomes, rows, len(classes))):
            if len(target):
                wrong = (np.argmax(said, axis=1) != target).astype(np.float64)
                errors[k] = max(float(exact_means(wrong, weight)), 0.5 / len(target))
        odds = (1 - errors) * max(1, len(classes) - 1) / errors
        weights = np.maximum(_native.log(np.maximum(odds, 1.0)), 0.0)
        return weights if weights.any() else np.ones(len(weights))

    def _in_shares(self, said: Floats) -> Floats:
        if self._question.method == "predict" or said.shape[1] != len(self.classes_):
            return np.eye(len(self.classes_))[said[:, 0].astype(np.intp)]
        return said

    def predict_proba(self, X: Any, *, return_std: bool = False) -> Any:
        """Mean shares of the classes over the members, or shares of their votes.

        Parameters
        ----------
        X : table
            Whatever the members take.
        return_std : bool, default=False
            Also give the standard deviation of the members' shares about the answer: how much
            they disagree, of the shape (rows, classes).
        """
        return self._with_spread(X) if return_std else self._combined_answers(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities; -inf for those of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._combined_answers(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest mean share; ties go to the first."""
        shares = self._combined_answers(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    @available_if(_decides)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Mean of the members' decision functions, if they have one."""
        check_is_fitted(self)
        question = Question("decision_function", np.arange(len(self.classes_)))
        weights, answers = self.weights_, self._answers(X, question)
        total: Any = sum(weight * said for weight, said in zip(weights, answers, strict=True))
        mean = total / float(weights.sum())
        return np.asarray(mean[:, 0] if mean.shape[1] == 1 else mean)

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}


class BaggingRegressor(BaggedRegressor, Regressor, Bagging):
    """Bagging of regressors: each learns from rows of its own, the mean of their numbers answers.

    A drop-in for scikit-learn's class of the same name.

    Attributes
    ----------
    oob_prediction_ : array, shape (rows,)
        With `oob_score`: mean answers of the members that did not see the row; NaN where all did,
        and for rows of weight zero.

    Notes
    -----
    weights="oob": one over the mean squared error of each member on the rows it did not see.

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

    def _default_member(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : table
            Whatever the members take.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            What each row counts: with `bootstrap` how probable it is to be drawn; else passed to
            the members.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers. Whole groups are drawn, and are out of
            bag together; rows keep their weights.
        **fit_params
            With metadata routing enabled: passed to the members.
        """
        with self._fitting():
            X = as_table(X)
            if self._is_grove(X) and not fit_params:
                self._fit_grove(X, y, sample_weight, groups)
                self._n_rows_seen = n_rows_of(X)
            else:
                sample = number_sample(self, X, y, sample_weight, groups)
                self._n_rows_seen = len(sample.place)
                self._fit_members(sample, Question("predict", width=1), None, fit_params)
            if self._record is not None:
                self._warn_of_unscored()
                self.oob_prediction_ = self.oob_.predictions
                self.oob_score_ = self._r_squared()
        return self

    def _learnt_weights(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> Floats:
        """One over the mean squared error of each; all the same if they make no error."""
        errors = np.full(len(tasks), np.inf)
        exponent = extreme_exponent(rows.sample.y)
        for k, (target, said, weight) in enumerate(judged(tasks, outcomes, rows, None)):
            if len(target):
                gaps = np.ldexp(said[:, 0] - target, -exponent)
                errors[k] = float(exact_means(gaps**2, weight))
        least = errors.min()
        if not np.isfinite(least) or errors.max() == 0:
            return np.ones(len(errors))
        return np.asarray(np.maximum(least, 1e-300) / np.maximum(errors, 1e-300))

    def _trees_asked(self) -> Any:
        return getattr(self, "_grove", None)

    def _r_squared(self) -> float:
        """Of the out-of-bag answers; NaN for fewer than two rows."""
        assert self._record is not None
        scored = ~np.isnan(self._record.answers[:, 0])
        target, weight = self._record.target[scored], self._record.weight
        if len(target) < 2:
            return float("nan")
        weight = None if weight is None else weight[scored]
        exponent = extreme_exponent(target)
        own = np.ldexp(target, -exponent)
        off = own - np.ldexp(self._record.answers[scored, 0], -exponent)
        around = float(exact_means((own - float(exact_means(own, weight))) ** 2, weight))
        return 1.0 - float(exact_means(off**2, weight)) / around if around > 0 else 0.0

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """The mean answer of the members.

        Parameters
        ----------
        X : table
            Whatever the members take.
        return_std : bool, default=False
            Also give the standard deviation of the members' answers about the mean: how much they
            disagree.
        """
        if return_std:
            mean, std = self._with_spread(X)
            return mean[:, 0], std[:, 0]
        return self._combined_answers(X)[:, 0]
