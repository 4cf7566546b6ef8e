"""Predictions of boosted trees, and the standard deviations of those of several boosters."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from weald.data import checked_weights, finite_target, readable_target
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.dask_tables import is_dask, lazy_prediction
from weald.ensembles.scored import ScoredClassifier, ScoredRegressor
from weald.losses import Loss, QuantileLosses, TargetLosses, pinball_saved


class PredictsNumbers(ScoredRegressor):
    """Mixin of `BoostedTreesRegressor`: one prediction per row, or one per quantile or target."""

    _fitted_loss: Loss

    def predict(
        self,
        X: object,
        *,
        return_std: bool = False,
        offset: object = None,
        n_rounds: int | None = None,
    ) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`. The predictions of a Dask array are a Dask array, those of a Dask data
            frame a series, computed when they are wanted; without `return_std` and `offset`.
        return_std : bool, default=False
            Also return the standard deviation of the boosters' predictions. Requires `n_bags`.
        offset : array, shape (rows,), or None, default=None
            Raw scores to which those of the model are added, as in `fit`. None: zeros, which with
            a log link and logarithms of exposures in `fit` is a prediction per unit of exposure.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.

        Returns
        -------
        array, shape (rows,), or (rows, quantiles) or (rows, targets) for several of them
            Predictions; with `return_std` a tuple of predictions and standard deviations.
        """
        if is_dask(X):
            check_is_fitted(self)
            like = np.empty((0, self._fitted_loss.n_scores) if self._predicts_quantiles else 0)
            return lazy_prediction(self, "predict", X, like, (return_std, offset), n_rounds)
        if not return_std:
            return self._in_shape(self._predictions(X, offset, n_rounds))
        model: Any = self if n_rounds is None else self.truncate(n_rounds)
        mean, std = model._mean_and_std(X, offset)
        return self._in_shape(mean), self._in_shape(std)

    def _in_shape(self, predictions: Floats) -> Floats:
        several = isinstance(self._fitted_loss, (QuantileLosses, TargetLosses))
        return predictions if several else predictions[:, 0]

    @property
    def n_outputs_(self) -> int:
        """Number of targets of the fit."""
        check_is_fitted(self)
        loss = self._fitted_loss
        return loss.n_scores if isinstance(loss, TargetLosses) else 1

    @property
    def _predicts_quantiles(self) -> bool:
        return isinstance(self._fitted_loss, QuantileLosses)

    def score(
        self, X: object, y: object, sample_weight: object = None, *, offset: object = None
    ) -> float:
        """Return R²; for a list of quantiles D², the fraction of pinball loss explained.

        For several targets, the mean of their R².

        Parameters
        ----------
        X, offset
            As in `predict`.
        y : array, shape (rows,)
            True target values.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights.
        """
        check_is_fitted(self)
        if not isinstance(self._fitted_loss, QuantileLosses):
            return super().score(X, y, sample_weight, offset=offset)
        target = finite_target(column_or_1d(readable_target(y)))
        predictions = self.predict(X, offset=offset)
        check_consistent_length(predictions, target)
        weight = None if sample_weight is None else checked_weights(sample_weight, len(target))
        return pinball_saved(self._fitted_loss, target, predictions, weight)


class PredictsClasses(ScoredClassifier):
    """Mixin of `BoostedTreesClassifier`."""

    _fitted_loss: Loss

    def decision_function(
        self, X: object, *, offset: object = None, n_rounds: int | None = None
    ) -> Any:
        """Raw scores: one for two classes (the log-odds with log_loss), else one per class.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`. The answer for a Dask collection is one, too, computed when it is wanted;
            without `offset`.
        offset : array, shape (rows,) or (rows, classes), or None, default=None
            Raw scores to which those of the model are added, as in `fit`; None: zeros.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.
        """
        if is_dask(X):
            check_is_fitted(self)
            n_scores = self._fitted_loss.n_scores
            like = np.empty((0, n_scores) if n_scores > 1 else (0,))
            return lazy_prediction(self, "decision_function", X, like, (offset,), n_rounds)
        return super().decision_function(X, offset=offset, n_rounds=n_rounds)

    def predict(self, X: object, *, offset: object = None, n_rounds: int | None = None) -> Any:
        """Most probable class of each row; ties go to the first.

        Parameters
        ----------
        X, offset, n_rounds
            As in `decision_function`.
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazy_prediction(self, "predict", X, self.classes_[:0], (offset,), n_rounds)
        return super().predict(X, offset=offset, n_rounds=n_rounds)

    def predict_proba(
        self,
        X: object,
        *,
        return_std: bool = False,
        offset: object = None,
        n_rounds: int | None = None,
    ) -> Any:
        """Predict class probabilities, in the order of `classes_`.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`. The probabilities of a Dask array are a Dask array, those of a Dask data
            frame a frame, computed when they are wanted; without `return_std` and `offset`.
        return_std : bool, default=False
            Also return the standard deviation of the boosters' probabilities. Requires `n_bags`.
        offset : array, shape (rows,) or (rows, classes), or None, default=None
            Raw scores to which those of the model are added, as in `fit`; None: zeros.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.

        Returns
        -------
        array, shape (rows, classes)
            Probabilities; with `return_std` a tuple of probabilities and standard deviations.
        """
        if is_dask(X):
            check_is_fitted(self)
            like = np.empty((0, len(self.classes_)))
            return lazy_prediction(self, "predict_proba", X, like, (return_std, offset), n_rounds)
        if not return_std:
            return super().predict_proba(X, offset=offset, n_rounds=n_rounds)
        model: Any = self if n_rounds is None else self.truncate(n_rounds)
        return model._mean_and_std(X, offset)
