"""Staged predictions: scores of an additive forest after each round."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import as_one_array
from weald.data.parts.table import PartsTable
from weald.data.sources import AnyTable, Table
from weald.ensembles.base import Floats
from weald.trees import Forest

# Limits of memory: values of a sparse table made dense at once, and leaf indices held at once.
_DENSE_VALUES, KNOWN_LEAVES = 2**22, 2**24


def of_rows(table: AnyTable, answer: Callable[[Table], NDArray[Any]]) -> NDArray[Any]:
    """What a function answers for the rows of a table, given dense pieces of it."""
    if not isinstance(table, PartsTable):
        return np.concatenate([answer(piece) for piece in _dense_pieces(table)])
    whole: NDArray[Any] | None = None
    for rows, piece in table.pieces():
        own = answer(piece)
        if whole is None:
            whole = np.empty((table.n_rows, *own.shape[1:]), dtype=own.dtype)
        whole[rows] = own
    assert whole is not None
    return whole


def _dense_pieces(table: AnyTable) -> Iterator[Table]:
    """Yield the rows of a table as dense float arrays in order; an array is one piece."""
    if isinstance(table, np.ndarray):
        yield table
        return
    n_rows, n_columns = table.shape
    step = max(1, _DENSE_VALUES // max(1, n_columns))
    for begin in range(0, n_rows, step):
        yield as_one_array(table[np.arange(begin, min(begin + step, n_rows))])


def moves(forest: Forest, table: AnyTable, n_threads: int) -> Iterator[Floats]:
    """Yield the contribution of each tree for every row; a few trees are evaluated at once.

    Shape (rows,), or (rows, scores) for a tree with vector-valued leaves.
    """
    at_once = max(1, KNOWN_LEAVES // max(1, table.shape[0]))
    for first in range(0, forest.n_trees, at_once):
        trees = forest.part(first, min(first + at_once, forest.n_trees))
        leaves = of_rows(table, partial(trees.apply, n_threads=n_threads))
        for t in range(trees.n_trees):
            own = trees.value[trees.first_leaf[t] : trees.first_leaf[t + 1]] * trees.tree_weight[t]
            yield (own[:, 0] if trees.output[t] >= 0 else own)[leaves[:, t]]


def staged_scores(
    forest: Forest, table: Table, n_threads: int, *, n_boosters: int = 1
) -> Iterator[Floats]:
    """Yield scores of shape (rows, scores) after each round."""
    scores = np.repeat(forest.base_score[np.newaxis], len(table), axis=0)
    a_round = n_boosters * forest.trees_a_round(scores.shape[1])
    for t, move in enumerate(moves(forest, table, n_threads), start=1):
        output = forest.output[t - 1]
        scores[:, slice(None) if output < 0 else output] += move
        if t % a_round == 0:
            yield scores.copy()
