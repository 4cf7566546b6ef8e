"""Columns of boosters or trees with target statistics of their own, in one forest."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan
from weald.data.level_means import EncodedCategory
from weald.trees import Forest


class OwnersColumns:
    """Converts forests between the columns of single owners and those of the whole plan.

    An owner is a booster, or a tree of a random forest. It sees the columns of the plan but the
    statistics of other owners, so that its columns have the same numbers as those of the others.
    """

    def __init__(self, plan: ColumnPlan, n_owners: int) -> None:
        self._n_plan = plan.n_columns
        # [owners, columns of an owner]: the column of the plan
        self._in_plan = np.array([_columns_of(plan, k) for k in range(n_owners)], dtype=np.int32)

    @property
    def n_columns(self) -> int:
        """Number of columns of an owner."""
        return int(self._in_plan.shape[1])

    def in_plan(self, forest: Forest, owner_of_tree: NDArray[np.intp]) -> Forest:
        """The forest of all owners on the columns of the plan."""
        owner = np.repeat(owner_of_tree, np.diff(forest.first_node))
        feature = np.where(forest.feature < 0, -1, self._in_plan[owner, forest.feature])
        saw = None
        if forest.saw_missing is not None and len(forest.saw_missing):
            saw = np.zeros(self._n_plan, dtype=np.uint8)
            saw[self._in_plan] = forest.saw_missing  # the same for all owners
        return self._with(forest, feature, self._n_plan, saw)

    def of_owner(self, forest: Forest) -> Forest:
        """Invert `in_plan`."""
        own = np.empty(self._n_plan, dtype=np.int32)
        own[self._in_plan] = np.arange(self.n_columns, dtype=np.int32)
        feature = np.where(forest.feature < 0, -1, own[forest.feature])
        saw = forest.saw_missing
        if saw is not None and len(saw):
            saw = saw[self._in_plan[0]]
        return self._with(forest, feature, self.n_columns, saw)

    def _with(
        self,
        forest: Forest,
        feature: NDArray[np.int32],
        n_columns: int,
        saw_missing: NDArray[np.uint8] | None,
    ) -> Forest:
        return replace(
            forest,
            feature=feature.astype(np.int32),
            n_columns=n_columns,
            saw_missing=saw_missing,
        )


def _columns_of(plan: ColumnPlan, owner: int) -> list[int]:
    """The columns of the plan that an owner sees."""
    found: list[int] = []
    first = 0
    for column in plan.columns:
        n_parts = len(column.parts)
        own = list(range(n_parts))
        if isinstance(column, EncodedCategory):
            n = column.means.shape[1]
            own = [0, *range(1 + owner * n, 1 + (owner + 1) * n)]
        found += [first + part for part in own]
        first += n_parts
    return found
