"""Trees that ask for linear combinations of columns: each has a rotation of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.trees.forest import Forest
from weald.trees.forest_training import ForestLimits, OutOfBag
from weald.trees.frozen import freeze_all
from weald.trees.growing import GrownTree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rotations:
    """How a row of the table becomes the columns that each tree asks.

    A tree's columns are the components of its blocks, block after block, then the kept columns as
    they are, then the flags. Component c of a block is the sum over the block's columns i of
    `loading[i, c] * scale[i] * x[i]`, where a missing x[i] counts as `centre[i]`.

    Attributes
    ----------
    n_inputs : int
        How many columns the table has.
    rotated, kept, flagged : int32
        Columns of the table that are rotated, that are asked as they are (levels, infinities), and
        that trees may ask whether they are there.
    centre, scale : float64 [rotated]
        What stands for a missing value, and what every value is multiplied by.
    first_of_block : int64 [blocks + 1]
        Where each block begins among a tree's columns, and the end of the last.
    order : int32 [trees, rotated]
        Which of the rotated columns stands at each place of a tree's blocks.
    loading : float64 [trees, sum of squared block sizes]
        The orthogonal matrix of each block, with its columns as rows.
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self)

    @property
    def n_columns(self) -> int:
        """How many columns a tree has."""
        return len(self.rotated) + len(self.kept) + len(self.flagged)

    def blocks(self, tree: int) -> list[tuple[NDArray[np.int32], Floats]]:
        """The rotated columns of each block of a tree, by number, and the block's matrix."""
        result, at = [], 0
        for begin, end in zip(self.first_of_block[:-1], self.first_of_block[1:], strict=True):
            size = int(end - begin)
            matrix = self.loading[tree, at : at + size * size].reshape(size, size)
            result.append((self.order[tree, begin:end], matrix))
            at += size * size
        return result

    def matrix(self, tree: int) -> Floats:
        """The whole rotation: rows are the rotated columns of the table, columns the components."""
        n, at = len(self.rotated), 0
        whole = np.zeros((n, n))
        for columns, block in self.blocks(tree):
            whole[columns, at : at + len(block)] = block
            at += len(block)
        return whole

    def only(self, tree: int) -> "Rotations":
        """The rotation of one tree."""
        at = slice(tree, tree + 1)
        return replace(self, order=self.order[at], loading=self.loading[at])

    def joined(self, other: "Rotations") -> "Rotations":
        """These rotations and then others of the same columns and blocks."""
        return replace(
            self,
            order=np.concatenate([self.order, other.order]),
            loading=np.concatenate([self.loading, other.loading]),
        )

    @property
    def columns(
        self,
    ) -> tuple[NDArray[np.int32], Floats, Floats, NDArray[np.int32], NDArray[np.int32]]:
        """How rows are made ready, as the core takes it."""
        return self.rotated, self.centre, self.scale, self.kept, self.flagged

    def learnt(self) -> dict[str, NDArray[Any]]:
        """What can change an answer, for `weald.persist.fingerprint`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "n_inputs"}

    def shares_of_inputs(self, gains: Floats) -> Floats:
        """What each column of the table has in what the columns of each tree gained.

        A component's gain is parted by the squares of its loadings, which sum to 1.

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
            parted = np.einsum("tic,tc->ti", block**2, gains[:, begin:end])
            result[tree, self.rotated[self.order[:, begin:end]]] += parted
            at += size * size
        n_kept = n_rotated + len(self.kept)
        result[:, self.kept] += gains[:, n_rotated:n_kept]
        result[:, self.flagged] += gains[:, n_kept:]
        return result

    def names(self, tree: int, names: Sequence[str]) -> list[str]:
        """A tree's columns in words: combinations of the names of the table's columns."""
        combined = []
        for columns, block in self.blocks(tree):
            scaled = block * self.scale[columns][:, np.newaxis]
            of_block = [names[self.rotated[i]] for i in columns]
            combined += [_combination(scaled[:, c], of_block) for c in range(len(block))]
        return combined + [names[i] for i in (*self.kept, *self.flagged)]


def _combination(loadings: Floats, names: Sequence[str]) -> str:
    """A sum in words, without what is too small to be seen beside the rest."""
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
class RotatedForest:
    """A forest and the rotations of its trees: it answers for rows of the table itself."""

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

    def prepared(self) -> "RotatedForest":
        """Itself, with what its answers need: the first answer is as quick as the next."""
        assert self._predictor
        return self

    def predict(self, table: NDArray[Any], *, n_threads: int) -> Floats:
        """Sums over the trees, of the shape (rows, outputs)."""
        return self._predictor.answer(table, n_threads)

    def answer(self, rows: NDArray[Any], *, loss: str, n_threads: int) -> Floats:
        """Sums of a batch, or of one row without the axis of rows; `loss` is empty."""
        assert not loss
        return self._predictor.answer(rows, n_threads)

    def apply(self, table: NDArray[Any], *, n_threads: int) -> NDArray[np.int32]:
        """The leaf each row ends in, for every tree, counted from the tree's first leaf."""
        return self._predictor.apply(table, n_threads)

    def spread(self, table: NDArray[Any], centre: Floats, *, n_threads: int) -> Floats:
        """Sums over the trees of the squared distances of their answers from `centre`."""
        return self._predictor.spread(table, centre, n_threads)

    @cached_property
    def _predictor(self) -> "_native.RotationPredictor":
        arrays = {f.name: getattr(self.rotations, f.name) for f in fields(self.rotations)}
        return _native.RotationPredictor(**arrays, **self.forest.native_arrays())

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self.forest, "rotations": self.rotations}


def blocks_of(n_columns: int, subset_size: int | None, n_subsets: int | None) -> NDArray[np.int64]:
    """Where the blocks of columns begin, and the end of the last.

    They have `subset_size` columns each, the last what is left over; or there are `n_subsets`,
    which differ by at most one column.

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
    """What the members of a rotation forest learn from: rows in the order of content.

    Attributes
    ----------
    table : RotationTable
        The columns, made ready for rotations.
    n_inputs : int
        How many columns the user's table has.
    values, classes, n_classes, weight, bootstrap
        As `ForestRows` has them.
    mass : int64 [rows] or None
        What each row weighs where rotations are drawn, in whole numbers; None: 1 each.
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
    """The subsets of columns, and the share of the rows that each subset's axes are found on."""

    subset_size: int | None
    n_subsets: int | None
    fraction: float
    replace: bool


def grow_rotated_members(
    rows: RotationRows,
    limits: ForestLimits,
    sample: RotationSample,
    members: range,
    *,
    seed: int,
    n_threads: int,
    out_of_bag: OutOfBag | None = None,
    batch: int | None = None,
    report: Callable[[int], None] = lambda n_grown: None,
) -> tuple[list[GrownTree], Rotations]:
    """Grow the trees of the members and their rotations; as `grow_members` does."""
    columns: dict[str, Any] = rows.table.columns()
    blocks = blocks_of(len(columns["rotated"]), sample.subset_size, sample.n_subsets)
    grown: list[dict[str, Any]] = []
    step = batch or len(members)
    for begin in range(members.start, members.stop, step):
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
            n_trees=min(step, members.stop - begin),
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
    no_rows = np.zeros(0, dtype=np.int32)  # leaves of rows are not kept
    return [GrownTree(leaf_of_row=no_rows, **arrays) for arrays in grown], rotations
