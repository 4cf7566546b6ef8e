"""Growing option trees: several options per node near the root, ordinary trees below."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import BinnedTable
from weald.trees.growing import GrownTree, TreeLimits, bounded
from weald.trees.option_cutting import limited, pruned
from weald.trees.option_forest import Branch, below, beside

Floats = NDArray[np.float64]
Copies = NDArray[np.int64]


@dataclass(frozen=True)
class OptionLimits:
    """Limits on options.

    At most `most` options per node, at depths below `depth`, each on a different column and with a
    gain of at least `ratio` times the best gain.
    """

    most: int
    depth: int
    ratio: float


@dataclass(frozen=True, eq=False)
class OptionTarget:
    """Training target: either classes, or values of shape (outputs, rows)."""

    criterion: str
    weight: Floats | None
    copies: Copies | None
    classes: NDArray[np.int32] | None = None
    n_classes: int = 0
    values: Floats | None = None

    @classmethod
    def of_numbers(
        cls, values: Floats, weight: Floats | None, copies: Copies | None
    ) -> "OptionTarget":
        return cls("squared_error", weight, copies, values=values)


class OptionGrower:
    """Grows an option tree, or a branch of one, on a binned table.

    `start` is the depth of the branch, because depth limits count from the root.
    """

    def __init__(
        self,
        binned: BinnedTable,
        target: OptionTarget,
        limits: TreeLimits,
        options: OptionLimits,
        *,
        n_threads: int,
        start: int = 0,
    ) -> None:
        self._binned, self._options, self._limits = binned, options, limits
        self._copies = target.copies
        # From this depth on, subtrees have no options, and the core grows them as a whole.
        self._plain_from = max(start, options.depth if options.most > 1 else 0)
        max_depth, max_leaf_nodes = limits.max_depth, limits.max_leaf_nodes
        if max_depth is not None:
            self._plain_from = min(self._plain_from, max(start, max_depth))
            max_depth -= self._plain_from
            if max_depth <= 0:
                max_depth, max_leaf_nodes = None, 1
        self._grower = _native.OptionGrower(
            codes=binned.codes,
            n_rows=binned.n_rows,
            n_bins=binned.n_bins,
            is_category=binned.is_category,
            wide_columns=list(binned.wide),
            wide_codes=list(binned.wide.values()),
            criterion=target.criterion,
            max_leaf_nodes=bounded(max_leaf_nodes),
            max_depth=bounded(max_depth),
            min_samples_split=bounded(limits.min_samples_split),
            min_samples_leaf=bounded(limits.min_samples_leaf),
            n_threads=n_threads,
            weight=target.weight,
            sums=target.values,
            classes=target.classes,
            n_classes=target.n_classes,
        )
        self._start = start

    @property
    def saw_missing(self) -> NDArray[np.uint8]:
        return self._grower.saw_missing()

    def grow(self, ccp_alpha: float = 0.0) -> Branch:
        """Grow on all rows, limit the number of leaves, and prune."""
        return self._trimmed(self._grown(self._all(), self._start), ccp_alpha)

    def below_test(
        self, rows: NDArray[np.bool_], goes_left: NDArray[np.bool_], test: dict[str, Any]
    ) -> Branch:
        """Grow the subtrees of a given split of some rows."""
        copies = np.where(rows, self._all(), 0)
        arrays, side = self._grower.part(copies, goes_left.astype(np.uint8))
        stump = Branch.of(self._finished({**arrays, **test}, side))
        halves = [self._grown(np.where(side == i, copies, 0), self._start) for i in (0, 1)]
        return self._trimmed(below(stump.test(), *halves), 0.0)

    def gain(self, rows: NDArray[np.bool_], goes_left: NDArray[np.bool_]) -> float:
        """Return the gain of a split of some rows."""
        copies = np.where(rows, self._all(), 0)
        arrays, _ = self._grower.part(copies, goes_left.astype(np.uint8))
        return float(arrays["gain"][0])

    def _all(self) -> Copies:
        if self._copies is not None:
            return self._copies
        return np.ones(self._binned.n_rows, dtype=np.int64)

    def _grown(self, copies: Copies, depth: int) -> Branch:
        if depth >= self._plain_from:
            return Branch.of(self._finished(self._grower.grow(copies), _NO_ROWS))
        stumps = self._grower.stumps(copies, self._options.most, self._options.ratio)
        if not stumps:  # grow() then returns a leaf
            return Branch.of(self._finished(self._grower.grow(copies), _NO_ROWS))
        options = []
        for arrays, side in stumps:
            test = Branch.of(self._finished(arrays, side)).test()
            left, right = (self._grown(np.where(side == i, copies, 0), depth + 1) for i in (0, 1))
            options.append(below(test, left, right))
        return beside(options) if len(options) > 1 else options[0]

    def _trimmed(self, branch: Branch, ccp_alpha: float) -> Branch:
        if self._limits.max_leaf_nodes is not None:
            branch = limited(branch, self._limits.max_leaf_nodes)
        return pruned(branch, ccp_alpha)

    def _finished(self, arrays: dict[str, Any], leaf_of_row: NDArray[np.int32]) -> GrownTree:
        # The core returns bin codes: convert them to thresholds.
        code = arrays.pop("code")
        cut = np.flatnonzero((arrays["feature"] >= 0) & (arrays["category_set"] < 0))
        if not arrays.pop("is_given", False):
            arrays["threshold"][cut] = self._binned.threshold(arrays["feature"][cut], code[cut])
        return GrownTree(leaf_of_row=leaf_of_row, **arrays)


_NO_ROWS = np.zeros(0, dtype=np.int32)
