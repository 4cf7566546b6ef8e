"""Isolation forests (Liu, Ting and Zhou): anomalies are rows that random splits isolate early."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.advice import warn
from weald.calls import available_where
from weald.data import ColumnPlan, Rows, as_one_array, levels_of, mass_of, unlabelled_rows
from weald.ensembles.base import Floats, TreeModel, keep_columns
from weald.ensembles.forests.decision_tree import DecisionTreeRegressor
from weald.ensembles.max_features import n_drawn
from weald.ensembles.warm import check_warm_start
from weald.log import report
from weald.number_text import number_text
from weald.parameters import (
    MOST_DRAWS,
    AnyOf,
    Columns,
    Jobs,
    Limit,
    OneOf,
    Real,
    Seed,
    Share,
    Whole,
)
from weald.resampling import ordered_rows, seed_of
from weald.trees import IsolationRows, depth_limit, grow_isolation_trees

_LN2 = 0.6931471805599453

# Rows per tree with max_samples="auto".
_FEW = 256


def _refuse_importances(model: Any) -> NoReturn:
    raise AttributeError(
        "the splits of an isolation forest are random and have no gain. Take "
        "weald.explain.shap(model, X), which says what made rows anomalous, or "
        "importances('count')."
    )


class IsolationForest(OutlierMixin, TreeModel):
    """Isolation forest: detects anomalies without labels.

    Each tree divides a few rows at random: a random column, and a threshold drawn uniformly between
    its least and its largest value in the node, until every row is alone or the tree has depth
    ``ceil(log2(max_samples))``. Rows that lie apart are isolated by few splits. The score of a row
    compares its mean path length with that of a random tree (Liu, Ting and Zhou, 2008).

    A missing value goes where a random one of the other rows of its node goes, as if it were filled
    in by a value from there; if all other values are equal, missing ones are split off. Categories
    are divided into two random sets; those not seen in the fit are treated as missing. A date is
    split by its parts, such as the weekday.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : "auto", int or float, default="auto"
        Number of rows drawn for each tree: a count, a fraction of the rows, or at most 256
        ("auto").
    contamination : "auto" or float, default="auto"
        Expected share of anomalies in the training rows, up to 0.5: `offset_` is that quantile of
        their scores. "auto": `offset_` is -0.5, the score of a row of mean path length.
    max_features : int or float, default=1.0
        Number of columns drawn for each tree: a count, or a fraction.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement. A row drawn twice counts twice in a leaf.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random draws.
    verbose : int, default=0
        If positive, print the number of trees grown.
    warm_start : bool, default=False
        Keep the trees of the previous fit and add new ones up to `n_estimators`.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes ("from_dtype"), those
        listed by name, position or boolean mask, or none.

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``; negative values are anomalies.
    max_samples_ : int
        Number of rows drawn for each tree.
    forest_ : Forest
        The trees. The value of a leaf is the path length of its rows: its depth, plus the mean path
        length of a random tree of as many rows as are left in it.

    Examples
    --------
    >>> from weald import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100.0]]
    >>> model = IsolationForest(random_state=0).fit(X)
    >>> model.predict([[0.1], [0.0], [90.0]]).tolist()
    [1, 1, -1]
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1, 1_000_000),
        "max_samples": AnyOf(
            (OneOf(("auto",)), Whole(1, MOST_DRAWS), Share(0.0, 1.0, open_below=True))
        ),
        "contamination": AnyOf((OneOf(("auto",)), Real(0.0, 0.5, open_below=True))),
        "max_features": AnyOf((Whole(1), Share(0.0, 1.0, open_below=True))),
        "bootstrap": OneOf((True, False)),
        "n_jobs": Jobs(),
        "random_state": Seed(),
        "verbose": Whole(0),
        "warm_start": OneOf((True, False)),
        "categorical_features": Columns(),
    }
    _predicts_by_forest: ClassVar[bool] = False
    _weight_name: ClassVar[str] = "rows"

    offset_: float
    max_samples_: int
    _seed: int
    _grown_on: ColumnPlan  # columns of the trees that a warm start keeps

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: float | str = "auto",
        contamination: float | str = "auto",
        max_features: float = 1.0,
        bootstrap: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.categorical_features = categorical_features

    # ---- fitting ----

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : None
            Ignored; for compatibility.
        sample_weight : array, shape (rows,), or None, default=None
            Row weights: rows are drawn with probability proportional to their weight, with
            `bootstrap` or without. Weights do not enter path lengths and `contamination`; rows of
            weight zero are left out.
        """
        with self._fitting():
            rows = unlabelled_rows(self, X, sample_weight)
            n_before = self.forest_.n_trees if self._continues else 0
            self._grow(rows, n_before)
            self.offset_ = -0.5
            if not isinstance(self.contamination, str):
                scores = self._scores_of_table(as_one_array(rows.table))
                self.offset_ = float(np.percentile(scores, 100.0 * self.contamination))
        return self

    @property
    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "forest_")

    def _grow(self, rows: Rows, n_before: int) -> None:
        """Grow the missing trees."""
        n_draws = self._n_draws(rows.n)
        if n_before:
            self._check_warm_start(n_before, n_draws)
        seed = self._seed if n_before else seed_of(self.random_state)
        self.max_samples_, self._seed, self._grown_on = n_draws, seed, self._plan
        if n_before == self.n_estimators:
            return
        ordered = ordered_rows(rows, n_threads=self._n_threads)
        weight = rows.total_weight
        training = IsolationRows(
            table=as_one_array(rows.table),
            n_levels=levels_of(rows.table),
            index=ordered.index,
            mass=None if weight is None else mass_of(weight[ordered.index]),
            n_draws=n_draws,
            replace=bool(self.bootstrap),
        )
        forest = grow_isolation_trees(
            training,
            range(n_before, self.n_estimators),
            max_features=n_drawn(self.max_features, rows.table.shape[1]),
            seed=seed,
            n_threads=self._n_threads,
        )
        self.forest_ = self.forest_.joined(forest) if n_before else forest
        if self.verbose:
            report(f"{self.forest_.n_trees} trees, each of {n_draws} rows")

    def _n_draws(self, n_rows: int) -> int:
        wanted = self.max_samples
        if isinstance(wanted, str):
            return min(_FEW, n_rows)
        if not isinstance(wanted, (int, np.integer)):
            return max(1, int(wanted * n_rows))
        if wanted > n_rows:
            warn(
                f"max_samples ({wanted}) is greater than the number of rows of positive weight "
                f"({n_rows}). max_samples will be set to n_samples for estimation."
            )
        return min(int(wanted), n_rows)

    def _check_warm_start(self, n_before: int, n_draws: int) -> None:
        check_warm_start(
            n_estimators=self.n_estimators,
            rounds=n_before,
            is_alike=True,
            plans=(self._grown_on, self._plan),
        )
        if n_draws != self.max_samples_:
            raise ValueError(
                f"The trees kept by warm_start=True were grown on {self.max_samples_} rows each, "
                f"and max_samples={self.max_samples!r} gives {n_draws}. Path lengths of trees of "
                "different sizes cannot be averaged: set warm_start=False."
            )
        if n_before == self.n_estimators:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.")

    # ---- prediction ----

    def score_samples(self, X: object) -> Floats:
        """Score of each row, from -1 (an anomaly) to 0; rows of mean path length have -0.5.

        ``-2 ** (-mean path length / c)``, where c is the mean path length of a random tree of
        `max_samples_` rows.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        """
        check_is_fitted(self)
        return self._scores_of(self._scores(X))

    def _scores_of_table(self, table: NDArray[Any]) -> Floats:
        """Scores of rows in the numeric columns of the trees."""
        return self._scores_of(self.forest_.predict(table, n_threads=self._n_threads))

    def _scores_of(self, lengths: Floats) -> Floats:
        """Scores, given the sums of the path lengths over all trees, shape (rows, 1)."""
        mean = _native.mean_path_length(self.max_samples_)
        if mean == 0.0:  # trees of a single row
            return np.full(len(lengths), -0.5)
        return -_native.exp(-_LN2 * (lengths[:, 0] / (mean * self.forest_.n_trees)))

    def decision_function(self, X: object) -> Floats:
        """``score_samples(X) - offset_``: negative for anomalies.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: object) -> NDArray[np.intp]:
        """Whether each row is an anomaly (-1) or not (1).

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    # ---- inspection ----

    def __len__(self) -> int:
        check_is_fitted(self)
        return self.forest_.n_trees

    def __iter__(self) -> Iterator[DecisionTreeRegressor]:
        return iter(self.estimators_)

    def __getitem__(self, number: Any) -> Any:
        return self.estimators_[number]

    @property
    def estimators_(self) -> list[DecisionTreeRegressor]:
        """The trees as regression trees that predict path lengths; created on first access."""
        check_is_fitted(self)
        views: list[DecisionTreeRegressor] = self.__dict__.setdefault("_views", [])
        views.extend(map(self._view, range(len(views), self.forest_.n_trees)))
        return views

    def _view(self, number: int) -> DecisionTreeRegressor:
        depth = depth_limit(self.max_samples_)
        view = DecisionTreeRegressor(max_depth=depth, splitter="random", max_features=1)
        view.forest_, view.n_outputs_, view._gain_unit = self.forest_.tree(number), 1, 0
        keep_columns(self, view)
        return view

    @property
    def feature_importances_(self) -> NoReturn:
        """Not defined: random splits have no gain."""
        _refuse_importances(self)

    @available_where(_refuse_importances)
    def named_importances(self, by: str = "share") -> NoReturn:
        """Not defined: random splits have no gain."""
        _refuse_importances(self)

    def _leaf_text(self, value: Floats) -> str:
        return f"path length {number_text(float(value[0]), 4)}"

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        facts = np.array([self.offset_, self.max_samples_])
        return {**super()._fingerprint_arrays(), "offset and max_samples": facts}

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_views"}
