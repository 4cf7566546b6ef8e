"""Rows that every base estimator has drawn, so that none can predict them out of bag."""

import warnings

import numpy as np
from numpy.typing import NDArray

from weald.resampling import RowSamples

# Above this share of the weight an estimate from the other rows may be off.
_WORTH_A_WARNING = 0.01


def unscored_share(scored: NDArray[np.bool_], weight: NDArray[np.float64] | None) -> float:
    """The share of all weight that rows without an out-of-bag prediction have.

    >>> unscored_share(np.array([False, True]), np.array([3.0, 1.0]))
    0.75
    """
    own = np.ones(len(scored)) if weight is None else weight
    return float(own[~scored].sum() / own.sum())


def warn_of_unscored(
    counts: NDArray[np.int32],
    samples: RowSamples,
    weight: NDArray[np.float64] | None,
    *,
    stacklevel: int = 5,
) -> None:
    """Warn if more than a hundredth of the weight has no out-of-bag prediction, and say why."""
    share = unscored_share(counts > 0, weight)
    if share <= _WORTH_A_WARNING:
        return
    warnings.warn(
        f"Some inputs do not have OOB scores: {int((counts == 0).sum())} of {len(counts)} rows, "
        f"{share:.1%} of the weight, were drawn by every base estimator. {_reason(samples)}",
        UserWarning,
        stacklevel=stacklevel,
    )


def _reason(samples: RowSamples) -> str:
    """What leaves rows without a prediction, and the way out."""
    # The probability that a row of equal weight is left out of one sample is about 1/e for a
    # bootstrap; heavier rows are left out far more seldom.
    if samples.mass is not None:
        most = samples.n_draws * samples.mass.max() / samples.mass.sum()
        if most > 3.0:
            return (
                "Rows are drawn in proportion to their weights, and the heaviest are in nearly "
                "every sample: out-of-bag estimates speak for the lighter rows only. Set "
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
        "This probably means too few base estimators were used to compute any reliable OOB "
        "estimates: increase n_estimators."
    )
