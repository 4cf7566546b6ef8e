"""Training rows of bagging, and the row samples of its base estimators."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.counts_as_weights import warn_of_counts
from weald.ensembles.members.samples import Sample
from weald.ensembles.row_samples import row_samples
from weald.groups import Groups, groups_of_rows
from weald.resampling import OrderedRows, RowSamples, hash_any_rows, ordered_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Hashed:
    """Rows of any table in the form that `ordered_rows` expects."""

    sample: Sample
    groups: Groups | None

    def hashes(self, n_threads: int) -> NDArray[np.uint64]:
        return hash_any_rows(self.sample.X, self.target, n_threads=n_threads)

    def without_target(self) -> "_Hashed":
        return replace(self, sample=replace(self.sample, y=np.zeros(self.sample.n)))

    @property
    def target(self) -> Floats:
        return np.asarray(self.sample.y, dtype=np.float64)

    @property
    def total_weight(self) -> Floats | None:
        return self.sample.weight


@dataclass(frozen=True, eq=False)
class BagRows:
    """Training rows of positive weight, in the order of their content."""

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
        """Row weights; None: all equal."""
        weight = self.sample.weight
        if weight is None or (weight == weight[0]).all():
            return None
        return weight[self.ordered.index]

    @property
    def target(self) -> NDArray[Any]:
        return self.sample.y[self.ordered.index]

    @property
    def place(self) -> NDArray[np.intp]:
        """Position of each row passed to fit; -1 for rows of weight zero."""
        place = np.full(len(self.sample.place), -1, dtype=np.intp)
        place[self.sample.place >= 0] = self.ordered.place
        return place

    def warn_of_counts(self, n_threads: int) -> None:
        """Warn if the rows look like distinct rows whose weights are their counts."""
        warn_of_counts(_Hashed(self.sample, self.ordered.groups), n_threads)

    def draws(self, owner: Any, seed: int) -> RowSamples | None:
        """Row samples of the base estimators; None if each is fitted on all rows."""
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


def samples_of(draws: RowSamples, number: int) -> NDArray[np.intp]:
    """Indices of the rows drawn for a base estimator, with repetitions, in the order of its fit."""
    has_weight = draws.place >= 0
    given = np.empty(draws.n, dtype=np.intp)
    given[draws.place[has_weight]] = np.flatnonzero(has_weight)
    return np.repeat(given, draws.drawn(number))
