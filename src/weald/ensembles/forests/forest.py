"""What random forests and extremely randomised trees share: drawing, growing, answering."""

import time
import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import ColumnPlan, Rows, as_one_array, refuse_levels
from weald.ensembles.base import Floats
from weald.ensembles.directions import directions_of_model
from weald.ensembles.drawn_columns import n_drawn
from weald.ensembles.forests.forest_ledger import (
    BaggedForest,
    add_left_out,
    grown_until_enough,
    ledger_of_all,
    record_of_forest,
)
from weald.ensembles.forests.forest_predictor import mean_answer, mean_predictor_of
from weald.ensembles.forests.forest_rows import (
    CRITERIA,
    Learnt,
    count_of,
    forest_rows,
    gain_exponent,
    one_table,
    sampled_rows,
    sums_of_left_out,
    weight_unit,
)
from weald.ensembles.forests.outputs import Answers
from weald.ensembles.out_of_bag.in_bag import Draws, InBag
from weald.ensembles.out_of_bag.tally import Record
from weald.ensembles.out_of_bag.unscored import warn_of_unscored
from weald.ensembles.predictor import Predictor
from weald.persist import fingerprint
from weald.resampling import OrderedRows, RowSamples, seed_of
from weald.trees import (
    Forest,
    ForestLimits,
    ForestRows,
    OutOfBag,
    decision_paths,
    grow_members,
    mean_shares,
    pruned_forest,
    unit_parts,
    with_medians,
)


class Begun(NamedTuple):
    """The first trees of a forest, of which rows, and what they answer for those they left out."""

    rows: ForestRows
    forest: Forest
    oob: OutOfBag


class ForestModel(BaggedForest, Answers):
    """Trees grown independently of each other, whose answers are averaged.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. "auto": batches of 50 until the out-of-bag error foreseen for infinitely
        many trees is within a tenth of a standard error of the present one, at most 1000; needs
        `bootstrap`.
    max_depth : int or None, default=None
        Most questions between the root and a leaf.
    min_samples_split : int or float, default=2
        Fewest rows a node must hold to be split; a float is a share of the rows drawn. Rows count
        as often as they are drawn, whatever they weigh.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf, likewise.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of a leaf, as a share of the weight of all rows drawn.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; those splits that gain most are made first.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity of the tree by this much, in scikit-learn's units.
    oob_score : bool or callable, default=False
        Estimate the score from the rows that trees did not draw: accuracy or R², or what the
        callable makes of ``(y_true, y_pred)``. Needs `bootstrap` or `max_samples`.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The model is the same for any number.
    random_state : int, RandomState or None, default=None
        Keys all draws.
    verbose : int, default=0
        Print how many trees are grown, ten times a fit.
    warm_start : bool, default=False
        Keep the trees of the fit before and add those that `n_estimators` asks for beyond them.
    ccp_alpha : float, default=0.0
        Every tree is pruned: subtrees whose splits lower its impurity by at most this much for
        each leaf they add are taken back.
    max_samples : int, float or None, default=None
        Rows a tree draws: a number, or a share of the sum of all weights (of the rows, if there
        are none); with `bootstrap` both may exceed the number of rows. None: as many as there are
        rows of positive weight, whatever the scale of the weights. With `bootstrap` a row is drawn
        with a probability in proportion to its weight. Without, rows are drawn without replacement,
        all with the same probability, and those drawn keep their weights. With `groups` it is a
        number or a share of the groups.
    monotonic_cst : array, dict or None, default=None
        For each column, or by name, 1 if answers must not fall along it, -1 if they must not rise,
        0 if they may do both. For numbers and two classes (then of the second one). Missing values
        are not compared.
    feature_sampling : {"node", "tree"}, default="node"
        Draw columns for every node, or once for every tree.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. A node parts their levels in two sets; levels
        never seen go where missing values go.

    Attributes
    ----------
    oob_score_ : float
        The score of the rows left out, with `oob_score`; rows count by their weights unless a
        callable is given.
    """

    criterion: str
    bootstrap: bool
    _seed: int
    _gain_unit: int  # gains, for a weight of 1, are divided by 2 to this power
    _grown_on: ColumnPlan  # the columns of the trees that a warm start keeps
    _ledger: list[tuple[int, RowSamples | None]]  # from which tree on, which samples
    _has_weight: NDArray[np.bool_]  # rows of the fit, where none are drawn
    _random_cuts: ClassVar[bool]

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
        """Grow the trees that are missing and keep them; `n_classes` is 0 for a regression.

        `has_weight` marks those of the rows passed to fit that `rows` holds; `class_weight`
        multiplies the weight of a row by that of its class.
        """
        n_threads = self._n_threads
        n_before = self._n_trees_kept()
        rows, n_levels = self._one_table(rows)
        seed = self._seed if n_before else seed_of(self.random_state)
        rows, ordered, samples = sampled_rows(self, rows, n_levels, has_weight, seed)
        own = (n_classes, class_weight, self._random_cuts, n_threads, n_levels)
        learnt = Learnt(rows, ordered, samples, *own, getattr(self, "_first_class", None))
        begun = self._settle(learnt, seed, n_before)
        ordered = ordered.without_keys()  # before the table is ranked: that takes most memory
        learnt = learnt._replace(ordered=ordered)
        merged = forest_rows(*learnt) if begun is None else begun.rows
        is_auto = isinstance(self.n_estimators, str)
        parts = [*self._ledger, (n_before, samples)] if n_before else [(0, samples)]
        seen: Draws | InBag | None = samples
        oob = None
        if self.oob_score or is_auto:
            oob = OutOfBag(sums_of_left_out(rows.n, merged.width))
        if n_before and oob is not None:
            seen = self._answer_before(oob, parts, rows, ordered)
        n_seen = rows.n if samples is None else samples.mean_rows
        is_pruned = self.ccp_alpha > 0.0
        if oob is None and not is_pruned:
            del learnt
            ordered = ordered.without_index()
        if begun is not None and oob is not None and not (is_auto or is_pruned):
            oob = begun.oob
        grow = partial(
            grow_members,
            merged,
            self._tree_limits(n_seen, rows),
            seed=seed,
            n_threads=n_threads,
            out_of_bag=oob if is_auto or not is_pruned else None,
        )
        if is_auto:
            forest = grown_until_enough(grow, oob, merged, rows, ordered, samples)
        else:
            forest = self._grow_rest(grow, n_before, begun and begun.forest)
        if is_pruned:
            forest = self._prune(forest, n_before, rows, ordered, samples)
            if oob is not None and samples is not None:
                oob = OutOfBag(np.zeros_like(oob.sums)) if is_auto else oob  # pruned answers only
                self._answer_pruned(oob, forest, n_before, rows, ordered, samples)
        unit = weight_unit(rows, samples)
        forest = forest.scaled(rows.target_exponent, unit)
        self._keep(forest, gain_exponent(self.criterion, rows) + unit_parts(unit)[1], seed, parts)
        self.n_outputs_ = rows.n_outputs
        if samples is None:
            self._has_weight = has_weight
        if self.oob_score and seen is not None and rows.n_outputs == 1:
            self._record = self._recorded(rows, ordered, seen)
        return oob if self.oob_score else None

    def _answer_pruned(
        self,
        oob: OutOfBag,
        forest: Forest,
        first: int,
        rows: Rows,
        ordered: OrderedRows,
        samples: RowSamples,
    ) -> None:
        """Add what the trees, the first of which is member `first`, answer as they are now."""
        table, n_threads = as_one_array(rows.table), self._n_threads
        add_left_out(oob, forest, table, ordered, samples, first=first, n_threads=n_threads)

    def _keep(
        self, forest: Forest, unit: int, seed: int, parts: list[tuple[int, RowSamples | None]]
    ) -> None:
        """Keep new trees, and how all were drawn; what was made of others is forgotten."""
        if len(parts) > 1:  # behind those kept by a warm start, and in their unit of gains
            forest = self.forest_.joined(forest.with_gains_scaled(unit - self._gain_unit))
        else:
            self._gain_unit = unit
        self.forest_ = forest
        self._seed, self._ledger, self._grown_on = seed, parts, self._plan
        self.__dict__.pop("_views", None)
        self._record = None

    def _settle(self, learnt: Learnt, seed: int, n_before: int) -> Begun | None:
        """Decide what is left to the data; trees grown for it that are the first of the forest."""
        return None

    def _grow_rest(self, grow: Any, n_before: int, begun: Forest | None) -> Forest:
        """Grow the trees that are asked for beyond those kept and those already begun."""
        began = time.perf_counter()
        first = n_before + (0 if begun is None else begun.n_trees)
        if begun is not None and first == self.n_estimators:
            self._report(first, 0.0)
            return begun
        rest: Forest = grow(
            range(first, self.n_estimators),
            batch=max(1, self.n_estimators // 10) if self.verbose else None,
            report=lambda n: self._report(first + n, time.perf_counter() - began),
        )
        return rest if begun is None else begun.joined(rest)

    def _one_table(self, rows: Rows) -> tuple[Rows, list[int]]:
        if self.criterion == "absolute_error":
            refuse_levels(rows.table, "criterion='absolute_error'")
        return one_table(rows)

    def _recorded(self, rows: Rows, ordered: OrderedRows, seen: Draws | InBag) -> Record:
        classes = getattr(self, "classes_", None)
        return record_of_forest(
            self.forest_, rows, ordered, seen, classes, n_threads=self._n_threads
        )

    def _answer_before(
        self, oob: OutOfBag, parts: list[Any], rows: Rows, ordered: OrderedRows
    ) -> InBag:
        """Let the trees kept by a warm start answer the rows that they had left out."""
        seen, table = ledger_of_all(parts, int(self.n_estimators)), as_one_array(rows.table)
        kept = self.forest_.scaled(-rows.target_exponent, 1.0)
        add_left_out(oob, kept, table, ordered, seen, n_threads=self._n_threads)
        return seen

    def _prune(
        self,
        forest: Forest,
        first: int,
        rows: Rows,
        ordered: OrderedRows,
        samples: RowSamples | None,
    ) -> Forest:
        """The trees, the first of which is member `first`, without splits that are not worth it."""
        unit = gain_exponent(self.criterion, rows)
        forest = self._pruned(forest, float(np.ldexp(float(self.ccp_alpha), -unit)))
        # Means of leaves keep to a direction; medians of all their rows need not.
        if self.criterion != "absolute_error" or self.monotonic_cst is not None:
            return forest
        own = rows.total_weight
        own = None if own is None else own[ordered.index]

        def mass_of_tree(tree: int) -> NDArray[Any] | None:
            if samples is None:
                return own
            drawn = samples.drawn(first + tree)
            return drawn if own is None or samples.draws_by_weight else drawn * own

        table = as_one_array(rows.table)[ordered.index]
        return with_medians(forest, table, rows.target[ordered.index], mass_of_tree)

    def _n_trees_kept(self) -> int:
        """How many trees of the fit before stay."""
        if not self.warm_start or not hasattr(self, "forest_"):
            return 0
        n_before = self.forest_.n_trees
        if isinstance(self.n_estimators, str):
            raise ValueError(
                f"n_estimators={self.n_estimators!r} grows a forest anew; warm_start=True adds to "
                "one. Give a number of trees, or set warm_start=False."
            )
        if self.n_estimators < n_before:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_before} when warm_start=True: trees can only be added."
            )
        self._check_columns_of_kept()
        return n_before

    def _check_columns_of_kept(self) -> None:
        """Refuse to add trees that would see other columns."""
        if self.forest_.n_columns != self._plan.n_columns:
            raise ValueError(
                f"The trees kept by warm_start=True were fitted on {self.forest_.n_columns} "
                f"columns; got {self._plan.n_columns}."
            )
        if fingerprint(self._grown_on.learnt()) != fingerprint(self._plan.learnt()):
            raise ValueError(
                "The trees kept by warm_start=True were fitted on columns of other kinds or "
                "categories, so that they would misread these. Set warm_start=False to begin anew."
            )

    def _adds_nothing(self) -> bool:
        """Whether a warm start already has all its trees; says so."""
        if not self._n_trees_kept() or self._n_trees_kept() < self.n_estimators:
            return False
        warnings.warn(
            "Warm-start fitting without increasing n_estimators does not fit new trees.",
            UserWarning,
            stacklevel=4,
        )
        return True

    @property
    def _draws_rows(self) -> bool:
        """Whether every tree sees rows of its own, with or without replacement."""
        return self.bootstrap or self.max_samples is not None

    def _tree_limits(self, n_rows: int, rows: Rows) -> ForestLimits:
        # Targets of extreme size are kept divided; so is what is asked of them.
        unit = gain_exponent(self.criterion, rows)
        # The core adds up what several outputs gain; their mean is meant.
        wanted = float(self.min_impurity_decrease) * rows.n_outputs
        leaf, columns = self._leaf_and_columns
        return ForestLimits(
            criterion=CRITERIA.get(self.criterion, self.criterion),
            max_features=n_drawn(columns, self._plan.n_columns),
            columns_of_tree=self.feature_sampling == "tree",
            random_cuts=self._random_cuts,
            min_impurity_decrease=float(np.ldexp(wanted, -unit)),
            min_weight_share=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, n_rows)),
            min_samples_leaf=max(1, count_of(leaf, n_rows)),
            directions=directions_of_model(self, len(getattr(self, "classes_", ()))),
            **self._votes(),
        )

    def _pruned(self, forest: Forest, alpha: float) -> Forest:
        return pruned_forest(forest, alpha)

    def _votes(self) -> dict[str, bool]:
        return {}

    @property
    def _leaf_and_columns(self) -> tuple[Any, Any]:
        """What `min_samples_leaf` and `max_features` are for the trees."""
        return self.min_samples_leaf, self.max_features

    def _report(self, n_trees: int, seconds: float) -> None:
        if self.verbose:
            print(f"{n_trees} of {self.n_estimators} trees grown, {seconds:.1f} s")

    # ---- what was left out ----

    def _out_of_bag(self, oob: OutOfBag, rows: Rows) -> Floats:
        """Mean answers of the trees that did not see each row passed to fit; NaN: all saw it.

        A row of weight zero is left NaN, as if it had not been passed.
        """
        samples = self._ledger[-1][1]
        assert samples is not None
        warn_of_unscored(oob.counts[samples.place[samples.place >= 0]], samples, rows.total_weight)
        means = oob.means()
        nothing = np.full((1, means.shape[1]), np.nan)
        return np.concatenate([means, nothing])[samples.place]

    # ---- answering ----

    def _scores(self, X: object) -> Floats:
        """The mean over the trees."""
        return mean_answer(super()._scores(X), self.forest_)

    def _array_predictor(self) -> Predictor:
        return mean_predictor_of(self, self._answering, n_jobs=self.n_jobs)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in what the splits of a tree gain, averaged over the trees.

        What the parts of a date gained counts for its one column.
        """
        check_is_fitted(self)
        return mean_shares(self._plan.sums_by_input(self.forest_.gain_of_trees()))

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators of their own; made when first asked for, never saved."""
        check_is_fitted(self)
        if "_views" not in self.__dict__:
            self._views = [self._view(number) for number in range(self.forest_.n_trees)]
        return self._views

    def _view(self, number: int) -> Any:
        raise NotImplementedError

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The rows each tree drew, by their numbers, as often as it drew them, in rising order.

        Without a bootstrap: every row of weight.
        """
        check_is_fitted(self)
        return [self._samples_of(member) for member in range(self.forest_.n_trees)]

    def _samples_of(self, member: int) -> NDArray[np.intp]:
        samples = [samples for first, samples in self._ledger if first <= member][-1]
        if samples is None:
            return np.flatnonzero(self._has_weight)
        counts = samples.counts(member)
        return np.repeat(np.arange(len(counts)), counts)

    def decision_path(self, X: object) -> tuple[Any, NDArray[np.int64]]:
        """Tell which nodes of which trees each row passes.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Rows as those of the fit.

        Returns
        -------
        indicator : sparse matrix, shape (rows, nodes of all trees)
            1 where a row passes a node.
        n_nodes_ptr : array, shape (trees + 1,)
            Where the columns of each tree begin.
        """
        return decision_paths(self.forest_, self.apply(X))

    def in_bag_counts(self, member: int) -> NDArray[np.int64]:
        """How often a tree saw each row of the fit.

        Parameters
        ----------
        member : int
            Number of the tree, from 0.
        """
        check_is_fitted(self)
        if not 0 <= member < self.forest_.n_trees:
            raise ValueError(f"There is no tree {member}: there are {self.forest_.n_trees}.")
        samples = [samples for first, samples in self._ledger if first <= member][-1]
        if samples is None:
            raise ValueError("bootstrap=False without max_samples: every tree saw every row.")
        return samples.counts(member)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_views"}
