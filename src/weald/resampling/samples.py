"""Samples of rows that are not kept but drawn again when asked for."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes


@dataclass(frozen=True, eq=False)
class RowSamples:
    """How often each base estimator of an ensemble saw each row, as a rule instead of a table.

    Rows lie in the order of their content (`ordered_rows`). A base estimator makes `n_draws` draws
    of rows or, if there are groups, of whole groups. They are keyed by seed and base estimator, so
    that a few bytes a row keep the counts of all of them.

    Attributes
    ----------
    seed : int
        Keys the draws.
    n_draws : int
        Rows, or groups, that a base estimator draws.
    place : intp [rows of the fit]
        Where each row passed to fit lies; -1: it had no weight.
    n : int
        Number of rows that have a weight.
    mass : int64 [rows] or None
        With replacement: how probable each row is, in proportion. None: all alike.
    keys : uint64 [rows or groups, 2] or None
        Without replacement: what the draws go by. None: rows are drawn with replacement.
    group_of : intp [rows] or None
        The group of each row, if groups are drawn.

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
        """How often a base estimator drew each row that has a weight."""
        return self.bootstrap.draw(member)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a base estimator drew each row of the fit."""
        return np.append(self.drawn(member), 0)[self.place]

    @property
    def n_units(self) -> int:
        """Number of rows, or of groups, that can be drawn."""
        return self.n if self.group_of is None else int(self.group_of.max()) + 1

    @property
    def mean_rows(self) -> int:
        """How many rows a base estimator sees in the mean, each as often as it was drawn."""
        return max(1, round(self.n_draws * self.n / self.n_units))

    @property
    def draws_by_weight(self) -> bool:
        """Whether weights are in the draws: then drawn rows weigh the same."""
        return self.keys is None and self.group_of is None

    @property
    def has_equal_draws(self) -> bool:
        """Whether this is the bootstrap of the textbooks: n draws of n rows, all as probable."""
        is_plain = self.keys is None and self.group_of is None and self.n_draws == self.n
        return is_plain and (self.mass is None or bool((self.mass == self.mass[0]).all()))

    @property
    def bootstrap(self) -> "_native.Bootstrap":
        """The core's drawer, made when it is first asked for."""
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"place": state["place"].astype(np.intp)})
