"""The rows of a bag of any learner: equal rows merged, and how members draw from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import mass_of
from weald.ensembles.exact_means import are_copies
from weald.ensembles.members.samples import Sample
from weald.ensembles.out_of_bag.in_bag import Draws
from weald.resampling import Bags, DistinctRows, Pastes, distinct_rows, hash_any_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Hashed:
    """Rows of any table as `distinct_rows` wants them."""

    sample: Sample

    def hashes(self, n_threads: int) -> NDArray[np.uint64]:
        target = np.asarray(self.sample.y, dtype=np.float64)
        return hash_any_rows(self.sample.X, target, n_threads=n_threads)

    @property
    def copies(self) -> NDArray[np.int64] | None:
        weight = self.sample.weight
        return weight.astype(np.int64) if weight is not None and are_copies(weight) else None

    @property
    def weight(self) -> Floats | None:
        weight = self.sample.weight
        return None if weight is None or are_copies(weight) else weight


@dataclass(frozen=True, eq=False)
class BagRows:
    """Rows that a bag is fitted on, in the order of their content; equal ones are one.

    `sample` are the rows of positive weight, `distinct` says which of them stand for all.
    """

    sample: Sample
    distinct: DistinctRows

    @classmethod
    def of(cls, sample: Sample, *, n_threads: int) -> "BagRows":
        return cls(sample, distinct_rows(_Hashed(sample), n_threads=n_threads))

    @property
    def n_counted(self) -> int:
        """Rows as far as draws are concerned: whole-number weights are repetitions."""
        copies = self.distinct.copies
        return self.sample.n if copies is None else int(copies.sum())

    @property
    def weight(self) -> Floats | None:
        """What each of the different rows counts."""
        if self.distinct.weight is not None:
            return self.distinct.weight
        return None if self.distinct.copies is None else self.distinct.copies.astype(np.float64)

    @property
    def target(self) -> NDArray[Any]:
        return self.sample.y[self.distinct.index]

    @property
    def place(self) -> NDArray[np.intp]:
        """Which of the different rows each row passed to fit is; -1: it has no weight."""
        place = np.full(len(self.sample.place), -1, dtype=np.intp)
        place[self.sample.place >= 0] = self.distinct.set_of
        return place

    def draws(self, owner: Any, seed: int) -> Draws | None:
        """How members draw their rows; None: each sees all of them."""
        n_draws = self._n_draws(owner)
        if owner.bootstrap:
            mass = mass_of(self.distinct.copies, self.distinct.weight)
            return Bags(seed, n_draws, mass, self.place, len(self.distinct.index))
        if n_draws > self.n_counted:
            raise ValueError(
                f"max_samples={owner.max_samples!r} must be <= n_samples={self.n_counted} to be "
                "able to sample without replacement. Ask for fewer, or set bootstrap=True."
            )
        if n_draws == self.n_counted:
            return None
        hashes, copies = self.distinct.hashes, self.distinct.copies
        return Pastes(seed, n_draws, hashes, copies, self.distinct.weight, self.place)

    def _n_draws(self, owner: Any) -> int:
        wanted = owner.max_samples
        if wanted is None:
            return self.n_counted
        if isinstance(wanted, (int, np.integer)):
            return int(wanted)
        return max(1, round(self.n_counted * float(wanted)))


def samples_of(draws: Draws, member: int) -> NDArray[np.intp]:
    """Rows passed to fit that a member drew, each as often as it did, in the order of content.

    Draws of a row that is there several times go to its repetitions in turn.
    """
    drawn, place = draws.drawn(member), draws.place
    order = np.argsort(place, kind="stable")
    order = order[place[order] >= 0]
    sizes = np.bincount(place[order], minlength=draws.n)
    begins = np.cumsum(sizes) - sizes
    sets = np.repeat(np.arange(draws.n), drawn)
    turn = np.arange(len(sets)) - np.repeat(np.cumsum(drawn) - drawn, drawn)
    return np.asarray(order[begins[sets] + turn % sizes[sets]])
