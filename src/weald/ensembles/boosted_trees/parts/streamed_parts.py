"""Parts in this process that lie in a scratch file: each answers from the rows it reads."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import weights_of_some
from weald.data.parts.contents import BatchValues
from weald.data.parts.scratch import Place, Scratch, check_room
from weald.data.parts.table import as_planned
from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.part_weights import Weighted
from weald.ensembles.boosted_trees.parts.stored_part import StoredColumns, StoredPart
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec

# Bytes in the file: the code of a value, with padding; target, place, draws and copies of a row;
# score, gradient, hessian, leaf and refitted score of each score.
_OF_VALUE, _OF_ROW, _OF_SCORE = 1.2, 64, 36

# Part, index of the first row, columns and targets of a batch; the latter may be `Weighted`.
Batch = tuple[str, int, list[BatchValues], Any]


@dataclass(frozen=True)
class Layout:
    """How rows are divided among parts, and how many of these stay in memory.

    Attributes
    ----------
    part_rows : int
        Number of rows of each part but the last.
    n_kept : int
        Number of parts whose codes and state stay in memory.
    """

    part_rows: int
    n_kept: int


class StreamedParts:
    """Parts of which those that are not kept in memory are read for each answer, one by one.

    Parameters
    ----------
    batches : callable
        Passes over the rows.
    n_rows : int
        Number of rows.
    spec : PartSpec
        How they are read.
    layout : Layout
        How they are divided.

    Attributes
    ----------
    scratch : Scratch
        The codes and the state of the rows.
    """

    def __init__(
        self,
        batches: Callable[[], Iterator[Batch]],
        n_rows: int,
        spec: PartSpec,
        layout: Layout,
    ) -> None:
        self._batches, self._n_rows, self._spec = batches, n_rows, spec
        self._layout = layout
        self._parts: list[StoredPart] = []

    def lead(self, verb: str, *arguments: Any) -> Any:
        """Call a method of what asks the parts."""
        return getattr(self._asker, verb)(*arguments)

    def make(self, asker: Callable[[Any], Any]) -> None:
        """Read the source once, and write all values to a scratch file."""
        self._asker = asker(self)
        n_columns = self._spec.plan.n_columns
        values = 8 * (n_columns + 2)
        state = _OF_VALUE * n_columns + _OF_ROW + _OF_SCORE * self._spec.loss.n_scores
        check_room(int(self._n_rows * (values + state)))
        self._values, self.scratch = Scratch(), Scratch()
        places = self._written()
        loss = replace(self._spec.loss, n_threads=self._spec.n_threads or 1)
        for i, of_part in enumerate(places):
            columns, beside = of_part[:n_columns], of_part[n_columns:]
            target, *weights = (self._values.read(one) for one in beside)
            part = StoredPart(
                StoredColumns(self._values, columns),
                target,
                loss,
                self.scratch,
                self._spec.weights.of_rows(weights[0] if weights else None, target),
                is_kept=i < self._layout.n_kept,
            )
            part.release()
            self._parts.append(part)

    def _written(self) -> list[list[Place]]:
        """Write the columns, targets and weights of all rows; returns where each part's lie."""
        size = self._layout.part_rows
        places: list[list[Place]] = []
        end = 0
        for _, _, columns, y in self._batches():
            arrays = self._kept_arrays(columns, y)
            if not places:
                sizes = [min(size, self._n_rows - k) for k in range(0, self._n_rows, size)]
                places = [[self._values.reserve((n,), np.float64) for _ in arrays] for n in sizes]
            begin, end = end, end + len(arrays[-1])
            for k in range(begin // size, -(-end // size)):
                first = max(begin, k * size)
                rows = slice(first - begin, min(end, (k + 1) * size) - begin)
                for place, array in zip(places[k], arrays, strict=True):
                    self._values.write(place, array[rows], first - k * size)
        return places

    def _kept_arrays(self, columns: list[BatchValues], y: Any) -> list[NDArray[Any]]:
        """Columns, targets and weights of the rows of a batch that have a weight, as numbers."""
        spec = self._spec
        y, *weights = y if isinstance(y, Weighted) else (y,)
        weights = [weights_of_some(one, len(columns[0])) for one in weights]
        target = spec.target.numbers(y)
        kept = spec.weights.of_rows(weights[0] if weights else None, target).kept
        numbers = [one for i, own in enumerate(columns) for one in as_planned(spec.plan, i, own)]
        arrays = [*numbers, target, *weights]
        return arrays if kept is None else [one[kept] for one in arrays]

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer of all parts."""
        answer = self._parts[0].answer(question, arguments)
        for part in self._parts[1:]:
            answer = merged([answer, part.answer(question, arguments)])
        if question == "code":
            self._values.close()
        return answer

    def close(self) -> None:
        """Give memory and disk back."""
        self._parts = []
        with suppress(AttributeError):
            self._values.close()
            self.scratch.close()
