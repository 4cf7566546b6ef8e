"""How several boosters draw their rows from those of one fit."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weald.data import mass_of
from weald.ensembles.class_weights import weighed_by_class
from weald.ensembles.rounds.loop import Training
from weald.resampling import OrderedRows, RowSamples, member_seed

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Draws of the held-out rows have a seed of their own, as if they were those of a far member.
_HELD_OUT = 2**40


@dataclass(frozen=True, eq=False)
class BoosterDraws:
    """Which rows each booster saw: samples of the rows to learn from and of those held out.

    They are drawn apart, so that no booster goes without rows to learn from. What a booster drew
    of the held-out rows only its leaves learn from, when they are refitted.

    Attributes
    ----------
    learnt : RowSamples
        Of the rows to learn from.
    held : RowSamples or None
        Of the rows held out; None: there are none.
    is_held : bool [rows] or None
        Which rows are held out.
    """

    learnt: RowSamples
    held: RowSamples | None = None
    is_held: Mask | None = None

    @property
    def n(self) -> int:
        """Number of rows that have a weight."""
        return self.learnt.n

    @property
    def place(self) -> NDArray[np.intp]:
        """Where each row of the fit lies; -1: it had no weight."""
        return self.learnt.place

    @property
    def draws_by_weight(self) -> bool:
        """Whether weights are in the draws: then drawn rows weigh the same."""
        return self.learnt.draws_by_weight

    @property
    def has_equal_draws(self) -> bool:
        """Whether each booster makes n draws of n rows, all as probable."""
        return self.held is None and self.learnt.has_equal_draws

    def sample(self, member: int) -> NDArray[np.int64]:
        """How often a booster learns from each row."""
        drawn = self.learnt.drawn(member)
        return drawn if self.held is None else drawn + self.held.drawn(member)

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a booster saw each row; what judged it, at least once."""
        sample = self.sample(member)
        return sample if self.is_held is None else np.maximum(sample, self.is_held)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a booster saw each row passed to fit."""
        return np.append(self.drawn(member), 0)[self.place]


@dataclass(frozen=True, eq=False)
class BoosterBags:
    """The rows of a fit as each of its boosters has them.

    Attributes
    ----------
    training : Training
        All rows; the user's rows to judge by, if any, come after those that are drawn.
    draws : BoosterDraws
        How often each booster has each row.
    class_weight : float64 [classes] or None
        What the rows of each class weigh beside their weights.
    """

    training: Training
    draws: BoosterDraws
    class_weight: Floats | None

    @classmethod
    def of(
        cls, training: Training, ordered: OrderedRows, kept: Mask, class_weight: Floats | None
    ) -> "BoosterBags":
        """`kept` marks those of the rows passed to fit that have a weight."""
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = ordered.place
        return cls(training, _draws(training, ordered, place), class_weight)

    @property
    def weight(self) -> Floats | None:
        """What the rows that are drawn weigh; None: all the same."""
        weight = self.training.rows.total_weight
        return None if weight is None else weight[: self.draws.n]

    def training_of(self, member: int) -> Training:
        """The same rows as often as a booster drew them."""
        rows, seed = self.training.rows, member_seed(self.training.seed, member)
        copies = np.zeros(rows.n, dtype=np.int64)
        copies[: self.draws.n] = self.draws.sample(member)
        own = replace(rows, copies=copies, weight=rows.total_weight)
        if self.draws.learnt.draws_by_weight:
            own = replace(own, weight=None, weight_unit=1.0)
        judging = rows
        if self.class_weight is not None:
            own = weighed_by_class(own, self.class_weight)
            judging = weighed_by_class(rows, self.class_weight)
        # All held-out rows judge, drawn or not, and by their own weights.
        return replace(self.training, rows=own, seed=seed, scored_rows=judging)


def _draws(training: Training, ordered: OrderedRows, place: NDArray[np.intp]) -> BoosterDraws:
    """Samples with replacement, as large as the rows (or groups) they are drawn from."""
    n, groups, seed = ordered.n, ordered.groups, training.seed
    if groups is None:
        weight = training.rows.total_weight
        mass, group_of = None if weight is None else mass_of(weight[:n]), None
    else:
        mass, group_of = None, groups.of_row
    if training.held_out is None or training.validation is not None:
        n_draws = n if groups is None else groups.n
        return BoosterDraws(RowSamples(seed, n_draws, place, n, mass=mass, group_of=group_of))

    def samples(rows: Mask, own_seed: int) -> RowSamples:
        units = rows
        if groups is not None:
            units = np.isin(np.arange(groups.n), groups.of_row[rows])
        own_mass = np.where(units, 1 if mass is None else mass, 0).astype(np.int64)
        return RowSamples(own_seed, int(units.sum()), place, n, mass=own_mass, group_of=group_of)

    held = training.held_out
    return BoosterDraws(samples(~held, seed), samples(held, member_seed(seed, _HELD_OUT)), held)
