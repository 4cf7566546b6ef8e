"""Paired test of methods on the same folds of repeated cross-validation."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def corrected_t_test(differences: Floats, test_share: float) -> float:
    """P value, two-sided, that the differences of two methods on the same folds are by chance.

    The t test of Nadeau and Bengio (2003): the variance of the mean of n differences is estimated
    by (1/n + test rows / training rows) times their variance, because the folds share training
    rows; with 1/n alone the test finds differences that are not there. NaN if it is not defined.

    Parameters
    ----------
    differences : array, shape (folds,)
        Score of one method minus that of the other, fold by fold.
    test_share : float
        Share of the rows that are in the test part of a fold.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.cli.paired import corrected_t_test
    >>> round(corrected_t_test(np.array([0.02, 0.03, 0.01, 0.02, 0.04]), 0.2), 3)
    0.035
    >>> corrected_t_test(np.zeros(5), 0.2)
    1.0
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2 or not np.isfinite(differences).all():
        return math.nan
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    factor = 1 / n + test_share / (1 - test_share)
    t = abs(mean) / math.sqrt(factor * variance)
    return float(2 * stdtr(n - 1, -t))


def holm(p_values: list[float]) -> list[float]:
    """Adjust p values of several comparisons by Holm's method; NaN stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = list(p_values)
    order = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    highest = 0.0
    for rank, (p, i) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        adjusted[i] = highest
    return adjusted
