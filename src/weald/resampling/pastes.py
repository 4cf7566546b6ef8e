"""Samples without replacement that are not kept but drawn again when asked for."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.cached import cached_property
from weald.resampling.content import Hashes


@dataclass(frozen=True, eq=False)
class Pastes:
    """How often each member saw each row when rows are drawn without replacement.

    Rows that are equal count as one of several copies, in the order of a hash of their content
    (`distinct_rows`). Every copy gets a random number, keyed by seed and member, and a member sees
    the `n_draws` copies of the smallest ones.

    Attributes
    ----------
    seed : int
        Keys the draws.
    n_draws : int
        Copies a member sees.
    hashes : uint64 [different rows, 2]
        What each row holds.
    copies : int64 [different rows] or None
        How often it is there; None: once each.
    weight : float64 [different rows] or None
        Weights that are no whole numbers: a heavy row is drawn early.
    place : intp [rows]
        Which of the different rows each row of the fit is; -1: it had no weight.

    Examples
    --------
    >>> hashes = np.array([[1, 2], [3, 4]], dtype=np.uint64)
    >>> pastes = Pastes(0, 2, hashes, np.array([1, 2]), None, np.array([0, 1, 1]))
    >>> int(pastes.drawn(0).sum())
    2
    """

    seed: int
    n_draws: int
    hashes: Hashes
    copies: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    place: NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of different rows."""
        return len(self.hashes)

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each of the different rows."""
        return self._drawer.draw(member)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each row of the fit; equal rows have their common count."""
        return np.append(self.drawn(member), 0)[self.place]

    @property
    def bootstrap(self) -> "_native.Bootstrap":
        """The core's drawer."""
        return self._drawer

    @cached_property
    def _drawer(self) -> "_native.Bootstrap":
        hashes = np.ascontiguousarray(self.hashes)
        there = self.n if self.copies is None else int(self.copies.sum())
        n_draws = min(self.n_draws, there)  # equal rows of any weight are one
        return _native.Bootstrap(hashes, self.copies, self.weight, n_draws, self.seed)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
