"""The rows of one part, in a scratch file while no question is answered."""

from collections.abc import MutableSequence, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.parts.scratch import Place, Scratch
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.part_weights import PartWeights
from weald.ensembles.boosted_trees.parts.row_part import RowPart
from weald.losses import BuiltinLoss

# Questions of the grower for which gradients are not enough.
_WITH_CODES = ("write", "add_rows", "divide", "copies_by_code")

# Arrays that are replaced as a whole if they change, so that they are written once.
_REPLACED = frozenset(
    ("_y", "_given", "_weight", "_times", "_mass", "_keys", "_held_out", "_drawn", "_copies")
)


class StoredColumns(MutableSequence[NDArray[Any]]):
    """The columns of a part as a list, of which each is read when it is asked for."""

    def __init__(self, scratch: Scratch, places: Sequence[Place]) -> None:
        self._scratch = scratch
        self._columns: list[Place | NDArray[Any]] = list(places)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        column = self._columns[which]
        return self._scratch.read(column) if isinstance(column, Place) else column

    def __setitem__(self, which: Any, columns: Any) -> None:
        self._columns[which] = columns

    def __delitem__(self, which: Any) -> None:
        del self._columns[which]

    def insert(self, index: int, value: NDArray[Any]) -> None:
        self._columns.insert(index, value)


class StoredPart(RowPart):
    """A part whose arrays are read when an answer needs them, and written when they have changed.

    An array is an attribute of `RowPart`; when it is asked for and not in memory, it is read.
    Read-only arrays, such as the codes, are written once. The native part is made anew from the
    gradients of the tree that is grown and from the rows of its nodes.

    Parameters
    ----------
    columns : StoredColumns
        The columns as numbers.
    target : array, shape (rows,)
        Class numbers, or numbers in the units of the fit.
    loss : BuiltinLoss
        Loss function to minimise.
    scratch : Scratch
        Takes the arrays.
    weights : PartWeights
        Weights of the rows, none of which is 0.
    is_kept : bool
        Whether everything but the columns stays in memory.
    """

    _kept_by_cuts = 0

    def __init__(
        self,
        columns: StoredColumns,
        target: Floats,
        loss: BuiltinLoss,
        scratch: Scratch,
        weights: PartWeights,
        *,
        is_kept: bool,
    ) -> None:
        self._scratch, self._is_kept = scratch, is_kept
        self._stored: dict[str, tuple[Place, bool]] = {}  # and whether the array may change
        self._unchanged: dict[str, NDArray[Any]] = {}  # as they lie in the file
        self._lent: dict[tuple[str, int], NDArray[Any]] = {}
        self._tree, self._verb = 0, ""
        self._scales: tuple[Any, ...] | None = None  # what the grower told about integers
        self._ranges: NDArray[np.int64] | None = None  # of nodes; None: there is only the root
        self._divisions: list[Sequence[Any]] = []  # of the growing tree
        super().__init__(columns, target, loss, weights)

    def answer(self, question: str, arguments: Sequence[Any]) -> Answer:
        """The answer to a question; afterwards only what is kept is in memory."""
        answer: Answer = getattr(self, question)(*arguments)
        self.release()
        return answer

    # ---- arrays ----

    def __getattr__(self, name: str) -> Any:
        # Called for what is not in memory.
        stored = self.__dict__.get("_stored", {})
        if name == "_part" and "_codes" in stored:
            self._restore()
        elif name in stored:
            place, may_change = stored[name]
            array = self._scratch.read(place)
            if not may_change:
                array.setflags(write=False)
                self._unchanged[name] = array
            setattr(self, name, array)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__[name]

    def release(self) -> None:
        """Write the arrays of rows that may have changed, and forget all."""
        if self._is_kept:
            return
        self.__dict__.pop("_part", None)
        for name, value in list(self.__dict__.items()):
            if isinstance(value, np.ndarray) and value.nbytes >= self._n_rows:
                if self._unchanged.pop(name, None) is not value:
                    self._write(name, value)
                delattr(self, name)
        for (name, tree), row in self._lent.items():
            self._scratch.write(self._stored[name][0].row(tree), row)
        self._lent.clear()

    def _write(self, name: str, array: NDArray[Any]) -> None:
        if name in _REPLACED:
            array.setflags(write=False)
        place, _ = self._stored.get(name, (None, False))
        if place is None or (place.shape, place.dtype) != (array.shape, array.dtype):
            place = self._scratch.reserve(array.shape, array.dtype)
        self._scratch.write(place, array)
        self._stored[name] = place, array.flags.writeable

    def _of_tree(self, name: str, tree: int, *, is_written: bool = False) -> NDArray[Any]:
        if name in self.__dict__:
            return super()._of_tree(name, tree)
        row = self._scratch.read(self._stored[name][0].row(tree))
        if is_written:
            self._lent[name, tree] = row
        return row

    def cuts(self, verb: str, *arguments: Any) -> Answer:
        """Answer a question of `found_cuts`, of which nothing is kept."""
        super().cuts("largest_column")
        answer = super().cuts(verb, *arguments)
        self._cuts = None
        return answer

    # ---- the growing tree ----

    def grow(self, tree: int, verb: str, *arguments: Any) -> Answer:
        """Answer a question of the grower, by a native part that is made for it."""
        if self._is_kept:
            return super().grow(tree, verb, *arguments)
        self._verb = verb
        if verb == "look":
            return self._look(tree, *arguments)
        if verb == "coarse_sums":
            self._scales = None  # were not those expected
        answer = super().grow(tree, verb, *arguments)
        if verb == "write":
            self._scales = arguments
        elif verb == "divide":
            self._rows, self._ranges = self._part.rows_of_nodes()
            self._rows.setflags(write=False)
            self._divisions.append(arguments)
        return answer

    def _look(self, tree: int, *expected: Any) -> Answer:
        """Begin a tree; of the first of a round all, as the derivatives are in memory."""
        if tree == 0:
            self._find_derivatives(self._scores)
            self._begins = [self._begin(k) for k in range(self._loss.n_scores)]
        self._tree, self._scales, self._ranges, self._divisions = tree, None, None, []
        if not expected:
            return self._begins[tree]
        self._part = self._native_part(self._codes)
        answer = self._begin(tree, *expected)
        self._scales = expected
        return answer

    def _native_part(self, codes: NDArray[np.uint8] | None, *, by_columns: bool = True) -> Any:
        return super()._native_part(codes, by_columns=by_columns and self._is_kept)

    def _restore(self) -> None:
        """Make the native part as it was after the last question about the growing tree."""
        sends_others = self._verb == "sums_of_leaves" and self._copies is not None
        has_codes = sends_others or self._verb in _WITH_CODES
        self._part = self._native_part(self._codes if has_codes else None)
        if self._verb == "look":
            return
        self._begin(self._tree)
        if self._scales is not None:
            rows = None if self._ranges is None else self._rows
            self._part.restore(*self._scales, rows, self._ranges)
        if sends_others:
            for divisions in self._divisions:
                self._part.remember(*divisions)
