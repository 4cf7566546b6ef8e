"""A single classification or regression tree (CART)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    BinnedTable,
    Rows,
    SortedTable,
    as_one_array,
    bin_rows,
    read_once,
    refuse_levels,
)
from weald.ensembles.base import Floats
from weald.ensembles.class_weights import weights_by_class, weights_of_classes, without_classes
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.forests.forest_rows import (
    CRITERIA,
    OF_NUMBERS,
    check_outputs,
    check_target,
    count_of,
    forest_rows,
    gain_exponent,
    one_table,
)
from weald.ensembles.forests.outputs import ClassOutputs, NumberOutputs, OutputsModel
from weald.ensembles.forests.tree_facts import leaf_facts, pruning_path
from weald.ensembles.forests.tree_limits import TREE_LIMITS
from weald.ensembles.forests.tree_tags import TreeTags
from weald.ensembles.max_features import n_drawn
from weald.ensembles.monotonic import directions_of_model
from weald.ensembles.regressing import Regressor
from weald.ensembles.row_counts import weighted_as_repeated
from weald.parameters import ClassWeight, Limit, OneOf
from weald.resampling import rows_as_they_lie, seed_of
from weald.trees import (
    Forest,
    ForestBuilder,
    ForestGrower,
    ForestLimits,
    GrownTree,
    TreeGrower,
    TreeLimits,
    TreeView,
    check_search,
    decision_paths,
    depths,
    pruned_forest,
    with_medians,
)


class DecisionTree(OutputsModel):
    """A single tree, grown until its leaves are pure unless a limit stops it.

    Parameters
    ----------
    criterion : str
        Split criterion.
    max_depth : int or None, default=None
        Maximum depth of the tree.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves.
    splitter : {"best", "random"}, default="best"
        Use the best threshold of each column, or one drawn uniformly between its minimum and
        maximum in the node.
    min_samples_split : int or float, default=2
        Minimum number of rows in a node to split it; a float is a fraction of all rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, likewise. Rows count once, whatever their weight.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight of all rows.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=None
        Number of columns drawn at random and considered at each split: a count, a fraction, the
        square root, binary logarithm or third of all columns, or all (None).
    random_state : int, RandomState or None, default=None
        Seed of the draws of splitter="random" and `max_features`; not used otherwise.
    min_impurity_decrease : float, default=0.0
        Minimum impurity decrease of a split, defined as in scikit-learn.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: subtrees whose splits lower the
        impurity of the tree by at most this much per additional leaf are removed.
    monotonic_cst : array, dict or None, default=None
        Monotonic constraint of each column, by position or by name: 1 for increasing predictions,
        -1 for decreasing, 0 for no constraint. For regression and binary classification (then of
        the probability of the second class). Missing values are not constrained.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Tree growth policy: leaf-wise ("best_first"), level-wise ("depth_wise") or oblivious
        ("symmetric"). The first two differ only if `max_leaf_nodes` is given. An oblivious tree
        applies one split to all nodes of a level, except where a child would be too small; a level
        that would exceed `max_leaf_nodes` is not grown.
    max_bins : int or None, default=None
        Maximum number of bins per column, up to 65535; None means 255. Columns with at most that
        many distinct values get one bin per value. More than 255 bins in a column make the fit
        slower.
    exact : bool, default=False
        Consider every threshold between two adjacent distinct values in a node instead of bin
        boundaries; `max_bins` must then be None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes ("from_dtype"), those
        listed by name, position or boolean mask, or none.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The tree does not depend on it.

    Attributes
    ----------
    max_features_ : int
        Number of columns considered at each split.
    """

    _takes_several: ClassVar[bool] = True

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        splitter: str = "best",
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.splitter = splitter
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.growth = growth
        self.max_bins = max_bins
        self.exact = exact
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _with_weights(self, rows: Rows) -> Rows:
        return weighted_as_repeated(
            rows, min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf
        )

    def _bin(self, rows: Rows) -> BinnedTable | SortedTable:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        return bin_rows(rows, max_bins=self.max_bins, exact=self.exact, n_threads=self._n_threads)

    def _grower(
        self, binned: BinnedTable | SortedTable, rows: Rows, weight: Floats | None
    ) -> TreeGrower:
        total = _total_weight(rows, weight)
        decrease, slack = self._decrease(rows), 1.0 - 1e-12  # tolerate rounding at equality
        limits = TreeLimits(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, rows.n)),
            min_samples_leaf=max(1, count_of(self.min_samples_leaf, rows.n)),
            min_child_weight=float(self.min_weight_fraction_leaf) * total * slack,
            min_gain=decrease * total * slack if decrease > 0.0 else -math.inf,
            directions=directions_of_model(self, len(getattr(self, "classes_", ()))),
        )
        criterion = CRITERIA.get(self.criterion, self.criterion)
        return TreeGrower(binned, criterion, limits, n_threads=self._n_threads)

    def _decrease(self, rows: Rows) -> float:
        # Targets of extreme magnitude are stored scaled, and the limit is scaled likewise. The core
        # sums gains over outputs; the parameter limits their mean.
        wanted = float(self.min_impurity_decrease) * rows.n_outputs
        return float(np.ldexp(wanted, -gain_exponent(self.criterion, rows)))

    @property
    def _draws(self) -> bool:
        """Whether columns or thresholds are drawn at random."""
        return self.splitter == "random" or self.max_features is not None

    @property
    def _needs_forest_engine(self) -> bool:
        return self._draws or self.criterion == "absolute_error"

    def _grow_drawn(
        self, rows: Rows, n_classes: int = 0, class_weight: Floats | None = None
    ) -> None:
        if self.growth != "best_first" or self.exact or self.max_bins is not None:
            raise ValueError(
                "growth, exact and max_bins are not supported with splitter='random', max_features "
                f"or criterion='absolute_error': got growth={self.growth!r}, exact={self.exact!r}, "
                f"max_bins={self.max_bins!r}. Leave these three at their defaults."
            )
        if self.criterion == "absolute_error":
            refuse_levels(rows.table, "criterion='absolute_error'")
        rows, n_levels = one_table(rows)
        n_threads, random_cuts = self._n_threads, self.splitter == "random"
        first = getattr(self, "_first_class", None)
        settings = (n_classes, class_weight, random_cuts, n_threads, n_levels, first)
        merged = forest_rows(rows, rows_as_they_lie(rows.n), None, *settings)
        limits = ForestLimits(
            criterion=CRITERIA.get(self.criterion, self.criterion),
            max_features=n_drawn(self.max_features, self._plan.n_columns),
            random_cuts=random_cuts,
            min_impurity_decrease=self._decrease(rows),
            min_weight_share=float(self.min_weight_fraction_leaf),
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(2, count_of(self.min_samples_split, rows.n)),
            min_samples_leaf=max(1, count_of(self.min_samples_leaf, rows.n)),
            directions=directions_of_model(self, n_classes),
        )
        seed = seed_of(self.random_state) if self._draws else 0  # breaks ties between columns
        forest = ForestGrower(merged, limits, seed=seed, n_threads=n_threads).grow(range(1))
        forest = forest.scaled(rows.target_exponent, rows.weight_unit)
        self._keep_forest(forest, rows, class_weight)

    def _keep(self, tree: GrownTree, rows: Rows, class_weight: Floats | None = None) -> None:
        forest = ForestBuilder(np.zeros(tree.value.shape[1]), self._plan.n_columns)
        forest.add(tree, output=-1)
        built = forest.build().scaled(rows.target_exponent, rows.weight_unit)
        self._keep_forest(built.with_mean_gains(rows.n_outputs), rows, class_weight)

    def _keep_forest(self, forest: Forest, rows: Rows, class_weight: Floats | None) -> None:
        alpha = float(np.ldexp(float(self.ccp_alpha), -gain_exponent(self.criterion, rows)))
        forest = pruned_forest(forest, alpha)
        # Means of merged leaves satisfy monotonic constraints; medians need not.
        if alpha > 0.0 and self.criterion == "absolute_error" and self.monotonic_cst is None:
            target = np.ldexp(rows.target, rows.target_exponent)
            table, own = as_one_array(rows.table), rows.total_weight
            forest = with_medians(forest, table, target, lambda _: own)
        self.forest_ = forest
        advise_of_constant(self, rows)
        self._facts = leaf_facts(self, rows, class_weight)
        self.max_features_ = n_drawn(self.max_features, self._plan.n_columns)
        self.n_outputs_ = rows.n_outputs

    def _one_output(self, y: Any) -> Any:
        # A column vector is accepted without a warning, as by scikit-learn's trees (its forests
        # warn); parameters that support only one output do warn.
        is_column = len(np.shape(y)) == 2 and np.shape(y)[1] == 1
        takes_several = is_column and self.__sklearn_tags__().target_tags.multi_output
        return np.ravel(y) if takes_several else y

    def cost_complexity_pruning_path(
        self, X: object, y: object, sample_weight: object = None
    ) -> Any:
        """Compute the pruning path of minimal cost-complexity pruning.

        Returns
        -------
        Bunch
            `ccp_alphas`, the effective alphas in ascending order from 0, and `impurities`, the
            total impurity of the leaves for each.
        """
        return pruning_path(self, X, y, sample_weight)

    @property
    def tree_(self) -> TreeView:
        """The tree with the array attributes of scikit-learn's `tree_`; read-only."""
        check_is_fitted(self)
        return TreeView(
            self.forest_,
            criterion=self.criterion,
            facts=getattr(self, "_facts", None),  # trees of a forest derive them from gains
            widths=self._widths,
            unit=getattr(self, "_gain_unit", 0),
        )

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf of each row: a node of the tree, as numbered in `tree_`."""
        return super().apply(X)[:, 0]

    def decision_path(self, X: object) -> Any:
        """Return the nodes each row passes through: a sparse matrix of shape (rows, nodes)."""
        return decision_paths(self.forest_, self._leaves(X))[0]

    def get_depth(self) -> int:
        """Depth of the tree: the number of splits above its deepest leaf."""
        check_is_fitted(self)
        return int(depths(self.forest_).max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.forest_.value)


class DecisionTreeClassifier(TreeTags, ClassOutputs, ClassifierMixin, DecisionTree):
    """A classification tree (CART).

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Split criterion; entropy is measured in bits, and log_loss is an alias of it.
    class_weight : dict, list of dicts, "balanced" or None, default=None
        Class weights, multiplied with the row weights; a list with one entry per output if there
        are several, whose weights are multiplied. "balanced": all classes have the same total
        weight. Class weights do not change row counts.

    Examples
    --------
    >>> from weald import DecisionTreeClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=100).fit(train.data, train.target)
    >>> round(tree.score(test.data, test.target), 2)
    0.85
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy", "log_loss")),
        "class_weight": ClassWeight(("balanced",), several=True),
        **TREE_LIMITS,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        class_weight: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        splitter: str = "best",
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: Any = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            splitter=splitter,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array, shape (rows,) or (rows, outputs)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_split` and `min_samples_leaf` count rows, not weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows, classes = self._class_rows(X, y, sample_weight)
            rows = self._with_weights(rows)
            check_outputs(self, rows.n_outputs)
            self._keep_classes(classes)
            of_class = weights_of_classes(self.class_weight, rows, self.classes_)
            if of_class is not None:
                rows = without_classes(rows, of_class)
            if self._needs_forest_engine:
                self._grow_drawn(rows, sum(self._widths), of_class)
                return self
            weight, numbers = rows.weight, rows.target.astype(np.int32)
            if of_class is not None:
                weight = weights_by_class(numbers, of_class) * (1.0 if weight is None else weight)
            grower = self._grower(self._bin(rows), rows, weight)
            if self._first_class is None:
                tree = grower.on_classes(numbers, self.n_classes_, weight, rows.copies)
            else:
                tree = grower.on_labels(numbers, self._first_class, weight, rows.copies)
            self._keep(tree, rows, of_class)
        return self


class DecisionTreeRegressor(TreeTags, NumberOutputs, Regressor, DecisionTree):
    """A regression tree (CART).

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, \
            default="squared_error"
        Split criterion: squared error, absolute error (leaves then predict medians; slower, and
        numeric columns only), or Poisson deviance (requires non-negative y). "friedman_mse" is an
        alias of "squared_error".

    Examples
    --------
    >>> from weald import DecisionTreeRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 7.0]
    >>> tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> print(tree.text())
    column 0 <= 2.5?
    ├─ yes: +1  (weight 2)
    └─ no:  +6  (weight 2)
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(OF_NUMBERS),
        **TREE_LIMITS,
    }

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array of finite numbers, shape (rows,) or (rows, outputs)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_split` and `min_samples_leaf` count rows, not weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows = self._number_rows(X, y, sample_weight).with_moderate_target()
            rows = self._with_weights(rows)
            check_outputs(self, rows.n_outputs)
            check_target(self.criterion, rows.target)
            if self._needs_forest_engine:
                self._grow_drawn(rows)
                return self
            tree = self._grower(self._bin(rows), rows, rows.weight).on_values(
                np.ascontiguousarray(np.atleast_2d(rows.target.T)), rows.weight, rows.copies
            )
            self._keep(tree, rows)
        return self


def _total_weight(rows: Rows, weight: Floats | None) -> float:
    """Total weight of the rows, in the unit of `rows`; correctly rounded."""
    if weight is None:
        return float(rows.n if rows.copies is None else rows.copies.sum())
    return math.fsum(weight if rows.copies is None else weight * rows.copies)
