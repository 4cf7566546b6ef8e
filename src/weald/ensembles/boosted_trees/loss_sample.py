"""The rows on which the training loss is computed: all, or a subsample drawn by content."""

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows
from weald.data.sources import ColumnTable, Table
from weald.ensembles.rounds.loop import Training
from weald.resampling import ordered_rows

Index = NDArray[np.intp]

# Numbers of columns whose hashes are tried, and rows hashed at once, to save memory.
_WIDTHS, _BLOCK = (0, 2, 16), 1 << 16


def rows_of_train_loss(
    training: Training, n_wanted: int, n_threads: int, *, are_classes: bool
) -> Index:
    """Indices of the training rows, or if there are many of about `n_wanted` of them.

    They are the rows of the smallest hashes, so that their order does not matter. A fit that draws
    rows has hashes of whole rows. In others, those of the target and few columns nearly always do:
    rows that are equal in these are taken or left together. Of classes, the target alone does not.
    """
    copies = training.train_copies
    n = training.rows.n if copies is None else int(np.count_nonzero(copies))
    if n <= n_wanted:
        return np.arange(training.rows.n) if copies is None else np.flatnonzero(copies)
    if training.keys is None and n_wanted > 0:
        for width in _WIDTHS[1:] if are_classes else _WIDTHS:
            chosen = _by_few_columns(training, n_wanted * 2**64 // n, width, n_threads)
            if chosen is not None and n_wanted <= 2 * len(chosen) <= 4 * n_wanted:
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


def _by_few_columns(training: Training, limit: int, width: int, n_threads: int) -> Index | None:
    """Training rows whose hash of the target and the first columns is below the limit.

    None for sparse tables, most of whose values are equal.
    """
    rows, copies, found = training.rows, training.train_copies, []
    for begin in range(0, rows.n, _BLOCK):
        part = slice(begin, min(begin + _BLOCK, rows.n))
        columns = _first_columns(rows, part, width)
        if columns is None:
            return None
        target = rows.y[part].astype(np.float64, copy=False)
        target = target if target.ndim == 1 else target[:, 0]
        word = _native.hash_rows(columns, np.ascontiguousarray(target), n_threads)[:, 0]
        is_chosen = word < np.uint64(limit)
        if copies is not None:
            is_chosen &= copies[part] > 0
        found.append(begin + np.flatnonzero(is_chosen))
    return np.concatenate(found)


def _first_columns(rows: Rows, part: slice, width: int) -> Table | None:
    table = rows.table
    if isinstance(table, np.ndarray):
        return table[part, :width]
    if isinstance(table, ColumnTable):
        columns = [column[part] for column in table.columns[:width]]
        n_rows = part.stop - part.start
        return np.column_stack([np.empty((n_rows, 0)), *columns]).astype(np.float64, copy=False)
    return None
