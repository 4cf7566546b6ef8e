"""Rotation forests: trees that split on linear combinations of columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.checked_state import CheckedState
from weald.trees.forest import Forest
from weald.trees.forest_training import ForestLimits, OutOfBag
from weald.trees.frozen import freeze_all
from weald.trees.growing import GrownTree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rotations(CheckedState):
    """Transformation of table rows to the columns of each tree.

    A tree's columns are the components of its blocks, then the unrotated columns, then the
    missing-value flags. Component c of a block is the sum over the block's columns i of
    `loading[i, c] * scale[i] * x[i]`, where a missing x[i] is replaced by `centre[i]`.

    Attributes
    ----------
    n_inputs : int
        Number of columns of the table.
    rotated, kept, flagged : int32
        Columns of the table that are rotated, that are not rotated (categories, infinities), and
        that have a missing-value flag.
    centre, scale : float64 [rotated]
        Replacement of missing values, and factor of all values.
    first_of_block : int64 [blocks + 1]
        Offset of each block among a tree's columns, and the total.
    order : int32 [trees, rotated]
        Permutation of the rotated columns over a tree's blocks.
    loading : float64 [trees, sum of squared block sizes]
        Orthogonal matrix of each block, with the block's columns as rows.
    """

    n_inputs: int
    rotated: NDArray[np.int32]
    centre: Floats
    scale: Floats
    kept: NDArray[np.int32]
    flagged: NDArray[np.int32]
    first_of_block: NDArray[np.int64]
    order: NDArray[np.int32]
    loading: Floats

    def __post_init__(self) -> None:
        freeze_all(self)

    def prove_sound(self) -> None:
        """Validate the sizes; `RotatedForest` proves the rest with the trees."""
        n, first = len(self.rotated), self.first_of_block
        if first[0] != 0 or first[-1] != n or (np.diff(first) < 1).any():
            raise ValueError("first_of_block must begin at 0 and rise to the rotated columns")
        if self.centre.shape != (n,) or self.scale.shape != (n,):
            raise ValueError("centre and scale must have one entry per rotated column")
        if self.order.ndim != 2 or self.order.shape[1] != n:
            raise ValueError("order must have the shape (trees, rotated columns)")
        if self.loading.shape != (len(self.order), int((np.diff(first) ** 2).sum())):
            raise ValueError("loading must have the squared sizes of the blocks for every tree")

    @property
    def n_columns(self) -> int:
        """Number of columns of a tree."""
        return len(self.rotated) + len(self.kept) + len(self.flagged)

    def blocks(self, tree: int) -> list[tuple[NDArray[np.int32], Floats]]:
        """Return indices into `rotated` and the matrix of each block of a tree."""
        result, at = [], 0
        for begin, end in zip(self.first_of_block[:-1], self.first_of_block[1:], strict=True):
            size = int(end - begin)
            matrix = self.loading[tree, at : at + size * size].reshape(size, size)
            result.append((self.order[tree, begin:end], matrix))
            at += size * size
        return result

    def matrix(self, tree: int) -> Floats:
        """Return the rotation matrix of a tree, with rotated columns as rows."""
        n, at = len(self.rotated), 0
        whole = np.zeros((n, n))
        for columns, block in self.blocks(tree):
            whole[columns, at : at + len(block)] = block
            at += len(block)
        return whole

    def only(self, tree: int) -> "Rotations":
        """Return the rotation of one tree."""
        at = slice(tree, tree + 1)
        return replace(self, order=self.order[at], loading=self.loading[at])

    def joined(self, other: "Rotations") -> "Rotations":
        """Append rotations of the same columns and blocks."""
        return replace(
            self,
            order=np.concatenate([self.order, other.order]),
            loading=np.concatenate([self.loading, other.loading]),
        )

    @property
    def columns(
        self,
    ) -> tuple[NDArray[np.int32], Floats, Floats, NDArray[np.int32], NDArray[np.int32]]:
        """Column arrays in the order of the core's arguments."""
        return self.rotated, self.centre, self.scale, self.kept, self.flagged

    def fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that affect predictions, for `weald.persist.fingerprint`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "n_inputs"}

    def shares_of_inputs(self, gains: Floats) -> Floats:
        """Attribute the gains of each tree's columns to the columns of the table.

        The gain of a component is divided by its squared loadings, which sum to 1.

        Parameters
        ----------
        gains : float64 [trees, columns of a tree]
        """
        n_trees, n_rotated = self.order.shape
        result = np.zeros((n_trees, self.n_inputs))
        tree, at = np.arange(n_trees)[:, np.newaxis], 0
        for begin, end in zip(self.first_of_block[:-1], self.first_of_block[1:], strict=True):
            size = int(end - begin)
            block = self.loading[:, at : at + size * size].reshape(n_trees, size, size)
            attributed = np.einsum("tic,tc->ti", block**2, gains[:, begin:end])
            result[tree, self.rotated[self.order[:, begin:end]]] += attributed
            at += size * size
        n_kept = n_rotated + len(self.kept)
        result[:, self.kept] += gains[:, n_rotated:n_kept]
        result[:, self.flagged] += gains[:, n_kept:]
        return result

    def names(self, tree: int, names: Sequence[str]) -> list[str]:
        """Return names of a tree's columns, as linear combinations of the column names."""
        combined = []
        for columns, block in self.blocks(tree):
            scaled = block * self.scale[columns][:, np.newaxis]
            of_block = [names[self.rotated[i]] for i in columns]
            combined += [_combination(scaled[:, c], of_block) for c in range(len(block))]
        return combined + [names[i] for i in (*self.kept, *self.flagged)]


def _combination(loadings: Floats, names: Sequence[str]) -> str:
    """Format a linear combination, without negligible terms."""
    if len(names) == 1 and loadings[0] == 1.0:
        return names[0]
    seen = np.flatnonzero(np.abs(loadings) > 1e-12 * np.abs(loadings).max())
    words = ""
    for i in seen.tolist():
        sign = "-" if loadings[i] < 0 else "+"
        lead = ("-" if sign == "-" else "") if not words else f" {sign} "
        words += f"{lead}{abs(loadings[i]):.3g}·{names[i]}"
    return words


@dataclass(frozen=True, eq=False)
class RotatedForest(CheckedState):
    """A forest and the rotations of its trees, which predicts for unrotated rows."""

    forest: Forest
    rotations: Rotations

    @property
    def n_columns(self) -> int:
        return self.rotations.n_inputs

    @property
    def n_trees(self) -> int:
        return self.forest.n_trees

    @property
    def value_range(self) -> tuple[float, float]:
        return self.forest.value_range

    def prove_sound(self) -> None:
        """Validate arrays from external sources; raises an error if they are corrupt."""
        self._predictor  # noqa: B018  # its constructor validates

    def prepared(self) -> "RotatedForest":
        """Create the predictor now, so that the first prediction is not slower; return self."""
        self.prove_sound()
        return self

    def predict(self, table: NDArray[Any], *, n_threads: int) -> Floats:
        """Return sums over the trees, of shape (rows, outputs)."""
        return self._predictor.answer(table, n_threads)

    def answer(self, rows: NDArray[Any], *, loss: str, n_threads: int) -> Floats:
        """Return sums for a batch, or for one row (1-D); `loss` must be empty."""
        assert not loss
        return self._predictor.answer(rows, n_threads)

    def apply(self, table: NDArray[Any], *, n_threads: int) -> NDArray[np.int32]:
        """Return the leaf index of each row in every tree."""
        return self._predictor.apply(table, n_threads)

    def spread(self, table: NDArray[Any], centre: Floats, *, n_threads: int) -> Floats:
        """Return sums over the trees of squared distances of predictions from `centre`."""
        return self._predictor.spread(table, centre, n_threads)

    @cached_property
    def _predictor(self) -> "_native.RotationPredictor":
        arrays = {f.name: getattr(self.rotations, f.name) for f in fields(self.rotations)}
        return _native.RotationPredictor(**arrays, **self.forest.native_arrays())

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self.forest, "rotations": self.rotations}


def blocks_of(n_columns: int, subset_size: int | None, n_subsets: int | None) -> NDArray[np.int64]:
    """Return the offsets of the blocks of columns, and the number of columns.

    Blocks have `subset_size` columns, the last one possibly fewer; or there are `n_subsets` blocks
    of nearly equal size.

    >>> blocks_of(7, 3, None).tolist(), blocks_of(7, None, 3).tolist()
    ([0, 3, 6, 7], [0, 3, 5, 7])
    """
    if n_columns == 0:
        return np.zeros(1, dtype=np.int64)
    if n_subsets is None:
        assert subset_size is not None
        return np.append(np.arange(0, n_columns, subset_size), n_columns).astype(np.int64)
    n_blocks = min(n_subsets, n_columns)
    sizes = np.full(n_blocks, n_columns // n_blocks)
    sizes[: n_columns % n_blocks] += 1
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RotationRows:
    """Training data of a rotation forest: rows sorted by content.

    Attributes
    ----------
    table : RotationTable
        Columns prepared for rotations.
    n_inputs : int
        Number of columns of the user's table.
    values, classes, n_classes, weight, bootstrap
        As in `ForestRows`.
    mass : int64 [rows] or None
        Integer weights of the rows for drawing rotations; None means 1 each.
    """

    table: "_native.RotationTable"
    n_inputs: int
    values: Floats | None
    classes: NDArray[np.int32] | None
    n_classes: int
    weight: Floats | None
    mass: NDArray[np.int64] | None
    bootstrap: "_native.Bootstrap | None"


@dataclass(frozen=True)
class RotationSample:
    """Sizes of column subsets, and the row sample used to compute the axes of each subset."""

    subset_size: int | None
    n_subsets: int | None
    fraction: float
    replace: bool


def grow_rotated_trees(
    rows: RotationRows,
    limits: ForestLimits,
    sample: RotationSample,
    trees: range,
    *,
    seed: int,
    n_threads: int,
    out_of_bag: OutOfBag | None = None,
    batch: int | None = None,
    report: Callable[[int], None] = lambda n_grown: None,
) -> tuple[list[GrownTree], Rotations]:
    """Grow trees with their rotations; see `ForestGrower`."""
    columns: dict[str, Any] = rows.table.columns()
    blocks = blocks_of(len(columns["rotated"]), sample.subset_size, sample.n_subsets)
    grown: list[dict[str, Any]] = []
    step = batch or len(trees)
    for begin in range(trees.start, trees.stop, step):
        grown += _native.grow_rotation_forest(
            table=rows.table,
            params=limits.native(seed, n_threads),
            bootstrap=rows.bootstrap,
            first_of_block=blocks,
            sample_fraction=sample.fraction,
            replace=sample.replace,
            weight=rows.weight,
            values=rows.values,
            classes=rows.classes,
            n_classes=rows.n_classes,
            mass=rows.mass,
            first=begin,
            n_trees=min(step, trees.stop - begin),
            oob_sums=None if out_of_bag is None else out_of_bag.sums,
            oob_counts=None if out_of_bag is None else out_of_bag.counts,
        )
        report(len(grown))
    rotations = Rotations(
        n_inputs=rows.n_inputs,
        first_of_block=blocks,
        order=np.stack([one.pop("order") for one in grown]),
        loading=np.stack([one.pop("loading") for one in grown]),
        **columns,
    )
    no_rows = np.zeros(0, dtype=np.int32)  # leaves of training rows are not stored
    return [GrownTree(leaf_of_row=no_rows, **arrays) for arrays in grown], rotations
