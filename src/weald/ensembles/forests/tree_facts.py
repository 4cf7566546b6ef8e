"""Impurities and row counts of the leaves of a single tree, and its pruning path."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows, as_one_array
from weald.ensembles.forests.forest_rows import gain_exponent
from weald.trees import Forest, LeafFacts, class_impurity, pruning_alphas, weighted_median

Floats = NDArray[np.float64]

# Number of values converted to a dense array at a time.
_AT_ONCE = 2**22


def leaf_facts(model: Any, rows: Rows, class_weight: Floats | None = None) -> LeafFacts | None:
    """Impurities and row counts of the leaves of a new tree; None if leaf weights determine them.

    Impurities are measured about the mean, median or class shares of the rows of a leaf, from
    which its value may differ under `monotonic_cst`. They are in the stored unit of the target.
    """
    of_classes, is_held = hasattr(model, "classes_"), model.monotonic_cst is not None
    own = rows.total_weight
    is_unweighted = own is None and rows.weight_unit == 1.0 and class_weight is None
    if of_classes and not is_held and is_unweighted:
        return None
    forest = model.forest_
    leaves, n_leaves = _leaves_of(forest, rows, model._n_threads), len(forest.value)
    samples = np.bincount(leaves, minlength=n_leaves).astype(np.int64)
    mass = np.ones(rows.n) if own is None else own
    weight = np.bincount(leaves, mass, n_leaves)
    if of_classes:
        of_class = np.ones(model.n_classes_) if class_weight is None else class_weight
        sums = [
            np.bincount(leaves, mass * (rows.target == k) * of_class[k], n_leaves)
            for k in range(model.n_classes_ if is_held else 0)
        ]
        impurity = class_impurity(model.criterion, np.stack(sums, axis=1)) if is_held else None
        return LeafFacts(impurity, samples, 0)
    predicted = np.ldexp(forest.value, -rows.target_exponent)
    if rows.n_outputs == 1:
        predicted = predicted[:, 0]
    if is_held and model.criterion == "absolute_error":
        parts = [leaves == leaf for leaf in range(n_leaves)]
        predicted = np.array([weighted_median(rows.target[one], mass[one]) for one in parts])
    elif is_held:
        predicted = np.bincount(leaves, mass * rows.target, n_leaves) / weight
    lost = _number_impurity(model.criterion, rows.target, predicted[leaves])
    lost = mass * (lost if rows.n_outputs == 1 else lost.mean(axis=1))
    impurity = np.bincount(leaves, lost, n_leaves) / np.where(weight > 0, weight, 1.0)
    exponent = gain_exponent(model.criterion, rows)
    return LeafFacts(np.maximum(impurity, 0.0), samples, exponent)


def _leaves_of(forest: Forest, rows: Rows, n_threads: int) -> NDArray[np.int32]:
    """The leaf of each row of the fit; frames and sparse tables are converted block by block."""
    if isinstance(rows.table, np.ndarray):
        return forest.apply(rows.table, n_threads=n_threads)[:, 0]
    step = max(1, _AT_ONCE // rows.table.shape[1])
    parts = [np.arange(begin, min(begin + step, rows.n)) for begin in range(0, rows.n, step)]
    blocks = (as_one_array(rows.table[part]) for part in parts)
    return np.concatenate([forest.apply(block, n_threads=n_threads)[:, 0] for block in blocks])


def _number_impurity(criterion: str, target: Floats, predicted: Floats) -> Floats:
    """Contribution of each row to the impurity of its leaf."""
    if criterion == "absolute_error":
        return np.abs(target - predicted)
    if criterion == "poisson":
        share = np.divide(target, predicted, where=target > 0, out=np.ones_like(target))
        return np.asarray(target * np.log(share))
    return np.asarray((target - predicted) ** 2)


def pruning_path(model: Any, X: object, y: object, sample_weight: object) -> Any:
    """The effective `ccp_alpha` values of a tree, and the total leaf impurity for each."""
    from sklearn.base import clone
    from sklearn.utils import Bunch

    full = clone(model).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
    tree = full.forest_
    price, worth = pruning_alphas(tree), tree.gain / tree.weight[0]
    steps = np.unique(price[np.isfinite(price)])
    steps = np.append(0.0, steps[steps > 0.0])
    is_leaf = tree.feature < 0
    left = float((full.tree_.impurity * tree.weight)[is_leaf].sum() / tree.weight[0])
    # Pruning a split adds its gain to the total impurity of the leaves.
    lost = np.array([worth[price <= alpha].sum() for alpha in steps])
    return Bunch(ccp_alphas=steps, impurities=left + lost)
