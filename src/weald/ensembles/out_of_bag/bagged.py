"""Base classes of bagging ensembles: out-of-bag ledger, prediction intervals and sets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.aggregation.spread import deviation
from weald.calls import available_where
from weald.ensembles.out_of_bag.conformal import (
    Residuals,
    checked_coverage,
    interval_scale,
    jackknife_bounds,
    quantile_shifts,
    set_threshold,
)
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.ledger import Ledger
from weald.ensembles.out_of_bag.oob_importance import OutOfBagImportance, importance_by_shuffling
from weald.ensembles.out_of_bag.quantile_forest import leaf_quantiles
from weald.ensembles.out_of_bag.row_losses import RowLoss
from weald.ensembles.out_of_bag.tally import Record

Floats = NDArray[np.float64]


def _has_ledger(model: Any) -> bool:
    """Whether there are out-of-bag rows, or no fit yet; an AttributeError says why not."""
    if not model.__sklearn_is_fitted__():
        return True
    model._check_calibration()
    return model._in_bag() is not None


class Bagged:
    """An ensemble of base estimators, each with its own out-of-bag rows.

    Attributes
    ----------
    oob_ : Ledger
        Out-of-bag ledger: predictions, errors, and in-bag counts of each base estimator.
    """

    _record: Record | None

    def _estimator_predictions(self, X: Any) -> Iterator[Floats]:
        """Predictions of the base estimators, in blocks of shape (estimators, rows, width)."""
        raise NotImplementedError

    def _out_of_bag_predictions(self, X: Any) -> Iterator[Floats]:
        """The same, by base estimators that the out-of-bag rows had no influence on at all."""
        yield from self._estimator_predictions(X)

    def _ensemble_predictions(self, X: Any) -> Floats:
        """Predictions of the ensemble, of shape (rows, width)."""
        raise NotImplementedError

    def _mean_of(self, predictions: Floats) -> Floats:
        """Combine predictions of the base estimators exactly as the ensemble does, bit by bit."""
        raise NotImplementedError

    def _in_bag(self) -> InBag:
        """In-bag counts of the base estimators; an AttributeError says why there are none."""
        raise NotImplementedError

    def _check_calibration(self) -> None:
        """Raise AttributeError if out-of-bag errors say nothing of the errors of new rows."""

    def _residuals(self, record: Record) -> Residuals:
        """Out-of-bag residuals that calibrate prediction intervals."""
        return Residuals.of(record)

    @property
    def oob_(self) -> Ledger:
        """The out-of-bag ledger."""
        return Ledger(self._in_bag(), getattr(self, "_record", None), self._why_no_record())

    def _why_no_record(self) -> str:
        """Why this model has no out-of-bag predictions, and what to do."""
        if not getattr(self, "oob_score", False):
            return "Fit with oob_score=True: out-of-bag predictions are computed during fit only."
        return (
            "This model consists of some base estimators of another, by prune_oob. Out-of-bag "
            "predictions are computed during fit only: use those of the other model."
        )

    @available_where(_has_ledger)
    def oob_permutation_importance(
        self,
        X: Any,
        y: Any,
        *,
        loss: RowLoss | None = None,
        n_repeats: int = 5,
        random_state: int = 0,
    ) -> OutOfBagImportance:
        """Permutation importance of the columns, measured on out-of-bag rows.

        The importance of a column is the increase of the out-of-bag error when its values are
        shuffled. Unlike impurity-based importance (`feature_importances_`), it is about 0 for a
        column of pure noise. Correlated columns share their importance. Requires a fit with
        oob_score=True.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in the same order.
        loss : str, callable or None, default=None
            Loss function, as for `oob_.error`.
        n_repeats : int, default=5
            Number of times each column is shuffled.
        random_state : int, default=0
            Seed of the shuffling.
        """
        return importance_by_shuffling(
            self, X, y, loss=loss, n_repeats=n_repeats, random_state=random_state
        )

    @available_where(_has_ledger)
    def member_error_632(self, X: Any, y: Any, *, plus: bool = True, loss: Any = None) -> Any:
        """The .632+ (or .632) error of a single base estimator fitted on all rows.

        The fitted base estimators serve as the bootstrap replicates of the estimate; one more is
        fitted on all rows. The error of the ensemble itself is `oob_.error()`.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in the same order.
        plus : bool, default=True
            Whether to correct for overfitting (.632+).
        loss : str, callable or None, default=None
            Loss function, as for `weald.theory.error_632plus`.

        Returns
        -------
        BootstrapError
            See `weald.theory.error_632plus`.
        """
        from weald.theory import error_632_from_members

        classes = getattr(self, "classes_", None)
        if loss is None:
            loss = "squared_error" if classes is None else "zero_one"
        ledger = self._in_bag()
        if not all(getattr(rule, "has_equal_draws", False) for _, rule in ledger.parts):
            raise ValueError(
                "The .632 estimates require plain bootstrap samples: n draws with replacement from "
                "n rows with equal probability. This ensemble draws by sample weights, groups or "
                "max_samples, or without replacement: use oob_.error() instead."
            )
        in_bag = ledger.toarray()
        predicted = np.concatenate(list(self._estimator_predictions(X)), axis=1)
        full = self._one_on_all_rows(X, y)._ensemble_predictions(X)
        if loss != "log_loss":
            predicted, full = _as_labels(predicted, classes), _as_labels(full, classes)
        return error_632_from_members(predicted, in_bag, full, np.asarray(y), loss=loss, plus=plus)

    def _one_on_all_rows(self, X: Any, y: Any) -> Any:
        """An ensemble of one base estimator, fitted on all rows."""
        params = {"n_estimators": 1, "bootstrap": False, "max_samples": None, "oob_score": False}
        if "weights" in self.get_params(deep=False):  # type: ignore[attr-defined]
            params["weights"] = None
        return clone(self).set_params(**params).fit(X, y)

    def _mean_and_std(self, X: Any) -> tuple[Floats, Floats]:
        """Predictions of the ensemble, and the standard deviation of the base estimators.

        Both are computed from one pass over the base estimators, in blocks of rows.
        """
        parts = []
        for predictions in self._estimator_predictions(X):
            if len(predictions) < 2:
                raise ValueError(
                    "return_std=True requires at least two base estimators: a single one has no "
                    "standard deviation. Increase n_estimators."
                )
            mean = self._mean_of(predictions)
            parts.append((mean, deviation(predictions, mean)))
        means, spreads = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(spreads)


class BaggedRegressor(Bagged):
    """A bagging ensemble of regressors."""

    @available_where(_has_ledger)
    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "conformal"
    ) -> Floats:
        """Prediction interval of each row, with the given coverage.

        The width is calibrated on the out-of-bag residuals (fit with oob_score=True), and adapts to
        the standard deviation of the base estimators. For rows drawn from the distribution of the
        training rows, about the fraction `coverage` of the targets lies within.

        Parameters
        ----------
        X : table
            As for `predict`.
        coverage : float, default=0.9
            Fraction of targets that the intervals should contain.
        method : {"conformal", "jackknife+"}, default="conformal"
            "conformal": the prediction plus and minus a quantile of the absolute out-of-bag
            residuals, scaled by the standard deviation of the base estimators as far as that makes
            intervals narrower. "jackknife+": jackknife+-after-bootstrap, whose coverage is proven
            to be at least 2·coverage - 1 for any distribution; its time grows with the number of
            training rows.

        Returns
        -------
        array, shape (rows, 2)
            Lower and upper bounds.
        """
        coverage = checked_coverage(coverage)
        record = self.oob_.record
        if method == "jackknife+":
            return self._jackknife(X, record, coverage)
        if method != "conformal":
            raise ValueError(
                f"method must be one of 'conformal', 'jackknife+'. Got {method!r} instead."
            )
        scale, factor = interval_scale(self._residuals(record), coverage)
        if np.isinf(scale.offset):
            centre = self._ensemble_predictions(X)[:, 0]
            half = np.full(len(centre), factor)
        else:
            combined, spread = self._mean_and_std(X)
            centre, half = combined[:, 0], factor * scale(spread[:, 0])
        return np.stack([centre - half, centre + half], axis=1)

    def _jackknife(self, X: Any, record: Record, coverage: float) -> Floats:
        in_bag = self._in_bag()
        if record.weight is not None:
            raise ValueError(
                "method='jackknife+' requires rows of equal weight, but the model was fitted with "
                "sample weights. Use method='conformal'."
            )
        rows = np.flatnonzero(record.scored)
        left_out = np.stack([in_bag.left_out(k)[rows] for k in range(len(in_bag))])
        residuals = np.abs(record.target[rows] - record.predictions[rows, 0])
        parts = [
            jackknife_bounds(predictions[:, :, 0], left_out, residuals, coverage)
            for predictions in self._out_of_bag_predictions(X)
        ]
        return np.concatenate(parts)

    @available_where(_has_ledger)
    def predict_quantiles(
        self,
        X: Any,
        quantiles: Any = (0.1, 0.5, 0.9),
        *,
        method: str = "residuals",
        X_fit: Any = None,
    ) -> Floats:
        """Predict quantiles of the target of each row; they never cross.

        Requires a fit with oob_score=True.

        Parameters
        ----------
        X : table
            As for `predict`.
        quantiles : list of floats in (0, 1), default=(0.1, 0.5, 0.9)
            Quantile levels, in any order.
        method : {"residuals", "leaves"}, default="residuals"
            "residuals": the prediction plus quantiles of the out-of-bag residuals, scaled by the
            standard deviation of the base estimators where that helps. "leaves" (trees only): a
            quantile regression forest, that is quantiles of the training targets in the row's
            leaves; leaves should hold several rows (min_samples_leaf=5).
        X_fit : table or None, default=None
            For method="leaves": the X of the fit, with the rows in the same order.

        Returns
        -------
        array, shape (rows, quantiles)
            In the order of `quantiles`.
        """
        levels = checked_levels(quantiles)
        if method == "leaves":
            return self._leaf_quantiles(X, X_fit, levels)
        if method != "residuals":
            raise ValueError(
                f"method must be one of 'residuals', 'leaves'. Got {method!r} instead."
            )
        scale, shifts = quantile_shifts(self._residuals(self.oob_.record), levels)
        if np.isinf(scale.offset):
            return np.asarray(self._ensemble_predictions(X) + shifts)
        combined, spread = self._mean_and_std(X)
        return np.asarray(combined + scale(spread[:, 0])[:, np.newaxis] * shifts)

    def _leaf_quantiles(self, X: Any, X_fit: Any, levels: Floats) -> Floats:
        trees = self._forest_with_rows()
        if trees is None:
            raise ValueError(
                "method='leaves' requires a forest, or bagging of the default trees; got "
                f"{type(self).__name__} with other base estimators. Use method='residuals'."
            )
        if X_fit is None:
            raise ValueError(
                "method='leaves' requires X_fit, the X of the fit with its rows in the same order; "
                "got None."
            )
        return leaf_quantiles(trees, X, X_fit, levels)

    def _forest_with_rows(self) -> Any:
        """The forest whose leaves hold the training rows; None if there is none."""
        return None


class BaggedClassifier(Bagged):
    """A bagging ensemble of classifiers."""

    classes_: NDArray[Any]

    @available_where(_has_ledger)
    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Prediction set of each row: the classes it may have, with the given coverage.

        A class is in the set if its probability reaches a threshold that is calibrated on the
        out-of-bag probabilities of the true classes (fit with oob_score=True); the most probable
        class always is.

        Parameters
        ----------
        X : table
            As for `predict_proba`.
        coverage : float, default=0.9
            Fraction of rows whose true class the sets should contain.

        Returns
        -------
        array of bool, shape (rows, classes)
            Which of `classes_` are in the set.
        """
        threshold = set_threshold(self.oob_.record, checked_coverage(coverage))
        probabilities = self._ensemble_predictions(X)
        # The threshold is the probability of some row, which rounding must not exclude.
        chosen = probabilities >= threshold - 1e-12
        chosen[np.arange(len(chosen)), np.argmax(probabilities, axis=1)] = True
        return chosen


def _as_labels(predictions: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Predicted numbers, or the labels of the most probable classes."""
    if classes is None:
        return predictions[..., 0]
    return np.asarray(classes[np.argmax(predictions, axis=-1)])


def checked_levels(quantiles: Any) -> Floats:
    """Quantile levels as an array."""
    levels = np.asarray(quantiles, dtype=np.float64)
    if levels.ndim != 1 or not levels.size or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"quantiles must be a list of floats in the range (0, 1), such as [0.1, 0.5, 0.9]. Got "
            f"{quantiles!r} instead."
        )
    return levels
