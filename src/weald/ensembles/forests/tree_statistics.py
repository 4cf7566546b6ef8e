"""Target statistics of the trees of a forest: each has those of the rows it is grown on."""

from dataclasses import dataclass, field, replace

import numpy as np

from weald.data import ColumnPlan, ColumnTable, Rows, as_one_array
from weald.data.level_means import EncodedCategory
from weald.data.numbered_levels import encoded, exchanged
from weald.data.sources import Table
from weald.ensembles.level_statistics import (
    N_FOLDS,
    Encoder,
    Floats,
    Numbers,
    encoded_plan,
)
from weald.ensembles.statistics_columns import OwnersColumns
from weald.resampling import OrderedRows, RowSamples
from weald.trees import Forest


@dataclass(frozen=True, eq=False)
class TreeStatistics:
    """Encoded categories of each tree.

    A row that the tree was grown on is encoded by the tree's other rows outside the row's fold; an
    out-of-bag row, and every new row, by all rows of the tree. So nothing of a tree knows the
    target of a row that is out-of-bag for it.

    Attributes
    ----------
    numbered : ColumnPlan
        Plan by which the rows were read, with the numbers of levels.
    names : tuple of str
        Names of the statistics of a column.
    targets : list of float64 [rows]
        What is averaged.
    fold : intp [rows]
        The fold of each row.
    means : dict
        Of each tree so far, the means of each column, by its index.
    """

    numbered: ColumnPlan
    names: tuple[str, ...]
    targets: list[Floats]
    fold: Numbers
    means: dict[int, dict[int, Floats]] = field(default_factory=dict)

    @property
    def plan_of_a_tree(self) -> ColumnPlan:
        """The columns of a tree; its means are not known yet."""
        nothing = {
            i: np.zeros((len(self.names), column.n_numbers))
            for i, column in self.numbered.coded.items()
        }
        return encoded_plan(self.numbered, [nothing], self.names)

    def take(self, some: Numbers) -> "TreeStatistics":
        """Those of the trees of another forest, on some of the rows."""
        targets = [one[some] for one in self.targets]
        return TreeStatistics(self.numbered, self.names, targets, self.fold[some])

    def table(self, tree: int, rows: Rows, ordered: OrderedRows, samples: RowSamples) -> Table:
        """The rows as a tree sees them."""
        assert isinstance(rows.table, ColumnTable)
        drawn = np.empty(rows.n, dtype=np.int64)
        drawn[ordered.index] = samples.drawn(tree)
        weight = None if samples.draws_by_weight else rows.total_weight
        in_bag = replace(rows, copies=drawn, weight=weight)
        fold = np.where(drawn > 0, self.fold, N_FOLDS)
        encoder = Encoder(in_bag, self.targets, fold, N_FOLDS, 1)
        parts, self.means[tree] = encoder.encoded(self.numbered, rows.table)
        return as_one_array(exchanged(self.numbered, rows.table, self.plan_of_a_tree, parts))

    def new_rows(self, tree: int, table: ColumnTable) -> Table:
        """Rows as a tree sees those that it was not grown on."""
        plan = encoded_plan(self.numbered, [self.means[tree]], self.names)
        return as_one_array(encoded(plan, table))

    def plan_of_all(self, n_trees: int) -> ColumnPlan:
        """The columns of all trees."""
        means = [self.means[tree] for tree in range(n_trees)]
        return encoded_plan(self.numbered, means, self.names, "tree")


def means_of_trees(plan: ColumnPlan) -> dict[int, dict[int, Floats]]:
    """Of each tree of a fitted forest, the means of each column, by its index."""
    columns = [(i, one) for i, one in enumerate(plan.columns) if isinstance(one, EncodedCategory)]
    n_trees = max((len(column.means) for _, column in columns), default=0)
    return {k: {i: column.means[k] for i, column in columns} for k in range(n_trees)}


def on_plan(forest: Forest, plan: ColumnPlan) -> Forest:
    """The forest on the columns of all trees, given one on those of a tree."""
    return OwnersColumns(plan, forest.n_trees).in_plan(forest, np.arange(forest.n_trees))


def on_own_columns(forest: Forest, plan: ColumnPlan) -> Forest:
    """Invert `on_plan`."""
    return OwnersColumns(plan, forest.n_trees).of_owner(forest)
