"""What the parts of a table tell before a fit: rows, columns and targets, and what all agree on."""

from collections.abc import Sequence
from dataclasses import dataclass
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
)
from weald.data.values import Values
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.column_facts import ColumnFacts, facts_of
from weald.losses import BuiltinLoss, refuse_targets


@dataclass(frozen=True, eq=False)
class TableFacts:
    """One part of a table.

    Attributes
    ----------
    n_rows : int
        Number of rows; an empty part has no other facts.
    columns : tuple of ColumnFacts
        The columns.
    labels, counts : arrays
        The distinct class labels, and the number of rows of each; of a regression, the smallest and
        the largest target.
    """

    n_rows: int
    columns: tuple[ColumnFacts, ...] = ()
    labels: Any = None
    counts: Any = None


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
    """

    plan: ColumnPlan
    target: TargetCode
    loss: BuiltinLoss
    n_threads: int | None


def table_facts(
    X: Any, y: Any, chosen: NDArray[np.bool_] | None, loss: BuiltinLoss | None
) -> TableFacts:
    """The facts of one part.

    Parameters
    ----------
    chosen
        Mask of categorical columns; None means by type.
    loss
        The loss of a regression; None: a classification.
    """
    n_rows = len(X)
    if len(y) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows and y has {len(y)}: the partitions of X and y must have the same "
            "rows. Take both from one data frame, or repartition them alike."
        )
    if n_rows == 0:
        return TableFacts(0)
    masks = [None] * X.shape[1] if chosen is None else chosen.tolist()
    read = X.columns if isinstance(X, ReadColumns) else read_columns(X)
    columns = tuple(facts_of(values, mask) for values, mask in zip(read, masks, strict=True))
    if loss is None:
        labels, counts = np.unique(_labels_of(y), return_counts=True)
        return TableFacts(n_rows, columns, labels, counts)
    target = _target_of(y)
    refuse_targets(loss, target)
    return TableFacts(n_rows, columns, np.array([target.min(), target.max()]))


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


def range_of_target(parts: Sequence[TableFacts]) -> tuple[float, float, int]:
    """The smallest and largest target in units that cannot overflow, and the exponent of these."""
    ends = np.concatenate([part.labels for part in parts])
    exponent = extreme_exponent(ends)
    low, high = np.ldexp([ends.min(), ends.max()], -exponent)
    return float(low), float(high), exponent
