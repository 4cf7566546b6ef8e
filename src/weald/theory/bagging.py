"""Variance of a bagged mean, and the out-of-bag share of a bootstrap sample."""

import math
from typing import Any

from weald.parameters import NoneOr, Whole
from weald.theory.arguments import check, counts, numbers, plain


def bagged_variance(variance: Any, rho: Any, B: Any) -> Any:
    """Variance of the mean of B estimators: ρσ² + (1 - ρ)σ²/B.

    Assumes estimators of equal variance σ² and equal pairwise correlation ρ. The second term
    vanishes as B grows, the first does not: averaging cannot remove the shared part. Estimators
    trained on samples of one training set are never independent, so ρ = 0 is a limiting case.

    Parameters
    ----------
    variance : float or array
        Variance σ² of one estimator; at least 0.
    rho : float or array
        Pairwise correlation ρ of the estimators, between -1/(B - 1) and 1.
    B : int or array of int
        Number of estimators.

    Returns
    -------
    float or array
        Variance of the mean; an array if any argument is one.

    Examples
    --------
    >>> from weald.theory import bagged_variance
    >>> bagged_variance(4.0, 0.25, 1), bagged_variance(4.0, 0.25, 10)
    (4.0, 1.3)
    >>> bagged_variance(4.0, 0.0, [1, 2, 4])
    array([4., 2., 1.])
    """
    function = "bagged_variance"
    sigma2 = numbers(function, "variance", variance, least=0.0, most=math.inf)
    n_estimators = counts(function, "B", B)
    correlation = numbers(function, "rho", rho, least=-1.0, most=1.0)
    if (1 + (n_estimators - 1) * correlation < -1e-12).any():
        raise ValueError(
            f"The 'rho' parameter of {function} must be at least -1/(B - 1), the lowest possible "
            f"correlation of B estimators. Got rho={rho!r} and B={B!r}."
        )
    return plain(correlation * sigma2 + (1 - correlation) * sigma2 / n_estimators)


def left_out_share(n: int, m: int | None = None) -> float:
    """Expected out-of-bag share of m draws with replacement from n rows: (1 - 1/n)^m.

    Also the probability that a given row is out of bag. For m = n it increases with n towards
    1/e = 0.3679, so that a bootstrap sample holds 63.2 % of the distinct rows.

    Parameters
    ----------
    n : int
        Number of rows to draw from.
    m : int or None, default=None
        Number of draws; None means n.

    Returns
    -------
    float

    Examples
    --------
    >>> from weald.theory import left_out_share
    >>> left_out_share(2)
    0.25
    >>> round(left_out_share(1_000_000), 6)
    0.367879
    >>> round(left_out_share(100, 50), 6)
    0.605006
    """
    check("left_out_share", Whole(1), n=n)
    check("left_out_share", NoneOr(Whole(0)), m=m)
    draws = int(n if m is None else m)
    if n == 1:
        return float(draws == 0)
    # (1 - 1/n)**m would magnify the rounding error of 1 - 1/n for large n.
    return math.exp(draws * math.log1p(-1 / int(n)))
