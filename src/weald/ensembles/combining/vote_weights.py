"""Weights of votes, learnt from answers to rows the members have not seen."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weald import _native
from weald.data import effective_rows
from weald.ensembles.exact_means import exact_means

Floats = NDArray[np.float64]


def vote_weights(errors: ArrayLike, n_rows: float) -> Floats:
    """ln((1 - e) / e) for each member's share e of wrong votes.

    On two classes these are the best weights of independent voters.

    Parameters
    ----------
    errors : array, shape (members,)
        Shares of wrong votes.
    n_rows : float
        How many rows they were counted on. No wrong vote in n rows is taken as half a wrong vote,
        so that the weight is ln(2n - 1) and not infinite.

    Returns
    -------
    array, shape (members,)
        A member that is wrong in half of the rows or more gets no vote; if none gets one, all get
        the same.

    Examples
    --------
    >>> vote_weights([0.1, 0.4, 0.5, 0.9], n_rows=100).round(3).tolist()
    [2.197, 0.405, 0.0, 0.0]
    """
    share = np.maximum(np.asarray(errors, dtype=np.float64), 0.5 / n_rows)
    weights = np.where(share < 0.5, _native.log((1 - share) / share), 0.0)
    return weights if weights.any() else np.ones(len(share))


def weights_of_votes(
    votes: NDArray[np.int64], y: NDArray[np.int64], weight: Floats | None
) -> Floats:
    """`vote_weights` from votes of the shape (members, rows) and the true classes."""
    errors = exact_means((votes != y).astype(np.float64), weight)
    return vote_weights(errors, effective_rows(weight, len(y)))
