"""Which side of a kink rows lean to that start at their target."""

import math
from dataclasses import replace

import numpy as np

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.choosing import Loss

# A side is out of reach if the odds of its targets would have to change by more times than this.
_FAR = 10.0


def leaning(loss: Loss, y: Floats, base: Floats, weight: Floats | None, copies: Copies) -> Loss:
    """The pinball loss or absolute error of scores that start at `base`, which many targets equal.

    Such rows (most, of rare counts) lie at the kink of the loss, where any slope between those of
    its sides is a gradient. With 0, trees tell rows that earlier trees have moved from rows that
    they have not, instead of large counts from small ones. That is the price of seeing both sides,
    and not paid if only one is in reach: then rows at the base have the slope that they will have
    once they are moved to that side.

    Some rows are better answered by more than the base if targets above it are more than a share
    1 - level among them; others by less, if targets from the base on are fewer than that. How
    far a side is says the factor between those odds and what they are among all rows.

    >>> rare = np.array([0.0] * 95 + [1.0] * 5)
    >>> loss = BuiltinLoss("quantile", 1, 1, 0.9)
    >>> round(leaning(loss, rare, np.zeros(1), None, None).base_slope, 3)
    0.1
    """
    if not isinstance(loss, BuiltinLoss) or loss.slopes is None:
        return loss
    return loss.of_each(
        [
            _leaning(loss.of_score(k), y, float(base[k]), weight, copies)
            for k in range(loss.n_scores)
        ]
    )


def _leaning(
    loss: BuiltinLoss, y: Floats, base: float, weight: Floats | None, copies: Copies
) -> BuiltinLoss:
    assert loss.slopes is not None
    above, below = loss.slopes
    mass = np.ones(len(y)) if weight is None else weight
    less, equal, more = (
        _native.exact_total(np.where(side, mass, 0.0), copies)
        for side in (y < base, y == base, y > base)
    )
    to_more = _times(above * (less + equal), below * more)
    to_less = _times(below * (equal + more), above * less)
    if max(to_more, to_less) < _FAR or to_more == to_less:
        return loss
    return replace(loss, base=base, base_slope=above if to_more < to_less else -below)


def _times(a: float, b: float) -> float:
    return a / b if b > 0.0 else math.inf
