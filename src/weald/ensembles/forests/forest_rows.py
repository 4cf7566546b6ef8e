"""Training rows and limits in the form that the C++ core of forests expects."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import (
    ColumnTable,
    Rows,
    as_one_array,
    levels_of,
    mass_of,
    refuse_beyond_memory,
)
from weald.data.sources import Table
from weald.ensembles.class_weights import weights_by_class
from weald.ensembles.counts_as_weights import warn_of_counts
from weald.ensembles.forests.tree_statistics import TreeStatistics
from weald.ensembles.row_counts import weighted_as_repeated
from weald.ensembles.row_samples import row_samples
from weald.resampling import OrderedRows, RowSamples, ordered_rows, rows_as_they_lie
from weald.trees import Forest, ForestRows, with_medians

Floats = NDArray[np.float64]

# Aliases, as in scikit-learn.
CRITERIA = {"log_loss": "entropy", "friedman_mse": "squared_error"}
OF_NUMBERS = ("squared_error", "absolute_error", "friedman_mse", "poisson")


def weight_unit(rows: Rows, samples: RowSamples | None) -> float:
    """Common factor of the weights in the sums of trees; 1 if rows are drawn by weight."""
    return 1.0 if samples is not None and samples.draws_by_weight else rows.weight_unit


def sums_of_left_out(n_rows: int, width: int) -> Floats:
    """Zeros, to which the out-of-bag predictions of the trees are added."""
    refuse_beyond_memory(
        8 * n_rows * width,
        f"Out-of-bag predictions of {width:,} classes or outputs for {n_rows:,} rows",
        "Use fewer rows or classes, or avoid out-of-bag predictions: set oob_score=False, and "
        "numbers for the parameters that are 'auto', which are chosen by the out-of-bag error.",
    )
    return np.zeros((n_rows, width))


def gain_exponent(criterion: str, rows: Rows) -> int:
    """Exponent of the power of two by which gains are scaled for targets of extreme magnitude."""
    return gain_degree(criterion) * rows.target_exponent


def gain_degree(criterion: str) -> int:
    """Degree of gains and impurities in the unit of the target.

    >>> gain_degree("friedman_mse"), gain_degree("poisson")
    (2, 1)
    """
    facts = _native.criterion_facts(CRITERIA.get(criterion, criterion))
    return 2 if facts["is_quadratic"] else 1


def check_outputs(model: Any, n_outputs: int) -> None:
    """Raise if there are several outputs and a parameter supports only one."""
    if n_outputs == 1:
        return
    if getattr(model, "monotonic_cst", None) is not None:
        raise ValueError(
            "Monotonicity constraints are not supported with multiple outputs: y has "
            f"{n_outputs} columns. Set monotonic_cst=None, or fit one model per column."
        )
    if model.criterion in ("absolute_error", "poisson"):
        raise ValueError(
            f"criterion={model.criterion!r} supports one output; y has {n_outputs} columns. Use "
            "criterion='squared_error', or fit one model per column."
        )


def check_target(criterion: str, target: Floats) -> None:
    """Raise if the criterion does not support the target values.

    >>> check_target("poisson", np.array([1.0, -2.0]))
    Traceback (most recent call last):
        ...
    ValueError: Some value(s) of y are negative which is not allowed for Poisson regression. ...
    """
    if criterion != "poisson":
        return
    if (target < 0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression. The "
            f"first of them is {target[target < 0][0]:g}, and criterion='poisson' requires "
            "non-negative y. Choose another criterion."
        )
    if not (target > 0).any():
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression. Choose "
            "another criterion than criterion='poisson'."
        )


def sampled_rows(
    model: Any,
    rows: Rows,
    n_levels: list[int],
    has_weight: NDArray[np.bool_],
    seed: int,
    n_threads: int,
) -> tuple[Rows, OrderedRows, RowSamples | None]:
    """The weighted rows, their order by content, and the row samples of the trees.

    `has_weight` marks the rows passed to fit that `rows` holds. The samples are None if every tree
    is grown on all rows.
    """
    if model._draws_rows:
        if model.oob_score or _is_chosen_out_of_bag(model):
            warn_of_counts(rows, n_threads)
        ordered = ordered_rows(rows, n_threads=n_threads)
        return rows, ordered, _samples(model, rows, ordered, has_weight, seed)
    if model.oob_score:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True or max_samples is given: "
            "otherwise every tree is fitted on all rows. Set one of them, or oob_score=False."
        )
    if rows.groups is not None:
        raise ValueError(
            "groups was given, but no rows are drawn: groups says which rows are drawn together. "
            "Set bootstrap=True or max_samples, or do not pass groups."
        )
    if not any(n_levels):
        leaf = 1 if isinstance(model.min_samples_leaf, str) else model.min_samples_leaf
        rows = weighted_as_repeated(
            rows, min_samples_split=model.min_samples_split, min_samples_leaf=leaf
        )
    return rows, rows_as_they_lie(rows.n), None


def _is_chosen_out_of_bag(model: Any) -> bool:
    """Whether some parameter is "auto", which means chosen by the out-of-bag error."""
    settings = (
        getattr(model, name, None) for name in ("n_estimators", "min_samples_leaf", "max_features")
    )
    return any(isinstance(value, str) and value == "auto" for value in settings)


def _samples(
    model: Any, rows: Rows, ordered: OrderedRows, has_weight: NDArray[np.bool_], seed: int
) -> RowSamples:
    return row_samples(
        ordered,
        rows.total_weight,
        rows.weight_unit,
        place_of(ordered, has_weight),
        bootstrap=bool(model.bootstrap),
        max_samples=model.max_samples,
        leaves_some_out=bool(model.oob_score),
        seed=seed,
    )


def place_of(ordered: OrderedRows, has_weight: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Position of each row passed to fit in the ordered rows; -1 for rows of weight zero."""
    if ordered.n == len(has_weight):
        return ordered.place
    place = np.full(len(has_weight), -1, dtype=np.intp)
    place[has_weight] = ordered.place
    return place


def count_of(limit: float, n_rows: int) -> int:
    """The limit as a number of rows; a float is a fraction of the rows, rounded up."""
    is_count = isinstance(limit, (int, np.integer))
    return int(limit) if is_count else math.ceil(float(limit) * n_rows)


def one_table(rows: Rows) -> tuple[Rows, list[int]]:
    """The rows with their table as one array, and the number of levels of each column."""
    return replace(rows, table=as_one_array(rows.table)), levels_of(rows.table)


class TrainingRows(NamedTuple):
    """The rows that trees are grown on; its fields are the arguments of `forest_rows`."""

    rows: Rows
    ordered: OrderedRows
    samples: RowSamples | None
    n_classes: int
    class_weight: Floats | None
    random_cuts: bool
    n_threads: int
    n_levels: list[int]
    first_class: list[int] | None
    statistics: TreeStatistics | None = None

    @property
    def n_drawn(self) -> int:
        """Number of rows drawn for each tree, on average."""
        return self.rows.n if self.samples is None else self.samples.mean_rows

    def table_of_left_out(self, tree: int, some: NDArray[np.intp]) -> Table:
        """Rows, by their place in the order of content, as a tree sees them if they are new."""
        index = self.ordered.index[some]
        if self.statistics is None:
            whole: Any = as_one_array(self.rows.table)
            return np.ascontiguousarray(whole[index])
        assert isinstance(self.rows.table, ColumnTable)
        return self.statistics.new_rows(tree, self.rows.table[index])

    def without_keys(self) -> "TrainingRows":
        """Free what only drawing rows needs."""
        return self._replace(ordered=self.ordered.without_keys())

    def without_index(self) -> "TrainingRows":
        """Free what only out-of-bag predictions and pruning need."""
        return self._replace(ordered=self.ordered.without_index())


@dataclass(frozen=True, eq=False)
class Ranker:
    """How tables of the same rows are ranked; `mass` weights the rows."""

    ordered: OrderedRows
    mass: NDArray[np.int64] | None
    n_levels: list[int]
    keeps_values: bool

    def ranked(self, table: Table, n_threads: int) -> "_native.RankedTable":
        return _native.RankedTable(
            table,
            self.ordered.index,
            self.mass,
            n_threads,
            keeps_values=self.keeps_values,
            n_levels=self.n_levels,
        )


@dataclass(frozen=True, eq=False)
class RanksOfTrees:
    """The ranked table of each tree, which has target statistics of its own."""

    ranker: Ranker
    statistics: TreeStatistics
    rows: Rows
    samples: RowSamples

    def __call__(self, tree: int) -> "_native.RankedTable":
        table = self.statistics.table(tree, self.rows, self.ranker.ordered, self.samples)
        return self.ranker.ranked(table, 1)

    @property
    def facts(self) -> dict[int, Any]:
        """The means of each tree."""
        return self.statistics.means


def forest_rows(
    rows: Rows,
    ordered: OrderedRows,
    samples: RowSamples | None,
    n_classes: int,
    class_weight: Floats | None,
    random_cuts: bool,
    n_threads: int,
    n_levels: list[int],
    first_class: list[int] | None = None,
    statistics: TreeStatistics | None = None,
) -> ForestRows:
    """The rows with ranked columns; rows drawn by weight carry no weights.

    `n_levels` is the number of levels of each column, 0 for numeric ones (`weald.data.levels_of`);
    `first_class` is the index of the first class of each output if there are several; with
    `statistics`, each tree has a table of its own.
    """
    own = rows.total_weight
    ranker = Ranker(
        ordered, None if own is None else mass_of(own[ordered.index]), n_levels, random_cuts
    )
    if statistics is None:
        ranks: Any = ranker.ranked(as_one_array(rows.table), n_threads)
        n_columns = rows.table.shape[1]
    else:
        assert samples is not None
        ranks = RanksOfTrees(ranker, statistics, rows, samples)
        n_columns = statistics.plan_of_a_tree.n_columns
    # The memory used for ranking has been freed.
    target = np.ascontiguousarray(rows.target[ordered.index])
    copies, weight = None, None
    if samples is None:
        copies, weight = _taken(rows.copies, ordered), _taken(rows.weight, ordered)
    elif not samples.draws_by_weight:
        weight = _taken(own, ordered)
    if class_weight is not None:
        of_row = weights_by_class(target, class_weight)
        weight = of_row if weight is None else weight * of_row
    return ForestRows(
        ranks=ranks,
        values=None if n_classes else np.ascontiguousarray(target.T),
        classes=target.astype(np.int32) if n_classes else None,
        n_classes=n_classes,
        weight=weight,
        copies=copies,
        samples=samples,
        n_columns=n_columns,
        first_class=first_class,
    )


def with_leaf_medians(forest: Forest, training: TrainingRows, *, first: int) -> Forest:
    """Set leaves to the weighted medians of their rows; `first` is the index of the first tree."""
    rows, ordered, samples = training.rows, training.ordered, training.samples
    own = _taken(rows.total_weight, ordered)

    def mass_of_tree(tree: int) -> NDArray[Any] | None:
        if samples is None:
            return own
        drawn = samples.drawn(first + tree)
        return drawn if own is None or samples.draws_by_weight else drawn * own

    table = as_one_array(rows.table)[ordered.index]
    return with_medians(forest, table, rows.target[ordered.index], mass_of_tree)


def _taken(values: NDArray[Any] | None, ordered: OrderedRows) -> NDArray[Any] | None:
    return None if values is None else values[ordered.index]
