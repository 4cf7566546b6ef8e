"""Automatic ensembles for classification and regression."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald.aggregation.spread import deviation
from weald.data import (
    class_rows,
    number_rows,
    read_once,
    rows_of_weight,
    validation_classes,
    validation_numbers,
)
from weald.ensembles.auto.auto_base import AutoEnsemble, Floats
from weald.ensembles.auto.selection import mean_of, powered
from weald.ensembles.members.samples import as_table
from weald.ensembles.out_of_bag.conformal import Residuals, checked_coverage, interval_scale
from weald.ensembles.regressing import Regressor


class AutoEnsembleClassifier(ClassifierMixin, AutoEnsemble):
    """The best ensemble of classifiers within a time limit.

    Predicts the weighted mean of the class probabilities of the selected models. Probabilities are
    made more or less extreme (temperature scaling) if predictions for unseen rows say so.

    Attributes
    ----------
    classes_ : array
        Sorted class labels.
    temperature_ : float
        Divisor of the log-probabilities, before they are normalised again; 1: unchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import AutoEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AutoEnsembleClassifier(time_limit=None, max_models=2, keep_models=True)
    >>> model = model.fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    >>> list(model.models_)
    ['boosted small trees', 'random forest']
    """

    classes_: NDArray[Any]

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Train models within the time limit and select the best ensemble of them.

        Ctrl-C ends the search; the best ensemble so far is the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
            Sparse matrices are made dense.
        y : array, shape (rows,)
            Class labels, numbers or strings.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights, also of the scores.
        X_val, y_val : table and array, or None, default=None
            Validation set on which models are scored and weights selected, instead of folds: such
            as the latest rows, if rows are ordered by time.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients: whole groups are held out together.

        Returns
        -------
        self
        """
        with self._fitting():
            clock = self._clock()
            X, (y, sample_weight) = as_table(X), read_once(y, sample_weight)
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            kept = rows_of_weight(y, sample_weight)
            rows = rows.in_groups(groups, kept)
            validation = validation_classes(self, X_val, y_val, None, self.classes_)
            self._fit(clock, X, rows, kept, groups, self.classes_, validation)
        return self

    @property
    def temperature_(self) -> float:
        """Divisor of the log-probabilities."""
        check_is_fitted(self)
        return 1.0 / self._power

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, in the order of `classes_`."""
        mean = self._mean_predictions(X)
        return powered(mean, self._power)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        own = {"classes": self.classes_, "power": np.array([self._power])}
        return {**super()._fingerprint_arrays(), **own}


class AutoEnsembleRegressor(Regressor, AutoEnsemble):
    """The best ensemble of regressors within a time limit.

    Predicts the weighted mean of the predictions of the selected models.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import AutoEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AutoEnsembleRegressor(time_limit=None, max_models=2).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4)
    True
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Train models within the time limit and select the best ensemble of them.

        Ctrl-C ends the search; the best ensemble so far is the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
            Sparse matrices are made dense.
        y : array, shape (rows,)
            Target values, finite numbers.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights, also of the scores.
        X_val, y_val : table and array, or None, default=None
            Validation set on which models are scored and weights selected, instead of folds: such
            as the latest rows, if rows are ordered by time.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients: whole groups are held out together.

        Returns
        -------
        self
        """
        with self._fitting():
            clock = self._clock()
            X, (y, sample_weight) = as_table(X), read_once(y, sample_weight)
            rows = number_rows(self, X, y, sample_weight)
            kept = rows_of_weight(y, sample_weight)
            rows = rows.in_groups(groups, kept).with_moderate_target()
            validation = validation_numbers(self, X_val, y_val, None)
            self._fit(clock, X, rows, kept, groups, None, validation)
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row."""
        return np.ldexp(self._mean_predictions(X)[:, 0], self._exponent)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Prediction intervals that contain the target with the given probability.

        Conformal intervals about the prediction, calibrated on the errors of the ensemble for rows
        that its models were not trained on. They are wider where the models disagree, if that
        agrees with these errors.

        Parameters
        ----------
        X : table, shape (rows, columns)
            Rows with the columns of the fit.
        coverage : float, default=0.9
            Probability that the interval contains the target.

        Returns
        -------
        array, shape (rows, 2)
            Lower and upper bounds.
        """
        coverage = checked_coverage(coverage)
        predictions, weights = self._all_predictions(X)
        centre = mean_of(predictions, weights)[:, 0]
        if self._record is None:
            raise AttributeError("There are no out-of-fold predictions: one model was trained only")
        record = self._record
        has_spread = len(predictions) > 1
        known = record.spread if has_spread else np.full(len(record.spread), np.nan)
        residuals = Residuals(record.target - record.predictions[:, 0], known, record.weight)
        scale, factor = interval_scale(residuals, coverage)
        spread = np.zeros(len(centre))
        if has_spread:
            spread = np.asarray(deviation(np.stack(predictions)[:, :, 0], centre))
        half = factor * scale(spread)
        return np.ldexp(np.stack([centre - half, centre + half], axis=1), self._exponent)
