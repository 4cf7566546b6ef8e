"""Initial scores of a fit: the constants that minimise the loss, given the offsets of the rows."""

import math

import numpy as np

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.choosing import Loss
from weald.losses.roots import best_step

# Scaling of class shares: steps at most, and the largest change of a score that counts as none.
_STEPS, _NEAR = 100, 1e-9
_LEAST_SHARE = 2.0**-52
# Farthest root of losses whose scores are exponents, beyond the largest offset.
_FAR = 64.0


def base_scores_given(
    loss: Loss, y: Floats, weight: Floats | None, copies: Copies, offset: Floats | None
) -> Floats:
    """Return the constant scores that minimise the loss of `offset` plus these constants.

    Parameters
    ----------
    offset : array, shape (scores, rows), or None
        Raw scores to which the constants are added; None: zeros.

    Examples
    --------
    >>> loss = BuiltinLoss("poisson", 1, 1)
    >>> claims, years = np.array([1.0, 0.0, 2.0]), np.array([1.0, 0.5, 4.5])
    >>> base = base_scores_given(loss, claims, None, None, np.log(years)[np.newaxis])
    >>> float(np.exp(base[0]).round(9))  # three claims in six years
    0.5
    """
    if offset is None:
        return loss.base_scores(y, weight, copies)
    if not loss.of_exponents and isinstance(loss, BuiltinLoss):
        # The loss is a function of y - score.
        each = [loss.of_score(k) for k in range(loss.n_scores)]
        bases = [
            one.base_scores(y - own, weight, copies) for one, own in zip(each, offset, strict=True)
        ]
        return np.concatenate(bases)
    if loss.n_scores == 1:
        most = _FAR + float(np.abs(offset).max()) if loss.of_exponents else None
        ones = np.ones((1, offset.shape[1]))
        return np.array([best_step(loss, y, offset, ones, weight, copies, most=most)])
    if not isinstance(loss, BuiltinLoss):
        return loss.base_scores(y, weight, copies)  # zeros
    return _scaled_shares(loss, y, weight, copies, offset)


def _scaled_shares(
    loss: BuiltinLoss, y: Floats, weight: Floats | None, copies: Copies, offset: Floats
) -> Floats:
    """Base scores of several classes: predicted shares of all classes are those of the rows.

    Iterative scaling: the score of each class moves by the logarithm of the ratio between its share
    of the rows and the mean of its predicted probabilities. This never increases the loss.
    """
    log_share = loss.base_scores(y, weight, copies)
    share = _native.exp(log_share)
    mass = np.ones(offset.shape[1]) if weight is None else weight
    total = _native.exact_total(mass, copies)
    gradient, hessian = np.empty_like(offset), np.empty_like(offset)
    base = np.zeros(loss.n_scores)
    for _ in range(_STEPS):
        loss.gradients(y, offset + base[:, np.newaxis], weight, gradient, hessian)
        excess = np.array([_native.exact_total(one, copies) / total for one in gradient])
        moves = log_share - _native.log(np.maximum(share + excess, _LEAST_SHARE))
        base += moves
        if moves.max() - moves.min() <= _NEAR:
            break
    return base - _log_sum(base)  # probabilities do not depend on a common term


def _log_sum(scores: Floats) -> float:
    top = float(scores.max())
    total = _native.exp(scores - top)
    return top + float(_native.log(np.array([math.fsum(total)]))[0])
