"""Categorical columns with target statistics: means of the target by level, as numeric columns."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald.data.columns import BYTE_LEVELS, RARE, Category, Level, kept_levels
from weald.data.values import Floats

# Of columns with statistics, only levels of so many rows are split in sets.
_SET_ROWS = 30


class LevelRule(NamedTuple):
    """Which columns get target statistics: those of more levels, some of which have fewer rows."""

    n_levels: int
    n_rows: int

    def asks_for(self, counts: Collection[int]) -> bool:
        """Whether a column whose levels have these numbers of rows gets statistics."""
        return len(counts) > self.n_levels and min(counts) < self.n_rows


SOME_FEW_ROWS = LevelRule(10, _SET_ROWS)
SOME_DROPPED = LevelRule(BYTE_LEVELS, RARE)  # without statistics, levels are dropped


@dataclass(frozen=True)
class CodedCategory(Category):
    """A categorical column as read in a fit that is going to compute target statistics.

    Its second part numbers all levels, those too rare for `levels` included, then missing values,
    then levels that did not occur in the fit.
    """

    known: tuple[Level, ...]

    @staticmethod
    def by_rule(
        rule: LevelRule | None, total: dict[Level, int], n_rows: int, label: str
    ) -> Category:
        """The column of categories with these numbers of rows.

        A plain `Category` if the rule does not ask for statistics, or if there is none.
        """
        if rule is not None and rule.asks_for(total.values()):
            return CodedCategory(kept_levels(total, _SET_ROWS), tuple(sorted(total)))
        return Category.of_counts(total, n_rows, label)

    @property
    def parts(self) -> tuple[str, ...]:
        return "", "number of the level"

    @property
    def all_levels(self) -> tuple[Level, ...]:
        return self.known

    @property
    def n_numbers(self) -> int:
        """Number of different numbers of levels."""
        return len(self.known) + 2

    def _arrays(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> list[NDArray[Any]]:
        return [self._encoded(codes, levels), self._numbers(codes, levels)]

    def _numbers(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> Floats:
        missing, unknown = float(len(self.known)), float(len(self.known) + 1)
        number_of = {level: float(i) for i, level in enumerate(self.known)}
        table = [missing if one is None else number_of.get(one, unknown) for one in levels]
        # The last entry is for code -1.
        numbers: Floats = np.array([*table, missing], dtype=np.float64)[codes]
        return numbers

    def without_numbers(
        self, label: str, numbers: NDArray[np.intp]
    ) -> tuple[Category, NDArray[Any]]:
        """The column without target statistics, and its values.

        `label` is the name of the column in messages, `numbers` the levels of the rows.
        """
        counts = np.bincount(numbers, minlength=self.n_numbers)[: len(self.known)]
        total = {one: n for one, n in zip(self.known, counts.tolist(), strict=True) if n > 0}
        column = Category.of_counts(total, len(numbers), label)
        return column, column._encoded(numbers, [*self.known, None])


@dataclass(frozen=True, eq=False)
class EncodedCategory(CodedCategory):
    """A categorical column with target statistics: levels to split in sets, and their means.

    Attributes
    ----------
    means : float64 [base estimators, statistics, levels + 2]
        Mean of the target for each level of `known`, for missing values and for levels that did not
        occur in the fit. Boosters, and trees on bootstrap samples, have means of their own.
    statistics : tuple of str
        Names of the statistics.
    owner : str
        What has means of its own, in names of columns.
    """

    means: NDArray[np.float64]
    statistics: tuple[str, ...]
    owner: str = "booster"

    def __post_init__(self) -> None:
        self.means.setflags(write=False)

    @property
    def parts(self) -> tuple[str, ...]:
        n_owners = len(self.means)
        if n_owners == 1:
            return "", *self.statistics
        numbers = range(1, n_owners + 1)
        return "", *(f"{name}, {self.owner} {k}" for k in numbers for name in self.statistics)

    def as_read(self) -> CodedCategory:
        """The column as it was read in the fit."""
        return CodedCategory(self.levels, self.known)

    def of_owner(self, owner: int) -> "EncodedCategory":
        """The column with the statistics of one booster or tree only."""
        return replace(self, means=self.means[owner : owner + 1])

    def means_of(self, numbers: NDArray[np.intp]) -> list[NDArray[Any]]:
        """The statistics of rows, given the numbers of their levels."""
        return [own[numbers] for of_owner in self.means for own in of_owner]

    def _arrays(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> list[NDArray[Any]]:
        return [
            self._encoded(codes, levels),
            *self.means_of(self._numbers(codes, levels).astype(np.intp)),
        ]
