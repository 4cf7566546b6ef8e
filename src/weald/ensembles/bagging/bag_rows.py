"""The rows of a bag of any learner, and how base estimators draw from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.samples import Sample
from weald.ensembles.row_samples import row_samples
from weald.groups import Groups, groups_of_rows
from weald.resampling import OrderedRows, RowSamples, hash_any_rows, ordered_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Hashed:
    """Rows of any table as `ordered_rows` wants them."""

    sample: Sample
    groups: Groups | None

    def hashes(self, n_threads: int) -> NDArray[np.uint64]:
        target = np.asarray(self.sample.y, dtype=np.float64)
        return hash_any_rows(self.sample.X, target, n_threads=n_threads)

    @property
    def total_weight(self) -> Floats | None:
        return self.sample.weight


@dataclass(frozen=True, eq=False)
class BagRows:
    """Rows of positive weight that a bag is fitted on, in the order of their content."""

    sample: Sample
    ordered: OrderedRows

    @classmethod
    def of(cls, sample: Sample, *, n_threads: int) -> "BagRows":
        groups = None
        if sample.groups is not None:
            groups = groups_of_rows(sample.groups, sample.n)
        return cls(sample, ordered_rows(_Hashed(sample, groups), n_threads=n_threads))

    @property
    def weight(self) -> Floats | None:
        """What each row weighs; None: all the same."""
        weight = self.sample.weight
        if weight is None or (weight == weight[0]).all():
            return None
        return weight[self.ordered.index]

    @property
    def target(self) -> NDArray[Any]:
        return self.sample.y[self.ordered.index]

    @property
    def place(self) -> NDArray[np.intp]:
        """Where each row passed to fit lies; -1: it has no weight."""
        place = np.full(len(self.sample.place), -1, dtype=np.intp)
        place[self.sample.place >= 0] = self.ordered.place
        return place

    def draws(self, owner: Any, seed: int) -> RowSamples | None:
        """How base estimators draw their rows; None: each sees all of them."""
        groups, wanted = self.ordered.groups, owner.max_samples
        n_units = self.sample.n if groups is None else groups.n
        is_whole = wanted is None or wanted == (n_units if isinstance(wanted, int) else 1.0)
        if not owner.bootstrap and is_whole:
            return None
        return row_samples(
            self.ordered,
            self.sample.weight,
            1.0,
            self.place,
            bootstrap=bool(owner.bootstrap),
            max_samples=wanted,
            leaves_some_out=False,
            seed=seed,
        )


def samples_of(draws: RowSamples, member: int) -> NDArray[np.intp]:
    """Rows passed to fit that a base estimator drew, each as often as it did, in rising order."""
    counts = draws.counts(member)
    return np.repeat(np.arange(len(counts)), counts)
