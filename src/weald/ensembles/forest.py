"""What random forests and extremely randomised trees share: drawing, growing, answering."""

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import Rows, as_one_array, mass_of, numbers_only
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.drawn_columns import MAX_FEATURES, n_drawn
from weald.ensembles.forest_ledger import BaggedForest, grown_until_enough, record_of_forest
from weald.ensembles.forest_predictor import mean_answer, mean_predictor_of
from weald.ensembles.forest_rows import (
    CRITERIA,
    count_of,
    forest_rows,
    n_counted,
)
from weald.ensembles.predictor import Predictor
from weald.parameters import (
    AnyOf,
    CallableOr,
    Jobs,
    Limit,
    NoneOr,
    OneOf,
    OnlyNone,
    Real,
    Seed,
    Share,
    Whole,
)
from weald.resampling import Bags, DistinctRows, distinct_rows, seed_of
from weald.trees import (
    Forest,
    ForestLimits,
    OutOfBag,
    decision_paths,
    grow_members,
    pruned_forest,
)

FOREST_LIMITS: Mapping[str, Limit] = {
    "n_estimators": AnyOf((Whole(1, 1_000_000), OneOf(("auto",)))),
    "max_depth": NoneOr(Whole(1)),
    "min_samples_split": AnyOf((Whole(2), Share(0.0, 1.0, open_below=True))),
    "min_samples_leaf": AnyOf((Whole(1), Share(0.0, 1.0, open_below=True, open_above=True))),
    "min_weight_fraction_leaf": Real(0.0, 0.5),
    "max_features": MAX_FEATURES,
    "max_leaf_nodes": NoneOr(Whole(2)),
    "min_impurity_decrease": Real(0.0),
    "bootstrap": OneOf((True, False)),
    "oob_score": CallableOr(OneOf((True, False))),
    "n_jobs": Jobs(),
    "random_state": Seed(),
    "verbose": Whole(0),
    "warm_start": OneOf((True, False)),
    "ccp_alpha": Real(0.0),
    "max_samples": NoneOr(AnyOf((Whole(1), Share(0.0, open_below=True)))),
    "monotonic_cst": OnlyNone("constraints are not there yet"),
    "feature_sampling": OneOf(("node", "tree")),
}


class ForestModel(BaggedForest, TreeModel):
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
        as often as they are drawn, and by their weights if these are whole numbers.
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
        callable makes of ``(y_true, y_pred)``. Needs `bootstrap`.
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
        Rows a tree draws: a number, or a share of the weight of all rows; both may exceed the
        number of rows. None: as many rows as there are. Needs `bootstrap`.
    monotonic_cst : None, default=None
        Only None: constraints are not there yet.
    feature_sampling : {"node", "tree"}, default="node"
        Draw columns for every node, or once for every tree.

    Attributes
    ----------
    n_outputs_ : int
        Always 1.
    oob_score_ : float
        The score of the rows left out, with `oob_score`; rows count by their weights unless a
        callable is given.
    """

    criterion: str
    bootstrap: bool
    n_outputs_: int
    _seed: int
    _ledger: list[tuple[int, Bags | None]]  # from which tree on, which bags
    _has_weight: NDArray[np.bool_]  # rows of the fit, where there are no bags
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
        rows = replace(rows, table=numbers_only(rows.table, type(self).__name__))
        distinct = distinct_rows(rows, n_threads=n_threads)
        seed = self._seed if n_before else seed_of(self.random_state)
        place = np.full(len(has_weight), -1, dtype=np.intp)
        place[has_weight] = distinct.set_of
        bags = self._bags(rows, distinct, place, seed)
        merged = forest_rows(
            rows, distinct, bags, n_classes, class_weight, self._random_cuts, n_threads
        )
        oob = None
        is_auto = isinstance(self.n_estimators, str)
        if self.oob_score or is_auto:
            oob = OutOfBag(np.zeros((len(distinct.index), max(1, n_classes))))
        n_drawn = n_counted(distinct) if bags is None else bags.n_draws
        began = time.perf_counter()
        grow = partial(
            grow_members,
            merged,
            self._tree_limits(n_drawn, rows),
            seed=seed,
            n_threads=n_threads,
            out_of_bag=oob,
        )
        if is_auto:
            forest = grown_until_enough(grow, oob, merged, distinct, bags)
        else:
            forest = grow(
                range(n_before, self.n_estimators),
                batch=max(1, self.n_estimators // 10) if self.verbose else None,
                report=lambda n: self._report(n_before + n, time.perf_counter() - began),
            )
        if self.ccp_alpha > 0.0:
            unit = 2 * rows.target_exponent
            forest = self._pruned(forest, float(np.ldexp(float(self.ccp_alpha), -unit)))
            if oob is not None and bags is not None:
                _answer_left_out(forest, as_one_array(rows.table), distinct, bags, oob, n_threads)
        forest = forest.scaled(rows.target_exponent, rows.weight_exponent if bags is None else 0)
        self.forest_ = self.forest_.joined(forest) if n_before else forest
        ledger = [*self._ledger, (n_before, bags)] if n_before else [(0, bags)]
        self._seed, self._ledger, self.n_outputs_ = seed, ledger, 1
        if bags is None:
            self._has_weight = has_weight
        self.__dict__.pop("_views", None)
        self._record = None
        if self.oob_score and bags is not None:
            classes = getattr(self, "classes_", None)
            self._record = record_of_forest(
                self.forest_, rows, distinct, bags, classes, n_threads=n_threads
            )
        return oob if self.oob_score else None

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
        if self.oob_score:
            raise ValueError(
                "oob_score cannot be estimated for trees added with warm_start=True: the trees of "
                "the fit before no longer know their rows. Fit all trees at once, or without "
                "oob_score."
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

    def _bags(
        self, rows: Rows, distinct: DistinctRows, place: NDArray[np.intp], seed: int
    ) -> Bags | None:
        """How members draw their rows; None: they see all."""
        if not self.bootstrap:
            if self.oob_score:
                raise ValueError(
                    "Out of bag estimation only available if bootstrap=True: without it every "
                    "tree sees every row. Set bootstrap=True or oob_score=False."
                )
            if self.max_samples is not None:
                raise ValueError(
                    f"`max_samples` cannot be set if `bootstrap=False`. Got "
                    f"max_samples={self.max_samples!r}: set bootstrap=True, or leave it at None."
                )
            return None
        # Whole-number weights are repetitions; with others as many draws as there are rows.
        n_rows = rows.n if distinct.weight is not None else n_counted(distinct)
        n_draws, wanted = n_rows, self.max_samples
        if wanted is not None:
            is_count = isinstance(wanted, (int, np.integer))
            n_draws = int(wanted) if is_count else max(1, round(n_rows * float(wanted)))
        return Bags(
            seed=seed,
            n_draws=n_draws,
            mass=mass_of(distinct.copies, distinct.weight),
            place=place,
            n=len(distinct.index),
        )

    def _tree_limits(self, n_drawn: int, rows: Rows) -> ForestLimits:
        # Targets of extreme size are kept divided; so is what is asked of them.
        unit = 2 * rows.target_exponent
        return ForestLimits(
            criterion=CRITERIA.get(self.criterion, self.criterion),
            max_features=self._n_columns_looked_at(),
            columns_of_tree=self.feature_sampling == "tree",
            random_cuts=self._random_cuts,
            min_impurity_decrease=float(np.ldexp(float(self.min_impurity_decrease), -unit)),
            min_weight_share=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, n_drawn)),
            min_samples_leaf=max(1, count_of(self.min_samples_leaf, n_drawn)),
            **self._votes(),
        )

    def _pruned(self, forest: Forest, alpha: float) -> Forest:
        return pruned_forest(forest, alpha)

    def _votes(self) -> dict[str, bool]:
        return {}

    def _n_columns_looked_at(self) -> int:
        return n_drawn(self.max_features, self._plan.n_columns)

    def _report(self, n_trees: int, seconds: float) -> None:
        if self.verbose:
            print(f"{n_trees} of {self.n_estimators} trees grown, {seconds:.1f} s")

    # ---- what was left out ----

    def _out_of_bag(self, oob: OutOfBag) -> Floats:
        """Mean answers of the trees that did not see each row passed to fit; NaN: all saw it.

        A row of weight zero is left NaN, as if it had not been passed.
        """
        if (oob.counts == 0).any():
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                UserWarning,
                stacklevel=4,
            )
        means = oob.means()
        nothing = np.full((1, means.shape[1]), np.nan)
        bags = self._ledger[-1][1]
        assert bags is not None
        return np.concatenate([means, nothing])[bags.place]

    # ---- answering ----

    def _scores(self, X: object) -> Floats:
        """The mean over the trees."""
        return mean_answer(super()._scores(X), self.forest_)

    def predictor(self) -> Predictor:
        """Make a small copy of the model that only predicts, as `TreeModel.predictor` tells."""
        check_is_fitted(self)
        self._check_n_jobs()
        return mean_predictor_of(self, self._answering, n_jobs=self.n_jobs)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in what the splits of a tree gain, averaged over the trees."""
        check_is_fitted(self)
        return self.forest_.importance_of_columns()

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

        Of rows that are equal the first stands for all. Without a bootstrap: every row of weight.
        """
        check_is_fitted(self)
        return [self._samples_of(member) for member in range(self.forest_.n_trees)]

    def _samples_of(self, member: int) -> NDArray[np.intp]:
        bags = [bags for first, bags in self._ledger if first <= member][-1]
        if bags is None:
            return np.flatnonzero(self._has_weight)
        places, first = np.unique(bags.place, return_index=True)
        first = first[places >= 0]
        return np.sort(np.repeat(first, bags.drawn(member)))

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
        """How often a tree saw each row of the fit; rows that are equal share their count.

        Parameters
        ----------
        member : int
            Number of the tree, from 0.
        """
        check_is_fitted(self)
        if not 0 <= member < self.forest_.n_trees:
            raise ValueError(f"There is no tree {member}: there are {self.forest_.n_trees}.")
        bags = [bags for first, bags in self._ledger if first <= member][-1]
        if bags is None:
            raise ValueError("bootstrap=False: every tree saw every row.")
        return bags.counts(member)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_views"}


def _answer_left_out(
    forest: Forest,
    table: NDArray[Any],
    distinct: DistinctRows,
    bags: Bags,
    oob: OutOfBag,
    n_threads: int,
) -> None:
    """Sum up anew what pruned trees answer for the rows they did not draw."""
    oob.sums[:], oob.counts[:] = 0.0, 0
    for member in range(forest.n_trees):
        out = np.flatnonzero(bags.drawn(member) == 0)
        if len(out):
            rows = np.ascontiguousarray(table[distinct.index[out]])
            oob.sums[out] += forest.tree(member).predict(rows, n_threads=n_threads)
            oob.counts[out] += 1
