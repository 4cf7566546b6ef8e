"""A single classification or regression tree (CART)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    BinnedTable,
    Rows,
    SortedTable,
    bin_rows,
    class_rows,
    number_rows,
    refuse_levels,
)
from weald.ensembles.base import Floats, TreeModel
from weald.parameters import Columns, Jobs, Limit, NoneOr, OneOf, Whole
from weald.trees import (
    ForestBuilder,
    GrownTree,
    TreeGrower,
    TreeLimits,
    TreeView,
    check_search,
    decision_paths,
    depths,
)

_LIMITS: Mapping[str, Limit] = {
    "max_depth": NoneOr(Whole(1)),
    "max_leaf_nodes": NoneOr(Whole(2)),
    "min_samples_split": Whole(2),
    "min_samples_leaf": Whole(1),
    "growth": OneOf(("best_first", "depth_wise", "symmetric")),
    "max_bins": NoneOr(Whole(2, 65535)),
    "exact": OneOf((True, False)),
    "categorical_features": Columns(),
    "n_jobs": Jobs(),
}


class DecisionTree(TreeModel):
    """One tree, grown until its leaves are pure unless a limit stops it.

    Parameters
    ----------
    criterion : str
        How a split is judged.
    max_depth : int or None, default=None
        Most questions between the root and a leaf.
    max_leaf_nodes : int or None, default=None
        Most leaves.
    min_samples_split : int, default=2
        Fewest rows a node must hold to be split.
    min_samples_leaf : int, default=1
        Fewest rows of a leaf. Rows count by their weights if these are whole numbers.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Which leaves come first when `max_leaf_nodes` is given: those that gain most, or those
        nearest to the root. Symmetric: all of a level by one test, where it leaves no child too
        small; a level that would exceed `max_leaf_nodes` is not made.
    max_bins : int or None, default=None
        Most bins a column is cut into, up to 65535; None means 255. Up to so many distinct values
        are all told apart. A column of more than 255 bins makes the fit slower, because rows are
        then kept sorted instead of counted.
    exact : bool, default=False
        Look at every split between two values that are neighbours in a node, however many values
        there are, instead of at bins; `max_bins` must then be None.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. Categories need bins: not `exact`, not
        "symmetric" growth, and at most 255 `max_bins`.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The tree is the same for any number.
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
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
        self.growth = growth
        self.max_bins = max_bins
        self.exact = exact
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _bin(self, rows: Rows) -> BinnedTable | SortedTable:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        if self.growth == "symmetric":
            refuse_levels(rows.table, "growth='symmetric'")
        return bin_rows(rows, max_bins=self.max_bins, exact=self.exact, n_threads=self._n_threads)

    def _grower(self, binned: BinnedTable | SortedTable) -> TreeGrower:
        limits = TreeLimits(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        return TreeGrower(binned, self.criterion, limits, n_threads=self._n_threads)

    def _keep(self, tree: GrownTree, rows: Rows) -> None:
        forest = ForestBuilder(np.zeros(tree.value.shape[1]), self._plan.n_columns)
        forest.add(tree, output=-1)
        self.forest_ = forest.build(rows.target_exponent, rows.weight_exponent)

    @property
    def tree_(self) -> TreeView:
        """The tree under the names of scikit-learn's arrays; read-only."""
        check_is_fitted(self)
        return TreeView(self.forest_)

    def decision_path(self, X: object) -> Any:
        """Tell which nodes each row passes: a sparse matrix of the shape (rows, nodes)."""
        return decision_paths(self.forest_, self.apply(X))[0]

    def get_depth(self) -> int:
        """Most questions between the root and a leaf."""
        check_is_fitted(self)
        return int(depths(self.forest_).max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.forest_.value)


class DecisionTreeClassifier(ClassifierMixin, DecisionTree):
    """A classification tree (CART).

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        How a split is judged; entropy is measured in bits.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.

    Examples
    --------
    >>> from weald import DecisionTreeClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=100).fit(train.data, train.target)
    >>> round(tree.score(test.data, test.target), 2)
    0.85
    """

    _limits: ClassVar[Mapping[str, Limit]] = {"criterion": OneOf(("gini", "entropy")), **_LIMITS}

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
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
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            tree = self._grower(self._bin(rows)).on_classes(
                rows.target.astype(np.int32), len(self.classes_), rows.weight, rows.copies
            )
            self._keep(tree, rows)
        return self

    def predict_proba(self, X: object) -> Floats:
        """Shares of the classes in the leaf of each row."""
        return self._scores(X)

    def predict(self, X: object) -> NDArray[Any]:
        """The most frequent class in the leaf of each row; ties go to the first."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def _leaf_text(self, value: Floats) -> str:
        best = int(np.argmax(value))
        return f"{self.classes_[best]!s} ({value[best]:.3g})"

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}


class DecisionTreeRegressor(RegressorMixin, DecisionTree):
    """A regression tree (CART).

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        How a split is judged.

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

    _limits: ClassVar[Mapping[str, Limit]] = {"criterion": OneOf(("squared_error",)), **_LIMITS}

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            tree = self._grower(self._bin(rows)).on_values(
                rows.target[np.newaxis], rows.weight, rows.copies
            )
            self._keep(tree, rows)
        return self

    def predict(self, X: object) -> Floats:
        """The mean target in the leaf of each row."""
        return self._scores(X)[:, 0]
