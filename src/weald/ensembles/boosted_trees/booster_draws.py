"""Bootstrap samples of bagged boosters."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weald.data import mass_of
from weald.ensembles.class_weights import weighted_by_class
from weald.ensembles.rounds.loop import Training
from weald.resampling import OrderedRows, RowSamples, estimator_seed

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Offset of the booster index that seeds the samples of the held-out rows.
_HELD_OUT = 2**40


@dataclass(frozen=True, eq=False)
class BoosterDraws:
    """Bootstrap samples of each booster, from the training rows and from the held-out rows.

    The two are sampled separately, so that every booster has training rows. Its sample of the
    held-out rows is used only to refit the leaf values after early stopping.

    Attributes
    ----------
    train : RowSamples
        Samples of the training rows.
    held : RowSamples or None
        Samples of the rows held out for early stopping; None: there are none.
    is_held : bool [rows] or None
        Mask of the rows held out.
    """

    train: RowSamples
    held: RowSamples | None = None
    is_held: Mask | None = None

    @property
    def n(self) -> int:
        """Number of rows with positive weight."""
        return self.train.n

    @property
    def place(self) -> NDArray[np.intp]:
        """Position of each row passed to `fit` among the sampled rows; -1: zero weight."""
        return self.train.place

    @property
    def draws_by_weight(self) -> bool:
        """Whether rows are sampled in proportion to their weights, and then weigh the same."""
        return self.train.draws_by_weight

    @property
    def has_equal_draws(self) -> bool:
        """Whether each booster draws n of n rows with equal probabilities."""
        return self.held is None and self.train.has_equal_draws

    def sample(self, member: int) -> NDArray[np.int64]:
        """In-bag count of each row, samples of held-out rows included."""
        drawn = self.train.drawn(member)
        return drawn if self.held is None else drawn + self.held.drawn(member)

    def drawn(self, member: int) -> NDArray[np.int64]:
        """In-bag count of each row; at least 1 for validation rows, which are never out of bag."""
        sample = self.sample(member)
        return sample if self.is_held is None else np.maximum(sample, self.is_held)

    def counts(self, member: int) -> NDArray[np.int64]:
        """In-bag count of each row passed to `fit`."""
        return np.append(self.drawn(member), 0)[self.place]


@dataclass(frozen=True, eq=False)
class BoosterBags:
    """Training sets of bagged boosters.

    Attributes
    ----------
    training : Training
        All rows; those of the user's validation set, if any, come last.
    draws : BoosterDraws
        The sample of each booster.
    class_weight : float64 [classes] or None
        Factor of the sample weights by class.
    """

    training: Training
    draws: BoosterDraws
    class_weight: Floats | None

    @classmethod
    def of(
        cls, training: Training, ordered: OrderedRows, kept: Mask, class_weight: Floats | None
    ) -> "BoosterBags":
        """Draw the samples; `kept` masks the rows passed to `fit` with positive weight."""
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = ordered.place
        return cls(training, _draws(training, ordered, place), class_weight)

    @property
    def weight(self) -> Floats | None:
        """Weights of the sampled rows; None: 1 each."""
        weight = self.training.rows.total_weight
        return None if weight is None else weight[: self.draws.n]

    def training_of(self, member: int) -> Training:
        """Training set of one booster."""
        rows, seed = self.training.rows, estimator_seed(self.training.seed, member)
        copies = np.zeros(rows.n, dtype=np.int64)
        copies[: self.draws.n] = self.draws.sample(member)
        own = replace(rows, copies=copies, weight=rows.total_weight)
        if self.draws.train.draws_by_weight:
            own = replace(own, weight=None, weight_unit=1.0)
        scored = rows
        if self.class_weight is not None:
            own = weighted_by_class(own, self.class_weight)
            scored = weighted_by_class(rows, self.class_weight)
        # Validation uses all held-out rows, sampled or not, with their own weights.
        return replace(self.training, rows=own, seed=seed, scored_rows=scored)


def _draws(training: Training, ordered: OrderedRows, place: NDArray[np.intp]) -> BoosterDraws:
    """Bootstrap samples, as large as the sets of rows (or groups) they are drawn from."""
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
    return BoosterDraws(samples(~held, seed), samples(held, estimator_seed(seed, _HELD_OUT)), held)
