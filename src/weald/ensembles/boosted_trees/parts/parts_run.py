"""Training boosted trees on the parts of a table: rounds, and what is agreed on before them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import ColumnPlan
from weald.data.validation import ONE_SET
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.curves import Patience, StoppingCurves
from weald.ensembles.boosted_trees.leaf_refit import RefittedLeaves
from weald.ensembles.boosted_trees.parts.given_sets import GivenSets
from weald.ensembles.boosted_trees.parts.held_out import hold_out_of_parts
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.part_cuts import found_cuts
from weald.ensembles.boosted_trees.parts.part_numbers import number_rows
from weald.ensembles.boosted_trees.parts.part_sums import (
    Refit,
    TrainLoss,
    base_scores_of_parts,
)
from weald.ensembles.boosted_trees.parts.row_part import Bins
from weald.ensembles.rounds.history import TRAIN_LOSS
from weald.ensembles.rounds.loop import Numbered, check_largest
from weald.ensembles.rounds.scoring import LOSS
from weald.losses import BuiltinLoss
from weald.trees import Forest, ForestBuilder, GrownTrees, TreeLimits

_CODED_BINS = 255

# A fit gives up if parts were lost so often without a finished round between: a worker that dies
# each time it gets its part would go on for ever.
_MOST_LOSSES = 5

VALIDATION_LOSS = f"{ONE_SET} {LOSS}"


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
    target_exponent : int
        Targets were divided by 2**target_exponent.
    class_counts : array or None
        Number of rows of each class; None: regression.
    held_fraction : float or None
        Fraction of the rows that are held out for validation; None: no rows are held out.
    subsample : float
        Row subsampling rate of each round.
    seed : int
        Seed of all draws.
    patience : Patience or None
        Number of rounds without improvement after which the run stops; None: it never does.
    tol : float
        Minimum improvement, relative to the initial loss.
    has_weights : bool
        Whether gradients have factors.
    """

    loss: BuiltinLoss
    limits: TreeLimits
    plan: ColumnPlan
    n_rows: int
    n_estimators: int
    learning_rate: float
    max_bins: int
    target_exponent: int = 0
    class_counts: Any = None
    held_fraction: float | None = None
    subsample: float = 1.0
    seed: int = 0
    patience: Patience | None = None
    tol: float = 0.0
    has_weights: bool = False

    @property
    def holds_out(self) -> bool:
        """Whether rows are held out for validation."""
        return self.held_fraction is not None

    @property
    def draws_rows(self) -> bool:
        """Whether rows are drawn, so that they need keys."""
        return self.holds_out or self.subsample < 1.0


class RoundWatcher(Protocol):
    """Looks at each round, and may end the run: a time limit, a progress bar."""

    reason: str

    def after(self, stage: Numbered) -> bool:
        """Called after each round; True ends the run."""
        ...


class _Round(NamedTuple):
    number: int


class PartsRun:
    """Trains one booster on the rows of all parts.

    Sums over rows are sums of integers, draws are over keys of content, and the trees are grown by
    the same code as on one table: the model is that of one table, bit for bit.

    Attributes
    ----------
    curves : StoppingCurves
        Training loss before the first and after each round; validation loss, if rows are held out.
    leaves : RefittedLeaves or None
        The leaf values of all rows, if rows are held out.
    stopped_by : str or None
        What ended the run; None: it goes on.
    n_restored : int
        How often parts were lost and made anew.
    """

    def __init__(
        self, parts: Parts, settings: PartsSettings, given: GivenSets | None = None
    ) -> None:
        self._parts, self._settings, self._given = parts, settings, given
        self._bins: Bins | None = None
        self._content: list[int] | None = None
        self.n_restored = 0
        watched = [VALIDATION_LOSS] if settings.holds_out else given.names if given else []
        self.curves = StoppingCurves(
            settings.loss,
            settings.target_exponent,
            dict.fromkeys([TRAIN_LOSS, *watched], True),
            watched=watched[0] if watched else None,
            patience=settings.patience,
            tol=settings.tol,
        )
        self.leaves: RefittedLeaves | None = None
        self.watchers: list[RoundWatcher] = []
        self.stopped_by: str | None = None

    def train(self) -> Forest:
        """Run all rounds; returns the trees in the units of the fit."""
        is_ready, n_lost = False, 0
        while not is_ready or self.stopped_by is None:
            try:
                if is_ready:
                    self._round()
                else:
                    self._begin()
                is_ready, n_lost = True, 0
                self.stopped_by = self._end()
            except PartsLost:
                is_ready, n_lost = False, n_lost + 1
                if n_lost > _MOST_LOSSES:
                    raise
                self.n_restored += 1
        return self._forest.build()

    def _end(self) -> str | None:
        """What ends the run after this round, if anything does."""
        last = _Round(self._n_rounds - 1)
        ended_by = [one for one in self.watchers if last.number >= 0 and one.after(last)]
        if self.curves.is_over:
            return self.curves.reason
        if ended_by:
            return ended_by[0].reason
        return "n_estimators" if self._n_rounds >= self._settings.n_estimators else None

    @property
    def _n_rounds(self) -> int:
        return self._forest.rounds(self._settings.loss.n_scores)

    def _round(self) -> None:
        """Grow the trees of a round, and add them to the scores of all rows.

        What a round adds is kept when all of it is known: if parts are lost before, it is repeated.
        """
        loss, rate, number = self._settings.loss, self._settings.learning_rate, self._n_rounds
        if self._settings.subsample < 1.0:
            self._draw(number)
        asks = [partial(self._parts.ask, "grow", k) for k in range(loss.n_scores)]
        member = number * loss.n_scores
        has_hessian = self._settings.has_weights or not loss.hessian_is_one
        kept = self._grower.grow(asks, has_hessian=has_hessian, member=member)
        trees = GrownTrees(kept, np.empty((0, 0), dtype=np.int32), self._saw_missing)
        check_largest(trees.take_steps(loss.name, loss.parameter, rate), number, rate)
        losses, refitted = self._end_of_round(kept.arrays(), number)
        self._forest.add_round(trees)
        if self._given is not None:
            self._given.add(self._alone(trees))
            losses |= self._given.losses()
        self.curves.append(losses)
        if self.leaves is not None:
            for of_tree in refitted:
                self.leaves.add(*of_tree)
            self._parts.ask("refit_step", number, [values[:, 0] for values, _ in refitted])

    def _alone(self, trees: GrownTrees) -> Forest:
        """The trees of a round, without base scores."""
        base = np.zeros(self._settings.loss.n_scores)
        forest = ForestBuilder(base, self._settings.plan.n_columns)
        forest.add_round(trees)
        return forest.build()

    def _draw(self, number: int) -> None:
        """Draw the rows of a round: at least one, also of those that are not held out."""
        settings = self._settings
        (counts,) = self._parts.ask("draw", settings.subsample, settings.seed, number)
        if (counts == 0).any():
            least = self._parts.ask("least_draws", settings.seed, number)[0].min(axis=1)
            self._parts.ask("draw_least", settings.seed, number, least, counts == 0)

    def _end_of_round(
        self, trees: Sequence[dict[str, NDArray[Any]]], number: int
    ) -> tuple[dict[str, float], list[tuple[Floats, Floats]]]:
        """Add the trees to the scores; returns the losses, and leaf values on all rows.

        Before the first round there are no trees.
        """
        values = [arrays["value"][:, 0] for arrays in trees]
        sampled, of_losses, of_refit = self._parts.ask("step", number, values)
        losses = {TRAIN_LOSS: self._train_loss.mean(sampled)}
        if not self._settings.holds_out:
            return losses, []
        n_leaves = [len(one) for one in values]
        sums, leaf_sums = self._parts.ask("sum_up", of_losses, of_refit, n_leaves)
        losses[VALIDATION_LOSS] = _native.mean_of_sums(of_losses, sums)
        settings = self._settings
        refit = Refit(settings.loss, settings.limits, settings.learning_rate)
        return losses, refit.leaves(of_refit, leaf_sums, trees, number) if trees else []

    # ---- before the first round, and after parts were lost ----

    def _begin(self) -> None:
        """Make the parts, and bring them to the first round, or to where lost ones were."""
        settings, parts = self._settings, self._parts
        parts.make()
        self._check_content()
        if settings.draws_rows:
            number_rows(parts, settings.n_rows)
        n_held = self._hold_out() if settings.holds_out else 0
        if self._bins is None:
            bins, base = self._found_bins(), self._base_scores(of_all=False)
            if settings.holds_out:
                self.leaves = RefittedLeaves(self._base_scores(of_all=True))
            self._forest = ForestBuilder(base, settings.plan.n_columns)
            self._bins = bins
        self._train_loss = TrainLoss(
            parts,
            settings.loss,
            n_train=settings.n_rows - n_held,
            n_rows=settings.n_rows,
            has_keys=settings.draws_rows,
            are_classes=settings.class_counts is not None,
        )
        if settings.subsample == 1.0:
            parts.ask("forget_keys")
        self._start(self._bins)
        if not self.curves.curves[TRAIN_LOSS]:
            losses, _ = self._end_of_round([], 0)
            if self._given is not None:
                self._given.start(self._forest.build().base_score)
                losses |= self._given.losses()
            self.curves.append(losses)

    def _hold_out(self) -> int:
        settings = self._settings
        sizes = settings.class_counts
        if sizes is None:
            sizes = np.array([settings.n_rows])
        assert settings.held_fraction is not None
        return hold_out_of_parts(self._parts, sizes, settings.held_fraction, seed=settings.seed)

    def _base_scores(self, *, of_all: bool) -> Floats:
        return base_scores_of_parts(self._parts, self._settings.loss, of_all=of_all)

    def _start(self, bins: Bins) -> None:
        """Begin a round at the scores of the trees so far."""
        forest = self._forest.build()
        refitted = None if self.leaves is None else self.leaves.refitted(forest)
        self._parts.ask("start", forest, refitted, self._n_rounds)
        (saw_missing,) = self._parts.ask("code", bins)
        self._saw_missing = (saw_missing > 0).astype(np.uint8)
        if self._given is not None:
            self._saw_missing |= self._given.has_missing
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
