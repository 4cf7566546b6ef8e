"""Weights of votes, computed from out-of-fold errors."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weald import _native
from weald.data import effective_rows
from weald.ensembles.exact_means import exact_means

Floats = NDArray[np.float64]


def vote_weights(errors: ArrayLike, n_rows: float) -> Floats:
    """ln((1 - e) / e) for each error rate e: the optimal weights of independent binary voters.

    Parameters
    ----------
    errors : array, shape (estimators,)
        Error rates.
    n_rows : float
        Number of rows they were measured on. An error rate of 0 counts as 0.5 / n_rows, so that
        weights are finite.

    Returns
    -------
    array, shape (estimators,)
        Weights; 0 for an error rate of 0.5 or more. All 1 if they would all be 0.

    Examples
    --------
    >>> vote_weights([0.1, 0.4, 0.5, 0.9], n_rows=100).round(3).tolist()
    [2.197, 0.405, 0.0, 0.0]
    """
    clipped = np.maximum(np.asarray(errors, dtype=np.float64), 0.5 / n_rows)
    weights = np.where(clipped < 0.5, _native.log((1 - clipped) / clipped), 0.0)
    return weights if weights.any() else np.ones(len(clipped))


def weights_of_votes(
    votes: NDArray[np.int64], y: NDArray[np.int64], weight: Floats | None
) -> Floats:
    """`vote_weights` of votes of shape (estimators, rows), given the true classes."""
    errors = exact_means((votes != y).astype(np.float64), weight)
    return vote_weights(errors, effective_rows(weight, len(y)))
