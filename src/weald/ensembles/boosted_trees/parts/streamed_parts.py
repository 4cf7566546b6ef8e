"""Parts in this process that lie in a scratch file: each answers from the rows it reads."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.parts.contents import BatchValues
from weald.data.parts.progress_line import ProgressLine
from weald.data.parts.scratch import Place, Scratch, check_room
from weald.data.parts.table import as_planned
from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.stored_part import StoredColumns, StoredPart
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec

# Bytes in the file: the code of a value, with padding; target and place of a row; score, gradient,
# hessian and leaf of each score.
_OF_VALUE, _OF_ROW, _OF_SCORE = 1.2, 12, 28

# Part, index of the first row, columns and targets of a batch.
Batch = tuple[str, int, list[BatchValues], NDArray[Any]]


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
    line : ProgressLine
        Tells how far the training is.

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
        line: ProgressLine,
    ) -> None:
        self._batches, self._n_rows, self._spec = batches, n_rows, spec
        self._layout, self._line = layout, line
        self._parts: list[StoredPart] = []
        self._n_rounds = 0

    def make(self) -> None:
        """Read the source once, and write all values to a scratch file."""
        n_columns = self._spec.plan.n_columns
        values = 8 * (n_columns + 1)
        state = _OF_VALUE * n_columns + _OF_ROW + _OF_SCORE * self._spec.loss.n_scores
        check_room(int(self._n_rows * (values + state)))
        self._values, self.scratch = Scratch(), Scratch()
        places = self._written()
        loss = replace(self._spec.loss, n_threads=self._spec.n_threads or 1)
        for i, (*columns, target) in enumerate(places):
            part = StoredPart(
                StoredColumns(self._values, columns),
                self._values.read(target),
                loss,
                self.scratch,
                is_kept=i < self._layout.n_kept,
            )
            part.release()
            self._parts.append(part)

    def _written(self) -> list[list[Place]]:
        """Write the columns and the targets of all rows; returns where those of each part lie."""
        plan, size = self._spec.plan, self._layout.part_rows
        places = [
            [
                self._values.reserve((min(size, self._n_rows - begin),), np.float64)
                for _ in range(plan.n_columns + 1)
            ]
            for begin in range(0, self._n_rows, size)
        ]
        for _, begin, columns, y in self._batches():
            arrays = [one for i, own in enumerate(columns) for one in as_planned(plan, i, own)]
            arrays.append(self._spec.target.numbers(y))
            end = begin + len(y)
            for k in range(begin // size, -(-end // size)):
                first = max(begin, k * size)
                rows = slice(first - begin, min(end, (k + 1) * size) - begin)
                for place, array in zip(places[k], arrays, strict=True):
                    self._values.write(place, array[rows], first - k * size)
        return places

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer of all parts."""
        answer = self._parts[0].answer(question, arguments)
        for part in self._parts[1:]:
            answer = merged([answer, part.answer(question, arguments)])
        if question == "code":
            self._values.close()
        self._n_rounds += question == "step"
        n_bytes = self.scratch.n_read + self.scratch.n_written
        self._line.show(
            f"training: {self._n_rounds} rounds, {n_bytes / 2**30:,.1f} GiB read and written"
        )
        return answer

    def close(self) -> None:
        """Give memory and disk back."""
        self._parts = []
        with suppress(AttributeError):
            self._values.close()
            self.scratch.close()
