"""What survival models predict: curves over time, as arrays and as functions; their score."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from weald.data import refuse_beyond_memory
from weald.ensembles.base import Floats
from weald.survival import StepFunction, concordance_index


class PredictsSurvival:
    """Mixin of survival models.

    Attributes
    ----------
    unique_times_ : array
        Distinct times of the events of the training rows, increasing.
    """

    unique_times_: Floats

    def _survival(self, X: object, times: Floats) -> Floats:
        """Survival functions at some times, shape (rows, times)."""
        raise NotImplementedError

    def _cumulative_hazard(self, X: object, times: Floats) -> Floats:
        """Cumulative hazard functions at some times, shape (rows, times)."""
        raise NotImplementedError

    def _risk(self, X: object) -> Floats:
        """Risk score of each row: higher means an earlier event."""
        raise NotImplementedError

    def predict_survival_function(
        self, X: Any, return_array: bool = False, *, times: ArrayLike | None = None
    ) -> Any:
        """Predict the survival function: the chance to have no event until a time.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        return_array : bool, default=False
            Whether to return an array instead of functions.
        times : array or None, default=None
            Times at which to evaluate the functions; None: `unique_times_`.

        Returns
        -------
        array of StepFunction, shape (rows,), or array, shape (rows, times)
            One function of time per row, with steps at `times`; with `return_array` its values at
            these times.
        """
        return self._curves(self._survival, X, return_array, times, 1.0)

    def predict_cumulative_hazard_function(
        self, X: Any, return_array: bool = False, *, times: ArrayLike | None = None
    ) -> Any:
        """Predict the cumulative hazard function: the integral of the hazard up to a time.

        Parameters
        ----------
        X, return_array, times
            As in `predict_survival_function`.

        Returns
        -------
        array of StepFunction, shape (rows,), or array, shape (rows, times)
            As by `predict_survival_function`.
        """
        return self._curves(self._cumulative_hazard, X, return_array, times, 0.0)

    def _curves(
        self,
        values_at: Callable[[object, Floats], Floats],
        X: Any,
        return_array: bool,
        times: ArrayLike | None,
        start: float,
    ) -> Any:
        check_is_fitted(self)
        at = self.unique_times_ if times is None else _checked_times(times)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        refuse_beyond_memory(
            8 * n_rows * len(at),
            f"Curves of {n_rows:,} rows at {len(at):,} times",
            "Pass fewer rows at a time, or fewer times.",
        )
        values = values_at(X, at)
        if return_array:
            return values
        functions = np.empty(len(values), dtype=object)
        for row, own in enumerate(values):
            functions[row] = StepFunction(at, own, start)
        return functions

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Harrell's concordance index: the share of comparable pairs that are ranked correctly.

        Parameters
        ----------
        X : table
            As for `predict`.
        y : structured array or data frame
            Events and times, as in `fit`.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights.
        """
        return concordance_index(y, self._risk(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags


def _checked_times(times: ArrayLike) -> Floats:
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or not (np.diff(at) > 0).all() or not (at >= 0).all():
        raise ValueError(
            f"times must be an array of increasing, not negative times; got {times!r}."
        )
    return at
