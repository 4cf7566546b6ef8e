"""The rows of one part of a table while boosted trees are trained on all parts."""

import secrets
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import read_columns, weights_of_some
from weald.data.sources import side_by_side
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.part_weights import NO_WEIGHTS, PartWeights, Weighted
from weald.ensembles.boosted_trees.parts.row_cuts import RowCuts
from weald.ensembles.boosted_trees.parts.row_numbers import hashes_of_rows
from weald.ensembles.boosted_trees.parts.row_refit import RefittedRows
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec
from weald.losses import BuiltinLoss
from weald.trees import Forest

# Columns that are binned, and rows that are predicted at once, to save memory.
_BATCH, _BLOCK = 16, 2**16


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


class RowPart(RefittedRows):
    """Some rows of a table: their codes, targets and scores.

    Every public method that returns a tuple of arrays answers a question that all parts are asked;
    `merged` says how the answers are merged. Questions about draws, means and refitted leaves are
    those of the base classes.

    Parameters
    ----------
    columns : list of array
        The columns as numbers, as the plan reads them; they are replaced by their codes.
    target : array, shape (rows,)
        Class numbers, or numbers in the units of the fit.
    loss : BuiltinLoss
        Loss function to minimise.
    weights : PartWeights
        Weights of the rows, none of which is 0.
    """

    _kept_by_cuts: int | None = None

    def __init__(
        self,
        columns: MutableSequence[NDArray[Any]],
        target: Floats,
        loss: BuiltinLoss,
        weights: PartWeights = NO_WEIGHTS,
    ) -> None:
        self._columns, self._n_rows = columns, len(target)
        self._y, self._loss = np.ascontiguousarray(target), loss
        self._given, self._weight = weights.given, weights.weight
        self._times, self._mass = weights.times, weights.mass
        hashes = hashes_of_rows(self._columns, self._y, loss.n_threads)
        if self._given is not None:
            _native.hash_more(self._given[:, np.newaxis], hashes, loss.n_threads)
        self._hash_sum: NDArray[np.int64] = hashes.view(np.int64).sum(axis=0)
        self._token = secrets.randbits(63)  # names the part; no result depends on it
        self._keys = self._held_out = self._drawn = None
        self._cuts: RowCuts | None = None
        self._copies = self._times
        self._sampled = np.arange(0)
        self._held_losses = self._refit_scores = None

    @classmethod
    def read(
        cls, tables: Sequence[Any], targets: Sequence[Any], spec: PartSpec, n_threads: int
    ) -> "RowPart":
        """Read the rows of several tables as one part; those without a weight are left out."""
        each = [spec.plan.read(read_columns(table)) for table in tables]
        columns = [np.concatenate(pieces) for pieces in zip(*each, strict=True)]
        pairs = [y if isinstance(y, Weighted) else Weighted(y, None) for y in targets]
        target = np.concatenate([spec.target.numbers(one.y) for one in pairs])
        given = None
        if pairs[0].weight is not None:
            sizes = [len(table) for table in tables]
            some = zip(pairs, sizes, strict=True)
            given = np.concatenate([weights_of_some(one.weight, n) for one, n in some])
        weights = spec.weights.of_rows(given, target)
        if (kept := weights.kept) is not None:
            columns, target = [column[kept] for column in columns], target[kept]
        return cls(columns, target, replace(spec.loss, n_threads=n_threads), weights)

    def _mass_of_rows(self) -> NDArray[np.int64] | None:
        return self._mass

    # ---- before the first round ----

    def content(self) -> Answer:
        """A sum over the rows that depends on their content, but not on their order."""
        return (self._hash_sum,)

    def cuts(self, verb: str, *arguments: Any) -> Answer:
        """Answer a question of `found_cuts`; the first begins a new search for thresholds."""
        if verb == "largest_column":
            self._cuts = RowCuts(
                self._columns.__getitem__,
                self._mass_of_rows,
                self._n_rows,
                self._loss.n_threads,
                self._kept_by_cuts,
            )
        answer: Answer = getattr(self._cuts, verb)(*arguments)
        return answer

    def start(self, forest: Forest, refitted: Forest | None, n_rounds: int) -> Answer:
        """Set the scores to those of the trees of the rounds so far; of none, the base scores.

        `refitted`: the same trees with leaf values of all rows; None: leaves are not refitted.
        Returns the scores of the sample of the training loss.
        """
        self._n_rounds = self._n_refitted = n_rounds
        self._scores = self._scores_of(forest)
        self._refit_scores = None if refitted is None else self._scores_of(refitted)
        self._drawn, self._copies = None, self._train_copies()
        return (self._scores[:, self._sampled],)

    def _scores_of(self, forest: Forest) -> Floats:
        scores = np.repeat(forest.base_score[:, np.newaxis], len(self._y), axis=1)
        for begin in range(0, len(self._y) if forest.n_trees else 0, _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            table = side_by_side([column[rows] for column in self._columns])
            scores[:, rows] = forest.predict(table, n_threads=self._loss.n_threads).T
        return scores

    def code(self, bins: Bins) -> Answer:
        """Replace the columns by their bins; says which have missing values."""
        n_rows, n_columns = len(self._y), len(self._columns)
        self._cuts = None  # with the sorted columns that it keeps
        self._mass = self._given = None  # bins are known and rows are numbered
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
            table = side_by_side(list(self._columns[begin:end]))
            threads = self._loss.n_threads
            _native.apply_cuts_into(table, cuts, first, codes, n_columns, begin, threads)
            self._columns[begin:end] = [np.empty(0)] * (end - begin)
        self._codes, self._bins = codes, bins
        self._wide = np.stack(list(wide.values())) if wide else np.empty((0, 0), dtype=np.uint16)
        for array in (self._codes, self._wide):
            array.setflags(write=False)
        self._part = self._native_part(codes)
        self._leaves = np.empty(self._scores.shape, dtype=np.int32)
        self._gradient, self._hessian = np.empty_like(self._scores), np.empty_like(self._scores)
        return (self._part.saw_missing().astype(np.int64),)

    def _native_part(self, codes: NDArray[np.uint8] | None, *, by_columns: bool = True) -> Any:
        """The rows as the grower asks them; without codes: about gradients only."""
        bins = self._bins
        return _native.Part(
            codes=codes,
            n_rows=self._n_rows,
            n_bins=bins.n_bins,
            is_category=bins.is_category,
            wide_columns=list(bins.wide),
            wide_codes=[] if codes is None else list(self._wide),
            n_levels=list(bins.wide.values()),
            n_threads=self._loss.n_threads,
            by_columns=by_columns,
        )

    # ---- in each round ----

    def after(
        self, told: Sequence[tuple[str, Sequence[Any]]], question: str, arguments: Sequence[Any]
    ) -> Answer:
        """Do what is told, then answer the question."""
        for verb, given in told:
            getattr(self, verb)(*given)
        answer: Answer = getattr(self, question)(*arguments)
        return answer

    def grow(self, tree: int, verb: str, *arguments: Any) -> Answer:
        """Answer a question of the grower of one of the trees of a round.

        The gradients of all trees of the round are those at the scores before it.
        """
        if verb == "look":
            if tree == 0:
                self._find_derivatives(self._scores)
            return self._begin(tree, *arguments)
        if verb == "sums_of_leaves":
            leaves = self._of_tree("_leaves", tree, is_written=True)
            (sums,) = self._part.sums_of_leaves(*arguments, leaves)
            return sums, leaves[np.newaxis, self._sampled]
        answer: Answer = getattr(self._part, verb)(*arguments)
        return answer

    def _begin(self, tree: int, *expected: Any) -> Answer:
        """Begin a tree of a round, whose derivatives are known; `expected`: see `Part.expect`."""
        hessian = self._of_tree("_hessian", tree) if self._has_hessian else None
        gradient = self._of_tree("_gradient", tree)
        answer: Answer = self._part.look(gradient, hessian, "automatic", self._copies)
        return answer + self._part.expect(*expected) if expected else answer

    def step(self, number: int, values: Sequence[Floats]) -> Answer:
        """End a round: add the leaf values of its trees to the scores, but not twice.

        Before the first round there are no trees. Returns the extremes of the losses of rows held
        out and of the derivatives of the refit, whose sums `sum_up` tells.
        """
        if values and number == self._n_rounds:
            self._add_values(self._scores, values)
            self._n_rounds += 1
        return self._extremes_of_losses(), self._extremes_of_refit()

    def sum_up(self, of_losses: Floats, of_refit: Floats, n_leaves: Sequence[int]) -> Answer:
        """The sums at the scale of the extremes of all parts; each tree has so many leaves."""
        return self._sums_of_losses(of_losses), self._sums_of_refit(of_refit, n_leaves)
