"""Who saw what: how often each member of a bag drew each row."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Draws(Protocol):
    """A rule that gives the draws of any member again (`RowSamples`)."""

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
    """How often each member saw each row of the fit: a rule and a seed, not a table.

    ``in_bag[k]`` are the counts of member k, one for each row passed to fit; a row of weight zero
    counts 0.

    Attributes
    ----------
    parts : tuple of (int, Draws)
        From which member on which rule holds; a warm start begins a new one.
    n_members : int
        Number of members.
    """

    parts: tuple[tuple[int, Draws], ...]
    n_members: int

    def __len__(self) -> int:
        return self.n_members

    def __getitem__(self, member: int) -> NDArray[np.int64]:
        number = operator.index(member)
        if not -self.n_members <= number < self.n_members:
            raise IndexError(
                f"There is no member {number}: there are {self.n_members}, numbered from 0."
            )
        number %= self.n_members
        return self._rule(number).counts(number)

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[member] for member in range(self.n_members))

    def __repr__(self) -> str:
        return f"<InBag: {self.n_members} members>"

    def toarray(self) -> NDArray[np.int64]:
        """All counts, of the shape (members, rows)."""
        return np.stack(list(self))

    @property
    def last(self) -> Draws:
        """The rule of the last fit."""
        return self.parts[-1][1]

    def drawn(self, member: int) -> NDArray[np.int64]:
        """How often a member drew each row that has a weight, in the order of their content."""
        return self._rule(member).drawn(member)

    def left_out(self, member: int) -> NDArray[np.bool_]:
        """Which rows that have a weight, in the order of their content, a member did not see."""
        return np.equal(self.drawn(member), 0)

    def _rule(self, member: int) -> Draws:
        return [rule for first, rule in self.parts if first <= member][-1]
