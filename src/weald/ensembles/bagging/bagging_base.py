"""Base class of bagging classifiers and regressors."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from weald.advice import warn
from weald.data import extreme_exponent
from weald.ensembles.bagging.bag_fitting import BagDraws, BagTask, fit_bag, predict_bag
from weald.ensembles.bagging.bag_inspection import BagInspection
from weald.ensembles.bagging.bag_record import fitted_until_enough, oob_record
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.base import CheckedEstimator, keep_columns
from weald.ensembles.members.members import Outcome
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import (
    refuse_unrouted,
    routed_prediction,
    router,
    routing_is_enabled,
)
from weald.ensembles.members.samples import Sample, as_table, table_to_predict
from weald.ensembles.out_of_bag.tally import Tally
from weald.ensembles.out_of_bag.unscored import warn_of_unscored
from weald.parameters import (
    MOST_DRAWS,
    AnyOf,
    Jobs,
    Limit,
    NoneOr,
    NumbersOr,
    ObjectWith,
    OneOf,
    Seed,
    Share,
    Verbosity,
    Ways,
    Whole,
)
from weald.resampling import seed_of
from weald.threads import thread_count

Floats = NDArray[np.float64]

BAGGING_LIMITS: Mapping[str, Limit] = {
    "estimator": NoneOr(ObjectWith(("fit", "predict", "get_params"))),
    "n_estimators": AnyOf((Whole(1, 1_000_000), OneOf(("auto",)))),
    "max_samples": NoneOr(AnyOf((Whole(1, MOST_DRAWS), Share(0.0, 1.0, open_below=True)))),
    "max_features": AnyOf((Whole(1), Share(0.0, 1.0, open_below=True))),
    "bootstrap": OneOf((True, False)),
    "bootstrap_features": OneOf((True, False)),
    "oob_score": OneOf((True, False)),
    "warm_start": OneOf((True, False)),
    "n_jobs": Jobs(),
    "random_state": Seed(),
    "verbose": Verbosity(),
    "weights": NoneOr(NumbersOr(("oob",))),
    "diversifiers": NoneOr(Ways()),
}


class Bagging(BagInspection, MetaEstimatorMixin, CheckedEstimator):
    """Base class of bagging: base estimators fitted on random samples of rows and columns.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Base estimator: any scikit-learn compatible estimator. Clones of it are fitted, each with
        its own random state. None: a fully grown weald decision tree.
    n_estimators : int or "auto", default=10
        Number of base estimators. "auto": fit batches of 50 until the out-of-bag error
        extrapolated to infinitely many is within a tenth of a standard error of the current one,
        at most 1000.
    max_samples : int, float or None, default=None
        Number of rows drawn for each base estimator: a count, or a fraction of the sum of all
        sample weights (of the number of rows, without weights). None: the number of rows with
        positive weight. With `groups`, a count or a fraction of the groups.
    max_features : int or float, default=1.0
        Number of columns drawn for each base estimator: a count, or a fraction (at least one).
    bootstrap : bool, default=True
        Whether rows are drawn with replacement, with probability proportional to their weight.
        Without replacement, rows are drawn with equal probability and keep their weights.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    oob_score : bool, default=False
        Whether to compute out-of-bag predictions: for `oob_score_`, `oob_`, and the prediction
        intervals, quantiles and sets.
    warm_start : bool, default=False
        Keep the base estimators of the previous fit and add new ones up to `n_estimators`.
    n_jobs : int or None, default=None
        Number of base estimators fitted in parallel, as in scikit-learn (None means 1). For weald's
        own estimators: number of threads, None means all usable cores.
    random_state : int, RandomState or None, default=None
        Seed of all random draws. Rows are drawn by their content, independent of their order.
    verbose : int or bool, default=0
        If positive, print a line for each base estimator.
    weights : None, "oob" or list of numbers, default=None
        Weights of the base estimators in the prediction. "oob": by their out-of-bag errors.
    diversifiers : list or None, default=None
        Further ways to diversify the base estimators, such as noise, several algorithms, random
        hyper-parameters or transformers: objects of `weald.ensembles.bagging.diversifiers`, applied
        in this order.

    Attributes
    ----------
    estimator_ : estimator
        The base estimator.
    estimators_ : list of estimators
        The fitted base estimators.
    estimators_samples_ : list of arrays
        Indices of the rows drawn for each base estimator, with repetitions, in the order in which
        it was fitted on them; computed on access.
    estimators_features_ : list of arrays
        Indices of the columns drawn for each base estimator.
    weights_ : array
        Weights of the base estimators.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if all of them are strings.
    oob_score_ : float
        Accuracy or R² of the out-of-bag predictions, with `oob_score`; weighted by row weights.
    """

    estimator: Any
    n_estimators: Any
    n_jobs: int | None
    diversifiers: Any
    _seed: int
    _engine: ClassVar[type]

    # ---- fitting ----

    def _is_forest(self, X: Any) -> bool:
        """Whether a forest can be fitted instead: fully grown trees on all columns."""
        share = self.max_features
        is_count = isinstance(share, (int, np.integer))
        all_columns = not is_count and share == 1.0 and not self.bootstrap_features
        all_rows = self.bootstrap or self.max_samples in (None, 1.0)
        is_plain = self.estimator is None and self.weights is None and self.diversifiers is None
        return is_plain and all_columns and all_rows

    def _fit_forest(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Fit a forest instead of single trees."""
        self._check_oob(has_draws=bool(self.bootstrap))
        forest_model = (
            copy.copy(self._forest_model) if self._goes_on("_forest_model") else self._engine()
        )
        forest_model.set_params(
            n_estimators=self.n_estimators,
            bootstrap=bool(self.bootstrap),
            max_samples=self.max_samples if self.bootstrap else None,
            oob_score=bool(self.oob_score),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=int(self.verbose),
            warm_start=bool(self.warm_start),
        )
        forest_model.fit(X, y, sample_weight, groups=groups)
        self._forget()
        self._forest_model, self.estimator_ = forest_model, self._default_estimator()
        keep_columns(forest_model, self)
        self._record, self.weights_ = forest_model._record, np.ones(forest_model.forest_.n_trees)

    def _goes_on(self, attribute: str) -> bool:
        return bool(self.warm_start) and hasattr(self, attribute)

    def _forget(self) -> None:
        """Delete the attributes of the previous fit."""
        for name in (
            *("_forest_model", "_estimators", "_columns_seen", "_draws", "_seed", "_record"),
            *("weights_", "oob_score_", "oob_decision_function_", "oob_prediction_"),
            *("feature_names_in_", "n_features_in_", "_columns", "_response_method"),
        ):
            self.__dict__.pop(name, None)

    def _check_oob(self, *, has_draws: bool) -> None:
        if not (self.oob_score or isinstance(self.weights, str) or self._is_auto()):
            return
        if not has_draws:
            self._refuse_all_row_diversifiers("Out-of-bag estimates require out-of-bag rows")
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True: otherwise every base "
                "estimator is fitted on all rows. Set bootstrap=True, or max_samples below the "
                "number of rows."
            )
        if self.warm_start:
            raise ValueError(
                "Out of bag estimate only available if warm_start=False: the base estimators of "
                "the previous fit do not predict again. Set warm_start=False, or oob_score=False."
            )

    def _fit_estimators(
        self, sample: Sample, response: ResponseMethod, classes: NDArray[Any] | None, params: Any
    ) -> None:
        """Fit base estimators of any kind, each on its own rows and columns."""
        rows = BagRows.of(sample, n_threads=thread_count(self.n_jobs))
        n_before = self._n_kept()
        if n_before and n_before == self.n_estimators:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
            return
        seed = self._seed if n_before else seed_of(self.random_state)
        draws = self._rows_drawn(rows, seed)
        if draws is not None and self._estimates_out_of_bag():
            rows.warn_of_counts(thread_count(self.n_jobs))
        self._check_oob(has_draws=draws is not None)
        n_classes = 0 if classes is None else len(classes)
        passed = self._routed(params, sample)
        # Rows keep their weights unless they are drawn by them.
        weight = None if draws is not None and draws.draws_by_weight else rows.weight
        drawn = BagDraws(rows.ordered.index, draws, weight)

        def fitted(numbers: range) -> tuple[list[BagTask], list[Outcome]]:
            keys = rows.ordered.keys
            made = [self._task(number, drawn, keys, seed, n_classes) for number in numbers]
            return made, fit_bag(self, made, sample, response, passed)

        if self._is_auto():
            tasks, outcomes = fitted_until_enough(fitted, rows, classes)
        else:
            tasks, outcomes = fitted(range(n_before, int(self.n_estimators)))
        estimators = [outcome.fitted for outcome in outcomes]
        columns = [task.columns for task in tasks]
        if n_before:
            estimators, columns = self._estimators + estimators, self._columns_seen + columns
            ledger = [*self._draws, (n_before, draws)]
        else:
            ledger = [(0, draws)]
            n_features = getattr(self, "n_features_in_", None)
            names = getattr(self, "feature_names_in_", None)
            self._forget()
            if n_features is not None:
                self.n_features_in_ = n_features
            if names is not None:
                self.feature_names_in_ = names
        self.estimator_ = self._base_estimator()
        self._estimators, self._columns_seen = estimators, columns
        self._draws, self._seed, self._response_method = ledger, seed, response
        self._record = None
        self._weigh(tasks, outcomes, rows, classes)
        if self.oob_score:
            self._record = oob_record(tasks, outcomes, rows, classes, self.weights_)

    def _n_kept(self) -> int:
        if not self._goes_on("_estimators"):
            return 0
        n_before = len(self._estimators)
        if self._is_auto():
            raise ValueError(
                "n_estimators='auto' cannot be combined with warm_start=True, which adds base "
                f"estimators to the {n_before} of the previous fit. Set n_estimators to an int, or "
                "warm_start=False."
            )
        if self.n_estimators < n_before:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_before} when warm_start==True: base estimators can only be "
                "added."
            )
        return n_before

    def _routed(self, params: Mapping[str, Any], sample: Sample) -> Mapping[str, Any]:
        """Further arguments of fit, routed to the base estimators; needs metadata routing."""
        if not params:
            return {}
        if not routing_is_enabled():
            refuse_unrouted(self, params)
        from sklearn.utils.metadata_routing import process_routing

        cut = {name: sample.cut(value) for name, value in params.items()}
        routed: Mapping[str, Any] = process_routing(self, "fit", **cut)["estimator"]["fit"]
        return routed

    def _warn_of_unscored(self) -> None:
        # A forest has warned already.
        if hasattr(self, "_estimators"):
            record, samples = self.oob_.record, self._draws[-1][1]
            assert samples is not None
            warn_of_unscored(record.n_out, samples, record.weight)

    def _oob_error(self) -> float:
        """Out-of-bag error by the default loss; NaN if there are no out-of-bag predictions."""
        ledger = self.oob_
        return float("nan") if np.isnan(ledger.record.predictions[:, 0]).all() else ledger.error()

    # ---- weights of base estimators ----

    def _weigh(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> None:
        if self.weights is None:
            self.weights_ = np.ones(len(self._estimators))
            return
        if isinstance(self.weights, str):
            self.weights_ = self._oob_weights(tasks, outcomes, rows, classes)
            return
        weights = np.asarray(self.weights, dtype=np.float64)
        if len(weights) != len(self._estimators):
            raise ValueError(
                f"weights must hold one number for each of the {len(self._estimators)} base "
                f"estimators; got {len(weights)}."
            )
        self.weights_ = weights

    def _oob_weights(
        self, tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, classes: Any
    ) -> Floats:
        raise NotImplementedError

    # ---- prediction ----

    def _predictions(self, X: Any, response: ResponseMethod | None = None) -> Iterator[Floats]:
        """Predictions of the base estimators in turn, each of shape (rows, width)."""
        check_is_fitted(self)
        X = as_table(X)
        if getattr(X, "ndim", 2) != 2 and hasattr(self, "n_features_in_"):
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: a table of "
                f"{self.n_features_in_} columns. Reshape your data, one row to "
                "X.reshape(1, -1)."
            )
        X = table_to_predict(self, X)
        response = response or self._response_method
        return predict_bag(self, self._estimators, self._columns_seen, response, X)

    def _estimator_predictions(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        if hasattr(self, "_forest_model"):
            yield from self._forest_model._estimator_predictions(X)
        else:
            yield np.stack(
                [self._as_probabilities(predicted) for predicted in self._predictions(X)]
            )

    def _response_to(self, caller: str, params: Mapping[str, Any]) -> ResponseMethod | None:
        """The response method with metadata routed to it; None: there is none, the usual one."""
        if not params:
            return None
        check_is_fitted(self)
        response: ResponseMethod = getattr(self, "_response_method", ResponseMethod("predict"))
        routed = routed_prediction(self, caller, params, response.method)
        return replace(response, params=routed)

    def _ensemble_predictions(self, X: Any, response: ResponseMethod | None = None) -> Floats:
        check_is_fitted(self)
        if hasattr(self, "_forest_model"):
            return np.asarray(self._forest_model._ensemble_predictions(X))
        total: Floats | None = None
        weights = self.weights_
        for weight, predicted in zip(weights, self._predictions(X, response), strict=True):
            part = weight * self._as_probabilities(predicted)
            total = part if total is None else total + part
        assert total is not None
        return total / float(weights.sum())

    def _mean_and_std(
        self, X: Any, response: ResponseMethod | None = None
    ) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        if hasattr(self, "_forest_model"):
            return self._forest_model._mean_and_std(X)  # type: ignore[no-any-return]
        if len(self._estimators) < 2:
            raise ValueError(
                "return_std=True requires at least two base estimators: a single one has no "
                f"standard deviation. Got n_estimators={self.n_estimators}."
            )
        tally: Tally | None = None
        for weight, predicted in zip(self.weights_, self._predictions(X, response), strict=True):
            values = self._as_probabilities(predicted)
            if tally is None:
                tally, exponent = Tally(*values.shape), extreme_exponent(values)
            tally.add(slice(None), np.ldexp(values, -exponent), float(weight))
        assert tally is not None
        return np.ldexp(tally.means, exponent), np.ldexp(tally.spreads, exponent)

    def _as_probabilities(self, predicted: Floats) -> Floats:
        """Votes as one-hot class probabilities; other predictions unchanged."""
        return predicted

    def get_metadata_routing(self) -> Any:
        """Metadata routing of this object; see scikit-learn's user guide on metadata routing."""
        base = self._base_estimator()
        has_proba = is_classifier(self) and hasattr(base, "predict_proba")
        by = "predict_proba" if has_proba else "predict"
        callers = {"predict": by, "predict_proba": by, "predict_log_proba": by}
        callers["decision_function"] = "decision_function"
        return router(self, [("estimator", base)], callers=callers)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base_estimator()).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        tags.input_tags.categorical = inner.categorical
        return tags
