"""Training boosted trees on the parts of a table: rounds, and what is agreed on before them."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from weald import _native
from weald.data import ColumnPlan
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.early_stopping import TRAIN_LOSS_ROWS
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.part_cuts import found_cuts
from weald.ensembles.boosted_trees.parts.row_part import WIDTHS, Bins
from weald.ensembles.rounds.loop import check_largest
from weald.losses import BuiltinLoss
from weald.trees import Forest, ForestBuilder, GrownTrees, TreeLimits

_CODED_BINS = 255

# A fit gives up if parts were lost so often without a finished round between: a worker that dies
# each time it gets its part would go on for ever.
_MOST_LOSSES = 5


class PartsLost(RuntimeError):
    """Some of the parts no longer answer."""


class Parts(Protocol):
    """Asks all parts the same question."""

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer; raises `PartsLost`, or what a part raised."""
        ...

    def make(self) -> None:
        """Make all parts, as they are before the first question; raises `PartsLost`, too."""
        ...


@dataclass(frozen=True, eq=False)
class PartsSettings:
    """What a training run on parts needs to know.

    Attributes
    ----------
    loss : BuiltinLoss
        Loss function to minimise.
    limits : TreeLimits
        Limits of the trees.
    plan : ColumnPlan
        How columns are read.
    n_rows, n_estimators, learning_rate, max_bins
        Number of rows of all parts, and parameters.
    class_counts : array or None
        Number of rows of each class; None: regression.
    target_range : tuple of float
        Smallest and largest target of a regression.
    """

    loss: BuiltinLoss
    limits: TreeLimits
    plan: ColumnPlan
    n_rows: int
    n_estimators: int
    learning_rate: float
    max_bins: int
    class_counts: Any = None
    target_range: tuple[float, float] = (0.0, 0.0)


class PartsRun:
    """Trains one booster on all rows of the parts, without row sampling and early stopping.

    Sums over rows are sums of integers, and the trees are grown by the same code as on one table:
    the model is that of one table, bit for bit.

    Attributes
    ----------
    curve : list of float
        Training loss before the first and after each round.
    n_restored : int
        How often parts were lost and made anew.
    """

    def __init__(self, parts: Parts, settings: PartsSettings) -> None:
        self._parts, self._settings = parts, settings
        self._bins: Bins | None = None
        self._content: list[int] | None = None
        self.n_restored = 0
        self.curve: list[float] = []

    def train(self) -> Forest:
        """Run all rounds; returns the trees in the units of the fit."""
        is_ready, n_lost = False, 0
        while not is_ready or self._n_rounds < self._settings.n_estimators:
            try:
                if is_ready:
                    self._round()
                else:
                    self._begin()
                is_ready, n_lost = True, 0
            except PartsLost:
                is_ready, n_lost = False, n_lost + 1
                if n_lost > _MOST_LOSSES:
                    raise
                self.n_restored += 1
        return self._forest.build()

    @property
    def _n_rounds(self) -> int:
        return self._forest.rounds(self._settings.loss.n_scores)

    def _round(self) -> None:
        """Grow the trees of a round, and add them to the scores of all rows."""
        loss, rate, number = self._settings.loss, self._settings.learning_rate, self._n_rounds
        asks = [partial(self._parts.ask, "grow", k) for k in range(loss.n_scores)]
        member = number * loss.n_scores
        kept = self._grower.grow(asks, has_hessian=not loss.hessian_is_one, member=member)
        trees = GrownTrees(kept, np.empty((0, 0), dtype=np.int32), self._saw_missing)
        check_largest(trees.take_steps(loss.name, loss.parameter, rate), number, rate)
        values = [arrays["value"][:, 0] for arrays in kept.arrays()]
        (sampled,) = self._parts.ask("step", values)
        self._forest.add_round(trees)
        self._record(sampled)

    # ---- before the first round, and after parts were lost ----

    def _begin(self) -> None:
        """Make the parts, and bring them to the first round, or to where lost ones were."""
        self._parts.make()
        self._check_content()
        if self._bins is None:
            bins, base = self._found_bins(), self._base_scores()
            self._forest = ForestBuilder(base, self._settings.plan.n_columns)
            self._bins = bins
        limit, width = self._chosen_sample()
        self._y = self._parts.ask("sample", limit, width)[0][0]
        sampled = self._at_forest(self._bins)
        if not self.curve:
            self._record(sampled)

    def _at_forest(self, bins: Bins) -> Floats:
        """Begin a round at the scores of the trees so far; returns those of the sampled rows."""
        self._parts.ask("start", self._forest.build())
        (saw_missing,) = self._parts.ask("code", bins)
        self._saw_missing = (saw_missing > 0).astype(np.uint8)
        self._grower = _native.PartsGrower(
            n_bins=bins.n_bins,
            params=self._settings.limits.as_params("newton", 1),
            is_category=bins.is_category,
            wide_columns=list(bins.wide),
            n_levels=list(bins.wide.values()),
            saw_missing=self._saw_missing,
            cuts=bins.cuts,
            first=bins.first,
        )
        (sampled,) = self._parts.ask("look")
        return sampled

    def _check_content(self) -> None:
        """Raise if parts that were made anew hold other rows than before."""
        content = self._parts.ask("content")[0].tolist()
        if self._content not in (None, content):
            raise RuntimeError(
                "A worker was lost, and its partitions hold other rows when they are read again: "
                "their source is not deterministic. Persist the collection, or write it to files "
                "and fit on these."
            )
        self._content = content

    def _found_bins(self) -> Bins:
        """The bins of all columns."""
        settings = self._settings
        levels = [0 if one is None else len(one) for one in settings.plan.levels]
        numbers = [c for c, n_levels in enumerate(levels) if not n_levels]
        ask = partial(self._parts.ask, "cuts")
        of_numbers = iter(found_cuts(ask, numbers, settings.n_rows, settings.max_bins))
        cuts = [
            np.arange(n - 1 if n <= _CODED_BINS else 0) + 0.5 if n else next(of_numbers)
            for n in levels
        ]
        first = np.cumsum([0, *(len(one) for one in cuts)]).astype(np.int64)
        is_category = np.array([n > 0 for n in levels], dtype=np.uint8)
        wide = {c: n for c, n in enumerate(levels) if n > _CODED_BINS}
        return Bins(np.concatenate(cuts), first, is_category if is_category.any() else None, wide)

    def _base_scores(self) -> Floats:
        """The constant scores that minimise the loss of all rows."""
        settings = self._settings
        loss, counts = settings.loss, settings.class_counts
        if counts is not None:
            return loss.base_scores(np.arange(len(counts), dtype=np.float64), None, counts)
        low, high = settings.target_range
        mean = low if low == high else self._mean_target(max(abs(low), abs(high)))
        return loss.base_scores(np.array([mean]), None, None)

    def _mean_target(self, largest: float) -> float:
        exponent = int(np.frexp(largest)[1])
        lower, upper = self._parts.ask("total_target", exponent)[0].tolist()
        return float(np.ldexp(float(lower + (upper << 30)), exponent - 60)) / self._settings.n_rows

    # ---- the training loss, of a sample of the rows as in one table ----

    def _chosen_sample(self) -> tuple[int, int]:
        """Limit and number of columns of the hashes by which rows are drawn; width -1: take all."""
        n_rows = self._settings.n_rows
        if n_rows <= TRAIN_LOSS_ROWS:
            return 0, -1
        limit = TRAIN_LOSS_ROWS * 2**64 // n_rows
        counts = self._parts.ask("n_sampled", limit)[0].tolist()
        # The hash of a class alone does not draw rows.
        first = 0 if self._settings.class_counts is None else 1
        fitting = [
            width
            for width, n in zip(WIDTHS[first:], counts[first:], strict=True)
            if TRAIN_LOSS_ROWS <= 2 * n <= 4 * TRAIN_LOSS_ROWS
        ]
        return limit, (fitting[0] if fitting else WIDTHS[-1])

    def _record(self, sampled: Floats) -> None:
        loss = self._settings.loss
        has_rows = sampled.shape[1] > 0
        scores = np.ascontiguousarray(sampled)
        self.curve.append(loss.mean(self._y, scores, None, None) if has_rows else np.nan)
