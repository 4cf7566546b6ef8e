"""Target statistics of columns whose rare categories would otherwise be treated as missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import Rows
from weald.data.level_means import SOME_DROPPED, LevelRule
from weald.data.numbered_levels import numbered_table, without_numbers
from weald.ensembles.base import TreeModel
from weald.ensembles.level_statistics import (
    MOST_CLASSES,
    N_FOLDS,
    Encoder,
    Numbers,
    dealt_folds,
    encode,
    names_of_statistics,
    targets_of,
)
from weald.parameters import Limit, OneOf

STATISTICS_LIMITS: Mapping[str, Limit] = {"target_statistics": OneOf((True, False, "auto"))}

# The deal of the folds does not depend on random_state.
_SEED = 0


class EncodesDroppedLevels(TreeModel):
    """A tree model that can use categories of few rows, by the mean of their targets.

    Parameters
    ----------
    target_statistics : bool or "auto", default="auto"
        Whether a column of more than 255 categories, some of which have fewer than ten rows, gets
        the mean target of the category (of classes, their shares) as a numeric column. A row's own
        target is never part of its statistic, nor of that of a tree for which it is out-of-bag;
        categories of at least 30 rows are split in sets, too. "auto": with one output and at most
        ten classes. False: categories of fewer than ten rows are treated as missing.

    Attributes
    ----------
    target_statistics_ : bool
        Whether some column has target statistics.
    """

    target_statistics: Any
    _n_threads: int

    @property
    def target_statistics_(self) -> bool:
        """Whether some column has target statistics."""
        check_is_fitted(self)
        return self._plan.has_statistics

    @property
    def _numbers_levels(self) -> LevelRule | None:
        """Which columns are read with the numbers of levels, for target statistics."""
        return None if self.target_statistics is False else SOME_DROPPED

    def _without_unused_numbers(self, rows: Rows, n_classes: int) -> Rows:
        """Drop the numbers of levels if the target allows no statistics."""
        if not self._plan.has_numbers or self._takes_statistics_of(rows, n_classes):
            return rows
        self._columns, table = without_numbers(self._plan, numbered_table(rows.table))
        return replace(rows, table=table)

    def _takes_statistics_of(self, rows: Rows, n_classes: int) -> bool:
        if self.target_statistics is True and rows.n_outputs > 1:
            raise ValueError(
                "target_statistics=True supports one output; y has "
                f"{rows.n_outputs} columns. Leave target_statistics at 'auto', or fit one model "
                "per column."
            )
        if rows.n_outputs > 1 or n_classes == 1:
            return False
        return self.target_statistics is True or n_classes <= MOST_CLASSES

    @property
    def _names_of_statistics(self) -> tuple[str, ...]:
        return names_of_statistics(getattr(self, "classes_", None))

    def _deal(self, rows: Rows) -> Numbers:
        """The fold of each row, in the order of the table."""
        return dealt_folds(rows, _SEED, self._n_threads)

    def _encoded_by_folds(
        self, rows: Rows, n_classes: int, held_out: NDArray[np.bool_] | None = None
    ) -> Rows:
        """The rows with target statistics, each by the training rows of the other folds.

        Sets the plan for new rows, which, like those held out, are encoded by all training rows.
        """
        if not self._plan.has_numbers:
            return rows
        fold, targets = self._deal(rows), targets_of(rows, n_classes)
        if held_out is not None:
            fold = np.where(held_out, N_FOLDS, fold)
        encoder = Encoder(rows, targets, fold, N_FOLDS, self._n_threads)
        self._columns, (table,) = encode(
            self._plan, numbered_table(rows.table), [encoder], self._names_of_statistics
        )
        return replace(rows, table=table)
