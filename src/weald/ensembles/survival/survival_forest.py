"""Random survival forests: `RandomSurvivalForest`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import BinnedTable, Rows, bin_rows, levels_of, read_once, rows_of_weight
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.forests.forest_rows import place_of
from weald.ensembles.max_features import MAX_FEATURES, n_drawn
from weald.ensembles.staging import moves
from weald.ensembles.survival.predicted_curves import PredictsSurvival
from weald.ensembles.survival.survival_rows import from_signed, survival_rows
from weald.errors import ModelFormatError
from weald.parameters import (
    MOST_DRAWS,
    AnyOf,
    Columns,
    Jobs,
    Limit,
    NoneOr,
    OneOf,
    Seed,
    Share,
    Whole,
)
from weald.resampling import ordered_rows, seed_of
from weald.survival.scores import harrell
from weald.survival.targets import Target
from weald.trees import Forest

# Rows whose curves are computed at once, so that the leaves of all trees fit the memory.
_BLOCK_ROWS = 2**14

# Arrays of the steps of the leaves' curves.
_STEPS = ("first_step", "step_time", "step_hazard", "step_survival")


class RandomSurvivalForest(PredictsSurvival, TreeModel):
    """A random forest for right-censored survival times, of trees with log-rank splits.

    Each tree is grown on a bootstrap sample of the rows. A split is the one, among those on a
    random subset of the columns, whose sides differ most by the log-rank statistic. A leaf holds
    the Nelson-Aalen and Kaplan-Meier estimates of its rows; predictions are means over the trees.
    Nothing is assumed about hazards. Missing values and categories are supported natively.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int or None, default=None
        Maximum depth of each tree; None: no limit.
    min_samples_split : int, default=2
        Minimum number of rows (as drawn) to split a node.
    min_samples_leaf : int, default=12
        Minimum number of rows (as drawn) in a leaf. A curve needs more rows than a mean.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="sqrt"
        Number of columns considered at each split: a count, a fraction, the square root, binary
        logarithm or third of all columns, or all (None). More are drawn while none of them allows a
        split.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows; otherwise on all rows.
    max_samples : int, float or None, default=None
        Number of rows drawn for each tree, or their share of all rows; None: as many as there are.
    oob_score : bool, default=False
        Whether to compute out-of-bag predictions.
    max_bins : int or None, default=None
        Maximum number of histogram bins per numeric column, up to 65534; None means 255. Splits are
        between bins, that is between neighbouring values of columns of at most so many.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of string and unordered categorical dtype ("from_dtype"), those
        listed by name, position or boolean mask, or none (None). At a split, the levels are ordered
        by their observed over expected events, and parted in two sets.
    random_state : int, RandomState or None, default=None
        Seed of the random draws. None means 0: two fits are equal.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The model does not depend on it.

    Attributes
    ----------
    unique_times_ : array
        Distinct times of the events of the training rows, increasing.
    oob_prediction_ : array, shape (rows,)
        With oob_score=True: expected mortality of each row by the trees that did not draw it; NaN
        for rows that every tree drew.
    oob_score_ : float
        The concordance index of these predictions; NaN if no pair of rows can be compared.

    See Also
    --------
    BoostedTreesSurvival : Boosted trees, mostly more accurate if hazards are about proportional.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import RandomSurvivalForest
    >>> from weald.survival import target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=400)
    >>> y = target(event=time <= end, time=np.minimum(time, end))
    >>> forest = RandomSurvivalForest(oob_score=True).fit(X[:300], y[:300])
    >>> round(forest.score(X[300:], y[300:]), 2), round(forest.oob_score_, 2)
    (0.71, 0.69)
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1, 1_000_000),
        "max_depth": NoneOr(Whole(1)),
        "min_samples_split": Whole(2),
        "min_samples_leaf": Whole(1),
        "max_features": MAX_FEATURES,
        "bootstrap": OneOf((True, False)),
        "max_samples": NoneOr(AnyOf((Whole(1, MOST_DRAWS), Share(0.0, open_below=True)))),
        "oob_score": OneOf((True, False)),
        "max_bins": NoneOr(Whole(2, 65534)),
        "categorical_features": Columns(),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    _curves_: dict[str, NDArray[Any]]

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 12,
        max_features: float | str | None = "sqrt",
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool = False,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the forest.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
        y : structured array or data frame
            Whether the event of each row was seen, and the time of the event or of censoring: a
            structured array with a boolean and a number field, as made by `weald.survival.target`
            or scikit-survival's ``Surv``, or a data frame with the columns "event" and "time".
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights: factors of what a row adds to the sums of log-rank statistics and
            hazards. They affect neither row counts nor the draws of rows.

        Returns
        -------
        self
        """
        with self._fitting():
            self._check_sampling()
            _, sample_weight = read_once(None, sample_weight)
            rows, signed = survival_rows(self, X, y, sample_weight)
            seed = seed_of(0 if self.random_state is None else self.random_state)
            ordered = ordered_rows(rows, n_threads=self._n_threads)
            rows = rows.take(ordered.index)
            known = from_signed(rows.target)
            grown = self._grown(rows, known, seed)
            self._curves_ = {name: grown.pop(name) for name in _STEPS}
            self.unique_times_ = np.unique(known.time[known.event])
            n_trees = int(self.n_estimators)
            forest = Forest(
                **grown,
                output=np.full(n_trees, -1, dtype=np.int32),
                tree_weight=np.full(n_trees, 1.0 / n_trees),
                base_score=np.zeros(1),
                n_columns=self._plan.n_columns,
            )
            self.forest_ = forest.scaled(0, rows.weight_unit)
            for name in ("oob_prediction_", "oob_score_"):
                self.__dict__.pop(name, None)
            if self.oob_score:
                place = place_of(ordered, rows_of_weight(signed, sample_weight))
                self._predict_out_of_bag(rows, known, seed, place)
            advise_of_constant(self, rows)
        return self

    def _check_sampling(self) -> None:
        if self.bootstrap:
            return
        for name, wanted in (("oob_score", False), ("max_samples", None)):
            if getattr(self, name) != wanted:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs bootstrap=True: otherwise every tree is "
                    f"fitted on all rows. Set bootstrap=True, or {name}={wanted}."
                )

    def _n_draws(self, n_rows: int) -> int:
        """Number of rows drawn for each tree; 0: all rows, without drawing."""
        if not self.bootstrap:
            return 0
        wanted = self.max_samples
        if wanted is None:
            return n_rows
        if isinstance(wanted, (int, np.integer)):
            return int(wanted)
        return max(1, round(float(wanted) * n_rows))

    def _grown(self, rows: Rows, known: Target, seed: int) -> dict[str, Any]:
        binned = bin_rows(rows, max_bins=self.max_bins, n_threads=self._n_threads)
        n_columns = self._plan.n_columns
        return _native.grow_survival_forest(
            **_coded(binned, rows),
            time=np.unique(known.time, return_inverse=True)[1].astype(np.int32),
            is_event=known.event.astype(np.uint8),
            weight=rows.weight,
            n_draws=self._n_draws(rows.n),
            n_trees=int(self.n_estimators),
            max_features=n_drawn(self.max_features, n_columns),
            max_depth=0 if self.max_depth is None else min(int(self.max_depth), 2**31 - 1),
            min_samples_split=min(int(self.min_samples_split), 2**62),
            min_samples_leaf=min(int(self.min_samples_leaf), 2**61),
            seed=seed,
            n_threads=self._n_threads,
        )

    def _predict_out_of_bag(
        self, rows: Rows, known: Target, seed: int, place: NDArray[np.intp]
    ) -> None:
        """Predict rows, which are in the order of content, by the trees that did not draw them."""
        bootstrap = _native.Bootstrap(None, rows.n, self._n_draws(rows.n), seed, None)
        total, count = np.zeros(rows.n), np.zeros(rows.n)
        for tree, move in enumerate(moves(self.forest_, rows.table, self._n_threads)):
            is_out = bootstrap.draw(tree) == 0
            total += np.where(is_out, move[:, 0], 0.0)
            count += is_out
        seen = count > 0
        mortality = np.full(rows.n, np.nan)
        mortality[seen] = total[seen] * self.forest_.n_trees / count[seen]
        self.oob_prediction_ = np.append(mortality, np.nan)[place]
        weight = None if rows.weight is None else rows.weight[seen]
        scored = Target(known.event[seen], known.time[seen])
        self.oob_score_ = harrell(scored, mortality[seen], weight)

    def predict(self, X: Any) -> Floats:
        """Predict the expected mortality: the sum of the cumulative hazard over `unique_times_`.

        Higher means an earlier event.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.

        Returns
        -------
        array, shape (rows,)
            Risk scores.
        """
        return self._scores(X)[:, 0]

    def _risk(self, X: object) -> Floats:
        return self.predict(X)

    def _survival(self, X: object, times: Floats) -> Floats:
        # Sums of steps may be below zero by a rounding.
        return np.maximum(self._mean_curves(X, times, "step_survival", 1.0), 0.0)

    def _cumulative_hazard(self, X: object, times: Floats) -> Floats:
        return self._mean_curves(X, times, "step_hazard", 0.0)

    def _mean_curves(self, X: object, times: Floats, name: str, start: float) -> Floats:
        """Means of the curves of the leaves that rows fall into, at some times."""
        curves, n_threads = self._curves_, self._n_threads
        steps = np.searchsorted(self.unique_times_, times, side="right")
        leaves, out = self._leaves(X), np.empty((0, 0))
        out = np.empty((len(leaves), len(times)))
        for begin in range(0, len(leaves), _BLOCK_ROWS):
            block = leaves[begin : begin + _BLOCK_ROWS] + self.forest_.first_leaf[:-1]
            values = _native.mean_curves(
                curves["first_step"],
                curves["step_time"],
                curves[name],
                start,
                np.ascontiguousarray(block, dtype=np.int64),
                len(self.unique_times_),
                n_threads,
            )
            padded = np.column_stack([np.full(len(values), start), values])
            out[begin : begin + len(values)] = padded[:, steps]
        return out

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._fingerprint_arrays(),
            **self._curves_,
            "times": self.unique_times_,
        }

    def _check_restored(self) -> None:
        super()._check_restored()
        if not hasattr(self, "forest_"):
            return
        first = self._curves_["first_step"]
        if len(first) != len(self.forest_.value) + 1:
            raise ModelFormatError("the leaves of a survival forest must all have curves.")


def _coded(binned: Any, rows: Rows) -> dict[str, Any]:
    """The binned columns as the core takes them: codes of 16 bits, and the cuts between bins."""
    n_columns, levels = rows.table.shape[1], levels_of(rows.table)
    codes = np.empty((n_columns, rows.n), dtype=np.uint16)
    if isinstance(binned, BinnedTable):
        for column in range(n_columns):
            codes[column] = binned.wide.get(column, binned.codes_of(column))
    else:  # more than 255 bins
        for column in range(n_columns):
            values = np.asarray(binned.table[:, column], dtype=np.float64)
            if levels and levels[column]:
                codes[column] = np.where(np.isnan(values), 0, values + 1)
                continue
            cuts = binned.cuts[binned.first[column] : binned.first[column + 1]]
            places = np.searchsorted(cuts, values, side="left") + 1
            codes[column] = np.where(np.isnan(values), 0, places)
    first, cuts = binned.first, binned.cuts
    is_category = np.array([n > 0 for n in levels] or [False] * n_columns)
    n_codes = np.where(is_category, np.array(levels or [0] * n_columns), np.diff(first) + 1) + 1
    return {
        "codes": codes,
        "n_codes": n_codes.astype(np.int32),
        "is_category": is_category.astype(np.uint8),
        "cuts": cuts,
        "first_cut": first,
    }
