"""Base class of rotation forests: fitting, prediction and inspection."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import ColumnPlan, Rows, as_one_array, dense_blocks, mass_of, table_for_predict
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.forests.forest import ForestModel
from weald.ensembles.forests.forest_ledger import record_of_forest
from weald.ensembles.forests.forest_limits import FOREST_LIMITS
from weald.ensembles.forests.forest_rows import (
    count_of,
    sampled_rows,
    sums_of_left_out,
    weight_unit,
)
from weald.ensembles.warm import check_warm_start
from weald.parameters import Columns, Limit, NoneOr, OneOf, Real, Whole
from weald.resampling import OrderedRows, RowSamples, ordered_rows, seed_of
from weald.trees import (
    Forest,
    ForestBuilder,
    ForestLimits,
    OutOfBag,
    RotatedForest,
    RotationRows,
    Rotations,
    RotationSample,
    blocks_of,
    grow_rotated_trees,
    mean_shares,
    node_columns,
)

_SUBSET_SIZE = 3

_SHARED = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_leaf_nodes",
    "bootstrap",
    "max_samples",
    "oob_score",
    "n_jobs",
    "random_state",
    "verbose",
    "warm_start",
)

ROTATION_LIMITS: Mapping[str, Limit] = {
    **{name: FOREST_LIMITS[name] for name in _SHARED},
    "n_estimators": Whole(1, 1_000_000),
    "subset_size": NoneOr(Whole(1)),
    "n_subsets": NoneOr(Whole(1)),
    "sample_fraction": Real(0.0, 1.0, open_below=True),
    "replace": OneOf((True, False)),
    "scale": NoneOr(OneOf(("range", "deviation"))),
    "categorical_features": Columns(),
}


class RotationModel(ForestModel):
    """Base class of rotation forests: each tree is grown on principal components of its own.

    For each tree the numeric columns are divided into random subsets. For each subset some classes
    are left out at random (none in a regression) and rows of the others are drawn. All principal
    components of these rows in the subset's columns become the tree's columns; they are ordered by
    decreasing variance, and the largest entry of each is positive. The covariance is centred, the
    rotated table is not. The tree is grown on all rows of the rotated table (with `bootstrap` on
    its bootstrap sample, from which the components are computed, too).

    Categorical columns are not rotated: for each tree their categories are ordered by the mean
    target, or by the frequency of a class drawn for the tree, and a split divides that order in
    two. In a rotated column a missing value is replaced by the mean of its column, and indicator
    columns of missing values are added. Columns with infinities or values beyond 2**500 are not
    rotated; constant columns are dropped.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    subset_size : int or None, default=None
        Number of columns per subset; the last one holds the remainder. None: 3, unless `n_subsets`
        is given.
    n_subsets : int or None, default=None
        Number of subsets, whose sizes differ by at most 1, in place of `subset_size`; giving both
        is an error.
    sample_fraction : float, default=0.75
        Number of rows drawn for the components of a subset, as a fraction of the rows of its
        classes.
    replace : bool, default=True
        Whether these rows are drawn with replacement.
    scale : {"range", "deviation"} or None, default=None
        Divide the columns by their range or standard deviation before the components are computed.
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the rows; otherwise it is grown on all
        rows, and there are no out-of-bag rows.
    warm_start : bool, default=False
        Keep the trees of the previous fit and add new ones up to `n_estimators`. Columns and
        subset sizes must be the same; the column means and scales stay those of the first fit.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes ("from_dtype"), those
        listed by name, position or boolean mask, or none.

    Attributes
    ----------
    forest_ : Forest
        The trees, whose columns are the outputs of `rotations_`.
    rotations_ : Rotations
        The transformation from rows to the columns of each tree; `matrix(tree)` is the rotation
        matrix of a tree.
    """

    subset_size: int | None
    n_subsets: int | None
    sample_fraction: float
    replace: bool
    scale: str | None
    categorical_features: Any
    target_statistics: Any = False  # categories are ordered anew for each tree
    rotations_: Rotations
    _rotated: RotatedForest
    _kept: tuple[ColumnPlan, str | None]  # must be unchanged in a warm start

    # ---- fitting ----

    def _check_columns_of_kept(self) -> None:
        if self.oob_score:
            raise ValueError(
                "oob_score cannot be estimated for trees added with warm_start=True: the training "
                "rows of the previous fit are not stored. Set warm_start=False, or oob_score=False."
            )
        plan, scale = self._kept
        check_warm_start(
            n_estimators=self.n_estimators,
            rounds=0,  # the number of trees is checked already
            is_alike=True,
            plans=(plan, self._plan),
        )
        sample, rotations = self._sample(), self.rotations_
        blocks = blocks_of(len(rotations.rotated), sample.subset_size, sample.n_subsets)
        if self.scale != scale or not np.array_equal(blocks, rotations.first_of_block):
            raise ValueError(
                "The trees kept by warm_start=True were fitted with other subsets of columns or "
                "another scale. Set subset_size, n_subsets and scale as in the previous fit, or "
                "warm_start=False."
            )

    def _rotated_tree_limits(self, n_drawn: int) -> ForestLimits:
        return ForestLimits(
            criterion="entropy" if self.criterion == "log_loss" else self.criterion,
            max_features=1,  # ignored: the core considers all columns
            min_weight_share=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, n_drawn)),
            min_samples_leaf=max(1, count_of(self.min_samples_leaf, n_drawn)),
            directions=None,
            **self._votes(),
        )

    def _grow(
        self,
        rows: Rows,
        has_weight: NDArray[np.bool_],
        n_classes: int = 0,
        class_weight: Floats | None = None,
    ) -> OutOfBag | None:
        sample, n_threads = self._sample(), self._n_threads
        n_before = self._n_trees_kept()
        seed = self._seed if n_before else seed_of(self.random_state)
        rows, ordered, samples = sampled_rows(self, rows, [], has_weight, seed, n_threads)
        if samples is None:  # rotations draw rows in the order of their content
            ordered = ordered_rows(rows, n_threads=n_threads)
        before = self.rotations_ if n_before else None
        rotation_rows = self._rotation_rows(rows, ordered, samples, n_classes, class_weight, before)
        oob = None
        if self.oob_score:
            oob = OutOfBag(sums_of_left_out(rows.n, max(1, n_classes)))
        n_drawn = rows.n if samples is None else samples.mean_rows
        began = time.perf_counter()
        trees, rotations = grow_rotated_trees(
            rotation_rows,
            self._rotated_tree_limits(n_drawn),
            sample,
            range(n_before, self.n_estimators),
            seed=seed,
            n_threads=n_threads,
            out_of_bag=oob,
            batch=max(1, self.n_estimators // 10) if self.verbose else None,
            report=lambda n: self._report(n_before + n, time.perf_counter() - began),
        )
        builder = ForestBuilder(np.zeros(max(1, n_classes)), rotations.n_columns)
        for tree in trees:
            builder.add(tree, output=-1)
        forest = builder.build().scaled(rows.target_exponent, weight_unit(rows, samples))
        saw_missing = _saw_missing(as_one_array(rows.table), rotations)
        if before is not None:
            assert self.forest_.saw_missing is not None
            saw_missing = np.maximum(saw_missing, self.forest_.saw_missing)
            forest, rotations = self.forest_.joined(forest), before.joined(rotations)
        self.forest_, self.rotations_ = replace(forest, saw_missing=saw_missing), rotations
        self._rotated = RotatedForest(self.forest_, rotations).prepared()
        self._kept = (self._plan, self.scale)
        ledger = [*self._ledger, (n_before, samples)] if n_before else [(0, samples)]
        self._seed, self._ledger, self.n_outputs_ = seed, ledger, 1
        if samples is None:
            self._has_weight = has_weight
        self.__dict__.pop("_views", None)
        self._record = None
        if self.oob_score and samples is not None:
            classes = getattr(self, "classes_", None)
            self._record = record_of_forest(
                self._rotated, rows, ordered, samples, classes, n_threads=n_threads
            )
        return oob

    def _sample(self) -> RotationSample:
        if self.subset_size is not None and self.n_subsets is not None:
            raise ValueError(
                f"Both subset_size={self.subset_size} and n_subsets={self.n_subsets} are given, "
                "but each determines the subsets of columns. Set one of them to None."
            )
        size = self.subset_size or (_SUBSET_SIZE if self.n_subsets is None else None)
        return RotationSample(size, self.n_subsets, float(self.sample_fraction), bool(self.replace))

    def _rotation_rows(
        self,
        rows: Rows,
        ordered: OrderedRows,
        samples: RowSamples | None,
        n_classes: int,
        class_weight: Floats | None,
        before: Rotations | None,
    ) -> RotationRows:
        """The rows prepared for rotation, with the scaling of the kept trees if there are any."""
        target, own = np.ascontiguousarray(rows.target[ordered.index]), rows.total_weight
        own = None if own is None else own[ordered.index]
        in_draws = samples is not None and samples.draws_by_weight
        weight = None if in_draws else own
        if class_weight is not None:
            of_row = class_weight[target.astype(np.intp)]
            weight = of_row if weight is None else weight * of_row
        table, mass = as_one_array(rows.table), mass_of(own)
        levels = [0 if one is None else len(one) for one in self._plan.levels]
        ready = _native.RotationTable(
            table,
            ordered.index,
            mass,
            np.array(levels, dtype=np.int64),
            self.scale or "none",
            None if before is None else before.columns,
            self._n_threads,
        )
        return RotationRows(
            table=ready,
            n_inputs=self._plan.n_columns,
            values=None if n_classes else target,
            classes=target.astype(np.int32) if n_classes else None,
            n_classes=n_classes,
            weight=weight,
            mass=None if in_draws else mass,
            bootstrap=None if samples is None else samples.bootstrap,
        )

    # ---- prediction ----

    @property
    def _input_forest(self) -> RotatedForest:
        return self._rotated

    def _deviations(self, X: object, means: Floats) -> Floats:
        """Standard deviation of the predictions of the trees."""
        if self.forest_.n_trees < 2:
            raise ValueError(
                "return_std=True requires at least two trees: a single one has no standard "
                f"deviation. Got n_estimators={self.n_estimators}."
            )
        squares, begin = [], 0
        for part in dense_blocks(table_for_predict(self, X)):
            centre = np.ascontiguousarray(means[begin : begin + len(part)])
            squares.append(self._input_forest.spread(part, centre, n_threads=self._n_threads))
            begin += len(part)
        return np.asarray(np.sqrt(np.concatenate(squares) / (self.forest_.n_trees - 1)))

    def _take(self, forest: Forest) -> None:
        self.forest_ = replace(forest, saw_missing=self.forest_.saw_missing)
        self._rotated = RotatedForest(self.forest_, self.rotations_)

    @property
    def feature_importances_(self) -> Floats:
        """Impurity-based feature importances, normalised per tree and averaged over the trees.

        The gain of a split on a rotated column is distributed by the squared entries of its axis.
        """
        check_is_fitted(self)
        shares = mean_shares(self.rotations_.shares_of_inputs(self.forest_.gain_of_trees()))
        return self._plan.sums_by_input(shares)

    def _settings_of(self, tree: int) -> dict[str, Any]:
        return {**self.get_params(deep=False), "n_estimators": 1}

    def _unfitted_tree(self, settings: dict[str, Any]) -> Any:
        return type(self)(**settings)

    def _view(self, number: int) -> Any:
        view = self._unfitted_tree(self._settings_of(number))
        view.forest_, view.rotations_ = self.forest_.tree(number), self.rotations_.only(number)
        view._rotated, view.n_outputs_ = RotatedForest(view.forest_, view.rotations_), 1
        if hasattr(self, "classes_"):
            view.classes_, view.n_classes_ = self.classes_, len(self.classes_)
        keep_columns(self, view)
        return view

    # ---- inspection ----

    def _sums_of_columns(self, by: str) -> Floats:
        trees = range(self.forest_.n_trees)
        sums = np.stack([self.forest_.tree(number).sums_of_columns(by) for number in trees])
        return self._plan.sums_by_input(self.rotations_.shares_of_inputs(sums).sum(axis=0))

    def _node_columns(self) -> dict[str, Any]:
        """The nodes of all trees; each tree has its own names of rotated columns."""
        numbers = [str(column) for column in range(self.forest_.n_columns)]
        columns = node_columns(self.forest_, names=numbers, levels=self._levels_of_trees())
        names = [self._names_of_tree(number) for number in range(self.forest_.n_trees)]
        columns["feature"] = [
            None if column is None else names[tree][int(column)]
            for tree, column in zip(columns["tree"].tolist(), columns["feature"], strict=True)
        ]
        return columns

    def _names_of_tree(self, tree: int) -> list[str]:
        return self.rotations_.names(tree, self._plan.names(self._column_names()))

    def _levels_of_trees(self) -> Sequence[Sequence[Any] | None]:
        rotations, levels = self.rotations_, self._plan.levels
        of_kept = [levels[column] for column in rotations.kept]
        return [None] * len(rotations.rotated) + of_kept + [None] * len(rotations.flagged)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), **self.rotations_.fingerprint_arrays()}


def _saw_missing(table: NDArray[Any], rotations: Rotations) -> NDArray[np.uint8]:
    """Which columns of a tree have missing values; never the rotated ones."""
    kept = [bool(np.isnan(table[:, column]).any()) for column in rotations.kept]
    flags = [False] * len(rotations.rotated) + kept + [True] * len(rotations.flagged)
    return np.array(flags, dtype=np.uint8)
