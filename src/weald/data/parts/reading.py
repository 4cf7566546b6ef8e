"""Passes over a table in parts, all of which must find the same rows."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from weald.data.parts.batches import Batch
from weald.data.parts.contents import BatchValues
from weald.data.parts.progress_line import ProgressLine
from weald.data.parts.sources import Source
from weald.data.values import values_of


class PartsReading:
    """The passes of one fit over a source.

    Parameters
    ----------
    source : Source
        What is read.
    verbose : bool
        Whether to show on stderr what is read.

    Attributes
    ----------
    n_rows : int or None
        Number of rows; None before the first pass.
    """

    def __init__(self, source: Source, *, verbose: bool = False) -> None:
        self._source, self._verbose = source, verbose
        self._digests: dict[str, int] = {}
        self.n_rows: int | None = None

    @property
    def known_rows(self) -> int:
        """Number of rows, after the first pass."""
        assert self.n_rows is not None
        return self.n_rows

    def columns(
        self, names: Sequence[str], why: str
    ) -> Iterator[tuple[str, int, list[BatchValues]]]:
        """Yield the part, the index of the first row and the columns of each batch.

        A generator that was read to its end has checked that these are the rows of earlier passes.
        `why` says in the line of progress what is read.
        """
        digests, n_rows = dict.fromkeys(names, 0), 0
        with ProgressLine(is_shown=self._verbose) as line, _giving_memory_back():
            for part, frame in self._batches(names):
                columns = [_column(frame, name, part) for name in names]
                for name, column in zip(names, columns, strict=True):
                    digests[name] = column.digest(digests[name])
                self._check_count(n_rows + len(frame), part)
                yield part, n_rows, columns
                n_rows += len(frame)
                of_all = f" of {self.n_rows:,}" if self.n_rows else ""
                line.show(f"reading {why}: {n_rows:,}{of_all} rows, {part}")
        self._check_same(digests, n_rows)

    def _batches(self, names: Sequence[str]) -> Iterator[Batch]:
        for batch in self._source.batches(names):
            if len(batch.frame):
                yield batch

    def _check_count(self, n_rows: int, part: str) -> None:
        if self.n_rows is not None and n_rows > self.n_rows:
            raise ValueError(
                f"the source had {self.n_rows:,} rows when it was first read, and has more now, in "
                f"{part!r}. {_SAME_ROWS}"
            )

    def _check_same(self, digests: dict[str, int], n_rows: int) -> None:
        if self.n_rows is None:
            if n_rows == 0:
                raise ValueError(
                    "the source has no rows: all of its parts are empty (n_samples = 0)"
                )
            self.n_rows = n_rows
        if n_rows != self.n_rows:
            raise ValueError(
                f"the source had {self.n_rows:,} rows when it was first read, and {n_rows:,} now. "
                f"{_SAME_ROWS}"
            )
        for name, digest in digests.items():
            if self._digests.setdefault(name, digest) != digest:
                raise ValueError(
                    f"column {name!r} of the source had other values, or its rows another order, "
                    f"when it was first read. {_SAME_ROWS}"
                )


_SAME_ROWS = (
    "A source is read several times and must give the same rows in the same order each time: sort "
    "a query, seed random numbers, and leave files as they are until fit returns."
)


def _column(frame: Any, name: str, part: str) -> BatchValues:
    label = f"Column {name!r} in {part!r}"
    return BatchValues(values_of(frame.get_column(name), label), label)


@contextmanager
def _giving_memory_back() -> Iterator[None]:
    """Return what pyarrow keeps for later batches: it would add to the peak of the training."""
    try:
        yield
    finally:
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()
