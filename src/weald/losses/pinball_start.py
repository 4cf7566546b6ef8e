"""Gradients of pinball losses for rows whose initial score equals the target."""

import math
from dataclasses import replace

import numpy as np

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.choosing import Loss

# A side is unreachable if the odds of its targets would have to change by more than this factor.
_FAR = 10.0


def leaning(loss: Loss, y: Floats, base: Floats, weight: Floats | None, copies: Copies) -> Loss:
    """Set the gradient at the kink of a pinball loss or absolute error, if one side dominates.

    Rows whose target equals the initial score `base` (most rows, for rare counts) lie at the kink
    of the loss, where any value between the slopes of both sides is a subgradient. With 0, trees
    would separate rows moved by earlier trees from the others, instead of large from small targets.
    That is unavoidable if predictions on both sides of `base` are plausible. If only one side is
    reachable, such rows get the slope of that side.

    A prediction above `base` is optimal for a subset of rows if more than a fraction 1 - level of
    their targets are above it; one below, if fewer than that are at or above it. The distance of a
    side is the ratio between these odds and the odds among all rows.

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
    mass_below, mass_equal, mass_above = (
        _native.exact_total(np.where(side, mass, 0.0), copies)
        for side in (y < base, y == base, y > base)
    )
    distance_above = _ratio(above * (mass_below + mass_equal), below * mass_above)
    distance_below = _ratio(below * (mass_equal + mass_above), above * mass_below)
    if max(distance_above, distance_below) < _FAR or distance_above == distance_below:
        return loss
    slope = above if distance_above < distance_below else -below
    return replace(loss, base=base, base_slope=slope)


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0.0 else math.inf
