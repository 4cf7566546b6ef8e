"""The fit on a table in parts whose codes and training state do not fit into memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from weald.data.memory import most_bytes
from weald.data.parts.parts import Parts, PartsColumn
from weald.data.parts.progress_line import ProgressLine
from weald.ensembles.boosted_trees.parts.joined_facts import JoinedFacts
from weald.ensembles.boosted_trees.parts.streamed_parts import Batch, Layout, StreamedParts
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec, ReadColumns, TableFacts

# Bytes a row of training in memory: target and places of rows; scores, gradients, hessians and
# leaves of each score; more for classes, and for draws of rows with a refit of the leaves.
_OF_ROW, _OF_SCORE, _OF_CLASSES, _OF_DRAWS = 8, 28, 30, 80
_OF_VALUE = 1.2  # codes, padded

# Training may take so much of the memory without a limit; beyond it, streamed parts take half.
_MOST_SHARE, _STREAMED_SHARE = 0.75, 0.5

# Rows of a part: many enough to make Python's share of an answer small. What is read of a part at
# once takes about so many bytes a row before its values are coded.
_LEAST_ROWS, _MOST_ROWS, _UNCODED = 2**12, 2**18, 300

_MOST_CLASSES = 2**16


def training_bytes(model: Any, n_rows: int, n_columns: int, n_scores: int) -> int:
    """About how many bytes a fit in memory takes: codes and the state of all rows."""
    row = _OF_ROW + _OF_VALUE * n_columns + _OF_SCORE * n_scores
    row += (_OF_CLASSES if is_classifier(model) else 0) + (model.quality != "fast") * _OF_DRAWS
    return int(n_rows * row)


def layout_within(n_bytes: float, n_rows: int, n_columns: int, n_scores: int) -> Layout:
    """The largest parts, and as many of them in memory, as a number of bytes allows."""
    coded = 2.2 * n_columns + 60 + _OF_SCORE * n_scores
    one = max(coded, _UNCODED)
    part_rows = int(min(max(n_bytes / (3 * one), _LEAST_ROWS), _MOST_ROWS))
    left = n_bytes - 2 * one * part_rows
    return Layout(part_rows, max(0, min(int(left / (coded * part_rows)), -(-n_rows // part_rows))))


class StreamedTable:
    """What `weald.parts` made, as a table of one partition, whose rows lie in a scratch file.

    A context manager, which gives memory and disk back.

    Parameters
    ----------
    X : Parts
        The columns.
    y : PartsColumn or array
        The targets.
    layout : Layout
        How rows are divided among parts.
    n_threads : int
        Number of threads.
    verbose : bool
        Whether to show on stderr what is done.
    """

    kind = "a table in parts that is streamed from disk"

    def __init__(
        self, X: Parts, y: Any, layout: Layout, *, n_threads: int = 1, verbose: bool = False
    ) -> None:
        self.n_columns = len(X.columns)
        self.names: list[Any] | None = X.columns
        self.instead = "raise memory_limit of weald.parts, so that it is trained in memory"
        self._columns, self._y = X.columns, y
        self._layout, self._n_threads = layout, n_threads
        self._in_source = isinstance(y, PartsColumn) and y.is_of(X)
        if not self._in_source:
            self._y = np.asarray(y)
            if len(self._y) != len(X):
                raise ValueError(f"X has {len(X):,} rows and y has {len(self._y):,}.")
        self._reading, self._verbose = X.reading(verbose=verbose), verbose
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def facts(self, describe: Callable[..., TableFacts], *arguments: Any) -> list[TableFacts]:
        """The facts of all rows."""
        joined = JoinedFacts(self._columns)
        for part, _, columns, target in self._batches("types and levels"):
            joined.add(describe(ReadColumns(columns), target, *arguments), part)
        return [joined.facts]

    def parts(self, n_rows: Sequence[int], spec: PartSpec) -> StreamedParts:
        """The rows as parts in a scratch file."""
        line = self._open.enter_context(ProgressLine(is_shown=self._verbose))
        spec = replace(spec, n_threads=self._n_threads)
        made = StreamedParts(lambda: self._batches("rows"), sum(n_rows), spec, self._layout, line)
        return self._open.enter_context(closing(made))

    def _batches(self, why: str) -> Iterator[Batch]:
        names = list(self._columns)
        if self._in_source and self._y.name not in names:
            names.append(self._y.name)
        place = names.index(self._y.name) if self._in_source else 0
        for part, begin, columns in self._reading.columns(names, why):
            if self._in_source:
                target: NDArray[Any] = self._y.of_batch(columns[place], part, begin)
            else:
                target = self._y[begin : begin + len(columns[0])]
            yield part, begin, columns[: self.n_columns], target


def streamed_table(model: Any, X: Parts, y: Any) -> StreamedTable | None:
    """The table to be streamed; None if codes and training state of all rows fit into memory."""
    n_rows, n_scores = _sizes(model, X, y)
    n_columns, limit = len(X.columns), X.memory_limit
    allowed: float | None = limit
    if limit is None:
        machine = most_bytes()
        allowed = None if machine is None else _MOST_SHARE * machine
    needed = training_bytes(model, n_rows, n_columns, n_scores)
    if allowed is None or needed <= allowed:
        return None
    if limit is None:
        allowed *= _STREAMED_SHARE / _MOST_SHARE
    layout = layout_within(allowed, n_rows, n_columns, n_scores)
    table = StreamedTable(X, y, layout, n_threads=model._n_threads, verbose=bool(model.verbose))
    table.instead = (
        f"let it be trained in memory, which takes about {needed / 2**30:,.2f} GiB: set "
        f"memory_limit={needed} in weald.parts"
    )
    return table


def _sizes(model: Any, X: Parts, y: Any) -> tuple[int, int]:
    """Number of rows and of scores a row."""
    if not is_classifier(model):
        return len(X), 1
    if isinstance(y, PartsColumn) and y.is_of(X):
        n_rows, n_classes = X.count(y.name, _MOST_CLASSES)
    else:
        n_rows, n_classes = len(X), len(set(np.asarray(y).ravel().tolist()))
    return n_rows, 1 if n_classes <= 2 else n_classes
