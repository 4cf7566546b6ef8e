"""The facts of successive batches of a table as those of one part."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weald.ensembles.boosted_trees.parts.column_facts import ColumnFacts, nature_of, said_of
from weald.ensembles.boosted_trees.parts.part_weights import WeightFacts, together
from weald.ensembles.boosted_trees.parts.table_facts import TableFacts

# Columns of more different values than this are text, or identify rows; counting them takes memory.
_MOST_LEVELS = 2**22


class JoinedFacts:
    """The facts of all batches so far; what batches say of a column must agree.

    Parameters
    ----------
    names : list of str
        Names of the columns.

    Attributes
    ----------
    facts : TableFacts
        Those of one part that has the rows of all batches.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.facts = TableFacts(0)
        self._labels = [f"Column {name!r}" for name in names]
        self._first_part: dict[str, str] = {}  # the part that first had values, by column

    def add(self, own: TableFacts, part: str) -> None:
        """Add the facts of a batch; `part` names it in messages."""
        columns = [
            replace(column, label=label)
            for column, label in zip(own.columns, self._labels, strict=True)
        ]
        for column in columns:
            if column.has_values:
                self._first_part.setdefault(column.label, part)
        labels, counts, weights, before = own.labels, own.counts, own.weights, self.facts
        if before.n_rows:
            columns = [
                self._joined(one, other, part)
                for one, other in zip(before.columns, columns, strict=True)
            ]
            labels, counts = _joined_targets(before, own)
            weights = _joined_weights(before, own, labels)
        n_rows, n_kept = before.n_rows + own.n_rows, before.n_kept + own.n_kept
        self.facts = TableFacts(n_rows, n_kept, tuple(columns), labels, counts, weights)

    def _joined(self, one: ColumnFacts, other: ColumnFacts, part: str) -> ColumnFacts:
        if not other.has_values:
            return one
        if not one.has_values:
            return other
        if nature_of(one) != nature_of(other):
            raise TypeError(
                f"{one.label} holds {said_of(one)} in {self._first_part[one.label]!r}, but "
                f"{said_of(other)} in {part!r}. All parts must have the same kind of values in a "
                "column: convert them."
            )
        if one.levels is None or other.levels is None:
            return one
        levels = Counter(one.levels)
        levels.update(other.levels)
        if len(levels) > _MOST_LEVELS:
            raise ValueError(
                f"{one.label} has more than {_MOST_LEVELS:,} different categories up to {part!r}: "
                "it seems to hold free text or to identify rows. Leave it out with columns=, or "
                "replace it by columns computed from it."
            )
        return ColumnFacts(one.label, one.kind, True, levels)


def _joined_targets(one: TableFacts, other: TableFacts) -> tuple[Any, Any]:
    """Classes and their counts; of a regression, the smallest and largest target."""
    labels = [one.labels, other.labels]
    if one.counts is None:
        ends = np.concatenate(labels)
        return (np.array([ends.min(), ends.max()]) if len(ends) else ends), None
    if len({each.dtype.kind in "OUT" for each in labels}) > 1:
        raise ValueError(
            "y has a mix of label input types: text in some parts and numbers in others. Convert "
            "all of them to text."
        )
    classes, place = np.unique(np.concatenate(labels), return_inverse=True)
    counts = np.zeros(len(classes), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([one.counts, other.counts]))
    return classes, counts


def _joined_weights(
    one: TableFacts, other: TableFacts, classes: Any
) -> tuple[WeightFacts | None, ...] | None:
    """The sample weights of each class, or of all rows of a regression; None: there are none."""
    if one.weights is None or other.weights is None:
        return None
    if one.counts is None:
        return (together([*one.weights, *other.weights]),)
    of_class: list[list[WeightFacts | None]] = [[] for _ in classes]
    for part in (one, other):
        for k, own in zip(np.searchsorted(classes, part.labels), part.weights or (), strict=True):
            of_class[k].append(own)
    return tuple(together(facts) for facts in of_class)
