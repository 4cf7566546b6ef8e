"""Bootstrap samples that are recomputed on demand instead of stored."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.checked_state import CheckedState
from weald.resampling.content import Hashes


@dataclass(frozen=True, eq=False)
class RowSamples(CheckedState):
    """In-bag counts of all base estimators of an ensemble, recomputed on demand.

    Rows are sorted by content (`ordered_rows`). Each base estimator makes `n_draws` draws of rows
    or, with groups, of whole groups. Draws depend only on the seed and the estimator's number, so
    that a few bytes per row suffice for all estimators.

    Attributes
    ----------
    seed : int
        Seed of the draws.
    n_draws : int
        Number of rows, or groups, drawn per base estimator.
    place : intp [rows of the fit]
        Sorted position of each row passed to fit; -1 if its weight is zero.
    n : int
        Number of rows with positive weight.
    mass : int64 [rows] or None
        With replacement: relative probability of each row; None means uniform.
    keys : uint64 [rows or groups, 2] or None
        Keys for draws without replacement; None means draws with replacement.
    group_of : intp [rows] or None
        Group of each row, if groups are drawn.

    Examples
    --------
    >>> samples = RowSamples(seed=0, n_draws=3, place=np.array([0, 1, -1]), n=2)
    >>> int(samples.drawn(0).sum()), samples.counts(0).shape
    (3, (3,))
    """

    seed: int
    n_draws: int
    place: NDArray[np.intp]
    n: int
    mass: NDArray[np.int64] | None = None
    keys: Hashes | None = None
    group_of: NDArray[np.intp] | None = None

    def drawn(self, member: int) -> NDArray[np.int64]:
        """In-bag counts of the rows with positive weight."""
        return self.bootstrap.draw(member)

    def counts(self, member: int) -> NDArray[np.int64]:
        """In-bag counts of all rows passed to fit."""
        return np.append(self.drawn(member), 0)[self.place]

    @property
    def n_units(self) -> int:
        """Number of rows, or of groups, that can be drawn."""
        return self.n if self.group_of is None else int(self.group_of.max()) + 1

    @property
    def mean_rows(self) -> int:
        """Mean number of in-bag rows of a base estimator, with multiplicity."""
        return max(1, round(self.n_draws * self.n / self.n_units))

    @property
    def draws_by_weight(self) -> bool:
        """Whether draws are weighted, so that drawn rows have equal weight."""
        return self.keys is None and self.group_of is None

    @property
    def has_equal_draws(self) -> bool:
        """Whether this is the standard bootstrap: n uniform draws from n rows."""
        is_plain = self.keys is None and self.group_of is None and self.n_draws == self.n
        return is_plain and (self.mass is None or bool((self.mass == self.mass[0]).all()))

    @property
    def bootstrap(self) -> "_native.Bootstrap":
        """Sampler of the core, created on first access."""
        made: _native.Bootstrap | None = self.__dict__.get("_made")
        if made is None:
            if self.keys is None:
                made = _native.Bootstrap(
                    self.mass, self.n_units, self.n_draws, self.seed, self.group_of
                )
            else:
                keys = np.ascontiguousarray(self.keys)
                made = _native.Bootstrap(keys, self.n_draws, self.seed, self.group_of)
            self.__dict__["_made"] = made
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        state["place"] = self.place.astype(np.int32) if self.n < 2**31 else self.place
        return state

    def _fields_of(self, state: dict[str, Any]) -> dict[str, Any]:
        place = state["place"]
        if not np.issubdtype(place.dtype, np.integer):
            raise TypeError("place must be an array of integers")
        return state | {"place": place.astype(np.intp)}

    def prove_sound(self) -> None:
        """Raise an error if the arrays do not fit together; the core checks the rest."""
        place = self.place
        if place.ndim != 1 or ((place < -1) | (place >= self.n)).any():
            raise ValueError("place must hold positions of the sorted rows, or -1")
        for name in ("mass", "group_of"):
            array = getattr(self, name)
            if array is not None and array.shape != (self.n,):
                raise ValueError(f"{name} must have one entry per row")
        if self.keys is not None and self.keys.shape != (self.n_units, 2):
            raise ValueError("keys must have two words per row or group")
