"""Warning about rows without an out-of-bag prediction."""

import numpy as np
from numpy.typing import NDArray

from weald.advice import warn
from weald.resampling import RowSamples

# Warn above this fraction of the total weight: estimates from the other rows may be biased.
_WORTH_A_WARNING = 0.01


def unscored_share(scored: NDArray[np.bool_], weight: NDArray[np.float64] | None) -> float:
    """Fraction of the total weight in rows without an out-of-bag prediction.

    >>> unscored_share(np.array([False, True]), np.array([3.0, 1.0]))
    0.75
    """
    own = np.ones(len(scored)) if weight is None else weight
    return float(own[~scored].sum() / own.sum())


def warn_of_unscored(
    counts: NDArray[np.int32],
    samples: RowSamples,
    weight: NDArray[np.float64] | None,
) -> None:
    """Warn if rows with more than 1 % of the weight have no out-of-bag prediction."""
    share = unscored_share(counts > 0, weight)
    if share <= _WORTH_A_WARNING:
        return
    warn(
        f"Some inputs do not have OOB scores. {_reason(samples)} "
        f"{int((counts == 0).sum())} of {len(counts)} rows, {share:.1%} of the weight, were drawn "
        "by every base estimator."
    )


def _reason(samples: RowSamples) -> str:
    """Why rows have no out-of-bag prediction, and what to do."""
    # The probability that a row of equal weight is left out of one sample is about 1/e for a
    # bootstrap; heavier rows are left out far more seldom.
    if samples.mass is not None:
        most = samples.n_draws * samples.mass.max() / samples.mass.sum()
        if most > 3.0:
            return (
                "Rows are drawn in proportion to their weights, and the heaviest are in nearly "
                "every sample: out-of-bag estimates describe the lighter rows only. Set "
                "max_samples to fewer draws, or use cross-validation."
            )
    if samples.group_of is not None and samples.n_units < 20:
        return (
            f"There are only {samples.n_units} groups to draw. Use more base estimators, or "
            "cross-validation with groups."
        )
    if samples.n_draws > 3 * samples.n_units:
        return (
            f"max_samples makes {samples.n_draws} draws from {samples.n_units}, which leave few "
            "rows out. Draw fewer."
        )
    return (
        "This probably means too few estimators were used to compute any reliable oob estimates: "
        "increase n_estimators."
    )
