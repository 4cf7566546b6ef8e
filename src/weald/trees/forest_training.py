"""Training of random forests and extremely randomised trees."""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cluster import Cluster, active_cluster
from weald.resampling import RowSamples
from weald.threads import thread_count
from weald.trees.forest import Forest
from weald.trees.growing import bounded

Floats = NDArray[np.float64]

# A forest is grown in so many ranges of trees for each thread of a cluster: workers are busy until
# the end although trees differ, and one that dies has little to repeat.
_RANGES_OF_THREAD = 4


@dataclass(frozen=True)
class ForestLimits:
    """Growth parameters of the trees of a forest; None means no limit.

    `columns_of_tree` samples columns once per tree instead of per node. `random_cuts` draws one
    random threshold per column instead of searching for the best. `balances_bags` gives all classes
    in a bootstrap sample equal weight; with `hard_votes`, a leaf votes for its majority class.
    `directions` are monotonic constraints: 1 increasing, -1 decreasing, 0 none.
    """

    criterion: str
    max_features: int
    columns_of_tree: bool = False
    random_cuts: bool = False
    min_impurity_decrease: float = 0.0
    min_weight_share: float = 0.0
    max_leaf_nodes: int | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    balances_bags: bool = False
    hard_votes: bool = False
    directions: tuple[int, ...] | None = None

    def native(self, seed: int, n_threads: int) -> "_native.ForestParams":
        params = _native.ForestParams(
            criterion=self.criterion,
            seed=seed,
            max_features=self.max_features,
            columns_of_tree=self.columns_of_tree,
            random_cuts=self.random_cuts,
            min_decrease=self.min_impurity_decrease,
            min_weight_share=self.min_weight_share,
            max_leaf_nodes=bounded(self.max_leaf_nodes),
            max_depth=bounded(self.max_depth),
            min_samples_split=bounded(self.min_samples_split),
            min_samples_leaf=bounded(self.min_samples_leaf),
            balances_bags=self.balances_bags,
            hard_votes=self.hard_votes,
            n_threads=n_threads,
        )
        params.keep_monotone(self.directions or ())
        return params


class TablesOfTrees(Protocol):
    """The table of each tree, as ranks, if each has columns of its own."""

    def __call__(self, tree: int) -> "_native.RankedTable": ...

    @property
    def facts(self) -> dict[int, Any]:
        """What is known of the trees whose tables were made, by their numbers."""


@dataclass(frozen=True, eq=False)
class ForestRows:
    """Training data of a forest: distinct rows sorted by content, with ranked columns.

    Attributes
    ----------
    ranks : RankedTable or TablesOfTrees
        The table as ranks.
    values : float64 [rows] or [outputs, rows] or None
        Regression target.
    classes : int32 [rows] or [rows, outputs] or None
        Class codes, if `values` is None; unique over all outputs.
    n_classes : int
        Total number of classes of all outputs.
    weight : float64 [rows] or None
        Weight of one copy of each row.
    copies : int64 [rows] or None
        Multiplicity of each row, without bootstrap.
    samples : RowSamples or None
        In-bag counts of each tree.
    n_columns : int
        Number of columns.
    first_class : list or None
        Offset of the classes of each output, and the total, for several outputs.
    """

    ranks: "_native.RankedTable | TablesOfTrees"
    values: Floats | None
    classes: NDArray[np.int32] | None
    n_classes: int
    weight: Floats | None
    copies: NDArray[np.int64] | None
    samples: RowSamples | None
    n_columns: int
    first_class: list[int] | None = None

    @property
    def n_outputs(self) -> int:
        if self.values is None:
            return 1 if self.first_class is None else len(self.first_class) - 1
        return self.width

    @property
    def width(self) -> int:
        """Number of values per leaf."""
        if self.values is None:
            return self.n_classes
        return 1 if self.values.ndim == 1 else len(self.values)

    @property
    def n_rows(self) -> int:
        if self.values is not None:
            return int(self.values.shape[-1])
        assert self.classes is not None
        return len(self.classes)

    def channel(self, k: int) -> Floats:
        """Return the target for the k-th leaf value; for classes an indicator, 0 or 1."""
        if self.values is not None:
            return self.values if self.values.ndim == 1 else np.asarray(self.values[k])
        assert self.classes is not None
        is_it = np.equal(self.classes, k)
        return np.asarray(is_it if is_it.ndim == 1 else is_it.any(axis=1), dtype=np.float64)

    def native_target(self) -> dict[str, Any]:
        """Return the target as arguments of the core."""
        target = self.classes if self.values is None else self.values
        if target is None or target.ndim == 1:
            return {"values": self.values, "classes": self.classes, "n_classes": self.n_classes}
        several = _native.SeveralOutputs(
            values=self.values, labels=self.classes, first_class=self.first_class or []
        )
        return {"values": None, "classes": None, "n_classes": 0, "several": several}


@dataclass(eq=False)
class OutOfBag:
    """Sums and counts of the out-of-bag predictions of each row.

    `squares`, if not None, are sums of squared errors of these predictions.
    """

    sums: Floats
    squares: Floats | None = None
    counts: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.sums), dtype=np.int32)

    def empty(self) -> "OutOfBag":
        """Sums of no predictions."""
        squares = None if self.squares is None else np.zeros_like(self.squares)
        return OutOfBag(np.zeros_like(self.sums), squares)

    def add(self, other: "OutOfBag") -> None:
        """Add the predictions of other trees."""
        self.sums += other.sums
        self.counts += other.counts
        if self.squares is not None and other.squares is not None:
            self.squares += other.squares

    def means(self) -> Floats:
        """Mean out-of-bag predictions; NaN for rows that are in every sample."""
        counts = np.where(self.counts > 0, self.counts, np.nan)
        return np.asarray(self.sums / counts[:, np.newaxis])


class ForestGrower:
    """Grows trees of one forest in parallel; they do not depend on the number of threads.

    The out-of-bag predictions of all trees grown are added to `out_of_bag`, if given. Inside of
    `joblib.parallel_config("dask")` the workers of the cluster grow ranges of the trees.

    Parameters
    ----------
    n_jobs
        Of the fit: on a cluster, the number of threads of all workers.
    """

    def __init__(
        self,
        rows: ForestRows,
        limits: ForestLimits,
        *,
        seed: int,
        n_threads: int,
        n_jobs: int | None = None,
        out_of_bag: OutOfBag | None = None,
    ) -> None:
        self._rows, self._limits, self._seed = rows, limits, seed
        self._n_threads, self._n_jobs, self._out_of_bag = n_threads, n_jobs, out_of_bag
        self._arguments: dict[str, Any] = dict(
            bootstrap=None if rows.samples is None else rows.samples.bootstrap,
            weight=rows.weight,
            **rows.native_target(),
            copies=rows.copies,
        )

    def grow(
        self,
        trees: range,
        *,
        batch: int | None = None,
        report: Callable[[int], None] | None = None,
    ) -> Forest:
        """Grow the trees with the given numbers, `batch` at a time (default: all).

        Calls `report` with the number of trees after each batch. Predictions of the forest are sums
        over its trees.
        """
        step = batch or len(trees)
        cluster = active_cluster(self._n_jobs) if len(trees) > 1 else None
        parts, n_grown, n_reported = [], 0, 0
        for part in self._batches(trees, step) if cluster is None else self._of(cluster, trees):
            parts.append(part)
            n_grown += part.n_trees
            if report is not None and (n_grown - n_reported >= step or n_grown == len(trees)):
                report(n_grown)
                n_reported = n_grown
        return _joined(parts)

    def score(self, trees: range) -> None:
        """Grow trees only for their out-of-bag predictions."""
        cluster = active_cluster(self._n_jobs) if len(trees) > 1 else None
        for _ in self._grown(trees) if cluster is None else self._of(cluster, trees, keeps=False):
            pass

    # ---- on this machine ----

    def _batches(self, trees: range, step: int) -> Iterator[Forest]:
        for begin in range(trees.start, trees.stop, step):
            grown = _joined(list(self._grown(range(begin, min(begin + step, trees.stop)))))
            yield grown.with_mean_gains(self._rows.n_outputs)

    def _grown(self, trees: range) -> Iterator[Forest]:
        """The trees: in one forest, or one by one if each has columns of its own."""
        ranks = self._rows.ranks
        if not callable(ranks):
            yield self._on_table(ranks, trees, self._out_of_bag, self._n_threads)
            return
        for forest, out_of_bag in self._one_by_one(trees):
            if self._out_of_bag is not None and out_of_bag is not None:
                self._out_of_bag.add(out_of_bag)
            yield forest

    def _one_by_one(self, trees: range) -> Iterator[tuple[Forest, OutOfBag | None]]:
        """Trees in their order, each with its out-of-bag predictions."""
        with ThreadPoolExecutor(self._n_threads) as pool:
            for first in range(trees.start, trees.stop, self._n_threads):
                some = range(first, min(first + self._n_threads, trees.stop))
                yield from pool.map(self._alone, some)

    def _alone(self, tree: int) -> tuple[Forest, OutOfBag | None]:
        """A tree and its out-of-bag predictions, by one thread."""
        out_of_bag = None if self._out_of_bag is None else self._out_of_bag.empty()
        ranks = self._rows.ranks
        table = ranks(tree) if callable(ranks) else ranks
        return self._on_table(table, range(tree, tree + 1), out_of_bag, 1), out_of_bag

    def _on_table(
        self,
        ranks: "_native.RankedTable",
        trees: range,
        out_of_bag: OutOfBag | None,
        n_threads: int,
    ) -> Forest:
        grown = _native.grow_forest(
            table=ranks,
            params=self._limits.native(self._seed, n_threads),
            **self._arguments,
            oob_sums=None if out_of_bag is None else out_of_bag.sums,
            oob_counts=None if out_of_bag is None else out_of_bag.counts,
            oob_squares=None if out_of_bag is None else out_of_bag.squares,
            first=trees.start,
            n_trees=len(trees),
        )
        return Forest(
            **grown,
            output=np.full(len(trees), -1, dtype=np.int32),
            tree_weight=np.ones(len(trees)),
            base_score=np.zeros(self._rows.width),
            n_columns=self._rows.n_columns,
        )

    # ---- on a cluster ----

    def _of(self, cluster: Cluster, trees: range, *, keeps: bool = True) -> Iterator[Forest]:
        """The trees in ranges, grown by workers, which receive the rows once."""
        n_slots = cluster.slots(self._n_jobs)
        has_limit = n_slots < cluster.slots(-1)
        n_ranges = min(len(trees), _RANGES_OF_THREAD * n_slots)
        ends = np.linspace(trees.start, trees.stop, n_ranges + 1).astype(int).tolist()
        out_of_bag = self._out_of_bag
        order = RangeOrder(
            self._limits,
            self._seed,
            n_threads=1 if has_limit else None,
            keeps=keeps,
            scores=out_of_bag is not None,
            scores_squares=out_of_bag is not None and out_of_bag.squares is not None,
        )
        ranges = [(range(*two), order) for two in itertools.pairwise(ends)]
        for grown in cluster.run(grow_range, ranges, (self._rows,), n_jobs=self._n_jobs):
            if callable(self._rows.ranks):
                self._rows.ranks.facts.update(grown.facts)
            if out_of_bag is not None:
                for left_out in grown.left_out:  # in the order of trees, as on one machine
                    left_out.add_to(out_of_bag)
            yield grown.forest


def _joined(parts: list[Forest]) -> Forest:
    """The trees of all parts; by pairs: one after another would copy each tree very often."""
    while len(parts) > 1:
        rest = parts[len(parts) // 2 * 2 :]
        parts = [a.joined(b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + rest
    return parts[0]


# ---- ranges of trees, grown by workers ----


@dataclass(frozen=True)
class RangeOrder:
    """How a worker grows a range of trees.

    `n_threads` is None for the worker's share of threads; `keeps` says whether trees are wanted,
    `scores` and `scores_squares` what of `OutOfBag` is.
    """

    limits: ForestLimits
    seed: int
    n_threads: int | None
    keeps: bool
    scores: bool
    scores_squares: bool


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of one tree for its out-of-bag rows."""

    rows: NDArray[np.uint32]
    sums: Floats
    squares: Floats | None

    @classmethod
    def of(cls, tree: OutOfBag) -> "LeftOut":
        rows = np.flatnonzero(tree.counts)
        squares = None if tree.squares is None else tree.squares[rows]
        return cls(rows.astype(np.uint32), tree.sums[rows], squares)

    def add_to(self, all_trees: OutOfBag) -> None:
        all_trees.sums[self.rows] += self.sums
        all_trees.counts[self.rows] += 1
        if all_trees.squares is not None and self.squares is not None:
            all_trees.squares[self.rows] += self.squares


@dataclass(frozen=True, eq=False)
class GrownRange:
    """A range of trees, their out-of-bag predictions, and the facts of `TablesOfTrees`."""

    forest: Any  # None if the trees are not wanted
    left_out: list[LeftOut]
    facts: dict[int, Any]


def grow_range(task: tuple[range, RangeOrder], rows: ForestRows) -> GrownRange:
    """Grow a range of the trees of a forest, in a worker of a cluster."""
    trees, order = task
    out_of_bag = None
    if order.scores:
        squares = np.zeros(rows.n_rows) if order.scores_squares else None
        out_of_bag = OutOfBag(np.zeros((rows.n_rows, rows.width)), squares)
    n_threads = order.n_threads or thread_count(None)
    grower = ForestGrower(
        rows, order.limits, seed=order.seed, n_threads=n_threads, out_of_bag=out_of_bag
    )
    left_out: list[LeftOut] = []
    if not order.scores:
        forest = grower.grow(trees)
    else:
        forests = []
        for one, own in grower._one_by_one(trees):
            assert own is not None
            forests.append(one)
            left_out.append(LeftOut.of(own))
        forest = _joined(forests).with_mean_gains(rows.n_outputs)
    facts = {tree: rows.ranks.facts[tree] for tree in trees} if callable(rows.ranks) else {}
    return GrownRange(forest if order.keeps else None, left_out, facts)
