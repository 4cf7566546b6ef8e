"""The fit on a table in parts whose codes and training state do not fit into memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from weald.data.memory import most_bytes
from weald.data.parts.parts import Parts, PartsColumn
from weald.ensembles.boosted_trees.parts.joined_facts import JoinedFacts
from weald.ensembles.boosted_trees.parts.part_weights import Weighted
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
    coded = 2.2 * n_columns + 110 + _OF_SCORE * n_scores
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
    sample_weight : PartsColumn, array or None
        Weights of the rows.
    layout : Layout
        How rows are divided among parts.
    n_threads : int
        Number of threads.
    verbose : bool
        Whether to show on stderr what is done.
    """

    kind = "a table in parts that is streamed from disk"

    def __init__(
        self,
        X: Parts,
        y: Any,
        sample_weight: Any,
        layout: Layout,
        *,
        n_threads: int = 1,
        verbose: bool = False,
    ) -> None:
        self.n_columns = len(X.columns)
        self.names: list[Any] | None = X.columns
        self.instead = "raise memory_limit of weald.parts, so that it is trained in memory"
        self._columns, self._source = X.columns, X
        self._layout, self._n_threads = layout, n_threads
        self._y = self._checked("y", y)
        self._weight = None
        if sample_weight is not None:
            self._weight = self._checked("sample_weight", sample_weight)
        self._reading = X.reading(verbose=verbose)
        self._open = ExitStack()

    def _checked(self, name: str, values: Any) -> Any:
        """A column of the source as it is, or all values."""
        if self._is_read(values):
            return values
        array = np.asarray(values)
        if len(array) != len(self._source):
            raise ValueError(f"X has {len(self._source):,} rows and {name} has {len(array):,}.")
        return array

    def _is_read(self, values: Any) -> bool:
        """Whether values are read with the columns of X."""
        return isinstance(values, PartsColumn) and values.is_of(self._source)

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
        spec = replace(spec, n_threads=self._n_threads)
        made = StreamedParts(lambda: self._batches("rows"), sum(n_rows), spec, self._layout)
        return self._open.enter_context(closing(made))

    def gathered(self) -> None:
        """None: memory is what it is streamed for."""

    def _batches(self, why: str) -> Iterator[Batch]:
        given = [self._y] if self._weight is None else [self._y, self._weight]
        read = [one.name for one in given if self._is_read(one)]
        names = list(dict.fromkeys([*self._columns, *read]))
        for part, begin, columns in self._reading.columns(names, why):
            of_batch = dict(zip(names, columns, strict=True))
            rows = slice(begin, begin + len(columns[0]))
            beside = [
                one.of_batch(of_batch[one.name], part, begin) if self._is_read(one) else one[rows]
                for one in given
            ]
            y = beside[0] if self._weight is None else Weighted(*beside)
            yield part, begin, columns[: self.n_columns], y


def streamed_table(model: Any, X: Parts, y: Any, sample_weight: Any) -> StreamedTable | None:
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
    table = StreamedTable(
        X, y, sample_weight, layout, n_threads=model._n_threads, verbose=bool(model.verbose)
    )
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
