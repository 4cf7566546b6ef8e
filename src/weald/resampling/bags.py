"""Bootstrap samples that are not kept but drawn again when asked for."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property


@dataclass(frozen=True, eq=False)
class Bags:
    """How often each member of a forest saw each row, as a rule instead of a table.

    Rows that are equal count as one, in the order of a hash of their content (`distinct_rows`);
    `mass` says how probable each is (None: all alike). A member makes `n_draws` draws, which are
    numbered and keyed by seed and member: eight bytes a row keep the counts of all members.

    Attributes
    ----------
    seed : int
        Keys the draws.
    n_draws : int
        Draws of a member.
    mass : int64 [different rows] or None
        How often a row is drawn, in proportion.
    place : intp [rows]
        Which of the different rows each row of the fit is; -1: it had no weight.
    n : int
        Number of different rows.

    Examples
    --------
    >>> bags = Bags(seed=0, n_draws=3, mass=None, place=np.array([0, 1, 1]), n=2)
    >>> int(bags.drawn(0).sum()), bags.counts(0).shape
    (3, (3,))
    """

    seed: int
    n_draws: int
    mass: NDArray[np.int64] | None
    place: NDArray[np.intp]
    n: int

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each of the different rows."""
        return self._bootstrap.draw(member)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each row of the fit; equal rows have their common count."""
        return np.append(self.drawn(member), 0)[self.place]

    @property
    def bootstrap(self) -> "_native.Bootstrap":
        """The core's drawer."""
        return self._bootstrap

    @cached_property
    def _bootstrap(self) -> "_native.Bootstrap":
        return _native.Bootstrap(self.mass, self.n, self.n_draws, self.seed)

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        state["place"] = self.place.astype(np.int32) if self.n < 2**31 else self.place
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"place": state["place"].astype(np.intp)})
