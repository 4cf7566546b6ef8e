"""The rows on which the training loss is computed: all, or a subsample drawn by content."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows
from weald.data.parts.table import PartsTable
from weald.data.sources import ColumnTable, SparseTable, Table
from weald.ensembles.rounds.loop import Training
from weald.resampling import ordered_rows

Index = NDArray[np.intp]

# Numbers of columns whose hashes are tried (None: words of all), and rows hashed at once, to save
# memory.
_WIDTHS, _BLOCK = (0, 2, 16, None), 1 << 16


def rows_of_train_loss(
    training: Training, n_wanted: int, n_threads: int, *, are_classes: bool
) -> Index:
    """Indices of the training rows, or if there are many of about `n_wanted` of them.

    They are the rows of the smallest hashes, so that their order does not matter. A fit that draws
    rows has hashes of whole rows. In others, those of the target and few columns nearly always do,
    and if not, words of all values, which of a sparse table take little time: rows that are equal
    in these are taken or left together. Of classes, the target alone does not.
    """
    copies = training.train_copies
    n = training.rows.n if copies is None else int(np.count_nonzero(copies))
    if n <= n_wanted:
        return np.arange(training.rows.n) if copies is None else np.flatnonzero(copies)
    if training.keys is None and n_wanted > 0:
        for width in _WIDTHS[1:] if are_classes else _WIDTHS:
            chosen = _by_hashes(training, n_wanted * 2**64 // n, width, n_threads)
            if n_wanted <= 2 * len(chosen) <= 4 * n_wanted:
                return chosen
    keys = training.keys
    if keys is None:
        ordered = ordered_rows(training.rows, n_threads=n_threads)
        keys = np.empty_like(ordered.keys)
        keys[ordered.index] = ordered.keys
    index = np.arange(training.rows.n) if copies is None else np.flatnonzero(copies)
    word = keys[index, 0]
    is_chosen = word < np.uint64(n_wanted * 2**64 // n)
    found: Index = index[is_chosen if is_chosen.any() else word == word.min()]
    return found


def _by_hashes(training: Training, limit: int, width: int | None, n_threads: int) -> Index:
    """Training rows whose hash of the target and the first columns is below the limit.

    With the width None of the target and the words of all columns.
    """
    rows, copies, found = training.rows, training.train_copies, []
    for part, columns in _first_columns(rows, width, n_threads):
        target = rows.y[part].astype(np.float64, copy=False)
        target = target if target.ndim == 1 else target[:, 0]
        word = _native.hash_rows(columns, np.ascontiguousarray(target), n_threads)[:, 0]
        is_chosen = word < np.uint64(limit)
        if copies is not None:
            is_chosen &= copies[part] > 0
        chosen = np.flatnonzero(is_chosen)
        found.append(part.start + chosen if isinstance(part, slice) else part[chosen])
    return np.sort(np.concatenate(found))


def _first_columns(rows: Rows, width: int | None, n_threads: int) -> Iterator[tuple[Any, Table]]:
    """Yield the first columns of blocks of rows (None: words of all), with the rows' indices."""
    table = rows.table
    if width is None:
        words = rows.words(n_threads) >> np.uint64(11)  # as exact doubles
        yield slice(0, rows.n), words.astype(np.float64)[:, np.newaxis]
    elif isinstance(table, PartsTable) and width > 0:
        yield from table.pieces(width)
    elif isinstance(table, SparseTable):
        yield slice(0, rows.n), table.first_columns(width)
    else:
        for begin in range(0, rows.n, _BLOCK):
            part = slice(begin, min(begin + _BLOCK, rows.n))
            if isinstance(table, np.ndarray):
                yield part, table[part, :width]
            else:
                columns = [
                    cast(ColumnTable, table).column(i)[part]
                    for i in range(min(width, table.shape[1]))
                ]
                block = np.column_stack([np.empty((part.stop - begin, 0)), *columns])
                yield part, block.astype(np.float64, copy=False)
