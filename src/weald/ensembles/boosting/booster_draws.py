"""How several boosters draw their rows from those of one fit."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weald.data import mass_of
from weald.ensembles.boosting.loop import Training
from weald.ensembles.class_weights import weighed_by_class
from weald.resampling import Bags, DistinctRows, member_seed

Floats = NDArray[np.float64]

# Draws of the held-out rows have a seed of their own, as if they were those of a far member.
_HELD_OUT = 2**40


@dataclass(frozen=True, eq=False)
class BoosterDraws:
    """Who saw what: a bag of the rows to learn from and, apart from it, one of those held out.

    Drawn apart, no booster goes without rows to learn from. What it drew of the held-out rows only
    its leaves learn from, when they are estimated anew.

    Attributes
    ----------
    learnt : Bags
        Of the rows to learn from.
    held : Bags or None
        Of the rows held out; None: there are none.
    """

    learnt: Bags
    held: Bags | None = None

    @property
    def n(self) -> int:
        """Number of different rows."""
        return self.learnt.n

    @property
    def place(self) -> NDArray[np.intp]:
        """Which of the different rows each row of the fit is; -1: it had no weight."""
        return self.learnt.place

    def sample(self, member: int) -> NDArray[np.int64]:
        """How often a booster learns from each of the different rows."""
        drawn = self.learnt.drawn(member)
        return drawn if self.held is None else drawn + self.held.drawn(member)

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a booster saw each of the different rows; what judged it, at least once."""
        sample = self.sample(member)
        if self.held is None or self.held.mass is None:
            return sample
        return np.maximum(sample, self.held.mass > 0)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a booster saw each row of the fit; equal rows have their common count."""
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
    weight : float64 [different rows] or None
        What a row counts; whole numbers are repetitions.
    class_weight : float64 [classes] or None
        What the rows of each class weigh beside their weights.
    """

    training: Training
    draws: BoosterDraws
    weight: Floats | None
    class_weight: Floats | None

    @classmethod
    def of(
        cls,
        training: Training,
        distinct: DistinctRows,
        kept: NDArray[np.bool_],
        class_weight: Floats | None,
    ) -> "BoosterBags":
        """`kept` marks those of the rows passed to fit that have a weight."""
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = distinct.set_of
        weight = distinct.weight if distinct.weight is not None else distinct.copies
        return cls(
            training,
            _draws(training, distinct, place),
            None if weight is None else weight.astype(np.float64),
            class_weight,
        )

    def training_of(self, member: int) -> Training:
        """The same rows as often as a booster drew them: the draws are the weights."""
        rows, seed = self.training.rows, member_seed(self.training.seed, member)
        copies = np.zeros(rows.n, dtype=np.int64)
        copies[: self.draws.n] = self.draws.sample(member)
        own = replace(rows, weight=None, weight_exponent=0, copies=copies)
        if self.class_weight is not None:
            own = weighed_by_class(own, self.class_weight)
        # All held-out rows judge, drawn or not, and by their own weights.
        return replace(self.training, rows=own, seed=seed, judging_rows=rows)


def _draws(training: Training, distinct: DistinctRows, place: NDArray[np.intp]) -> BoosterDraws:
    mass, n = mass_of(distinct.copies, distinct.weight), len(distinct.index)
    seed = training.seed
    if training.held_out is None or training.validation is not None:
        n_draws = len(distinct.set_of) if distinct.copies is None else int(distinct.copies.sum())
        return BoosterDraws(Bags(seed, n_draws, mass, place, n))
    copies = np.ones(n, dtype=np.int64) if distinct.copies is None else distinct.copies

    def bag(rows: NDArray[np.bool_], own_seed: int) -> Bags:
        own_mass = np.where(rows, 1 if mass is None else mass, 0).astype(np.int64)
        return Bags(own_seed, int(copies[rows].sum()), own_mass, place, n)

    held = training.held_out
    return BoosterDraws(bag(~held, seed), bag(held, member_seed(seed, _HELD_OUT)))
