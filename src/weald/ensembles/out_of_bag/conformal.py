"""Conformal prediction, calibrated on out-of-bag residuals."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import effective_rows, extreme_exponent
from weald.ensembles.out_of_bag.tally import Record
from weald.parameters import Real

Floats = NDArray[np.float64]

# Offsets added to the standard deviation of the base estimators, as multiples of its mean; with an
# infinite one residuals are not scaled.
_OFFSETS = (0.25, 1.0, 4.0, math.inf)

_EPSILON = float(np.finfo(np.float64).eps)

# One scale is chosen for all quantiles: that of the narrowest intervals with this coverage.
_USUAL_COVERAGE = 0.9


def checked_coverage(coverage: Any) -> float:
    """Validate a coverage."""
    if not Real(0.0, 1.0, open_below=True, open_above=True).admits(coverage):
        raise ValueError(
            f"coverage must be a float in the range (0, 1), such as 0.9. Got {coverage!r} instead."
        )
    return float(coverage)


def conformal_quantile(scores: Floats, weight: Floats | None, level: float, *, what: str) -> float:
    """The ⌈(n + 1)·level⌉-th smallest score: a bound of a new score with that probability.

    Weighted scores count as n = (Σw)² / Σw² scores of equal weight.

    >>> conformal_quantile(np.arange(1.0, 10.0), None, 0.8, what="coverage=0.8")
    8.0
    """
    n, mass = effective_rows(weight, len(scores)), np.ones(len(scores))
    if weight is not None:
        mass = weight * (n / weight.sum())
    # Tolerate products that exceed an integer by rounding only.
    rank = (n + 1) * level * (1 - 4 * _EPSILON)
    rank = math.ceil(rank) if float(n).is_integer() else rank
    if not 0 < rank <= n:
        n_required = math.ceil(max(1 / (1 - level), 1 / level)) - 1
        raise ValueError(
            f"{what} requires at least {n_required} rows with out-of-bag predictions; there are "
            f"{n:g}. Choose a less extreme value, or fit on more rows."
        )
    order = np.argsort(scores, kind="stable")
    ends = np.cumsum(mass[order])
    place = min(int(np.searchsorted(ends, rank * (1 - 1e-12))), len(order) - 1)
    return float(scores[order[place]])


@dataclass(frozen=True, eq=False)
class Residuals:
    """Out-of-bag residuals, standard deviations of the predictions, and row weights."""

    signed: Floats
    spread: Floats
    weight: Floats | None

    @classmethod
    def of(cls, record: Record) -> "Residuals":
        scored = record.scored
        weight = None if record.weight is None else record.weight[scored]
        signed = record.target[scored] - record.predictions[scored, 0]
        spread = record.spreads[scored, 0]
        signed = signed * _ensemble_size_factor(
            signed, spread, record.n_out[scored], record, weight
        )
        return cls(signed, spread, weight)

    def with_spread(self) -> "Residuals | None":
        """The rows with at least two predictions; None if standard deviations are of no use."""
        known = np.isfinite(self.spread)
        if known.mean() < 0.5 or not (self.spread[known] > 0).any():
            return None
        weight = None if self.weight is None else self.weight[known]
        return Residuals(self.signed[known], self.spread[known], weight)


def _ensemble_size_factor(
    signed: Floats, spread: Floats, n_out: NDArray[np.int32], record: Record, weight: Floats | None
) -> float:
    """Factor that corrects out-of-bag residuals for the smaller number of base estimators.

    The mean of m base estimators has an excess variance of σ²/m over that of infinitely many. New
    rows are predicted by all B of them, out-of-bag rows only by the m that left the row out, so
    squared residuals are too large by σ²(1/m - 1/B), on average over the rows.
    """
    n_members = int(record.steps[-1])
    known = np.isfinite(spread)
    if not known.any():
        return 1.0
    own = None if weight is None else weight[known]
    # The ratio does not depend on the unit, which is chosen so that squares do not overflow.
    unit = -extreme_exponent(signed[known])
    extra = np.ldexp(spread[known], unit) ** 2 * (1.0 / n_out[known] - 1.0 / n_members)
    squares = float(np.average(np.ldexp(signed[known], unit) ** 2, weights=own))
    if squares == 0:
        return 1.0
    return math.sqrt(max(0.5, 1.0 - float(np.average(extra, weights=own)) / squares))


@dataclass(frozen=True)
class Scale:
    """Divisor of residuals: standard deviation of the base estimators plus `offset`; 1 if inf."""

    offset: float

    def __call__(self, spread: Floats) -> Floats:
        return np.ones(len(spread)) if math.isinf(self.offset) else spread + self.offset


def interval_scale(found: Residuals, coverage: float) -> tuple[Scale, float]:
    """The scale under which out-of-bag residuals are most likely, and its conformal factor.

    Where base estimators disagree, errors tend to be larger and intervals should be wider; the
    likelihood of the residuals (Laplace) decides how strongly. Choosing the scale of the narrowest
    intervals instead would hold too little on tables of a hundred rows: the same residuals would
    choose the scale and set the width.
    """
    what = f"coverage={coverage:g}"
    known = found.with_spread()
    best = Scale(math.inf) if known is None else _likeliest_scale(known)
    used = found if known is None or math.isinf(best.offset) else known
    residuals = np.abs(used.signed) / best(used.spread)
    return best, conformal_quantile(residuals, used.weight, coverage, what=what)


def _likeliest_scale(found: Residuals) -> Scale:
    middle = float(np.average(found.spread, weights=found.weight))
    scales = [Scale(offset * middle) for offset in _OFFSETS]

    def negative_log_likelihood(scale: Scale) -> float:
        divisor = scale(found.spread)
        size = float(np.average(np.abs(found.signed) / divisor, weights=found.weight))
        if size == 0:
            return -math.inf
        return math.log(size) + float(np.average(np.log(divisor), weights=found.weight))

    return min(scales, key=negative_log_likelihood)


def quantile_shifts(found: Residuals, levels: Floats) -> tuple[Scale, Floats]:
    """Quantiles of the signed residuals, in units of one common scale."""
    scale, _ = interval_scale(found, _USUAL_COVERAGE)
    if not math.isinf(scale.offset):
        found = found.with_spread() or found
    residuals = found.signed / scale(found.spread)
    for level in levels:
        # Require enough rows for the more extreme of the level and its complement.
        conformal_quantile(residuals, found.weight, max(level, 1 - level), what=_level(level))
    shifts = [
        conformal_quantile(residuals, found.weight, float(level), what=_level(level))
        for level in levels
    ]
    return scale, np.array(shifts)


def _level(level: float) -> str:
    return f"The quantile {level:g}"


def jackknife_bounds(
    predictions: Floats, left_out: NDArray[np.bool_], residuals: Floats, coverage: float
) -> Floats:
    """Jackknife+-after-bootstrap (Kim, Xu, Barber): lower and upper bounds of rows.

    For each training row i, the base estimators for which it is out-of-bag predict a new row; the
    bounds are quantiles of their mean prediction ∓ |residual i|.

    Parameters
    ----------
    predictions : array, shape (estimators, rows)
        Predictions of the base estimators for the new rows.
    left_out : array of bool, shape (estimators, training rows)
        Which training rows are out-of-bag for which base estimator; at least one for each row.
    residuals : array, shape (training rows,)
        Absolute out-of-bag residuals.
    """
    n = len(residuals)
    rank = math.ceil((n + 1) * coverage * (1 - 4 * _EPSILON))
    if rank > n:
        n_required = math.ceil(1 / (1 - coverage)) - 1
        raise ValueError(
            f"coverage={coverage:g} requires at least {n_required} rows with out-of-bag "
            f"predictions; there are {n}. Choose a smaller coverage, or fit on more rows."
        )
    share = left_out / left_out.sum(axis=0)
    bounds = np.empty((predictions.shape[1], 2))
    step = max(1, 2**22 // n)
    for begin in range(0, predictions.shape[1], step):
        rows = slice(begin, begin + step)
        centres = predictions[:, rows].T @ share
        bounds[rows, 0] = np.partition(centres - residuals, n - rank, axis=1)[:, n - rank]
        bounds[rows, 1] = np.partition(centres + residuals, rank - 1, axis=1)[:, rank - 1]
    return bounds


def set_threshold(record: Record, coverage: float) -> float:
    """The minimum probability of the classes in a prediction set."""
    assert record.classes is not None
    scored = record.scored
    true_class = record.predictions[scored, record.target[scored].astype(np.intp)]
    weight = None if record.weight is None else record.weight[scored]
    return 1.0 - conformal_quantile(
        1.0 - true_class, weight, coverage, what=f"coverage={coverage:g}"
    )
