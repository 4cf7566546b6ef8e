"""Decision stumps: native search, and conversion to a forest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.checked_state import CheckedState
from weald.data import Rows, as_one_array, class_rows, levels_of, steady
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import Floats, TreeModel, keep_columns
from weald.number_text import number_text
from weald.parameters import Columns, Jobs, Limit, OneOf
from weald.trees import Forest, LeafFacts, TreeView, decision_paths

CRITERIA = ("error", "gini", "entropy")

# Class weights within this share of the total count as ties; the first class is predicted.
_NEAR = 2.0**-40


@dataclass(frozen=True, eq=False)
class FoundStump(CheckedState):
    """One split and its two leaves; `column` -1: no split, one leaf.

    For a categorical column `left_set` is the bit set of categories that go left, 64 per word.
    `leaf_classes` are the predicted class indices of the leaves, `samples` the numbers of rows in
    them (None: not known, in files of early versions).
    """

    column: int
    threshold: float
    missing_left: bool
    gain: float
    left: Floats
    right: Floats
    leaf_classes: tuple[int, int]
    left_set: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    samples: tuple[int, int] | None = None

    def prove_sound(self) -> None:
        """Raise an error if the leaves do not fit together."""
        n_classes = len(self.left)
        if self.column < -1 or np.isnan(self.threshold) or self.left_set.ndim != 1:
            raise ValueError("column or threshold out of range")
        if self.left.shape != (n_classes,) or self.right.shape != (n_classes,):
            raise ValueError("both leaves must have one weight per class")
        if not all(0 <= one < n_classes for one in self.leaf_classes):
            raise ValueError("leaf_classes must be indices of classes")

    @property
    def sides(self) -> list[Floats]:
        """Class weights of each leaf."""
        return [self.left] if self.column < 0 else [self.left, self.right]


class StumpSearch:
    """Searches for stumps on one table, whose columns are sorted once."""

    def __init__(self, rows: Rows, n_classes: int, criterion: str, *, n_threads: int) -> None:
        classes = rows.target.astype(np.int32)
        # 0 bins: the core chooses the number by the size of the table.
        table, n_levels = steady(as_one_array(rows.table)), levels_of(rows.table)
        levels = np.array(n_levels, dtype=np.int32) if n_levels else None
        self._stumps = _native.Stumps(table, classes, n_classes, 0, n_threads, levels)
        self._n_rows = rows.n
        self._criterion = criterion
        self._goes_right = np.empty(rows.n, dtype=np.uint8)
        self._wrong = np.empty(rows.n, dtype=bool)

    def find(
        self, mass: Floats, n_drawn: int | None = None
    ) -> tuple[FoundStump, NDArray[np.bool_]]:
        """Find the best stump for these row weights, and the rows it misclassifies.

        `n_drawn`: number of resampled rows that `mass` counts; None: rows are weighted.
        """
        row_weight = float(mass.sum()) / (self._n_rows if n_drawn is None else n_drawn)
        column, threshold, missing_left, gain, left, right, left_set = self._stumps.find(
            mass, self._criterion, self._goes_right, row_weight
        )
        least = _NEAR * float(left.sum() + right.sum())
        labels = (_heaviest(left, least), _heaviest(right, least))
        samples = self._samples(column, None if n_drawn is None else mass)
        stump = FoundStump(
            column, threshold, missing_left, gain, left, right, labels, left_set, samples
        )
        self._stumps.mark_wrong(self._goes_right, *labels, self._wrong)
        return stump, self._wrong

    def _samples(self, column: int, n_drawn: Floats | None) -> tuple[int, int]:
        """Numbers of rows in the leaves; `n_drawn` is how often each row was drawn, None: once."""
        total = self._n_rows if n_drawn is None else int(n_drawn.sum())
        if column < 0:
            return total, 0
        right = self._goes_right.astype(bool)
        n_right = int(right.sum() if n_drawn is None else n_drawn[right].sum())
        return total - n_right, n_right


def _heaviest(sums: Floats, least: float) -> int:
    return int(np.argmax(sums >= sums.max() - least))


def stump_forest(
    stumps: Sequence[FoundStump], values: Sequence[Floats], votes: Floats, n_columns: int
) -> Forest:
    """Join stumps into one forest.

    Parameters
    ----------
    values
        Leaf values of each stump, shape (leaves, outputs).
    votes
        Weight of each stump.
    """
    n_leaves = np.array([1 if stump.column < 0 else 2 for stump in stumps], dtype=np.int64)
    nodes = [_nodes(stump) for stump in stumps]
    feature, threshold, right, missing_left, weight, gain = (
        np.concatenate(part) for part in zip(*nodes, strict=True)
    )
    value = np.concatenate(values)
    n_outputs = value.shape[1]
    has_set = [len(stump.left_set) > 0 for stump in stumps]
    category_set = np.full(len(feature), -1, dtype=np.int32)
    roots = _ends(2 * n_leaves - 1)[:-1]
    category_set[roots[has_set]] = np.arange(sum(has_set), dtype=np.int32)
    sets = [stump.left_set for stump in stumps if len(stump.left_set)]
    return Forest(
        feature=feature,
        threshold=threshold,
        right=right,
        missing_left=missing_left,
        weight=weight,
        gain=gain,
        value=value,
        first_node=_ends(2 * n_leaves - 1),
        first_leaf=_ends(n_leaves),
        output=np.full(len(stumps), 0 if n_outputs == 1 else -1, dtype=np.int32),
        tree_weight=votes,
        base_score=np.zeros(n_outputs),
        n_columns=n_columns,
        category_set=category_set,
        first_word=_ends(np.array([len(one) for one in sets], dtype=np.int64)),
        words=np.concatenate([np.zeros(0, dtype=np.uint64), *sets]),
    )


def _nodes(stump: FoundStump) -> tuple[NDArray[Any], ...]:
    """Node arrays of a stump in the layout of `Forest`."""
    left, right = float(stump.left.sum()), float(stump.right.sum())
    total = left + right
    if stump.column < 0:
        leaf = (-1,), (0.0,), (0,), (0,), (1.0,), (0.0,)
        parts: tuple[tuple[float, ...], ...] = leaf
    else:
        parts = (
            (stump.column, -1, -1),
            (stump.threshold, 0.0, 0.0),
            (2, 0, 1),
            (stump.missing_left, 0, 0),
            (1.0, left / total, right / total),
            (stump.gain, 0.0, 0.0),
        )
    kinds = (np.int32, np.float64, np.int32, np.uint8, np.float64, np.float64)
    return tuple(np.array(part, dtype=kind) for part, kind in zip(parts, kinds, strict=True))


def _ends(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


class Stump(ClassifierMixin, TreeModel):
    """Classification tree with one split, searched exactly over all distinct values.

    A categorical column is split into two sets of categories.

    Parameters
    ----------
    criterion : {"error", "gini", "entropy"}, default="gini"
        Split criterion: weighted misclassification error, Gini impurity or entropy.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes, or those listed by
        name, position or a mask, or none.
    n_jobs : int or None, default=None
        Number of threads; None means all usable cores. The stump is the same for any number.

    Attributes
    ----------
    classes_ : array
        Class labels, sorted.
    n_classes_ : int
        Number of classes.
    n_outputs_ : int
        Number of columns of the target: 1.

    Examples
    --------
    >>> from weald.ensembles.adaboost.stumps import Stump
    >>> print(Stump().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "a"]).text())
    column 0 <= 2.5 or missing?
    ├─ yes: a (1)  (weight 0.5)
    └─ no:  a (0.5)  (weight 0.5)
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(CRITERIA),
        "categorical_features": Columns(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Find the best split.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Numbers, text, categories and dates; may contain missing values.
        y : array, shape (rows,)
            Class labels of any type.
        sample_weight : array, shape (rows,), or None
            Sample weights.
        """
        with self._fitting():
            rows, classes = class_rows(self, X, y, sample_weight)
            search = StumpSearch(rows, len(classes), self.criterion, n_threads=self._n_threads)
            stump, _ = search.find(RowWeights(rows).mass)
            self._keep(stump, classes)
        return self

    @classmethod
    def of(cls, found: FoundStump, owner: TreeModel, classes: NDArray[Any], criterion: str) -> Self:
        """Wrap a found stump as an estimator fitted to the columns of `owner`."""
        stump = cls(criterion=criterion, n_jobs=owner.n_jobs)
        keep_columns(owner, stump)
        stump._keep(found, classes)
        return stump

    def _keep(self, found: FoundStump, classes: NDArray[Any]) -> None:
        self.classes_, self.n_classes_, self.n_outputs_ = classes, len(classes), 1
        shares = np.stack([side / side.sum() for side in found.sides])
        # Stored rather than derived from the shares, because ties up to rounding go to the first.
        self._leaf_classes = np.array(found.leaf_classes[: len(shares)])
        self._samples = found.samples
        self.forest_ = stump_forest([found], [shares], np.ones(1), self._plan.n_columns)

    def predict_proba(self, X: object) -> Floats:
        """Class frequencies in the leaf of each row."""
        return self._scores(X)

    def predict(self, X: object) -> NDArray[Any]:
        """Class of largest weight in the leaf of each row; ties go to the first."""
        return np.asarray(self.classes_[self._leaf_classes[self._leaves(X)[:, 0]]])

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf of each row, as a node of the stump."""
        return super().apply(X)[:, 0]

    @property
    def tree_(self) -> TreeView:
        """The stump with the array attributes of scikit-learn's `tree_`; read-only.

        Weights of nodes are shares of the total weight of all rows.
        """
        check_is_fitted(self)
        facts, known = None, getattr(self, "_samples", None)
        if known is not None:
            samples = np.array(known[: self.get_n_leaves()], dtype=np.int64)
            facts = LeafFacts(None, samples, 0)
        widths = (self.n_classes_,)
        return TreeView(self.forest_, criterion=self.criterion, widths=widths, facts=facts)

    def decision_path(self, X: object) -> Any:
        """Return the nodes each row passes through: a sparse matrix of shape (rows, nodes)."""
        return decision_paths(self.forest_, self._leaves(X))[0]

    def get_depth(self) -> int:
        """Depth of the stump: 1, or 0 if it has no split."""
        return self.get_n_leaves() - 1

    def get_n_leaves(self) -> int:
        """Number of leaves: 2, or 1 if it has no split."""
        check_is_fitted(self)
        return len(self.forest_.value)

    def _leaf_text(self, value: Floats) -> str:
        best = int(np.argmax(value))
        return f"{self.classes_[best]!s} ({number_text(value[best], 3)})"

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._fingerprint_arrays(),
            "classes": self.classes_,
            "answers": self._leaf_classes,
        }
