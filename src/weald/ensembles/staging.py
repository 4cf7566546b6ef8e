"""Answers after each round: what every tree of a forest adds, one after another."""

from collections.abc import Iterator

import numpy as np

from weald.data import as_one_array
from weald.data.sources import AnyTable, Table
from weald.ensembles.base import Floats
from weald.trees import Forest

# So many values of a table are dense at once, and so many leaves of rows are known at once.
_DENSE_VALUES, KNOWN_LEAVES = 2**22, 2**24


def dense_pieces(table: AnyTable) -> Iterator[Table]:
    """The rows of a table as float arrays, top to bottom; an array is one piece."""
    if isinstance(table, np.ndarray):
        yield table
        return
    n_rows, n_columns = table.shape
    step = max(1, _DENSE_VALUES // max(1, n_columns))
    for begin in range(0, n_rows, step):
        yield as_one_array(table[np.arange(begin, min(begin + step, n_rows))])


def moves(forest: Forest, table: AnyTable, n_threads: int) -> Iterator[Floats]:
    """What each tree in turn adds to its score, for every row; a few trees are asked at once."""
    at_once = max(1, KNOWN_LEAVES // max(1, table.shape[0]))
    for first in range(0, forest.n_trees, at_once):
        trees = forest.part(first, min(first + at_once, forest.n_trees))
        pieces = [trees.apply(piece, n_threads=n_threads) for piece in dense_pieces(table)]
        leaves = np.concatenate(pieces)
        for t in range(trees.n_trees):
            own = trees.value[trees.first_leaf[t] : trees.first_leaf[t + 1], 0]
            yield (own * trees.tree_weight[t])[leaves[:, t]]


def staged_scores(forest: Forest, table: Table, n_threads: int) -> Iterator[Floats]:
    """Scores of the shape (rows, scores) after each round: a tree for every score."""
    scores = np.repeat(forest.base_score[np.newaxis], len(table), axis=0)
    n_scores = scores.shape[1]
    for t, move in enumerate(moves(forest, table, n_threads), start=1):
        scores[:, forest.output[t - 1]] += move
        if t % n_scores == 0:
            yield scores.copy()
