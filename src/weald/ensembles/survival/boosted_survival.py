"""Boosted trees for survival times: `BoostedTreesSurvival`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import Rows, read_once, rows_of_weight
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.boosted_trees.auto_settings import BoosterSettings, is_auto
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.predictor import Predictor
from weald.ensembles.rounds.callbacks import callback_inputs
from weald.ensembles.rounds.loop import Training
from weald.ensembles.staging import of_rows
from weald.ensembles.survival.predicted_curves import PredictsSurvival
from weald.ensembles.survival.survival_rows import (
    by_event,
    from_signed,
    in_places,
    signed_of_places,
    survival_rows,
    survival_validation,
)
from weald.losses.survival import AftLoss, CoxLoss, exp, median_error
from weald.parameters import Limit, NoneOr, OneOf, Real
from weald.survival.scores import harrell

# With fewer rows (or groups), the scale of the errors is estimated without columns at first.
_PILOT_ROWS = 20

# e to this power is finite.
_LARGEST_LOG = 709.0

# The number of rows in a leaf that "auto" means, at most a tenth of all.
_LEAF_ROWS = 20


class BoostedTreesSurvival(PredictsSurvival, BoostedTrees):
    """Gradient boosting for right-censored survival times, with second-order trees.

    loss="cox" models the hazard: rows differ by a factor that is constant over time (proportional
    hazards). loss="aft" models the time: rows differ by a factor of their time (accelerated
    failure time). Settings are chosen as in `BoostedTreesRegressor`: with the defaults, five
    boosters whose left-out folds decide the number of rounds. Missing values and categories are
    supported natively.

    Parameters
    ----------
    loss : {"cox", "aft"}, default="cox"
        "cox": the partial likelihood of Cox. "aft": the likelihood of ``log(time) = score + scale *
        error``.
    ties : {"breslow", "efron"}, default="breslow"
        For loss="cox": how events at the same time are treated. "breslow": all are at risk at each
        of them; a row of weight 2 is the row repeated. "efron": they leave in turn, in any order;
        closer to the exact likelihood if many events share a time.
    distribution : {"normal", "logistic", "extreme"} or None, default=None
        Distribution of the errors of loss="aft": normal (times are log-normal), logistic
        (log-logistic) or extreme (Weibull). None: normal.
    scale : float or None, default=None
        Scale of the errors of loss="aft". None: estimated given predictions for left-out rows,
        those of a quick model for training, and those of the model itself for survival functions.
    min_samples_leaf : int or "auto", default="auto"
        Minimum number of rows in a leaf, regardless of their weights. "auto": 20, at most a tenth
        of the rows.

    Attributes
    ----------
    unique_times_ : array
        Distinct times of the events of the training rows, increasing.
    baseline_hazard_ : array
        For loss="cox": estimate of the cumulative hazard of a row of score 0 at `unique_times_`, as
        `ties` says; from predictions for left-out rows, if there are several boosters.
    scale_ : float
        For loss="aft": the scale of the errors in survival functions.
    oob_prediction_ : array, shape (rows,)
        With several boosters (`n_bags`): score of each row by those that left it out.
    oob_score_ : float
        The concordance index of these predictions; NaN if no pair of rows can be compared.

    See Also
    --------
    RandomSurvivalForest : A forest of trees with log-rank splits; it assumes nothing of hazards.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesSurvival
    >>> from weald.survival import target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=400)
    >>> y = target(event=time <= end, time=np.minimum(time, end))
    >>> model = BoostedTreesSurvival().fit(X[:300], y[:300])
    >>> round(model.score(X[300:], y[300:]), 2)
    0.71
    >>> model.predict_survival_function(X[300:302], return_array=True, times=[0.5, 1]).round(2)
    array([[0.77, 0.62],
           [0.81, 0.68]])
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **{name: one for name, one in BoostedTrees._limits.items() if name != "target_statistics"},
        "loss": OneOf(("cox", "aft")),
        "ties": OneOf(("breslow", "efron")),
        "distribution": NoneOr(OneOf(("normal", "logistic", "extreme"))),
        "scale": NoneOr(Real(0.0, open_below=True)),
    }

    _fitted_loss: CoxLoss | AftLoss
    _times: Floats | None  # of the training rows, while the model is fitted

    def __init__(
        self,
        *,
        loss: str = "cox",
        ties: str = "breslow",
        distribution: str | None = None,
        scale: float | None = None,
        quality: str = "default",
        n_estimators: int | str = "auto",
        n_bags: int | str | None = "auto",
        learning_rate: float | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = "auto",
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float | str = "auto",
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        scoring: Any = "loss",
        metrics: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
        checkpoint: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            quality=quality,
            n_estimators=n_estimators,
            n_bags=n_bags,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            l1_regularization=l1_regularization,
            min_gain=min_gain,
            prune=prune,
            max_features=max_features,
            feature_sampling=feature_sampling,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            # A mean of censored times says little of a category.
            target_statistics=False,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            metrics=metrics,
            warm_start=warm_start,
            verbose=verbose,
            time_limit=time_limit,
            checkpoint=checkpoint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.ties = ties
        self.distribution = distribution
        self.scale = scale

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        X_val: object = None,
        y_val: object = None,
        sample_weight_val: object = None,
        *,
        groups: object = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
        y : structured array or data frame
            Whether the event of each row was seen, and the time of the event or of censoring: a
            structured array with a boolean and a number field, as made by `weald.survival.target`
            or scikit-survival's ``Surv``, or a data frame with the columns "event" and "time".
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights. They do not affect `min_samples_leaf`, which counts rows.
        X_val, y_val : table and target, dicts of them, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
            Several sets are given by name.
        sample_weight_val : array, dict or None, default=None
            Sample weights of the validation set, or of some of several.
        groups : array, shape (rows,), or None, default=None
            Group labels, such as patients or clinics: whole groups are sampled or held out
            together. Requires `subsample`, `n_bags` or early stopping without `X_val`.

        Returns
        -------
        self
        """
        with self._fitting():
            self._check_loss()
            _, sample_weight = read_once(None, sample_weight)
            rows, signed = survival_rows(self, X, y, sample_weight)
            validation = survival_validation(self, X_val, y_val, sample_weight_val)
            loss, times = self._loss_for(rows), np.abs(rows.target)
            self.unique_times_ = np.unique(from_signed(rows.target).time[rows.target > 0.0])
            if isinstance(loss, CoxLoss):
                rows, validation, times = in_places(rows, validation)
            self._times = times
            kept = rows_of_weight(signed, sample_weight)
            rows = self._with_groups_and_offset(rows, groups, None, kept, loss)
            if isinstance(loss, AftLoss) and self.scale is None:
                loss = self._with_residual_scale(loss, rows)
            inputs = callback_inputs(X, y, sample_weight, None)
            self._boost(rows, loss, validation, inputs, kept=kept)
            del self._times
        return self

    def _check_loss(self) -> None:
        if self.loss == "cox":
            for name in ("distribution", "scale"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} is only used with loss='aft'; got "
                        f"loss='cox'. Leave {name} at None or choose that loss."
                    )
        elif self.ties != "breslow":
            raise ValueError(
                f"ties={self.ties!r} is only used with loss='cox'; got loss={self.loss!r}, whose "
                "likelihood has no ties. Leave ties at 'breslow' or choose that loss."
            )

    def _loss_for(self, rows: Rows) -> CoxLoss | AftLoss:
        n_threads = self._n_threads
        if self.loss == "cox":
            return CoxLoss(n_threads, ties=self.ties)
        is_zero = np.abs(rows.target) < np.finfo(np.float64).tiny
        if is_zero.any():
            raise ValueError(
                "loss='aft' models the logarithm of the time, so that times must be positive; "
                f"{int(is_zero.sum())} of {rows.n} rows have a time of 0. Use loss='cox', or drop "
                "these rows."
            )
        loss = AftLoss(n_threads, self.distribution or "normal")
        if self.scale is not None:
            return replace(loss, scale=float(self.scale))
        return loss.with_best_scale(rows.target, None, rows.weight, rows.copies)

    def _with_residual_scale(self, loss: AftLoss, rows: Rows) -> AftLoss:
        """Estimate the scale given the predictions of a quick model for rows that it left out.

        The scale without columns is that of all times: far too large if the columns say much.
        """
        if (rows.n if rows.groups is None else rows.groups.n) < _PILOT_ROWS:
            return loss
        pilot = BoostedTreesSurvival(
            loss="aft",
            distribution=loss.distribution,
            n_estimators=100,
            n_bags=2,
            early_stopping=True,
            random_state=0,
            n_jobs=self.n_jobs,
        )
        keep_columns(self, pilot)
        pilot._boost(rows, loss, None, {"X": None}, kept=np.ones(rows.n, dtype=bool))
        assert isinstance(pilot._fitted_loss, AftLoss)
        return pilot._fitted_loss

    def _settings(self, rows: Rows, *args: Any) -> BoosterSettings:
        """Leaves of more rows than in regression: what counts is the number of events in a leaf."""
        settings = super()._settings(rows, *args)
        if not is_auto(self.min_samples_leaf):
            return settings
        return replace(settings, min_samples_leaf=min(_LEAF_ROWS, max(1, rows.n // 10)))

    def _strata(self, target: Floats) -> NDArray[np.int64]:
        return by_event(target)

    def _as_given(self, target: Floats, *, is_given: bool) -> NDArray[Any]:
        """The target of validation rows as scorers receive it."""
        assert self._times is not None
        if not is_given and self.loss == "cox":
            target = signed_of_places(target, self._times)
        return from_signed(target).structured()

    def _recorded(self, training: Training, kept: NDArray[np.bool_]) -> None:
        """Estimate the baseline hazard or the scale of the errors, given the predictions.

        By predictions for rows that the boosters left out, if there are several; a booster's own
        training rows would seem to have hardly any errors.
        """
        n = (
            training.rows.n
            if training.validation is None
            else training.rows.n - training.validation.n
        )
        rows = training.rows.take(np.arange(n))
        scores = self._left_out_scores(rows.table) if self._folds else self._scores_of(rows.table)
        loss, weight, own = self._fitted_loss, rows.weight, np.ascontiguousarray(scores[np.newaxis])
        if isinstance(loss, CoxLoss):
            hazard = loss.baseline_hazard(rows.target, own, weight, rows.copies)
            events = np.unique(rows.target[rows.target > 0.0]).astype(np.intp)
            self.baseline_hazard_ = hazard[events - 1]
        elif self.scale is None:
            self._fitted_loss = loss.with_best_scale(rows.target, own, weight, rows.copies)
        if isinstance(self._fitted_loss, AftLoss):
            self.scale_ = self._fitted_loss.scale
        for name in ("oob_prediction_", "oob_score_"):
            self.__dict__.pop(name, None)
        if self._folds is not None:
            self.oob_prediction_ = np.append(scores, np.nan)[self._folds.place]
            known = from_signed(rows.target)
            self.oob_score_ = harrell(known, self._sign * scores, rows.total_weight)

    def _scores_of(self, table: Any) -> Floats:
        predict = partial(self.forest_.predict, n_threads=self._n_threads)
        return np.ascontiguousarray(of_rows(table, predict)[:, 0])

    def _left_out_scores(self, table: Any) -> Floats:
        """Mean score of each row by the boosters that left it out, in the order of content."""
        assert self._folds is not None
        total, count = np.zeros(self._folds.n), np.zeros(self._folds.n)
        for k, booster in enumerate(self._boosters_of(self._unrefitted)):
            left_out = np.flatnonzero(self._folds.left_out(k))
            for first in range(0, len(left_out), 2**16):
                some = left_out[first : first + 2**16]
                predict = partial(booster.predict, n_threads=self._n_threads)
                total[some] += of_rows(table[some], predict)[:, 0]
            count[left_out] += 1.0
        return total / count

    def _in_bag(self) -> InBag:
        raise AttributeError(
            "BoostedTreesSurvival has no out-of-bag ledger, whose errors are of numbers and "
            "classes. With several boosters (n_bags), oob_prediction_ has the score of each row by "
            "those that left it out, and oob_score_ their concordance index."
        )

    def _keep(self, *args: Any) -> None:
        super()._keep(*args)
        self.auto_settings_.pop("target_statistics", None)  # no parameter of this class

    def _keep_rounds(self, n_rounds: int) -> None:
        super()._keep_rounds(n_rounds)
        for name in ("baseline_hazard_", "scale_", "oob_prediction_", "oob_score_"):
            self.__dict__.pop(name, None)

    @property
    def _sign(self) -> float:
        """1 if a higher score means an earlier event, else -1."""
        return 1.0 if isinstance(self._fitted_loss, CoxLoss) else -1.0

    def predict(self, X: Any, *, n_rounds: int | None = None) -> Floats:
        """Predict the log hazard ratio (loss="cox") or the median time (loss="aft").

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.

        Returns
        -------
        array, shape (rows,)
            For "cox", the logarithm of the factor by which the hazard of a row is that of the
            baseline: higher means an earlier event. For "aft", times, in the unit of `y`.
        """
        return self._answer(self._raw_scores(X, None, n_rounds)[:, 0])

    def _answer(self, scores: Floats) -> Floats:
        loss = self._fitted_loss
        if isinstance(loss, CoxLoss):
            return scores
        return exp(np.minimum(scores + loss.scale * median_error(loss), _LARGEST_LOG))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict after each round; the last stage equals `predict`.

        Parameters
        ----------
        X
            As in `predict`.

        Yields
        ------
        array, shape (rows,)
        """
        for scores in self._staged_scores(X):
            yield self._answer(scores[:, 0])

    @property
    def _link(self) -> str:
        """Scores are log hazard ratios, or logarithms of times."""
        return "" if self.loss == "cox" else "poisson"

    def _array_predictor(self) -> Predictor:
        loss = self._fitted_loss
        if isinstance(loss, AftLoss) and median_error(loss) != 0.0:
            raise TypeError(
                "predictor() supports distributions whose errors have the median 0; this model was "
                f"fitted with distribution={self.distribution!r}. Use the model's own methods."
            )
        return super()._array_predictor()

    def _risk(self, X: object) -> Floats:
        return self._sign * self._raw_scores(X)[:, 0]

    def _survival(self, X: object, times: Floats) -> Floats:
        loss = self._fitted_loss
        if isinstance(loss, AftLoss):
            return exp(loss.log_survival(self._errors(X, times)))
        return exp(-self._cumulative_hazard(X, times))

    def _cumulative_hazard(self, X: object, times: Floats) -> Floats:
        loss = self._fitted_loss
        if isinstance(loss, AftLoss):
            return -loss.log_survival(self._errors(X, times))
        self._check_curves("baseline_hazard_")
        steps = np.searchsorted(self.unique_times_, times, side="right")
        baseline = np.append(0.0, self.baseline_hazard_)[steps]
        return np.asarray(exp(self._raw_scores(X)) * baseline)

    def _errors(self, X: object, times: Floats) -> Floats:
        """Errors of rows that have the event at each time."""
        self._check_curves("scale_")
        log_times = _native.log(np.maximum(times, np.finfo(np.float64).tiny))
        return np.asarray((log_times - self._raw_scores(X)) / self.scale_)

    def _check_curves(self, name: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, name):
            raise ValueError(
                f"A model of fewer rounds (truncate) has no {name}, which was estimated for all "
                "rounds; it predicts scores only. For curves, fit a model with n_estimators="
                f"{self.n_estimators_} and early_stopping=False."
            )

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        learnt = super()._fingerprint_arrays()
        scale = np.array([getattr(self, "scale_", 0.0)])
        hazard = getattr(self, "baseline_hazard_", np.zeros(0))
        return {**learnt, "times": self.unique_times_, "hazard": hazard, "scale": scale}
