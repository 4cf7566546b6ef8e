"""Fitted bagging ensembles: base estimators, their rows and columns, pruning and fingerprint."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.bagging.bag_fitting import estimator_name
from weald.ensembles.bagging.bag_plan import EstimatorPlan
from weald.ensembles.bagging.bag_rows import samples_of
from weald.ensembles.members.members import model_fingerprints
from weald.ensembles.out_of_bag.bagged import Bagged
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.oob_pruning import PrunedForest
from weald.persist import fingerprint
from weald.resampling import RowSamples

Floats = NDArray[np.float64]


class BagInspection(EstimatorPlan, Bagged):
    """A bagging ensemble as a list of its base estimators."""

    estimator_: Any
    weights_: Floats
    _forest_model: Any  # replaces `_estimators` if the default trees are bagged
    _estimators: list[Any]
    _columns_seen: list[NDArray[np.intp] | None]
    _draws: list[tuple[int, RowSamples | None]]  # (index of the first estimator, its samples)
    _n_rows_seen: int

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest_model") or hasattr(self, "_estimators")

    def _readers(self) -> Sequence[Any]:
        return (self._forest_model,) if hasattr(self, "_forest_model") else self._estimators

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, number: int) -> Any:
        return self.estimators_[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def prune_oob(self, X: Any, y: Any) -> PrunedForest:
        """Prune each of the default trees where that lowers its error on out-of-bag rows.

        As `RandomForestRegressor.prune_oob`. Other base estimators cannot be pruned.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in the same order.

        Returns
        -------
        PrunedForest
            The pruned `model`, and errors and sizes before and after pruning.
        """
        check_is_fitted(self)
        if not hasattr(self, "_forest_model"):
            raise ValueError(
                "prune_oob requires the default trees on all columns: estimator=None, "
                "max_features=1.0, and no weights or diversifiers. The base estimator is "
                f"{type(self.estimator_).__name__}."
            )
        found: PrunedForest = self._forest_model.prune_oob(X, y)
        pruned = copy.copy(self)
        pruned._forest_model, pruned._record = found.model, None
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
            pruned.__dict__.pop(name, None)
        return replace(found, model=pruned)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted base estimators."""
        self._check_fitted_for("estimators_")
        views: list[Any] = (
            self._forest_model.estimators_ if hasattr(self, "_forest_model") else self._estimators
        )
        return views

    @property
    def estimators_features_(self) -> list[NDArray[np.intp]]:
        """Indices of the columns drawn for each base estimator."""
        self._check_fitted_for("estimators_features_")
        every = np.arange(getattr(self, "n_features_in_", 0))
        if hasattr(self, "_forest_model"):
            return [every] * self._forest_model.forest_.n_trees
        return [every if columns is None else columns for columns in self._columns_seen]

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """Indices of the rows drawn for each base estimator, with repetitions."""
        self._check_fitted_for("estimators_samples_")
        n_estimators = len(self.estimators_features_)
        parts = self._forest_model._ledger if hasattr(self, "_forest_model") else self._draws
        rules = [[draws for first, draws in parts if first <= k][-1] for k in range(n_estimators)]
        return [
            np.arange(self._n_rows_seen) if draws is None else samples_of(draws, k)
            for k, draws in enumerate(rules)
        ]

    def _check_fitted_for(self, name: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if hasattr(self, "_forest_model"):
            return self._forest_model._in_bag()  # type: ignore[no-any-return]
        parts = [(first, draws) for first, draws in self._draws if draws is not None]
        if len(parts) < len(self._draws):
            self._refuse_all_row_diversifiers("There is no out-of-bag ledger", AttributeError)
            raise AttributeError(
                "There is no out-of-bag ledger: every base estimator is fitted on all rows. Fit "
                "with bootstrap=True, or with max_samples below the number of rows."
            )
        return InBag(tuple(parts), len(self._estimators))

    def fingerprint(self) -> str:
        """SHA-256 of the fitted model, if all base estimators are weald's own.

        Equal for any `n_jobs`, row order and machine. Other libraries do not guarantee this, so
        their estimators raise a TypeError.
        """
        check_is_fitted(self)
        return fingerprint(self._fingerprint_arrays())

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        if hasattr(self, "_forest_model"):
            return {"trees": np.array([self._forest_model.fingerprint()])}
        names = [estimator_name(k) for k in range(len(self._estimators))]
        arrays = model_fingerprints("member", dict(zip(names, self._estimators, strict=True)))
        for number, columns in enumerate(self._columns_seen):
            if columns is not None:
                arrays[f"columns {number}"] = columns.astype(np.int64)
        return {**arrays, "weights": self.weights_}
