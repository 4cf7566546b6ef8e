"""Means and leaf values over the rows of all parts, from what these tell in two steps."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.early_stopping import TRAIN_LOSS_ROWS
from weald.ensembles.boosted_trees.leaf_refit import Splits, monotone_steps
from weald.ensembles.boosted_trees.parts.part_numbers import number_rows
from weald.ensembles.boosted_trees.parts.row_draws import WIDTHS
from weald.ensembles.rounds.loop import check_divergence
from weald.losses import BuiltinLoss
from weald.trees import TreeLimits

# Integers of the two sums of a mean, and of those of a leaf: bindings/limbs.hpp.
_LIMBS = 8


def base_scores_of_parts(parts: Any, loss: BuiltinLoss, *, of_all: bool) -> Floats:
    """The constant scores of least loss, of all rows or of those that are not held out."""
    (most,) = parts.ask("extremes_of_target", of_all)
    (sums,) = parts.ask("sums_of_target", of_all, most)
    each = zip(most.reshape(-1, 4), sums.reshape(-1, _LIMBS), strict=True)
    means = np.array([_native.mean_of_sums(extremes, limbs) for extremes, limbs in each])
    return _native.base_scores_of_means(loss.name, means)


class Refit(NamedTuple):
    """How leaf values are estimated on all rows."""

    loss: BuiltinLoss
    limits: TreeLimits
    rate: float

    def leaves(
        self,
        most: Floats,
        sums: NDArray[np.int64],
        trees: Sequence[Mapping[str, NDArray[Any]]],
        number: int,
    ) -> list[tuple[Floats, Floats]]:
        """Values of the leaves and sums of their hessians, of each tree of a round.

        Parameters
        ----------
        most, sums
            Merged extremes and sums of all trees.
        trees
            The arrays of each.
        number
            Index of the round.
        """
        n_leaves = [len(arrays["value"]) for arrays in trees]
        each = np.split(sums, np.cumsum(n_leaves)[:-1] * _LIMBS)
        return [
            self._of_tree(*of_tree, number)
            for of_tree in zip(most.reshape(-1, 2), each, trees, strict=True)
        ]

    def _of_tree(
        self,
        most: Floats,
        sums: NDArray[np.int64],
        arrays: Mapping[str, NDArray[Any]],
        number: int,
    ) -> tuple[Floats, Floats]:
        limits = self.limits
        steps, hessians = _native.steps_of_sums(most, sums, limits.l1, limits.l2)
        if limits.directions is not None:
            splits = Splits(arrays["feature"], arrays["threshold"], arrays["right"])
            steps = monotone_steps(steps, hessians, splits, limits.directions)
        values = self.loss.capped(steps, self.rate)[:, np.newaxis] * self.rate
        check_divergence(values, number, self.rate)
        return values, hessians


class TrainLoss:
    """The training loss, on a sample of the rows as in one table (loss_sample.py).

    Parameters
    ----------
    parts : Parts
        The parts, whose rows have keys if `has_keys`.
    loss : BuiltinLoss
        Loss function to minimise.
    n_train, n_rows : int
        Number of rows that are not held out, and of all rows.
    are_classes : bool
        Whether targets are classes.
    """

    def __init__(
        self,
        parts: Any,
        loss: BuiltinLoss,
        *,
        n_train: int,
        n_rows: int,
        has_keys: bool,
        are_classes: bool,
    ) -> None:
        self._loss = loss
        if n_train <= TRAIN_LOSS_ROWS:
            given = parts.ask("sample", 0, -1)
        else:
            limit = TRAIN_LOSS_ROWS * 2**64 // n_train
            width = None if has_keys else _width(parts, limit, are_classes=are_classes)
            if width is not None:
                given = parts.ask("sample", limit, width)
            else:
                if not has_keys:
                    number_rows(parts, n_rows)
                given = parts.ask("sample_by_keys", limit)
        self._y, *factors = [one[0] for one in given]
        self._weight = next((one for one in factors if one.dtype.kind == "f"), None)
        self._times = next((one for one in factors if one.dtype.kind == "i"), None)

    def mean(self, scores: Floats) -> float:
        """The mean loss at the scores of the sampled rows."""
        if scores.shape[1] == 0:
            return np.nan
        return self._loss.mean(self._y, np.ascontiguousarray(scores), self._weight, self._times)


def _width(parts: Any, limit: int, *, are_classes: bool) -> int | None:
    """The number of columns whose hashes draw about as many rows as wanted; None: none does."""
    counts = parts.ask("n_sampled", limit)[0].tolist()
    first = 1 if are_classes else 0  # the hash of a class alone does not draw rows
    for width, n in zip(WIDTHS[first:], counts[first:], strict=True):
        if TRAIN_LOSS_ROWS <= 2 * n <= 4 * TRAIN_LOSS_ROWS:
            return width
    return None
