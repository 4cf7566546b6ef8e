"""Growing single trees on a binned table."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import AnyBins, ListedTable, SortedTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TreeLimits:
    """Growth parameters of a tree; None means no limit.

    `growth` is "best_first" (leaf-wise), "depth_wise" (level-wise) or "symmetric" (oblivious): one
    split for all nodes of a level, with the largest total gain. A symmetric level is added only if
    it respects `max_leaf_nodes`; nodes where the split would make a child too small skip the level.

    The gain of a split, or of a symmetric level, must exceed `min_gain`; minus infinity grows the
    tree until its leaves are pure, including splits without gain. `prune_gain` removes splits that
    gain no more than this from the grown tree, bottom-up. `l1` and `l2` are the penalties on leaf
    values. `cells` is the format of histogram sums: "packed", "blocks" (packed in blocks of
    rows), "wide", or "automatic" (the first of these that is precise enough; "ordered", which
    searches sorted rows for the same splits, for small tables with many bins).

    `max_features` columns are sampled per node, level or tree (`feature_sampling`), keyed by `seed`
    and the tree's number. `groups` are interaction constraints; `directions` are monotonic
    constraints: 1 increasing, -1 decreasing, 0 none.
    """

    growth: str = "best_first"
    max_leaf_nodes: int | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    min_gain: float = -math.inf
    prune_gain: float = 0.0
    l2: float = 0.0
    l1: float = 0.0
    cells: str = "automatic"
    max_features: int | None = None
    feature_sampling: str = "node"
    seed: int = 0
    groups: tuple[tuple[int, ...], ...] | None = None
    directions: tuple[int, ...] | None = None

    def as_params(self, criterion: str, n_threads: int) -> _native.TreeParams:
        """Return the parameters of the core."""
        params = _native.TreeParams(
            criterion=criterion,
            growth=self.growth,
            cells=self.cells,
            max_leaf_nodes=bounded(self.max_leaf_nodes),
            max_depth=bounded(self.max_depth),
            min_samples_split=min(self.min_samples_split, _FAR),
            min_samples_leaf=min(self.min_samples_leaf, _FAR),
            min_child_weight=self.min_child_weight,
            min_gain=self.min_gain,
            prune_gain=self.prune_gain,
            l2=self.l2,
            l1=self.l1,
            n_threads=n_threads,
        )
        params.choose_columns(
            max_features=self.max_features or 0,
            sampling=self.feature_sampling,
            seed=self.seed,
            groups=self.groups or (),
        )
        params.keep_monotone(self.directions or ())
        return params


def check_search(*, growth: str, max_bins: int | None, exact: bool) -> None:
    """Raise ValueError for contradictory parameters of the split search.

    Examples
    --------
    >>> check_search(growth="best_first", max_bins=64, exact=True)
    Traceback (most recent call last):
        ...
    ValueError: max_bins=64 has no effect with exact=True, which tries every threshold. ...
    """
    if exact and max_bins is not None:
        raise ValueError(
            f"max_bins={max_bins} has no effect with exact=True, which tries every threshold. "
            "Leave max_bins at None, or set exact=False."
        )
    if growth == "symmetric" and (exact or (max_bins or 0) > 255):
        setting = "exact=True" if exact else f"max_bins={max_bins}"
        raise ValueError(
            f"growth='symmetric' supports at most 255 bins per column, not {setting}. "
            "Use another growth, or exact=False and max_bins of at most 255."
        )


# Not frozen, because constructing frozen dataclasses is several times slower.
@dataclass(eq=False, slots=True)
class GrownTree:
    """The arrays of one tree, as in `Forest`, and the leaf of every training row.

    `leaf_of_row` belongs to the grower and is overwritten by its next tree.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    category_set: NDArray[np.int32]
    first_word: NDArray[np.int64]
    words: NDArray[np.uint64]
    weight: Floats
    gain: Floats
    value: Floats
    leaf_of_row: NDArray[np.int32]
    saw_missing: NDArray[np.uint8] | None = None

    def answering(self, value: Floats) -> "GrownTree":
        """Return the tree with other leaf values; faster than dataclasses.replace."""
        return GrownTree(
            self.feature,
            self.threshold,
            self.right,
            self.missing_left,
            self.category_set,
            self.first_word,
            self.words,
            self.weight,
            self.gain,
            value,
            self.leaf_of_row,
            self.saw_missing,
        )

    def add_to(self, scores: Floats, *, n_threads: int) -> None:
        """Add the tree's predictions to the scores of the training rows, in place."""
        values = np.ascontiguousarray(self.value[:, :1])
        _native.add_leaf_values(scores[np.newaxis], self.leaf_of_row, values, n_threads)


class GrownTrees:
    """The trees of a boosting round, held by the core until their arrays are needed.

    Iterating yields `GrownTree` objects; `leaves_of_rows` is overwritten by the next round.
    """

    __slots__ = ("_leaves_of_rows", "kept", "saw_missing")

    def __init__(
        self,
        kept: _native.GrownTrees,
        leaves_of_rows: NDArray[np.int32],
        saw_missing: NDArray[np.uint8] | None,
    ) -> None:
        self.kept = kept
        self.saw_missing = saw_missing
        self._leaves_of_rows = leaves_of_rows

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[GrownTree]:
        for arrays, leaves in zip(self.kept.arrays(), self._leaves_of_rows, strict=True):
            yield GrownTree(leaf_of_row=leaves, saw_missing=self.saw_missing, **arrays)

    def leaves(self) -> Iterator[tuple[NDArray[np.int32], int]]:
        """Yield the leaf of each row, and the number of leaves, of each tree."""
        return zip(self._leaves_of_rows, self.kept.n_leaves(), strict=True)

    def take_steps(self, loss: str, parameter: float, rate: float) -> float:
        """Set leaf values to Newton steps times `rate`, clipped if the loss requires it.

        Returns the largest absolute leaf value; NaN if any is NaN.
        """
        return self.kept.take_steps(loss, parameter, rate)

    def add_to(self, scores: Floats, *, n_threads: int) -> None:
        """Add each tree's predictions to its row of scores, in place."""
        self.kept.add_to(scores, self._leaves_of_rows, n_threads)


class TreeGrower:
    """Grows trees on one binned table, reusing buffers between trees."""

    def __init__(
        self,
        binned: AnyBins,
        criterion: str,
        limits: TreeLimits,
        *,
        n_threads: int,
    ) -> None:
        self._binned = binned
        self._leaf_of_row: NDArray[np.int32] | None = None
        self._leaves_of_rows: NDArray[np.int32] | None = None  # of several trees
        params = limits.as_params(criterion, n_threads)
        if isinstance(binned, SortedTable):
            self._grower = _native.Grower(
                binned.table, binned.cuts, binned.first, params, binned.n_levels
            )
            self._saw_missing = binned.saw_missing
        elif isinstance(binned, ListedTable):
            self._grower = _native.Grower(
                rows=binned.rows,
                codes=binned.codes,
                begins=binned.begins,
                usual=binned.usual,
                n_rows=binned.n_rows,
                n_bins=binned.n_bins,
                params=params,
                cuts=binned.cuts,
                first=binned.first,
            )
            self._saw_missing = self._grower.saw_missing()
        else:
            self._grower = _native.Grower(
                binned.codes,
                binned.n_rows,
                binned.n_bins,
                params,
                binned.is_category,
                list(binned.wide),
                list(binned.wide.values()),
                binned.cuts,
                binned.first,
            )
            self._saw_missing = self._grower.saw_missing()

    def on_sums(
        self,
        gradient: Floats,
        hessian: Floats | None,
        copies: NDArray[np.int64] | None,
        *,
        n_used: int | None = None,
        member: int = 0,
    ) -> GrownTree:
        """Grow on gradients of shape (scores, rows) and hessians of shape (rows,) (None: 1 each).

        `member` is the number of the tree, which keys its random draws. If `n_used` is given, only
        the first so many rows are used; the others only get a leaf.
        """
        return self._grown(
            weight=hessian,
            sums=gradient,
            sums_per_weight=False,
            classes=None,
            n_classes=0,
            copies=copies,
            n_used=n_used,
            member=member,
        )

    def on_each(
        self,
        gradients: Floats,
        hessians: Floats | None,
        copies: NDArray[np.int64] | None,
        *,
        n_used: int | None = None,
        member: int = 0,
    ) -> GrownTrees:
        """Grow one tree per row of gradients (and hessians), in parallel where that is faster.

        `member` is the number of the first tree, which keys the random draws; `n_used` as in
        `on_sums`.
        """
        if self._leaves_of_rows is None or self._leaves_of_rows.shape != gradients.shape:
            self._leaves_of_rows = np.empty(gradients.shape, dtype=np.int32)
        trees = self._grower.grow_each(
            weight=hessians,
            sums=gradients,
            copies=copies,
            leaf_of_row=self._leaves_of_rows,
            n_used=n_used,
            member=member,
        )
        return GrownTrees(trees, self._leaves_of_rows, self._saw_missing)

    def on_loss(
        self,
        loss: Mapping[str, Any],
        y: Floats,
        scores: Floats,
        weight: Floats | None,
        copies: NDArray[np.int64] | None,
        *,
        n_used: int | None = None,
        member: int = 0,
    ) -> GrownTree:
        """Grow on the derivatives of a loss, which the core computes without storing them all.

        `loss` is the result of `BuiltinLoss.for_core`; the tree equals that of `on_sums`.
        """
        if self._leaf_of_row is None:
            self._leaf_of_row = np.empty(self._binned.n_rows, dtype=np.int32)
        arrays = self._grower.grow_on_loss(
            **loss,
            y=y,
            scores=scores,
            weight=weight,
            copies=copies,
            leaf_of_row=self._leaf_of_row,
            n_used=n_used,
            member=member,
        )
        return self._finished(arrays, self._leaf_of_row)

    def on_values(
        self, values: Floats, weight: Floats | None, copies: NDArray[np.int64] | None
    ) -> GrownTree:
        """Grow on targets of shape (outputs, rows); leaf values are weighted means."""
        return self._grown(
            weight=weight,
            sums=values,
            sums_per_weight=True,
            classes=None,
            n_classes=0,
            copies=copies,
        )

    def on_classes(
        self,
        classes: NDArray[np.int32],
        n_classes: int,
        weight: Floats | None,
        copies: NDArray[np.int64] | None,
    ) -> GrownTree:
        """Grow on class codes; leaf values are class probabilities."""
        return self._grown(
            weight=weight,
            sums=None,
            sums_per_weight=True,
            classes=classes,
            n_classes=n_classes,
            copies=copies,
        )

    def on_labels(
        self,
        labels: NDArray[np.int32],
        first_class: list[int],
        weight: Floats | None,
        copies: NDArray[np.int64] | None,
    ) -> GrownTree:
        """Grow on class codes of shape (rows, outputs); leaf values are class probabilities.

        Those of output j are at `first_class[j]:first_class[j + 1]`.
        """
        return self._grown(
            weight=weight,
            sums=None,
            sums_per_weight=True,
            classes=None,
            n_classes=0,
            copies=copies,
            labels=labels,
            first_class=first_class,
        )

    def _grown(self, **target: Any) -> GrownTree:
        if self._leaf_of_row is None:
            self._leaf_of_row = np.empty(self._binned.n_rows, dtype=np.int32)
        arrays = self._grower.grow(**target, leaf_of_row=self._leaf_of_row)
        return self._finished(arrays, self._leaf_of_row)

    def _finished(self, arrays: dict[str, Any], leaf_of_row: NDArray[np.int32]) -> GrownTree:
        return GrownTree(leaf_of_row=leaf_of_row, saw_missing=self._saw_missing, **arrays)


# Larger limits have no effect; the core takes 64-bit integers, with 0 for no limit.
_FAR = 2**40


def bounded(limit: int | None) -> int:
    """Convert a limit to that of the core."""
    return 0 if limit is None else min(int(limit), _FAR)
