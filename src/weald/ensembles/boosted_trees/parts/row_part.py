"""The rows of one part of a table while boosted trees are trained on all parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import read_columns
from weald.data.sources import side_by_side
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.row_cuts import RowCuts
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec
from weald.losses import BuiltinLoss
from weald.trees import Forest

# Columns that are binned, and rows that are predicted at once, to save memory.
_BATCH, _BLOCK = 16, 2**16

# Numbers of columns by whose hashes the rows of the training loss are drawn, as in one table.
WIDTHS = (0, 2, 16)

_LIMBS = 2**30  # exact sums are returned as the sums of their lower 30 bits and of the others


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of all columns, the same in every part.

    Attributes
    ----------
    cuts, first : arrays
        Thresholds of column c: ``cuts[first[c]:first[c + 1]]``; between categories k + 0.5.
    is_category : array or None
        Whether each column is categorical; None: no column is.
    wide : dict
        Number of categories of the columns that have more than fit a byte.
    """

    cuts: Floats
    first: NDArray[np.int64]
    is_category: NDArray[np.uint8] | None
    wide: dict[int, int]

    @property
    def n_bins(self) -> NDArray[np.int32]:
        return (np.diff(self.first) + 1).astype(np.int32)


class RowPart:
    """Some rows of a table: their codes, targets and scores.

    Every public method that returns a tuple of arrays answers a question that all parts are asked;
    `merged` says how the answers are merged.

    Parameters
    ----------
    columns : list of array
        The columns as numbers, as the plan reads them.
    target : array, shape (rows,)
        Class numbers, or numbers in the units of the fit.
    loss : BuiltinLoss
        Loss function to minimise.
    """

    def __init__(self, columns: Sequence[NDArray[Any]], target: Floats, loss: BuiltinLoss) -> None:
        self._columns: list[NDArray[Any]] = list(columns)
        self._y, self._loss = np.ascontiguousarray(target), loss
        self._hash_sum = _sum_of_hashes(self._columns, self._y, loss.n_threads)
        self._sampled = np.arange(0)
        self._cuts: RowCuts | None = None

    @classmethod
    def read(
        cls, tables: Sequence[Any], targets: Sequence[Any], spec: PartSpec, n_threads: int
    ) -> "RowPart":
        """Read the rows of several tables as one part."""
        each = [spec.plan.read(read_columns(table)) for table in tables]
        columns = [np.concatenate(pieces) for pieces in zip(*each, strict=True)]
        target = np.concatenate([spec.target.numbers(y) for y in targets])
        return cls(columns, target, replace(spec.loss, n_threads=n_threads))

    # ---- before the first round ----

    def content(self) -> Answer:
        """A sum over the rows that depends on their content, but not on their order."""
        return (self._hash_sum,)

    def cuts(self, verb: str, *arguments: Any) -> Answer:
        """Answer a question of `found_cuts`; the first begins a new search for thresholds."""
        if verb == "largest_column":
            mass, n_threads = getattr(self, "_mass", None), self._loss.n_threads
            self._cuts = RowCuts(self._columns.__getitem__, len(self._y), mass, n_threads)
        answer: Answer = getattr(self._cuts, verb)(*arguments)
        return answer

    def total_target(self, exponent: int) -> Answer:
        """The exact sum of the targets, in steps of 2**(exponent - 60): lower and upper bits."""
        steps = np.rint(np.ldexp(self._y, 60 - exponent)).astype(np.int64)
        return (np.array([(steps % _LIMBS).sum(), (steps // _LIMBS).sum()]),)

    def n_sampled(self, limit: int) -> Answer:
        """How many rows have a hash of the target and some columns below a limit, by `WIDTHS`."""
        return (np.array([len(self._below(limit, width)) for width in WIDTHS]),)

    def sample(self, limit: int, width: int) -> Answer:
        """Choose the rows of the training loss: those of such hashes; width -1: all of them.

        Returns their targets.
        """
        self._sampled = self._below(limit, width) if width >= 0 else np.arange(len(self._y))
        return (self._y[np.newaxis, self._sampled],)

    def _below(self, limit: int, width: int) -> NDArray[np.intp]:
        hashes = _hashes(self._columns[:width], self._y, self._loss.n_threads)
        return np.flatnonzero(hashes[:, 0] < np.uint64(limit))

    def start(self, forest: Forest) -> Answer:
        """Set the scores to those of the trees so far; of none, the base scores."""
        self._scores = np.repeat(forest.base_score[:, np.newaxis], len(self._y), axis=1)
        for begin in range(0, len(self._y) if forest.n_trees else 0, _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            table = side_by_side([column[rows] for column in self._columns])
            self._scores[:, rows] = forest.predict(table, n_threads=self._loss.n_threads).T
        return ()

    def code(self, bins: Bins) -> Answer:
        """Replace the columns by their bins; says which have missing values."""
        n_rows, n_columns = len(self._y), len(self._columns)
        self._cuts = None  # with the sorted columns that it keeps
        codes = _native.empty_codes(n_rows, n_columns)
        wide: dict[int, NDArray[np.uint16]] = {}
        for c in bins.wide:
            levels = self._columns[c]
            wide[c] = np.where(np.isnan(levels), 0, levels + 1).astype(np.uint16)
            self._columns[c] = np.full(n_rows, np.nan, dtype=np.float32)
        for begin in range(0, n_columns, _BATCH):
            end = min(begin + _BATCH, n_columns)
            cuts = bins.cuts[bins.first[begin] : bins.first[end]]
            first = bins.first[begin : end + 1] - bins.first[begin]
            table = side_by_side(self._columns[begin:end])
            threads = self._loss.n_threads
            _native.apply_cuts_into(table, cuts, first, codes, n_columns, begin, threads)
            self._columns[begin:end] = [np.empty(0)] * (end - begin)
        self._part = _native.Part(
            codes=codes,
            n_rows=n_rows,
            n_bins=bins.n_bins,
            is_category=bins.is_category,
            wide_columns=list(wide),
            wide_codes=list(wide.values()),
            n_levels=list(bins.wide.values()),
            n_threads=self._loss.n_threads,
        )
        self._leaves = np.empty(self._scores.shape, dtype=np.int32)
        self._gradient, self._hessian = np.empty_like(self._scores), np.empty_like(self._scores)
        return (self._part.saw_missing().astype(np.int64),)

    # ---- in each round ----

    def look(self) -> Answer:
        """Begin a round; returns the scores of the sampled rows, and their extremes.

        The gradients of all trees of the round are those at the scores before it.
        """
        has_hessian = self._loss.gradients(
            self._y, self._scores, None, self._gradient, self._hessian
        )
        self._has_hessian = has_hessian
        return (self._scores[:, self._sampled],)

    def step(self, values: Sequence[Floats]) -> Answer:
        """End a round: add the leaf values of its trees to the scores; begin the next."""
        for k, of_tree in enumerate(values):
            _native.add_leaf_values(
                self._scores[k : k + 1],
                self._leaves[k],
                np.ascontiguousarray(of_tree[:, np.newaxis]),
                self._loss.n_threads,
            )
        return self.look()

    def grow(self, tree: int, verb: str, *arguments: Any) -> Answer:
        """Answer a question of the grower of one of the trees of a round."""
        if verb == "look":
            hessian = self._hessian[tree] if self._has_hessian else None
            return self._part.look(self._gradient[tree], hessian, "automatic")
        if verb == "sums_of_leaves":
            leaf_of_node, n_leaves = arguments
            return self._part.sums_of_leaves(leaf_of_node, n_leaves, self._leaves[tree])
        answer: Answer = getattr(self._part, verb)(*arguments)
        return answer


def _hashes(columns: Sequence[NDArray[Any]], y: Floats, n_threads: int) -> NDArray[np.uint64]:
    if len(columns) == 0:
        return _native.hash_rows(np.empty((len(y), 0)), y, n_threads)
    return _native.hash_rows(side_by_side(list(columns)), y, n_threads)


def _sum_of_hashes(columns: Sequence[NDArray[Any]], y: Floats, n_threads: int) -> NDArray[Any]:
    """The sum of each of the two words of the rows' hashes, modulo 2**64."""
    hashes = _hashes(columns[:0], y, n_threads)
    for begin in range(0, len(columns), _BATCH):
        batch = side_by_side(list(columns[begin : begin + _BATCH]))
        _native.hash_more(batch, hashes, n_threads)
    total: NDArray[Any] = hashes.view(np.int64).sum(axis=0)
    return total
