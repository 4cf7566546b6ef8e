"""The rounds of boosted trees on the parts of a table, and what is agreed on before them.

This code runs where questions to all parts cost least: in this process, or in the worker that asks
the others.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import ColumnPlan
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.curves import Patience
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
from weald.ensembles.rounds.loop import check_largest
from weald.losses import BuiltinLoss
from weald.trees import Forest, TreeLimits

_CODED_BINS = 255

# Seconds of rounds that are told together: the caller may be far from the parts.
_LITTLE_TIME = 0.2


class Asked(Protocol):
    """Asks all parts the same question."""

    def ask(self, question: str, *arguments: Any) -> Answer:
        """The merged answer; raises what a part raised."""
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


class Agreed(NamedTuple):
    """What all parts agree on before the first round, and again after some were lost."""

    bins: Bins
    base: Floats
    base_of_all: Floats | None


class Round(NamedTuple):
    """A finished round.

    Attributes
    ----------
    trees : list of dict
        The arrays of each tree.
    train_loss, validation_loss : float
        Mean losses after the round; the latter is NaN if no rows are held out.
    refitted : list of pair
        Leaf values on all rows and sums of hessians, of each tree; empty if no rows are held out.
    """

    trees: list[dict[str, NDArray[Any]]]
    train_loss: float
    validation_loss: float
    refitted: list[tuple[Floats, Floats]]


class PartsRounds:
    """Runs the rounds of one booster by questions to all parts.

    Sums over rows are sums of integers, draws are over keys of content, and the trees are grown by
    the same code as on one table: the model is that of one table, bit for bit.

    Parameters
    ----------
    parts : Asked
        The parts, as they are before the first question.
    settings : PartsSettings
        What the rounds need to know.
    """

    def __init__(self, parts: Asked, settings: PartsSettings) -> None:
        self._parts, self._settings = parts, settings
        self._told: list[tuple[str, tuple[Any, ...]]] = []

    def _tell(self, question: str, *arguments: Any) -> None:
        """Ask a question without an answer, together with the next one."""
        self._told.append((question, arguments))

    def _ask(self, question: str, *arguments: Any) -> Answer:
        if not self._told:
            return self._parts.ask(question, *arguments)
        told, self._told = self._told, []
        return self._parts.ask("after", told, question, arguments)

    # ---- before the first round, and after parts were lost ----

    def content(self) -> list[int]:
        """A sum over all rows that depends on their content, but not on their order."""
        content: list[int] = self._parts.ask("content")[0].tolist()
        return content

    def begin(self, agreed: Agreed | None) -> Agreed:
        """Number and hold out rows, and find bins and base scores; `agreed`: they are known."""
        settings, parts = self._settings, self._parts
        if settings.draws_rows:
            number_rows(parts, settings.n_rows)
        n_held = self._hold_out() if settings.holds_out else 0
        if agreed is None:
            bins, base = self._found_bins(), self._base_scores(of_all=False)
            of_all = self._base_scores(of_all=True) if settings.holds_out else None
            agreed = Agreed(bins, base, of_all)
        self._bins = agreed.bins
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
        return agreed

    def _hold_out(self) -> int:
        settings = self._settings
        sizes = settings.class_counts
        if sizes is None:
            sizes = np.array([settings.n_rows])
        assert settings.held_fraction is not None
        return hold_out_of_parts(self._parts, sizes, settings.held_fraction, seed=settings.seed)

    def _base_scores(self, *, of_all: bool) -> Floats:
        return base_scores_of_parts(self._parts, self._settings.loss, of_all=of_all)

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

    def start(
        self,
        forest: Forest,
        refitted: Forest | None,
        n_rounds: int,
        missing_elsewhere: NDArray[np.bool_] | None,
    ) -> NDArray[np.uint8]:
        """Begin at the scores of the trees so far; returns which columns have missing values.

        Parameters
        ----------
        forest, refitted
            The trees so far, and the same with leaf values of all rows (None: these are unknown).
        n_rounds
            Number of rounds that made them.
        missing_elsewhere
            Which columns have missing values in rows that are not of parts; None: no column has.
        """
        (sampled,) = self._parts.ask("start", forest, refitted, n_rounds)
        self._sampled = sampled.copy()
        bins = self._bins
        (counts,) = self._parts.ask("code", bins)
        saw_missing = (counts > 0).astype(np.uint8)
        if missing_elsewhere is not None:
            saw_missing |= missing_elsewhere
        self._grower = _native.PartsGrower(
            n_bins=bins.n_bins,
            params=self._settings.limits.as_params("newton", 1),
            is_category=bins.is_category,
            wide_columns=list(bins.wide),
            n_levels=list(bins.wide.values()),
            saw_missing=saw_missing,
            cuts=bins.cuts,
            first=bins.first,
        )
        return saw_missing

    def first_losses(self) -> tuple[float, float]:
        """The training loss and the validation loss before the first round."""
        validation_loss, _ = self._end_of_round([], 0)
        return self._train_loss.mean(self._sampled), validation_loss

    # ---- in each round ----

    def rounds(self, number: int) -> list[Round]:
        """Run this round and, while little time has passed, further ones.

        The caller decides on each whether it is the last; a round that comes after it is not used.
        """
        end, begin, done = self._settings.n_estimators, time.monotonic(), [self._round(number)]
        while number + len(done) < end and time.monotonic() - begin < _LITTLE_TIME:
            done.append(self._round(number + len(done)))
        return done

    def _round(self, number: int) -> Round:
        """Grow the trees of a round, and add them to the scores of all rows."""
        settings = self._settings
        loss, rate = settings.loss, settings.learning_rate
        if settings.subsample < 1.0:
            self._draw(number)
        self._sampled_leaves: dict[int, NDArray[np.int32]] = {}
        asks = [partial(self._ask_of_tree, k) for k in range(loss.n_scores)]
        member = number * loss.n_scores
        has_hessian = settings.has_weights or not loss.hessian_is_one
        kept = self._grower.grow(asks, has_hessian=has_hessian, member=member)
        check_largest(kept.take_steps(loss.name, loss.parameter, rate), number, rate)
        trees = kept.arrays()
        for k, arrays in enumerate(trees):
            self._sampled[k] += arrays["value"][self._sampled_leaves[k], 0]
        validation_loss, refitted = self._end_of_round(trees, number)
        return Round(trees, self._train_loss.mean(self._sampled), validation_loss, refitted)

    def _ask_of_tree(self, tree: int, verb: str, *arguments: Any) -> Answer:
        answer = self._ask("grow", tree, verb, *arguments)
        if verb == "sums_of_leaves":  # the last time when the tree is grown
            self._sampled_leaves[tree] = answer[1][0]
        return answer

    def _draw(self, number: int) -> None:
        """Draw the rows of a round: at least one, also of those that are not held out."""
        settings = self._settings
        (counts,) = self._ask("draw", settings.subsample, settings.seed, number)
        if (counts == 0).any():
            least = self._ask("least_draws", settings.seed, number)[0].min(axis=1)
            self._ask("draw_least", settings.seed, number, least, counts == 0)

    def _end_of_round(
        self, trees: Sequence[dict[str, NDArray[Any]]], number: int
    ) -> tuple[float, list[tuple[Floats, Floats]]]:
        """Add the trees to the scores; returns the validation loss, and leaf values on all rows.

        Before the first round there are no trees.
        """
        settings = self._settings
        values = [arrays["value"][:, 0] for arrays in trees]
        if not settings.holds_out:
            if trees:
                self._tell("step", number, values)
            return np.nan, []
        of_losses, of_refit = self._ask("step", number, values)
        n_leaves = [len(one) for one in values]
        sums, leaf_sums = self._ask("sum_up", of_losses, of_refit, n_leaves)
        validation_loss = _native.mean_of_sums(of_losses, sums)
        if not trees:
            return validation_loss, []
        refit = Refit(settings.loss, settings.limits, settings.learning_rate)
        refitted = refit.leaves(of_refit, leaf_sums, trees, number)
        self._tell("refit_step", number, [values[:, 0] for values, _ in refitted])
        return validation_loss, refitted
