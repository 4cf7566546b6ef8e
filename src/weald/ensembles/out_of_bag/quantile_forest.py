"""Quantile regression forests (Meinshausen)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Number of rows predicted at a time.
_AT_ONCE = 4096


def leaf_quantiles(model: Any, X: Any, X_fit: Any, levels: Floats) -> Floats:
    """Quantiles of the training targets in the leaves that a row reaches.

    In each tree, the in-bag rows of the leaf have a total weight of 1, distributed in proportion to
    their in-bag counts times their weights; the mean of these weights over the trees is the
    predicted distribution of the target.
    """
    from scipy.sparse import csr_array

    place = model.oob_.in_bag.last.place
    n_fit = X_fit.shape[0] if hasattr(X_fit, "shape") else len(X_fit)
    if n_fit != len(place):
        raise ValueError(
            f"X_fit must be the {len(place)} rows of the fit, in the same order; got {n_fit} rows."
        )
    forest, in_bag = model.forest_, model.oob_.in_bag
    record = model.oob_.record
    first = forest.first_leaf[:-1]
    # With rows sorted by target, cumulative weights are the distribution function.
    target = np.where(place >= 0, record.target[place], np.inf)
    order = np.argsort(target, kind="stable")
    leaves = (model._leaves(X_fit)[order] + first).T
    counts = np.stack([in_bag[k][order] for k in range(forest.n_trees)]).astype(np.float64)
    if record.weight is not None and not in_bag.last.draws_by_weight:
        counts *= record.weight[place][order]
    sizes = np.bincount(leaves.ravel(), counts.ravel(), minlength=len(forest.value))
    drawn = counts > 0
    rows = np.broadcast_to(np.arange(n_fit), leaves.shape)[drawn]
    share = counts[drawn] / sizes[leaves[drawn]] / forest.n_trees
    of_leaf = csr_array((share, (leaves[drawn], rows)), shape=(len(forest.value), n_fit))
    reached = model._leaves(X) + first
    parts = []
    for begin in range(0, len(reached), _AT_ONCE):
        some = reached[begin : begin + _AT_ONCE]
        ones = csr_array(
            (np.ones(some.size), some.ravel(), np.arange(0, some.size + 1, some.shape[1])),
            shape=(len(some), len(forest.value)),
        )
        parts.append(_quantiles(ones @ of_leaf, target[order], levels))
    return np.concatenate(parts) if parts else np.empty((0, len(levels)))


def _quantiles(weights: Any, target: Floats, levels: Floats) -> Floats:
    """The smallest target at which the cumulative weight of a row reaches the level."""
    weights.sort_indices()
    found = np.empty((weights.shape[0], len(levels)))
    for row in range(weights.shape[0]):
        own = slice(weights.indptr[row], weights.indptr[row + 1])
        ends = np.cumsum(weights.data[own])
        # The total is 1 up to rounding.
        places = np.searchsorted(ends, levels * ends[-1] * (1 - 1e-12))
        found[row] = target[weights.indices[own][np.minimum(places, len(ends) - 1)]]
    return found
