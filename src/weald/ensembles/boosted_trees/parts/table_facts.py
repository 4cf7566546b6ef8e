"""What the parts of a table tell before a fit: rows, columns and targets, and what all agree on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from weald.data import (
    ColumnPlan,
    checked_labels,
    extreme_exponent,
    finite_target,
    read_columns,
    readable_target,
    refuse_text,
    weights_of_some,
)
from weald.data.values import Values
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.column_facts import ColumnFacts, facts_of
from weald.ensembles.boosted_trees.parts.part_weights import (
    Weighted,
    WeightFacts,
    WeightRule,
    together,
)
from weald.losses import BuiltinLoss, refuse_targets


@dataclass(frozen=True, eq=False)
class TableFacts:
    """One part of a table.

    Attributes
    ----------
    n_rows, n_kept : int
        Number of rows, and of those that have a weight; an empty part has no other facts.
    columns : tuple of ColumnFacts
        The columns.
    labels, counts : arrays
        The distinct class labels, and the number of rows of each that have a weight; of a
        regression, the smallest and the largest target of these rows, if there are any.
    weights : tuple of WeightFacts or None
        The sample weights of the rows of each label, or of all rows of a regression; None: there
        are no sample weights.
    """

    n_rows: int
    n_kept: int = 0
    columns: tuple[ColumnFacts, ...] = ()
    labels: Any = None
    counts: Any = None
    weights: tuple[WeightFacts | None, ...] | None = None


@dataclass(frozen=True)
class ReadColumns:
    """The columns of a part, of which each can be read as any kind of values."""

    columns: Sequence[Values]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)


@dataclass(frozen=True, eq=False)
class TargetCode:
    """How targets become numbers, the same in all parts.

    Attributes
    ----------
    classes : array or None
        Sorted class labels, which are numbered; None: regression.
    exponent : int
        Targets of a regression are divided by 2**exponent.
    """

    classes: NDArray[Any] | None
    exponent: int = 0

    def numbers(self, y: Any) -> Floats:
        """The targets of some rows in the units of the fit."""
        if self.classes is None:
            return np.ldexp(_target_of(y), -self.exponent)
        return np.searchsorted(self.classes, _labels_of(y)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PartSpec:
    """How the rows of a part are read.

    Attributes
    ----------
    plan : ColumnPlan
        How columns are read.
    target : TargetCode
        How targets become numbers.
    loss : BuiltinLoss
        Loss function to minimise.
    n_threads : int or None
        Number of threads; None: those of the worker.
    weights : WeightRule
        What becomes of sample weights, and which class weights there are.
    """

    plan: ColumnPlan
    target: TargetCode
    loss: BuiltinLoss
    n_threads: int | None
    weights: WeightRule = field(default_factory=WeightRule)


def table_facts(
    X: Any, y: Any, chosen: NDArray[np.bool_] | None, loss: BuiltinLoss | None
) -> TableFacts:
    """The facts of one part.

    Parameters
    ----------
    y
        Targets, or `Weighted`.
    chosen
        Mask of categorical columns; None means by type.
    loss
        The loss of a regression; None: a classification.
    """
    n_rows = len(X)
    y, weight = y if isinstance(y, Weighted) else (y, None)
    for name, other in (("y", y), ("sample_weight", weight)):
        if other is not None and len(other) != n_rows:
            raise ValueError(
                f"X has {n_rows} rows and {name} has {len(other)}: the partitions of X and {name} "
                "must have the same rows. Take both from one data frame, or repartition them alike."
            )
    if n_rows == 0:
        return TableFacts(0)
    masks = [None] * X.shape[1] if chosen is None else chosen.tolist()
    read = X.columns if isinstance(X, ReadColumns) else read_columns(X)
    columns = tuple(facts_of(values, mask) for values, mask in zip(read, masks, strict=True))
    weights = np.ones(n_rows) if weight is None else weights_of_some(weight, n_rows)
    kept = weights > 0
    if loss is None:
        labels, place = np.unique(_labels_of(y), return_inverse=True)
        place = place.reshape(-1)
        counts = np.bincount(place[kept], minlength=len(labels))
        sets = [kept & (place == k) for k in range(len(labels))] if weight is not None else []
    else:
        target = _target_of(y)[kept]
        refuse_targets(loss, target)
        labels = np.array([target.min(), target.max()]) if len(target) else np.empty(0)
        counts, sets = None, [kept]
    of_sets = None if weight is None else tuple(WeightFacts.of(weights[rows]) for rows in sets)
    return TableFacts(n_rows, int(kept.sum()), columns, labels, counts, of_sets)


def _labels_of(y: Any) -> NDArray[Any]:
    labels = np.asarray(column_or_1d(readable_target(y)))
    return labels if labels.dtype.kind in "iub" else checked_labels(labels)


def _target_of(y: Any) -> Floats:
    readable = readable_target(y)
    refuse_text(readable)
    return finite_target(np.asarray(column_or_1d(readable)))


def classes_of(parts: Sequence[TableFacts]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sorted classes of all parts, and the number of rows of each."""
    each = [part.labels for part in parts]
    if len({labels.dtype.kind in "OUT" for labels in each}) > 1:
        raise ValueError(
            "y has a mix of label input types: text in some partitions and numbers in others. "
            "Convert all of them to text, for example by y.astype(str)."
        )
    classes = np.unique(np.concatenate(each))
    counts = np.zeros(len(classes), dtype=np.int64)
    for part in parts:
        counts[np.searchsorted(classes, part.labels)] += part.counts
    check_classification_targets(classes)
    return classes, counts


def weights_in(
    parts: Sequence[TableFacts], classes: NDArray[Any] | None
) -> list[WeightFacts | None] | None:
    """The sample weights of each class (None: of all rows); None: there are no sample weights."""
    if parts[0].weights is None:
        return None
    sets: list[list[WeightFacts | None]] = [
        [] for _ in range(1 if classes is None else len(classes))
    ]
    for part in parts:
        labels = [0] if classes is None else np.searchsorted(classes, part.labels).tolist()
        for k, one in zip(labels, part.weights or (), strict=True):
            sets[k].append(one)
    return [together(one) for one in sets]


def exponent_of_target(parts: Sequence[TableFacts]) -> int:
    """The exponent by which extreme targets are divided; 0: they are not."""
    return extreme_exponent(np.concatenate([part.labels for part in parts]))
