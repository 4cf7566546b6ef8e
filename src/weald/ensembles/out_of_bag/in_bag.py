"""In-bag counts: how often each base estimator of a bagging ensemble drew each row."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Draws(Protocol):
    """Row samples that are recomputed from their seed (`RowSamples`)."""

    @property
    def n(self) -> int: ...
    @property
    def place(self) -> NDArray[np.intp]: ...
    @property
    def draws_by_weight(self) -> bool: ...
    def drawn(self, member: int) -> NDArray[np.int64]: ...
    def counts(self, member: int) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class InBag:
    """In-bag counts of each base estimator, recomputed from the seed on access.

    ``in_bag[k]`` are the counts of base estimator k, one for each row passed to fit; 0 for rows of
    weight zero.

    Attributes
    ----------
    parts : tuple of (int, Draws)
        Index of the first base estimator, and the row samples from there on; each warm start adds
        an entry.
    n_members : int
        Number of base estimators.
    """

    parts: tuple[tuple[int, Draws], ...]
    n_members: int

    def __len__(self) -> int:
        return self.n_members

    def __getitem__(self, member: int) -> NDArray[np.int64]:
        number = operator.index(member)
        if not -self.n_members <= number < self.n_members:
            raise IndexError(
                f"There is no base estimator {number}: there are {self.n_members}, numbered from 0."
            )
        number %= self.n_members
        return self._draws(number).counts(number)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[member] for member in range(self.n_members))

    def __repr__(self) -> str:
        return f"<InBag: {self.n_members} base estimators>"

    def toarray(self) -> NDArray[np.int64]:
        """All counts, of shape (estimators, rows)."""
        return np.stack(list(self))

    @property
    def last(self) -> Draws:
        """The row samples of the last fit."""
        return self.parts[-1][1]

    def drawn(self, member: int) -> NDArray[np.int64]:
        """In-bag counts of the rows of positive weight, in the order of their content."""
        return self._draws(member).drawn(member)

    def left_out(self, member: int) -> NDArray[np.bool_]:
        """Which rows of positive weight, in the order of their content, are out-of-bag."""
        return np.equal(self.drawn(member), 0)

    def _draws(self, member: int) -> Draws:
        return [draws for first, draws in self.parts if first <= member][-1]
