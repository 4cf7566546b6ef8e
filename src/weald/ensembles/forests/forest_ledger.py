"""Predictions of the single trees of a forest, for out-of-bag rows and for new ones."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    ColumnPlan,
    ColumnTable,
    Rows,
    as_one_array,
    dense_blocks,
    table_for_predict,
)
from weald.data.numbered_levels import encoded
from weald.data.sources import AnyTable, Table
from weald.ensembles.forests.forest_predictor import mean_prediction
from weald.ensembles.forests.forest_rows import TrainingRows
from weald.ensembles.out_of_bag.bagged import Bagged
from weald.ensembles.out_of_bag.enough import BATCH, Enough
from weald.ensembles.out_of_bag.in_bag import Draws, InBag
from weald.ensembles.out_of_bag.oob_pruning import PrunedForest, pruned_out_of_bag
from weald.ensembles.out_of_bag.tally import Block, Record, recorded
from weald.resampling import OrderedRows
from weald.trees import Forest, ForestRows, OutOfBag, RotatedForest

Floats = NDArray[np.float64]

# Number of predictions computed at a time.
_AT_ONCE = 2**20


class BaggedForest(Bagged):
    """A forest seen as a bagging ensemble of trees."""

    forest_: Forest
    _n_threads: int
    _ledger: list[tuple[int, Any]]

    def _ensemble_predictions(self, X: object) -> Floats:
        return self._scores(X)  # type: ignore[attr-defined, no-any-return]

    def _estimator_predictions(self, X: object) -> Iterator[Floats]:
        check_is_fitted(self)
        n_threads = self._n_threads
        for table in dense_blocks(table_for_predict(self, X)):
            forest = self._input_forest  # type: ignore[attr-defined]
            yield from tree_predictions(forest, table, n_threads=n_threads)

    def _mean_of(self, predictions: Floats) -> Floats:
        # Summed in the order of the predictor, so that the results are equal bit by bit.
        forest = self._input_forest  # type: ignore[attr-defined]
        trees = trees_of(forest)
        total = np.repeat(trees.base_score[np.newaxis], predictions.shape[1], axis=0)
        for weight, prediction in zip(trees.tree_weight, predictions, strict=True):
            total += weight * prediction
        return mean_prediction(total, forest)

    def prune_oob(self, X: object, y: object) -> PrunedForest:
        """Prune each tree where that lowers its error on out-of-bag rows.

        A random half of the rows selects the subtrees to prune; the other half estimates the errors
        before and after. Pruning improves single trees, but not always the forest: compare the two
        errors before using the smaller forest. Requires a fit with oob_score=True.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in the same order.

        Returns
        -------
        PrunedForest
            The pruned `model`, and errors and sizes before and after pruning.
        """
        return pruned_out_of_bag(self, X, y)

    def _take(self, forest: Forest) -> None:
        """Replace the trees."""
        self.forest_ = forest

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if (n_outputs := getattr(self, "n_outputs_", 1)) > 1:
            raise AttributeError(
                "The out-of-bag ledger, and the intervals, prediction sets, importances and errors "
                f"computed from it, support one output; this {type(self).__name__} was fitted on "
                f"{n_outputs}. Fit one model per output, or use oob_score_ and the out-of-bag "
                "predictions."
            )
        parts = [(first, bags) for first, bags in self._ledger if bags is not None]
        if len(parts) < len(self._ledger):
            raise AttributeError(
                "There is no out-of-bag ledger: with bootstrap=False every tree is fitted on all "
                "rows. Fit with bootstrap=True."
            )
        return InBag(tuple(parts), self.forest_.n_trees)


def tree_predictions(
    forest: Forest | RotatedForest, table: NDArray[Any], *, n_threads: int
) -> Iterator[Floats]:
    """Predictions of the single trees, for blocks of rows; shape (trees, rows, width)."""
    trees = trees_of(forest)
    first_leaf = trees.first_leaf[:-1, np.newaxis]
    for rows in _slices(len(table), trees):
        leaves = forest.apply(table[rows], n_threads=n_threads).T
        yield trees.value[leaves + first_leaf]


def trees_of(forest: Forest | RotatedForest) -> Forest:
    """The trees of a forest, without its rotations."""
    return forest if isinstance(forest, Forest) else forest.forest


def record_of_forest(
    forest: Forest | RotatedForest,
    rows: Rows,
    ordered: OrderedRows,
    samples: Draws | InBag,
    classes: NDArray[Any] | None,
    *,
    n_threads: int,
    member_weights: Floats | None = None,
    plan: ColumnPlan | None = None,
) -> Record:
    """Compute the out-of-bag predictions of each tree.

    `rows` and `ordered` are those of the fit, with targets in their stored unit; with target
    statistics, the trees split the columns of `plan`.
    """
    target = np.ldexp(rows.target[ordered.index], rows.target_exponent)
    weight = rows.total_weight
    left_out = np.stack([samples.drawn(k) == 0 for k in range(forest.n_trees)])
    return recorded(
        _blocks(forest, _read(rows.table, plan), ordered.index, left_out, n_threads),
        target,
        classes,
        None if weight is None else weight[ordered.index],
        n_members=forest.n_trees,
        member_weights=member_weights,
    )


def _read(table: AnyTable, plan: ColumnPlan | None) -> Callable[[NDArray[np.intp]], Table]:
    """Rows by their indices, in one array."""
    if plan is not None and plan.has_statistics:
        assert isinstance(table, ColumnTable)
        return lambda some: as_one_array(encoded(plan, table[some]))
    whole = as_one_array(table)
    return lambda some: whole[some]


def _blocks(
    forest: Forest | RotatedForest,
    read: Callable[[NDArray[np.intp]], Table],
    index: NDArray[np.intp],
    left_out: NDArray[np.bool_],
    n_threads: int,
) -> Iterator[Block]:
    for rows in _slices(len(index), trees_of(forest)):
        predictions = next(tree_predictions(forest, read(index[rows]), n_threads=n_threads))
        yield rows, _left_out_by_tree(predictions, left_out[:, rows])


def _left_out_by_tree(
    predictions: Floats, left_out: NDArray[np.bool_]
) -> Iterable[tuple[NDArray[np.intp], Floats]]:
    for prediction, is_out in zip(predictions, left_out, strict=True):
        some = np.flatnonzero(is_out)
        yield some, prediction[some]


def _slices(n_rows: int, forest: Forest) -> Iterator[slice]:
    step = max(1, _AT_ONCE // max(1, forest.n_trees * forest.value.shape[1]))
    return (slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step))


def add_left_out(
    oob: OutOfBag,
    forest: Forest,
    training: TrainingRows,
    in_bag: Draws | InBag,
    *,
    first: int = 0,
) -> None:
    """Add the out-of-bag predictions of trees, the first of which has index `first`, to `oob`."""
    for number in range(forest.n_trees):
        out = np.flatnonzero(in_bag.drawn(first + number) == 0)
        if len(out):
            rows = training.table_of_left_out(first + number, out)
            oob.sums[out] += forest.tree(number).predict(rows, n_threads=training.n_threads)
            oob.counts[out] += 1


def ledger_of_all(parts: list[tuple[int, Any]], n_trees: int) -> InBag:
    """In-bag counts of the trees kept by a warm start together with those of the new trees.

    Raises
    ------
    ValueError
        If they were not drawn from the same rows.
    """
    *before, (_, last) = parts
    for _, samples in before:
        if samples is None:
            raise ValueError(
                "oob_score cannot be estimated: the trees kept by warm_start=True were fitted on "
                "all rows. Set warm_start=False, or oob_score=False."
            )
        if samples.n != last.n or not np.array_equal(samples.place, last.place):
            raise ValueError(
                "oob_score with warm_start=True requires the rows of the previous fit, in the same "
                "order; got other rows. Set warm_start=False, or oob_score=False."
            )
    return InBag(tuple(parts), n_trees)


def grown_until_enough(
    grow: Callable[[range], Forest],
    oob: OutOfBag | None,
    ranked: ForestRows,
    training: TrainingRows,
) -> Forest:
    """Grow batches of trees until more trees would not lower the out-of-bag error further."""
    if training.samples is None or oob is None:
        raise ValueError(
            "n_estimators='auto' requires out-of-bag rows, but with bootstrap=False every tree is "
            "fitted on all rows. Set bootstrap=True, or n_estimators to an int."
        )
    enough, forest = Enough(), grow(range(BATCH))
    weight = training.rows.total_weight
    weight = None if weight is None else weight[training.ordered.index]
    while True:
        means = oob.means()
        scored = oob.counts > 0
        losses = _losses(means[scored], ranked, scored)
        own = None if weight is None else weight[scored]
        if enough.says(forest.n_trees, losses, own):
            return forest
        forest = forest.joined(grow(range(forest.n_trees, forest.n_trees + BATCH)))


def _losses(means: Floats, rows: ForestRows, scored: NDArray[np.bool_]) -> Floats:
    """Losses of out-of-bag predictions: misclassification rates, or squared errors."""
    if rows.values is not None:
        values = rows.values[..., scored]
        errors = (means.T - np.atleast_2d(values)) ** 2
        return np.asarray(errors[0] if len(errors) == 1 else errors.mean(axis=0))
    assert rows.classes is not None
    classes = rows.classes[scored]
    if rows.first_class is None:
        return np.asarray(np.argmax(means, axis=1) != classes, dtype=np.float64)
    ends = rows.first_class
    predicted = [np.argmax(means[:, a:b], axis=1) + a for a, b in itertools.pairwise(ends)]
    return np.asarray((np.stack(predicted, axis=1) != classes).mean(axis=1))
