"""Leaf values on all rows of all parts, those held out included: what a part sums up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.row_losses import RowLosses


class RefittedRows(RowLosses):
    """Sums derivatives over the rows of each leaf, at scores of refitted trees.

    Attributes
    ----------
    _refit_scores : float64 [scores, rows] or None
        The scores of the refitted trees so far; None: leaves are not refitted.
    _n_refitted : int
        Number of rounds in them.
    """

    _n_refitted: int
    _refit_scores: Floats | None
    _gradient: Floats
    _hessian: Floats
    _has_hessian: bool
    _leaves: NDArray[np.int32]

    def _of_tree(self, name: str, tree: int, *, is_written: bool = False) -> NDArray[Any]:
        """A row of a matrix of rows by trees; if it is written, the matrix changes, too."""
        row: NDArray[Any] = getattr(self, name)[tree]
        return row

    def refit_step(self, number: int, values: Sequence[Floats]) -> Answer:
        """Add the refitted leaf values of a round to the scores of refitted trees; not twice."""
        assert self._refit_scores is not None
        if number == self._n_refitted:
            self._add_values(self._refit_scores, values)
            self._n_refitted += 1
        return ()

    def _add_values(self, scores: Floats, values: Sequence[Floats]) -> None:
        """Add the leaf values of the trees of a round to their scores."""
        for k, of_tree in enumerate(values):
            _native.add_leaf_values(
                scores[k : k + 1],
                self._of_tree("_leaves", k),
                np.ascontiguousarray(of_tree[:, np.newaxis]),
                self._loss.n_threads,
            )

    def _extremes_of_refit(self) -> Floats:
        """Compute the derivatives of the refit, in the arrays of those of the round, which ended.

        Two extremes for each score; empty if leaves are not refitted.
        """
        if self._refit_scores is None:
            return np.empty(0)
        self._find_derivatives(self._refit_scores)
        copies, n_threads = self._copies_of_refit(), self._loss.n_threads
        return np.concatenate(
            [
                _native.leaf_extremes(self._gradient[k], self._hessian_of(k), copies, n_threads)
                for k in range(len(self._gradient))
            ]
        )

    def _sums_of_refit(self, most: Floats, n_leaves: Sequence[int]) -> NDArray[np.int64]:
        """The sums of the leaves of each tree of the round, at the scale of these extremes."""
        copies, scales = self._copies_of_refit(), most.reshape(-1, 2)
        sums = [
            _native.sums_of_leaves(
                self._gradient[k],
                self._hessian_of(k),
                copies,
                self._of_tree("_leaves", k),
                n,
                scales[k],
                self._loss.n_threads,
            )
            for k, n in enumerate(n_leaves)
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *sums])

    def _find_derivatives(self, scores: Floats) -> None:
        self._has_hessian = self._loss.gradients(
            self._y, scores, self._weight, self._gradient, self._hessian
        )

    def _hessian_of(self, k: int) -> Floats | None:
        return self._hessian[k] if self._has_hessian else None

    def _copies_of_refit(self) -> NDArray[np.int64] | None:
        if self._drawn is None:
            return self._times
        drawn = self._drawn.astype(np.int64)
        return drawn if self._times is None else drawn * self._times
