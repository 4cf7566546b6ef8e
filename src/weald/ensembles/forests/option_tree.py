"""Option trees: where several tests are nearly as good as the best, all of them are followed."""

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    BinnedTable,
    Rows,
    bin_rows,
    class_rows,
    dense_blocks,
    number_rows,
    table_for_predict,
)
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.forests.added_options import rows_of_classes, rows_of_numbers, with_option
from weald.ensembles.regressing import Regressor
from weald.ensembles.row_counts import weighted_as_repeated
from weald.parameters import Columns, Jobs, Limit, NoneOr, OneOf, Real, Whole
from weald.trees import (
    Branch,
    OptionForest,
    OptionGrower,
    OptionLimits,
    OptionTarget,
    TreeLimits,
    heads_of,
    option_tree_text,
)

_LIMITS: Mapping[str, Limit] = {
    "max_options": Whole(1),
    "option_depth": Whole(0),
    "option_ratio": Real(0.0, 1.0, open_below=True),
    "max_depth": NoneOr(Whole(1)),
    "max_leaf_nodes": NoneOr(Whole(2)),
    "min_samples_split": Whole(2),
    "min_samples_leaf": Whole(1),
    "ccp_alpha": Real(0.0),
    "max_bins": NoneOr(Whole(2, 255)),
    "categorical_features": Columns(),
    "n_jobs": Jobs(),
}


class OptionTree(TreeModel):
    """One tree with option nodes: a row follows all of their tests, and the answers are merged.

    Parameters
    ----------
    criterion : str
        How a split is judged.
    max_options : int, default=5
        Most tests of an option node, each of another column; 1 makes a plain decision tree. Tests
        that part the rows of the node in the same way count as one.
    option_depth : int, default=2
        Option nodes are those with fewer tests than this above them, where the choice of a test
        matters most.
    option_ratio : float, default=0.5
        The share of the best test's gain that another needs to stand beside it.
    max_depth : int or None, default=None
        Most questions between the root and a leaf, on any way.
    max_leaf_nodes : int or None, default=None
        Most leaves of the whole structure. Nodes that gain most are split first; what is gained
        below an option counts by its share, and of options that no longer fit the best are kept.
    min_samples_split : int, default=2
        Fewest rows a node must hold to be split.
    min_samples_leaf : int, default=1
        Fewest rows of a leaf, whatever they weigh.
    ccp_alpha : float, default=0.0
        Minimal cost-complexity pruning: the least that a leaf must lower the mean impurity by. A
        node is pruned together with all its options, and what hangs below an option counts by its
        share.
    max_bins : int or None, default=None
        Most bins a column is cut into, up to 255; None means 255. Up to so many distinct values are
        all told apart.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The tree is the same for any number.

    Attributes
    ----------
    forest_ : OptionForest
        The tree as flat arrays.
    """

    forest_: OptionForest
    _answers_by_forest: ClassVar[bool] = False  # a predictor knows no options

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_options: int = 5,
        option_depth: int = 2,
        option_ratio: float = 0.5,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_options = max_options
        self.option_depth = option_depth
        self.option_ratio = option_ratio
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _with_weights(self, rows: Rows) -> Rows:
        return weighted_as_repeated(
            rows, min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf
        )

    def _grower(self, rows: Rows, target: OptionTarget, *, start: int = 0) -> OptionGrower:
        binned = bin_rows(rows, max_bins=self.max_bins, n_threads=self._n_threads)
        assert isinstance(binned, BinnedTable)  # at most 255 bins
        limits = TreeLimits(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
        )
        # One of each column at most, and no table has more columns than the core can count.
        most = min(int(self.max_options), 2**31 - 1)
        options = OptionLimits(most, self.option_depth, self.option_ratio)
        return OptionGrower(binned, target, limits, options, n_threads=self._n_threads, start=start)

    def _grow(self, rows: Rows, target: OptionTarget) -> None:
        grower = self._grower(rows, target)
        # Gains of numbers are in units of the target's own scale, squared.
        alpha = float(np.ldexp(self.ccp_alpha, -2 * rows.target_exponent))
        branch = grower.grow(alpha).scaled(rows.target_exponent, rows.weight_unit)
        self.forest_ = OptionForest.of(
            self._finished(branch), self._plan.n_columns, grower.saw_missing
        )

    def _finished(self, branch: Branch) -> Branch:
        """What becomes of a branch when it is grown and pruned."""
        return branch

    @property
    def _merged_by(self) -> str:
        return "merged by mean"

    def _with_spread(self, X: object) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        table, n_threads = table_for_predict(self, X), self._n_threads
        parts = [
            self.forest_.predict_spread(part, n_threads=n_threads) for part in dense_blocks(table)
        ]
        answers, spreads = zip(*parts, strict=True)
        return np.concatenate(answers), np.concatenate(spreads)

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find all leaves that each row reaches.

        Returns
        -------
        array of int32, shape (rows, most leaves a row can reach)
            Leaves are counted from left to right; a row that reaches fewer has -1 behind them.
            `forest_.leaf_shares` tells what each counts.
        """
        return super().apply(X)

    def text(self, tree: int = 0) -> str:
        """Draw the tree as text: options under one head, tests with the numbers of their nodes.

        Parameters
        ----------
        tree : int, default=0
            There is only one.
        """
        if operator.index(tree) != 0:
            return super().text(tree)  # says so
        check_is_fitted(self)
        return option_tree_text(
            self.forest_,
            names=self._plan.names(self._column_names()),
            answer=self._leaf_text,
            merged_by=self._merged_by,
            levels=self._plan.levels,
        )

    def _node_columns(self) -> dict[str, Any]:
        """The nodes, with the next option of the same rows (-1: there is none)."""
        columns = super()._node_columns()
        following, depth = self.forest_.next_option.tolist(), columns["depth"]
        left, right = columns["left"].tolist(), columns["right"].tolist()
        # What comes before in the array is known: parents, and options before other options.
        for node, option in enumerate(following):
            if option > 0:
                depth[option] = depth[node]
            if left[node] >= 0:
                depth[left[node]] = depth[right[node]] = depth[node] + 1
        columns["next_option"] = np.array([option or -1 for option in following], dtype=np.int64)
        return columns

    def add_option(
        self,
        node: int,
        feature: int | str,
        threshold: Any,
        X: object,
        y: object,
        sample_weight: object = None,
    ) -> Self:
        """Put a test of your own beside those of a node, and grow what hangs below it.

        Nothing else changes: the other options keep what hangs below them, and each now counts a
        little less. The model keeps no rows, so those to learn from are passed again; usually they
        are those of the fit. The limits of the parameters hold below the new test;
        `max_leaf_nodes` limits the new part by itself.

        Parameters
        ----------
        node : int
            An inner node, by the number that `text` shows in brackets.
        feature : int or str
            The column to ask, by position or name; a part of a date by the name that `text` shows.
        threshold : number, or list of levels
            Values up to it go left. For a column of categories: the levels that go left.
        X : array, frame or sparse table, shape (rows, columns)
            Rows to learn from; those that reach the node are used.
        y : array, shape (rows,)
            Their targets.
        sample_weight : array, shape (rows,), or None
            Their weights.

        Returns
        -------
        OptionTree
            A new model; this one stays as it is. Nodes behind the new ones have new numbers.

        Raises
        ------
        ValueError
            If there is no such node, column or level, if the node is a leaf, if the test would
            leave one side with fewer than `min_samples_leaf` rows, or if it is there already.
        """
        return with_option(self, node, feature, threshold, self._rows_again(X, y, sample_weight))

    def _rows_again(self, X: object, y: object, sample_weight: object) -> Rows:
        raise NotImplementedError

    def _target(self, rows: Rows) -> OptionTarget:
        raise NotImplementedError

    def get_depth(self) -> int:
        """Most questions between the root and a leaf."""
        check_is_fitted(self)
        forest, depth = self.forest_, np.zeros(len(self.forest_.feature), dtype=np.int64)
        for node in range(len(depth)):
            if forest.feature[node] >= 0:
                depth[node + 1] = depth[forest.right[node]] = depth[node] + 1
            if forest.next_option[node]:
                depth[forest.next_option[node]] = depth[node]
        return int(depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves, below all options."""
        check_is_fitted(self)
        return len(self.forest_.value)

    def get_n_option_nodes(self) -> int:
        """Number of nodes at which several tests are followed."""
        check_is_fitted(self)
        return int((heads_of(self.forest_) & (self.forest_.next_option > 0)).sum())


class OptionTreeClassifier(ClassifierMixin, OptionTree):
    """A classification tree that follows several tests where they are nearly as good as the best.

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        How a split is judged; entropy is measured in bits.
    voting : {"soft", "hard"}, default="soft"
        Merge the shares of the classes in the leaves, or let each leaf vote for its largest class.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.

    Examples
    --------
    >>> from weald import DecisionTreeClassifier, OptionTreeClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> tree = DecisionTreeClassifier().fit(train.data, train.target)
    >>> options = OptionTreeClassifier().fit(train.data, train.target)
    >>> [round(model.score(test.data, test.target), 2) for model in (tree, options)]
    [0.85, 0.93]
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy")),
        "voting": OneOf(("soft", "hard")),
        **_LIMITS,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        voting: str = "soft",
        max_options: int = 5,
        option_depth: int = 2,
        option_ratio: float = 0.5,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        max_bins: int | None = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            criterion=criterion,
            max_options=max_options,
            option_depth=option_depth,
            option_ratio=option_ratio,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            ccp_alpha=ccp_alpha,
            max_bins=max_bins,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
        )
        self.voting = voting

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            What each row counts in sums; `min_samples_split` and `min_samples_leaf` count rows.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            rows = self._with_weights(rows)
            self._grow(rows, self._target(rows))
        return self

    def predict_proba(self, X: object, return_std: bool = False) -> Any:
        """Shares of the classes, or of the votes, in the leaves of each row, merged.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows to answer.
        return_std : bool, default=False
            Also give how much the merged leaves disagree: their standard deviation, 0 where only
            one leaf answers.

        Returns
        -------
        array, shape (rows, classes), or two of them
        """
        shares, *spread = self._with_spread(X) if return_std else (self._scores(X),)
        # Shares of leaves, such as sixths, may add up to one bit more than 1.
        shares = np.minimum(shares, 1.0)
        return (shares, *spread) if return_std else shares

    def predict(self, X: object) -> NDArray[Any]:
        """The class of the largest merged share of each row; ties go to the first."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def _target(self, rows: Rows) -> OptionTarget:
        classes = rows.target.astype(np.int32)
        return OptionTarget(
            self.criterion, rows.weight, rows.copies, classes=classes, n_classes=len(self.classes_)
        )

    def _rows_again(self, X: object, y: object, sample_weight: object) -> Rows:
        return self._with_weights(rows_of_classes(self, X, y, sample_weight))

    def _finished(self, branch: Branch) -> Branch:
        if self.voting == "soft":
            return branch
        votes = np.eye(branch.value.shape[1])[np.argmax(branch.value, axis=1)]
        return replace(branch, value=votes)

    @property
    def _merged_by(self) -> str:
        return "merged by mean" if self.voting == "soft" else "merged by vote"

    def _leaf_text(self, value: Floats) -> str:
        best = int(np.argmax(value))
        return f"{self.classes_[best]!s} ({value[best]:.3g})"

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}


class OptionTreeRegressor(Regressor, OptionTree):
    """A regression tree that follows several tests where they are nearly as good as the best.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        How a split is judged.

    Examples
    --------
    >>> from weald import OptionTreeRegressor
    >>> X = [[1.0, 5.0], [2.0, 6.0], [3.0, 8.0], [4.0, 5.5]]
    >>> tree = OptionTreeRegressor(max_depth=1).fit(X, [1.0, 1.0, 5.0, 4.0])
    >>> print(tree.text())
    2 options, merged by mean
    ├─ [0] column 0 <= 2.5?
    │  ├─ yes: +1  (weight 2)
    │  └─ no:  +4.5  (weight 2)
    └─ [3] column 1 <= 7?
       ├─ yes: +2  (weight 3)
       └─ no:  +5  (weight 1)
    >>> tree.predict([[3.5, 6.0]])
    array([3.25])
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
            What each row counts in sums; `min_samples_split` and `min_samples_leaf` count rows.
        """
        with self._fitting():
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            rows = self._with_weights(rows)
            self._grow(rows, self._target(rows))
        return self

    def predict(self, X: object, return_std: bool = False) -> Any:
        """The mean target in the leaves of each row, merged.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows to answer.
        return_std : bool, default=False
            Also give how much the merged leaves disagree: their standard deviation, 0 where only
            one leaf answers.

        Returns
        -------
        array, shape (rows,), or two of them
        """
        if not return_std:
            return self._scores(X)[:, 0]
        answers, spread = self._with_spread(X)
        return answers[:, 0], spread[:, 0]

    def _target(self, rows: Rows) -> OptionTarget:
        return OptionTarget.of_numbers(rows.target[np.newaxis], rows.weight, rows.copies)

    def _rows_again(self, X: object, y: object, sample_weight: object) -> Rows:
        rows = rows_of_numbers(self, X, y, sample_weight).with_moderate_target()
        return self._with_weights(rows)
