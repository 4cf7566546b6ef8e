"""Categorical columns with target statistics: means of the target by level, as numeric columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.columns import Category, Level, count_levels, kept_levels
from weald.data.values import Floats, Values

# Up to so many levels, or if each has so many rows, splits in sets of levels are enough; of columns
# with statistics, only levels of so many rows are split in sets.
_FEW_LEVELS, _SET_ROWS = 10, 30


@dataclass(frozen=True)
class CodedCategory(Category):
    """A categorical column as read in a fit that is going to compute target statistics.

    Its second part numbers all levels, those too rare for `levels` included, then missing values,
    then levels that did not occur in the fit.
    """

    known: tuple[Level, ...]

    @classmethod
    def from_values(
        cls, values: Values, counted: NDArray[np.bool_] | None
    ) -> tuple[Category, list[NDArray[Any]]]:
        """As for a `Category`, which it is if statistics are not worth while."""
        codes, level_of, total = count_levels(values, counted)
        column: Category
        if len(total) <= _FEW_LEVELS or min(total.values()) >= _SET_ROWS:
            column = Category.of_counts(total, len(values), values.label)
        else:
            column = CodedCategory(kept_levels(total, _SET_ROWS), tuple(sorted(total)))
        return column, column._arrays(codes, level_of)

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
    means : float64 [boosters, statistics, levels + 2]
        Mean of the target for each level of `known`, for missing values and for levels that did not
        occur in the fit.
    statistics : tuple of str
        Names of the statistics.
    """

    means: NDArray[np.float64]
    statistics: tuple[str, ...]

    def __post_init__(self) -> None:
        self.means.setflags(write=False)

    @property
    def parts(self) -> tuple[str, ...]:
        n_boosters = len(self.means)
        if n_boosters == 1:
            return "", *self.statistics
        numbers = range(1, n_boosters + 1)
        return "", *(f"{name}, booster {k}" for k in numbers for name in self.statistics)

    def as_read(self) -> CodedCategory:
        """The column as it was read in the fit."""
        return CodedCategory(self.levels, self.known)

    def of_booster(self, booster: int) -> "EncodedCategory":
        """The column with the statistics of one booster only."""
        return replace(self, means=self.means[booster : booster + 1])

    def means_of(self, numbers: NDArray[np.intp]) -> list[NDArray[Any]]:
        """The statistics of rows, given the numbers of their levels."""
        return [own[numbers] for of_booster in self.means for own in of_booster]

    def _arrays(self, codes: NDArray[Any], levels: Sequence[Level | None]) -> list[NDArray[Any]]:
        return [
            self._encoded(codes, levels),
            *self.means_of(self._numbers(codes, levels).astype(np.intp)),
        ]
