"""Base class of random forests and extremely randomised trees: fitting and prediction."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald.advice import warn
from weald.data import ColumnPlan, Rows, refuse_levels
from weald.ensembles.base import Floats
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.dropped_levels import EncodesDroppedLevels
from weald.ensembles.forests.forest_ledger import (
    BaggedForest,
    add_left_out,
    grown_until_enough,
    ledger_of_all,
    record_of_forest,
)
from weald.ensembles.forests.forest_predictor import mean_prediction, mean_predictor_of
from weald.ensembles.forests.forest_rows import (
    CRITERIA,
    TrainingRows,
    count_of,
    forest_rows,
    gain_exponent,
    one_table,
    sampled_rows,
    sums_of_left_out,
    weight_unit,
    with_leaf_medians,
)
from weald.ensembles.forests.forest_trees import ForestTrees
from weald.ensembles.forests.tree_statistics import (
    TreeStatistics,
    means_of_trees,
    on_own_columns,
    on_plan,
)
from weald.ensembles.level_statistics import targets_of
from weald.ensembles.max_features import n_drawn
from weald.ensembles.monotonic import directions_of_model
from weald.ensembles.out_of_bag.in_bag import Draws, InBag
from weald.ensembles.out_of_bag.tally import Record
from weald.ensembles.out_of_bag.unscored import warn_of_unscored
from weald.ensembles.predictor import Predictor
from weald.ensembles.warm import check_statistics
from weald.log import report
from weald.persist import fingerprint
from weald.resampling import RowSamples, seed_of
from weald.trees import (
    Forest,
    ForestGrower,
    ForestLimits,
    ForestRows,
    OutOfBag,
    pruned_forest,
    unit_parts,
)


class TreeSettings(NamedTuple):
    """The settings of the trees that may be chosen from the data (`min_samples_leaf="auto"`)."""

    min_samples_leaf: Any
    max_features: Any


class FirstTrees(NamedTuple):
    """The first trees of a forest, the rows they were grown on, their out-of-bag predictions."""

    rows: ForestRows
    forest: Forest
    oob: OutOfBag


class ForestModel(BaggedForest, ForestTrees, EncodesDroppedLevels):
    """Base class of forests: trees grown independently, whose predictions are averaged.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. "auto": grow batches of 50 trees until the out-of-bag error extrapolated to
        infinitely many trees is within a tenth of a standard error of the current one, at most
        1000 trees; requires `bootstrap`.
    max_depth : int or None, default=None
        Maximum depth of each tree.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node to split it; a float is a fraction of the rows drawn for
        the tree. A row counts as often as it was drawn, whatever its weight.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, counted likewise.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight of the rows drawn.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of each tree; the splits of largest gain are made first
        (leaf-wise growth).
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split, defined as in scikit-learn.
    oob_score : bool or callable, default=False
        Estimate the score from the out-of-bag rows: accuracy or R², or the callable applied to
        ``(y_true, y_pred)``. Requires `bootstrap` or `max_samples`.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all random draws.
    verbose : int, default=0
        If positive, print the number of trees grown, ten times per fit.
    warm_start : bool, default=False
        Keep the trees of the previous fit and add new ones up to `n_estimators`.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: subtrees whose splits lower the
        impurity of the tree by at most this much per additional leaf are removed.
    max_samples : int, float or None, default=None
        Number of rows drawn for each tree: a count, or a fraction of the sum of all weights (of
        the number of rows, without weights); with `bootstrap` both may exceed the number of rows.
        None: the number of rows with positive weight, whatever the scale of the weights. With
        `bootstrap`, rows are drawn with probability proportional to their weight. Without, rows
        are drawn without replacement and with equal probability, and keep their weights. With
        `groups`, a count or a fraction of the groups.
    monotonic_cst : array, dict or None, default=None
        Monotonic constraint of each column, by position or by name: 1 for increasing predictions,
        -1 for decreasing, 0 for no constraint. For regression and binary classification (then of
        the probability of the second class). Missing values are not constrained.
    feature_sampling : {"node", "tree"}, default="node"
        Column subsampling: draw `max_features` columns for every node, or once per tree.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes ("from_dtype"), those
        listed by name, position or boolean mask, or none. A split divides the categories into two
        sets; categories not seen in the fit follow the missing values.

    Attributes
    ----------
    oob_score_ : float
        Out-of-bag score, with `oob_score`; rows count by their weights unless a callable is given.
    """

    criterion: str
    bootstrap: bool
    _seed: int
    _gain_unit: int  # gains, for a weight of 1, are divided by 2 to this power
    _grown_on: ColumnPlan  # columns of the trees that a warm start keeps
    _ledger: list[tuple[int, RowSamples | None]]  # (index of the first tree, its row samples)

    def _store(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

    # ---- fitting ----

    def _grow(
        self,
        rows: Rows,
        has_weight: NDArray[np.bool_],
        n_classes: int = 0,
        class_weight: Floats | None = None,
    ) -> OutOfBag | None:
        """Grow the missing trees and store them; return the out-of-bag predictions if wanted.

        `has_weight` marks the rows passed to fit that `rows` holds; `n_classes` is 0 for a
        regression; `class_weight` multiplies the weight of each row by that of its class.
        """
        n_before = self._n_trees_kept()
        seed = self._seed if n_before else seed_of(self.random_state)
        if not self._draws_rows:
            rows = self._encoded_by_folds(rows, n_classes)
            if n_before:
                check_statistics(self._grown_on, self._plan)
        training = self._training_rows(rows, has_weight, n_classes, class_weight, seed)
        if n_before == self.n_estimators:
            return self._score_kept(training)
        samples = training.samples
        settings, first_trees = self._choose_settings(training, seed, n_before)
        training = training.without_keys()  # ranking needs the most memory of all steps
        ranked = forest_rows(*training) if first_trees is None else first_trees.rows
        draws = [*self._ledger, (n_before, samples)] if n_before else [(0, samples)]
        oob, in_bag = self._start_out_of_bag(training, ranked, first_trees, draws)
        if oob is None and not self._prunes:
            training = training.without_index()
        limits = self._tree_limits(training.n_drawn, training.rows, settings)
        forest = self._grow_trees(training, ranked, limits, oob, first_trees, seed, n_before)
        if self._prunes:
            forest = self._prune(forest, n_before, training)
            oob = self._out_of_bag_of_pruned(oob, forest, n_before, training)
        self._keep(forest, training, seed, draws)
        self._keep_settings(n_before, settings)
        advise_of_constant(self, rows)
        if samples is None:
            self._has_weight = has_weight
        if self.oob_score and in_bag is not None and rows.n_outputs == 1:
            self._record = self._recorded(training, in_bag)
        return oob if self.oob_score else None

    def _training_rows(
        self,
        rows: Rows,
        has_weight: NDArray[np.bool_],
        n_classes: int,
        class_weight: Floats | None,
        seed: int,
    ) -> TrainingRows:
        """The rows in the order of their content, and the row samples of the trees."""
        if self.criterion == "absolute_error":
            refuse_levels(rows.table, "criterion='absolute_error'")
        n_threads, statistics = self._n_threads, self._statistics_of_trees(rows, n_classes)
        if statistics is None:
            rows, n_levels = one_table(rows)
        else:
            self._columns = statistics.plan_of_a_tree
            n_levels = [0 if levels is None else len(levels) for levels in self._plan.levels]
        return TrainingRows(
            *sampled_rows(self, rows, n_levels, has_weight, seed, n_threads),
            n_classes=n_classes,
            class_weight=class_weight,
            random_cuts=self._random_cuts,
            n_threads=n_threads,
            n_levels=n_levels,
            first_class=getattr(self, "_first_class", None),
            statistics=statistics,
        )

    def _takes_statistics_of(self, rows: Rows, n_classes: int) -> bool:
        if self.criterion != "absolute_error":
            return super()._takes_statistics_of(rows, n_classes)
        if self.target_statistics is True:
            raise ValueError(
                "target_statistics=True cannot be combined with criterion='absolute_error', whose "
                "medians have no sums by category. Leave target_statistics at 'auto', or use "
                "criterion='squared_error'."
            )
        return False

    def _statistics_of_trees(self, rows: Rows, n_classes: int) -> TreeStatistics | None:
        """The target statistics of each tree, if trees are grown on samples of the rows."""
        if not self._plan.has_numbers or self._plan.has_statistics:
            return None
        return TreeStatistics(
            self._plan,
            self._names_of_statistics,
            targets_of(rows, n_classes),
            self._deal(rows),
            means_of_trees(self._grown_on) if self.warm_start and hasattr(self, "_ledger") else {},
        )

    def _choose_settings(
        self, training: TrainingRows, seed: int, n_before: int
    ) -> tuple[TreeSettings, FirstTrees | None]:
        """The settings of the trees, and the trees that choosing them has already grown."""
        return TreeSettings(self.min_samples_leaf, self.max_features), None

    def _start_out_of_bag(
        self,
        training: TrainingRows,
        ranked: ForestRows,
        first_trees: FirstTrees | None,
        draws: list[tuple[int, RowSamples | None]],
    ) -> tuple[OutOfBag | None, Draws | InBag | None]:
        """Out-of-bag predictions of the trees grown so far, and the in-bag rows of all trees."""
        if not (self.oob_score or self._is_open_ended):
            return None, training.samples
        if first_trees is not None and not (self._is_open_ended or self._prunes):
            return first_trees.oob, training.samples
        oob = OutOfBag(sums_of_left_out(training.rows.n, ranked.width))
        if len(draws) == 1:
            return oob, training.samples
        in_bag = ledger_of_all(draws, int(self.n_estimators))
        kept = self._kept_trees(training).scaled(-training.rows.target_exponent, 1.0)
        add_left_out(oob, kept, training, in_bag)
        return oob, in_bag

    def _score_kept(self, training: TrainingRows) -> OutOfBag:
        """Out-of-bag predictions of the trees of the previous fit, which a warm start keeps all."""
        n_trees = self.forest_.n_trees
        in_bag = ledger_of_all([*self._ledger, (n_trees, training.samples)], n_trees)
        oob = OutOfBag(sums_of_left_out(training.rows.n, self.forest_.value.shape[1]))
        kept = self._kept_trees(training).scaled(-training.rows.target_exponent, 1.0)
        add_left_out(oob, kept, training, in_bag)
        self._columns = self._grown_on
        if training.rows.n_outputs == 1:
            self._record = self._recorded(training, in_bag)
        return oob

    def _grow_trees(
        self,
        training: TrainingRows,
        ranked: ForestRows,
        limits: ForestLimits,
        oob: OutOfBag | None,
        first_trees: FirstTrees | None,
        seed: int,
        n_before: int,
    ) -> Forest:
        """Grow the trees beyond those kept by a warm start, adding their predictions to `oob`."""
        # Trees that will be pruned add theirs after that, unless the stopping rule needs them.
        is_scored = self._is_open_ended or not self._prunes
        grower = ForestGrower(
            ranked,
            limits,
            seed=seed,
            n_threads=training.n_threads,
            n_jobs=self.n_jobs,
            out_of_bag=oob if is_scored else None,
        )
        if self._is_open_ended:
            return grown_until_enough(grower.grow, oob, ranked, training)
        began = time.perf_counter()
        begun = None if first_trees is None else first_trees.forest
        first = n_before + (0 if begun is None else begun.n_trees)
        if begun is not None and first == self.n_estimators:
            self._report(first, 0.0)
            return begun
        rest = grower.grow(
            range(first, self.n_estimators),
            batch=max(1, self.n_estimators // 10) if self.verbose else None,
            report=lambda n: self._report(first + n, time.perf_counter() - began),
        )
        return rest if begun is None else begun.joined(rest)

    def _keep(
        self,
        forest: Forest,
        training: TrainingRows,
        seed: int,
        draws: list[tuple[int, RowSamples | None]],
    ) -> None:
        """Store the new trees and their row samples; discard what was derived from others."""
        rows = training.rows
        unit = weight_unit(rows, training.samples)
        forest = forest.scaled(rows.target_exponent, unit)
        gain_unit = gain_exponent(self.criterion, rows) + unit_parts(unit)[1]
        if len(draws) > 1:  # append to the trees kept by a warm start, with gains in their unit
            new = forest.with_gains_scaled(gain_unit - self._gain_unit)
            forest = self._kept_trees(training).joined(new)
        else:
            self._gain_unit = gain_unit
        if training.statistics is not None:
            self._columns = training.statistics.plan_of_all(forest.n_trees)
            forest = on_plan(forest, self._plan)
        self.forest_, self.n_outputs_ = forest, rows.n_outputs
        self._seed, self._ledger, self._grown_on = seed, draws, self._plan
        self.__dict__.pop("_views", None)
        self._record = None

    def _kept_trees(self, training: TrainingRows) -> Forest:
        """The trees kept by a warm start, on the columns on which new ones are grown."""
        if training.statistics is None:
            return self.forest_
        return on_own_columns(self.forest_, self._grown_on)

    def _recorded(self, training: TrainingRows, in_bag: Draws | InBag) -> Record:
        forest, classes = self.forest_, getattr(self, "classes_", None)
        rows, ordered, n_threads = training.rows, training.ordered, training.n_threads
        return record_of_forest(
            forest,
            rows,
            ordered,
            in_bag,
            classes,
            n_threads=n_threads,
            plan=None if training.statistics is None else self._plan,
        )

    def _prune(self, forest: Forest, first: int, training: TrainingRows) -> Forest:
        """Prune trees, the first of which has index `first`, by `ccp_alpha`."""
        unit = gain_exponent(self.criterion, training.rows)
        forest = self._pruned(forest, float(np.ldexp(float(self.ccp_alpha), -unit)))
        # Means of merged leaves satisfy monotonic constraints; medians need not.
        if self.criterion != "absolute_error" or self.monotonic_cst is not None:
            return forest
        return with_leaf_medians(forest, training, first=first)

    def _out_of_bag_of_pruned(
        self, oob: OutOfBag | None, forest: Forest, first: int, training: TrainingRows
    ) -> OutOfBag | None:
        """Out-of-bag predictions with those of the pruned trees, the first of index `first`."""
        if oob is None or training.samples is None:
            return oob
        if self._is_open_ended:  # `oob` holds predictions of the same trees before pruning
            oob = OutOfBag(np.zeros_like(oob.sums))
        add_left_out(oob, forest, training, training.samples, first=first)
        return oob

    @property
    def _is_open_ended(self) -> bool:
        """Whether the out-of-bag error decides the number of trees."""
        return isinstance(self.n_estimators, str)

    @property
    def _prunes(self) -> bool:
        return bool(self.ccp_alpha > 0.0)

    def _n_trees_kept(self) -> int:
        """Number of trees of the previous fit that a warm start keeps."""
        if not self.warm_start or not hasattr(self, "forest_"):
            return 0
        n_before = self.forest_.n_trees
        if self._is_open_ended:
            raise ValueError(
                f"n_estimators={self.n_estimators!r} cannot be combined with warm_start=True, "
                f"which adds trees to the {n_before} of the previous fit. Set n_estimators to an "
                "int, or warm_start=False."
            )
        if self.n_estimators < n_before:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_before} when warm_start=True: trees can only be added."
            )
        self._check_columns_of_kept()
        return n_before

    def _check_columns_of_kept(self) -> None:
        """Raise if the columns are not those of the previous fit."""
        before = self._grown_on.as_read()
        if before.n_columns != self._plan.n_columns:
            raise ValueError(
                f"The trees kept by warm_start=True were fitted on {before.n_columns} "
                f"columns; got {self._plan.n_columns}."
            )
        if fingerprint(before.fingerprint_arrays()) != fingerprint(self._plan.fingerprint_arrays()):
            raise ValueError(
                "The trees kept by warm_start=True were fitted on columns with other dtypes or "
                "categories. Pass the same columns, or set warm_start=False to fit all trees."
            )

    def _adds_nothing(self) -> bool:
        """Whether a warm start has all its trees, and out-of-bag score if wanted, already.

        Warns if there are no new trees.
        """
        if not self._n_trees_kept() or self._n_trees_kept() < self.n_estimators:
            return False
        warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
        if self.oob_score and not hasattr(self, "oob_score_"):
            return False
        if self._plan.has_numbers:  # of the table just read
            self._columns = self._grown_on
        return True

    @property
    def _draws_rows(self) -> bool:
        """Whether each tree is grown on its own sample of the rows."""
        return self.bootstrap or self.max_samples is not None

    def _tree_limits(self, n_rows: int, rows: Rows, settings: TreeSettings) -> ForestLimits:
        # Targets of extreme magnitude are stored scaled; the limit is scaled likewise.
        unit = gain_exponent(self.criterion, rows)
        # The core sums gains over outputs; the parameter limits their mean.
        min_decrease = float(self.min_impurity_decrease) * rows.n_outputs
        return ForestLimits(
            criterion=CRITERIA.get(self.criterion, self.criterion),
            max_features=n_drawn(settings.max_features, self._plan.n_columns),
            columns_of_tree=self.feature_sampling == "tree",
            random_cuts=self._random_cuts,
            min_impurity_decrease=float(np.ldexp(min_decrease, -unit)),
            min_weight_share=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, n_rows)),
            min_samples_leaf=max(1, count_of(settings.min_samples_leaf, n_rows)),
            directions=directions_of_model(self, len(getattr(self, "classes_", ()))),
            **self._votes(),
        )

    def _pruned(self, forest: Forest, alpha: float) -> Forest:
        return pruned_forest(forest, alpha)

    def _votes(self) -> dict[str, bool]:
        return {}

    def _report(self, n_trees: int, seconds: float) -> None:
        if self.verbose:
            report(f"{n_trees} of {self.n_estimators} trees grown, {seconds:.1f} s")

    # ---- out-of-bag predictions ----

    def _out_of_bag(self, oob: OutOfBag, rows: Rows) -> Floats:
        """Out-of-bag predictions of the rows passed to fit; NaN if no tree left the row out.

        Rows of weight zero are NaN, too.
        """
        samples = self._ledger[-1][1]
        assert samples is not None
        warn_of_unscored(oob.counts[samples.place[samples.place >= 0]], samples, rows.total_weight)
        means = oob.means()
        nothing = np.full((1, means.shape[1]), np.nan)
        return np.concatenate([means, nothing])[samples.place]

    # ---- prediction ----

    def _scores(self, X: object) -> Floats:
        """Mean prediction of the trees."""
        return mean_prediction(super()._scores(X), self.forest_)

    def _array_predictor(self) -> Predictor:
        return mean_predictor_of(self, self._input_forest, n_jobs=self.n_jobs)
