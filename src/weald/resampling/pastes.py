"""Samples without replacement that are not kept but drawn again when asked for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.resampling.content import Hashes
from weald.resampling.draws import Purpose


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
        row, hashes = np.arange(self.n), self.hashes
        if self.copies is not None:
            row = np.repeat(row, self.copies)
            number = np.arange(len(row)) - np.repeat(
                np.cumsum(self.copies) - self.copies, self.copies
            )
            hashes = hashes[row] ^ np.stack([number, number], axis=1).astype(np.uint64)
        words = _native.draw(hashes, self.seed, member, Purpose.PASTE)
        keys: NDArray[Any] = words
        if self.weight is not None:
            # The smallest of -log(u) / w: heavy rows come first in proportion (Efraimidis).
            unit = np.ldexp((words >> np.uint64(11)).astype(np.float64) + 0.5, -53)
            keys = -_native.log(unit) / self.weight[row]
        first = np.argsort(keys, kind="stable")[: self.n_draws]
        return np.bincount(row[first], minlength=self.n).astype(np.int64)

    def counts(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each row of the fit; equal rows have their common count."""
        return np.append(self.drawn(member), 0)[self.place]
