"""Training boosted trees on the parts of a table: rounds, and what is agreed on before them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from weald import _native
from weald.data import ColumnPlan
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.early_stopping import TRAIN_LOSS_ROWS
from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.row_part import WIDTHS, Bins, RowPart
from weald.ensembles.rounds.loop import check_largest
from weald.losses import BuiltinLoss
from weald.trees import Forest, ForestBuilder, GrownTrees, TreeLimits

_CODED_BINS = 255

# Losses of parts in a row after which a fit gives up: a worker that dies each time it gets a part
# would go on for ever.
_MOST_LOSSES = 5


class PartsLost(RuntimeError):
    """Some of the parts no longer answer."""


class Parts(Protocol):
    """Asks all parts the same question."""

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer; raises `PartsLost`, or what a part raised."""
        ...

    def restore(self) -> None:
        """Make all parts anew, as they were before the first question."""
        ...


class LocalParts:
    """Parts in this process."""

    def __init__(self, make: Callable[[], list[RowPart]]) -> None:
        self._make = make
        self.restore()

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer of all parts."""
        answers = [getattr(part, question)(*arguments) for part in self._parts]
        return merged(arguments[1] if question == "grow" else question, answers)

    def restore(self) -> None:
        """Make all parts anew."""
        self._parts = self._make()


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
        self._losses_in_a_row = 0
        self.n_restored = 0
        self.curve: list[float] = []

    def train(self) -> Forest:
        """Run all rounds; returns the trees in the units of the fit."""
        settings = self._settings
        self._retried(self._begin)
        while self._forest.rounds(settings.loss.n_scores) < settings.n_estimators:
            trees, sampled = self._retried(self._round)
            self._forest.add_round(trees)
            self._record(sampled)
        return self._forest.build()

    def _round(self) -> tuple[GrownTrees, Floats]:
        """Grow the trees of a round, and add them to the scores of all rows."""
        loss, rate = self._settings.loss, self._settings.learning_rate
        number = self._forest.rounds(loss.n_scores)
        asks = [partial(self._parts.ask, "grow", k) for k in range(loss.n_scores)]
        member = number * loss.n_scores
        kept = self._grower.grow(asks, has_hessian=not loss.hessian_is_one, member=member)
        trees = GrownTrees(kept, np.empty((0, 0), dtype=np.int32), self._saw_missing)
        check_largest(trees.take_steps(loss.name, loss.parameter, rate), number, rate)
        values = [arrays["value"][:, 0] for arrays in kept.arrays()]
        (sampled,) = self._parts.ask("step", values)
        return trees, sampled

    def _retried(self, action: Callable[[], Any]) -> Any:
        """Do it again with parts made anew, if parts were lost."""
        while True:
            try:
                done = action()
            except PartsLost:
                self._losses_in_a_row += 1
                if self._losses_in_a_row > _MOST_LOSSES:
                    raise
                self.n_restored += 1
                self._restore(begins=action != self._begin)
                continue
            self._losses_in_a_row = 0
            return done

    def _restore(self, *, begins: bool) -> None:
        while True:
            try:
                self._parts.restore()
                if begins:
                    self._begin_again()
            except PartsLost:
                self._losses_in_a_row += 1
                if self._losses_in_a_row > _MOST_LOSSES:
                    raise
                time.sleep(0.1)
                continue
            return

    # ---- before the first round, and after parts were made anew ----

    def _begin(self) -> None:
        """Agree on bins and base scores, and begin the first round."""
        self._check_content()
        self._bins = self._found_bins()
        base = self._base_scores()
        self._forest = ForestBuilder(base, self._settings.plan.n_columns)
        self._sample = self._chosen_sample()
        self._record(self._at_forest())

    def _begin_again(self) -> None:
        """Bring new parts to where the lost ones were."""
        self._check_content()
        self._sample_y()
        self._at_forest()

    def _at_forest(self) -> Floats:
        """Begin a round at the scores of the trees so far; returns those of the sampled rows."""
        bins = self._bins
        assert bins is not None
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
        """The bins of all columns, from the distinct values of one column after the other."""
        cuts: list[Floats] = []
        levels = [0 if one is None else len(one) for one in self._settings.plan.levels]
        for c, n_levels in enumerate(levels):
            if n_levels:
                cuts.append(np.arange(n_levels - 1 if n_levels <= _CODED_BINS else 0) + 0.5)
                continue
            values, counts = self._parts.ask("distinct", c)
            cuts.append(_cuts_of(values, counts, self._settings.max_bins))
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
        """Limit and number of columns of the hashes by which rows are drawn."""
        n_rows = self._settings.n_rows
        chosen = 0, -1
        if n_rows > TRAIN_LOSS_ROWS:
            limit = TRAIN_LOSS_ROWS * 2**64 // n_rows
            counts = self._parts.ask("n_sampled", limit)[0].tolist()
            are_classes = self._settings.class_counts is not None
            fitting = [
                width
                for width, n in zip(WIDTHS, counts, strict=True)
                if TRAIN_LOSS_ROWS <= 2 * n <= 4 * TRAIN_LOSS_ROWS and not (are_classes and not width)
            ]
            chosen = limit, (fitting[0] if fitting else WIDTHS[-1])
        self._sample = chosen
        self._sample_y()
        return chosen

    def _sample_y(self) -> None:
        self._y = self._parts.ask("sample", *self._sample)[0][0]

    def _record(self, sampled: Floats) -> None:
        loss = self._settings.loss
        has_rows = sampled.shape[1] > 0
        scores = np.ascontiguousarray(sampled)
        self.curve.append(loss.mean(self._y, scores, None, None) if has_rows else np.nan)


def _cuts_of(values: Floats, counts: Any, max_bins: int) -> Floats:
    if len(values) == 0:
        return np.empty(0)
    cuts, _ = _native.find_cuts(values[:, np.newaxis], counts, max_bins, 1)
    return cuts
