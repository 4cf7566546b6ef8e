"""Rule lists: if ..., else if ..., else; the first matching rule predicts a row."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import BinnedTable, Rows, bin_rows, class_rows, number_rows
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.regressing import Regressor
from weald.ensembles.row_counts import weighted_as_repeated
from weald.number_text import number_text
from weald.parameters import Columns, Jobs, Limit, Whole
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, conditions_of_leaf


class RuleList(TreeModel):
    """Base class of rule lists: each row is predicted by the first rule that it matches.

    For each rule, a small tree is grown on the rows that match none of the previous rules; the rule
    is the leaf whose separation from the other rows lowers the squared error most. A default rule
    predicts rows that match no other.

    Parameters
    ----------
    max_rules : int, default=16
        Maximum number of rules, including the default rule.
    max_conditions : int, default=3
        Maximum number of conditions of a rule.
    min_samples_leaf : int, default=5
        Minimum number of training rows of a rule.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns. "from_dtype": columns of text and of unordered categorical dtypes.
        list: names, indices or a mask. None: no columns.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. Does not change the rules.

    Attributes
    ----------
    forest_ : Forest
        One tree for each rule, without the default rule.
    leaf_ : array of int
        Index of the leaf that is the rule, in each tree.
    answer_ : array, shape (rules + 1, outputs)
        Prediction of each rule; the last is that of the default rule.
    weight_ : array, shape (rules + 1,)
        Total weight of the training rows of each rule.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "max_rules": Whole(1),
        "max_conditions": Whole(1),
        "min_samples_leaf": Whole(1),
        "categorical_features": Columns(),
        "n_jobs": Jobs(),
    }
    _predicts_by_forest: ClassVar[bool] = False

    def __init__(
        self,
        *,
        max_rules: int = 16,
        max_conditions: int = 3,
        min_samples_leaf: int = 5,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.min_samples_leaf = min_samples_leaf
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _fit_rules(self, rows: Rows, values: Floats) -> None:
        """Fit the rules one after another on targets of shape (outputs, rows)."""
        rows = weighted_as_repeated(rows, min_samples_leaf=self.min_samples_leaf)
        binned = bin_rows(rows, max_bins=None, n_threads=self._n_threads)
        assert isinstance(binned, BinnedTable)
        limits = TreeLimits(
            max_depth=self.max_conditions, min_samples_leaf=self.min_samples_leaf, min_gain=0.0
        )
        grower = TreeGrower(binned, "squared_error", limits, n_threads=self._n_threads)
        copies = np.ones(rows.n, dtype=np.int64) if rows.copies is None else rows.copies.copy()
        forest = ForestBuilder(np.zeros(len(values)), self._plan.n_columns)
        leaves: list[int] = []
        predictions: list[Floats] = []
        weights: list[float] = []
        while True:
            tree = grower.on_values(values, rows.weight, copies)
            leaf_weights = tree.weight[tree.feature < 0]
            is_last = len(leaves) == self.max_rules - 1 or len(leaf_weights) == 1
            if is_last:
                total = math.fsum(leaf_weights)
                parts = leaf_weights[:, np.newaxis] * tree.value
                predictions.append(np.array([math.fsum(column) / total for column in parts.T]))
                weights.append(total)
                break
            rule = _most_different(tree.value, leaf_weights)
            forest.add(tree, output=-1)
            leaves.append(rule)
            predictions.append(tree.value[rule])
            weights.append(float(leaf_weights[rule]))
            copies[tree.leaf_of_row == rule] = 0
        self.forest_ = forest.build().scaled(rows.target_exponent, rows.weight_unit)
        self.leaf_ = np.array(leaves, dtype=np.int32)
        self.answer_ = np.ldexp(np.array(predictions), rows.target_exponent)
        self.weight_ = np.array(weights) * rows.weight_unit

    def rule_of(self, X: object) -> NDArray[np.intp]:
        """Index of the first rule that each row matches; the last index is the default rule."""
        check_is_fitted(self)
        n_rules = len(self.leaf_)
        if n_rules == 0:
            return np.zeros(len(super()._scores(X)), dtype=np.intp)
        matches = self._leaves(X) == self.leaf_
        return np.where(matches.any(axis=1), matches.argmax(axis=1), n_rules)

    def _scores(self, X: object) -> Floats:
        rule = self.rule_of(X)
        return np.asarray(self.answer_[rule])

    def get_n_rules(self) -> int:
        """Number of rules, including the default rule."""
        check_is_fitted(self)
        return len(self.answer_)

    def conditions(self, rule: int) -> str:
        """Conditions of a rule as text."""
        check_is_fitted(self)
        if rule >= len(self.leaf_):
            return "no rule matches"
        names = self._plan.names(self._column_names())
        levels = self._plan.levels
        found = conditions_of_leaf(self.forest_, rule, int(self.leaf_[rule]), names, levels)
        return " and ".join(found)

    def text(self, tree: int = 0) -> str:
        """The rules as text, one per line.

        Parameters
        ----------
        tree : int, default=0
            Must be 0: there is only one list.
        """
        check_is_fitted(self)
        if tree != 0:
            raise ValueError(f"tree must be 0: {type(self).__name__} is one list. Got {tree!r}.")
        lines = []
        for i, (value, weight) in enumerate(zip(self.answer_, self.weight_, strict=True)):
            consequence = f"{self._leaf_text(value)}  (weight {number_text(weight, 6)})"
            if i == len(self.leaf_):
                lines.append(f"{'else ' if i else ''}{consequence}")
            else:
                lines.append(f"{'else ' if i else ''}if {self.conditions(i)}: {consequence}")
        return "\n".join(lines)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "leaf": self.leaf_, "answer": self.answer_}


class RuleListClassifier(ClassifierMixin, RuleList):
    """Rule list for classification.

    Examples
    --------
    >>> from weald.ensembles import RuleListClassifier
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> rules = RuleListClassifier(min_samples_leaf=2).fit(X, ["a", "a", "b", "b", "a", "a"])
    >>> print(rules.text())
    if column 0 > 2.5 and column 0 <= 4.5: b (1)  (weight 2)
    else a (1)  (weight 4)
    """

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the rules.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numbers, text, categories and dates; missing values are supported.
        y : array, shape (rows,)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_leaf` counts rows.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            one_hot = np.eye(len(self.classes_))[rows.target.astype(np.intp)]
            self._fit_rules(rows, np.ascontiguousarray(one_hot.T))
        return self

    def predict_proba(self, X: object) -> Floats:
        """Class probabilities: class frequencies in the training rows of the matching rule."""
        return self._scores(X)

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _leaf_text(self, value: Floats) -> str:
        best = int(np.argmax(value))
        return f"{self.classes_[best]!s} ({number_text(value[best], 3)})"

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "classes": self.classes_}


class RuleListRegressor(Regressor, RuleList):
    """Rule list for regression.

    Examples
    --------
    >>> from weald.ensembles import RuleListRegressor
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> rules = RuleListRegressor(min_samples_leaf=1, max_rules=2).fit(X, [1.0, 1.0, 5.0, 5.0])
    >>> print(rules.text())
    if column 0 <= 2.5: +1  (weight 2)
    else +5  (weight 2)
    """

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the rules.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numbers, text, categories and dates; missing values are supported.
        y : array of finite numbers, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights; `min_samples_leaf` counts rows.
        """
        with self._fitting():
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            self._fit_rules(rows, rows.target[np.newaxis])
        return self

    def predict(self, X: object) -> Floats:
        """The mean target of the training rows of the matching rule."""
        return self._scores(X)[:, 0]


def _most_different(value: Floats, weight: Floats) -> int:
    """The leaf whose separation from all others lowers the squared error most."""
    total = math.fsum(weight)
    sums = weight[:, np.newaxis] * value
    rest = total - weight
    gap = value - (sums.sum(axis=0) - sums) / rest[:, np.newaxis]
    return int(np.argmax(weight * rest / total * (gap**2).sum(axis=1)))
