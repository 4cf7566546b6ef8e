"""Option trees: a node may hold several splits, all of which a row follows."""

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
from weald.number_text import number_text
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
    """A tree with option nodes: a row follows all their splits, and the leaves are combined.

    Parameters
    ----------
    criterion : str
        Split criterion.
    max_options : int, default=5
        Maximum number of splits of an option node, each on another column; 1 gives an ordinary
        decision tree. Splits that partition the rows of the node identically count as one.
    option_depth : int, default=2
        Nodes at a depth below this value may be option nodes.
    option_ratio : float, default=0.5
        Minimum gain of a further split of an option node, as a fraction of the best split's gain.
    max_depth : int or None, default=None
        Maximum depth of the tree, along any option.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of the whole tree. The nodes of largest gain are split first;
        gains below an option are multiplied by its share, and if not all options fit, the best
        ones are kept.
    min_samples_split : int, default=2
        Minimum number of rows in a node to split it.
    min_samples_leaf : int, default=1
        Minimum number of rows in a leaf, whatever their weight.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning: the minimum decrease of the mean
        impurity per additional leaf. A node is pruned together with all its options, and gains
        below an option are multiplied by its share.
    max_bins : int or None, default=None
        Maximum number of bins per column, up to 255; None means 255. Columns with at most that
        many distinct values get one bin per value.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes ("from_dtype"), those
        listed by name, position or boolean mask, or none.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The tree does not depend on it.

    Attributes
    ----------
    forest_ : OptionForest
        The tree as flat arrays.
    """

    forest_: OptionForest
    _predicts_by_forest: ClassVar[bool] = False  # predictors do not support option nodes

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
        # At most one option per column; the core counts columns in 31 bits.
        most = min(int(self.max_options), 2**31 - 1)
        options = OptionLimits(most, self.option_depth, self.option_ratio)
        return OptionGrower(binned, target, limits, options, n_threads=self._n_threads, start=start)

    def _grow(self, rows: Rows, target: OptionTarget) -> None:
        grower = self._grower(rows, target)
        # Gains of a regression are in the squared stored unit of the target.
        alpha = float(np.ldexp(self.ccp_alpha, -2 * rows.target_exponent))
        branch = grower.grow(alpha).scaled(rows.target_exponent, rows.weight_unit)
        self.forest_ = OptionForest.of(
            self._finished(branch), self._plan.n_columns, grower.saw_missing
        )

    def _finished(self, branch: Branch) -> Branch:
        """Post-process a branch that is grown and pruned."""
        return branch

    @property
    def _merged_by(self) -> str:
        return "merged by mean"

    def _mean_and_std(self, X: object) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        table, n_threads = table_for_predict(self, X), self._n_threads
        parts = [
            self.forest_.predict_spread(part, n_threads=n_threads) for part in dense_blocks(table)
        ]
        predictions, spreads = zip(*parts, strict=True)
        return np.concatenate(predictions), np.concatenate(spreads)

    def apply(self, X: object) -> NDArray[np.int32]:
        """Return the indices of all leaves that each row reaches.

        Returns
        -------
        array of int32, shape (rows, maximum number of leaves a row can reach)
            Leaves are numbered from left to right; rows that reach fewer are padded with -1.
            `forest_.leaf_shares` holds the weight of each leaf in the prediction.
        """
        return self._leaves(X)

    def text(self, tree: int = 0) -> str:
        """Render the tree as text: options grouped by node, splits with their node numbers.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree; there is only tree 0.
        """
        if operator.index(tree) != 0:
            return super().text(tree)  # raises
        check_is_fitted(self)
        return option_tree_text(
            self.forest_,
            names=self._plan.names(self._column_names()),
            answer=self._leaf_text,
            merged_by=self._merged_by,
            levels=self._plan.levels,
        )

    def _node_columns(self) -> dict[str, Any]:
        """The nodes, with the next option of the same node (-1 if there is none)."""
        columns = super()._node_columns()
        following, depth = self.forest_.next_option.tolist(), columns["depth"]
        left, right = columns["left"].tolist(), columns["right"].tolist()
        # Parents, and earlier options of a node, precede in the array.
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
        """Add a user-defined split to a node as a further option, and grow the subtree below it.

        The subtrees of the other options stay as they are, with a smaller share in the prediction.
        The model stores no rows, so training rows are passed again, usually those of the fit. The
        parameters of the model apply to the new subtree; `max_leaf_nodes` limits it separately.

        Parameters
        ----------
        node : int
            Number of an inner node, as shown in brackets by `text`.
        feature : int or str
            Column to split on, by position or name; a part of a date by the name shown by `text`.
        threshold : number, or list of levels
            Values up to it go left. For a categorical column: the categories that go left.
        X : array, frame or sparse table, shape (rows, columns)
            Training rows; those that reach the node are used.
        y : array, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights.

        Returns
        -------
        OptionTree
            A new model; this one is unchanged. Nodes after the inserted ones are renumbered.

        Raises
        ------
        ValueError
            If there is no such node, column or category, if the node is a leaf, if a side of the
            split has fewer than `min_samples_leaf` rows, or if the node has this split already.
        """
        return with_option(self, node, feature, threshold, self._rows_again(X, y, sample_weight))

    def _rows_again(self, X: object, y: object, sample_weight: object) -> Rows:
        raise NotImplementedError

    def _target(self, rows: Rows) -> OptionTarget:
        raise NotImplementedError

    def get_depth(self) -> int:
        """Depth of the tree: the number of splits above its deepest leaf."""
        check_is_fitted(self)
        forest, depth = self.forest_, np.zeros(len(self.forest_.feature), dtype=np.int64)
        for node in range(len(depth)):
            if forest.feature[node] >= 0:
                depth[node + 1] = depth[forest.right[node]] = depth[node] + 1
            if forest.next_option[node]:
                depth[forest.next_option[node]] = depth[node]
        return int(depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves, over all options."""
        check_is_fitted(self)
        return len(self.forest_.value)

    def get_n_option_nodes(self) -> int:
        """Number of nodes with more than one split."""
        check_is_fitted(self)
        return int((heads_of(self.forest_) & (self.forest_.next_option > 0)).sum())


class OptionTreeClassifier(ClassifierMixin, OptionTree):
    """A classification option tree: nodes may hold several splits of nearly equal gain.

    Parameters
    ----------
    criterion : {"gini", "entropy"}, default="gini"
        Split criterion; entropy is measured in bits.
    voting : {"soft", "hard"}, default="soft"
        Average the class probabilities of the leaves reached ("soft"), or their votes ("hard").

    Attributes
    ----------
    classes_ : array
        Sorted class labels.

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
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array, shape (rows,)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_split` and `min_samples_leaf` count rows, not weights.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            rows = self._with_weights(rows)
            self._grow(rows, self._target(rows))
        return self

    def predict_proba(self, X: object, return_std: bool = False) -> Any:
        """Predict class probabilities: the weighted mean of the leaves that each row reaches.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation over the leaves reached; 0 for a single leaf.

        Returns
        -------
        array, shape (rows, classes), or two of them
        """
        shares, *spread = self._mean_and_std(X) if return_std else (self._scores(X),)
        # Sums of rounded shares, such as sixths, may exceed 1 by rounding.
        shares = np.minimum(shares, 1.0)
        return (shares, *spread) if return_std else shares

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
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
        return f"{self.classes_[best]!s} ({number_text(value[best], 3)})"

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "classes": self.classes_}


class OptionTreeRegressor(Regressor, OptionTree):
    """A regression option tree: nodes may hold several splits of nearly equal gain.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        Split criterion.

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
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array of finite numbers, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_split` and `min_samples_leaf` count rows, not weights.
        """
        with self._fitting():
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            rows = self._with_weights(rows)
            self._grow(rows, self._target(rows))
        return self

    def predict(self, X: object, return_std: bool = False) -> Any:
        """Predict the target: the weighted mean of the leaves that each row reaches.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation over the leaves reached; 0 for a single leaf.

        Returns
        -------
        array, shape (rows,), or two of them
        """
        if not return_std:
            return self._scores(X)[:, 0]
        predictions, spread = self._mean_and_std(X)
        return predictions[:, 0], spread[:, 0]

    def _target(self, rows: Rows) -> OptionTarget:
        return OptionTarget.of_numbers(rows.target[np.newaxis], rows.weight, rows.copies)

    def _rows_again(self, X: object, y: object, sample_weight: object) -> Rows:
        rows = rows_of_numbers(self, X, y, sample_weight).with_moderate_target()
        return self._with_weights(rows)
