"""Reduced-error pruning of the trees of a forest, on their out-of-bag rows."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.out_of_bag.oob_importance import checked_rows_of_fit, oob_predictions
from weald.ensembles.out_of_bag.row_losses import row_losses
from weald.resampling import Purpose, hash_any_rows
from weald.trees import Forest, ForestBuilder, GrownTree, cut

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrunedForest:
    """A pruned forest, with errors and sizes before and after.

    Errors are mean squared errors, or Brier scores for classification, on rows that were not used
    to select the subtrees to prune.

    Attributes
    ----------
    model : estimator
        The pruned forest; the original one is unchanged.
    error_before, error_after : float
        Out-of-bag error of the forest, on the rows not used for pruning.
    n_leaves_before, n_leaves_after : int
        Number of leaves of all trees.
    """

    model: Any = field(repr=False)
    error_before: float
    error_after: float
    n_leaves_before: int
    n_leaves_after: int


def pruned_out_of_bag(model: Any, X: Any, y: Any) -> PrunedForest:
    """Prune each tree where that lowers its error on the out-of-bag rows of one half of the data.

    A node becomes a leaf with the mean of the leaves below it if that lowers the error of the
    out-of-bag rows that reach it. The halves are drawn by the content of the rows.
    """
    target, place = checked_rows_of_fit(model, X, y)
    record = model.oob_.record
    classes, weight = record.classes, None if record.weight is None else record.weight[place]
    numbers = np.asarray(target, dtype=np.float64)
    selects = _pruning_half(model.oob_.in_bag.last, place, numbers)
    held_out = np.flatnonzero(~selects & (place >= 0))
    targets = numbers[:, np.newaxis] if classes is None else np.eye(len(classes))[target]
    forest, in_bag = model.forest_, model._in_bag()
    leaves = model._leaves(X)
    builder = ForestBuilder(forest.base_score, forest.n_columns)
    for number in range(forest.n_trees):
        rows = np.flatnonzero(selects & (place >= 0) & (in_bag[number] == 0))
        tree = _grown(forest.tree(number))
        own = None if weight is None else weight[rows]
        builder.add(_prune(tree, leaves[rows, number], targets[rows], own), output=-1)
    pruned = copy.copy(model)
    pruned.__dict__.pop("_views", None)
    pruned._take(builder.build())
    # Out-of-bag predictions have changed; the in-bag counts have not.
    pruned._record = None
    for name in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
        pruned.__dict__.pop(name, None)
    loss = "squared_error" if classes is None else "brier"

    def error(of: Any) -> float:
        predicted = oob_predictions(of, X)[held_out]
        known = ~np.isnan(predicted[:, 0])
        losses = row_losses(loss, target[held_out][known], predicted[known], classes)
        return float(
            np.average(losses, weights=None if weight is None else weight[held_out][known])
        )

    return PrunedForest(
        model=pruned,
        error_before=error(model),
        error_after=error(pruned),
        n_leaves_before=len(forest.value),
        n_leaves_after=len(pruned.forest_.value),
    )


def _pruning_half(samples: Any, place: NDArray[np.intp], target: Floats) -> NDArray[np.bool_]:
    """Which rows select the subtrees to prune: about half of the rows, or of the groups."""
    group_of = getattr(samples, "group_of", None)
    if group_of is None:
        unit = place.astype(np.float64)
    else:
        unit, target = np.append(group_of, -1)[place].astype(np.float64), np.zeros(len(place))
    hashes = hash_any_rows(unit[:, np.newaxis], target, n_threads=1)
    return np.asarray(_native.draw(hashes, 0, 0, Purpose.HALVES) >> np.uint64(63), dtype=bool)


def _grown(tree: Forest) -> GrownTree:
    """One tree of a forest in the form of a newly grown tree."""
    names = ("feature", "threshold", "right", "missing_left", "weight", "gain", "value")
    sets = ("category_set", "first_word", "words", "saw_missing")
    arrays = {name: getattr(tree, name) for name in (*names, *sets)}
    return GrownTree(leaf_of_row=np.zeros(0, dtype=np.int32), **arrays)


def _prune(
    tree: GrownTree, leaf_of_row: NDArray[np.int32], targets: Floats, weight: Floats | None
) -> GrownTree:
    """Reduced-error pruning by rows with the given leaves and targets."""
    n_leaves, is_inner = len(tree.value), tree.feature >= 0
    own = np.ones(len(leaf_of_row)) if weight is None else weight

    def by_leaf(values: Floats) -> Floats:
        return np.bincount(leaf_of_row, own * values, minlength=n_leaves).astype(np.float64)

    counts = by_leaf(np.ones(len(own)))
    sums = np.stack([by_leaf(one) for one in targets.T], axis=1)
    squares = by_leaf((targets**2).sum(axis=1))
    n, width = len(tree.feature), targets.shape[1]
    # Per node: row count, sums and squares of targets; weight, mean prediction and least error.
    rows, total, square = np.zeros(n), np.zeros((n, width)), np.zeros(n)
    mass, prediction, best = tree.weight.copy(), np.zeros((n, width)), np.zeros(n)
    inner_after = is_inner.copy()
    for node in range(n - 1, -1, -1):
        if is_inner[node]:
            left, right = node + 1, int(tree.right[node])
            rows[node] = rows[left] + rows[right]
            total[node] = total[left] + total[right]
            square[node] = square[left] + square[right]
            below = mass[left] + mass[right]
            share = mass[left] / below if below > 0 else 0.5
            prediction[node] = share * prediction[left] + (1 - share) * prediction[right]
            best[node] = best[left] + best[right]
        else:
            leaf = int(tree.right[node])
            rows[node], total[node], square[node] = counts[leaf], sums[leaf], squares[leaf]
            prediction[node] = tree.value[leaf]
            best[node] = np.inf
        own = prediction[node]
        as_leaf = square[node] - 2 * float(own @ total[node]) + rows[node] * float(own @ own)
        # Do not prune for differences due to rounding.
        if is_inner[node] and as_leaf < best[node] * (1 - 1e-9) - 1e-12 * square[node]:
            inner_after[node] = False
        best[node] = min(best[node], as_leaf)
    return cut(tree, inner_after)
