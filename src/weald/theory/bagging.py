"""Averaging and drawing: variance of a bagged mean, share of rows a bootstrap leaves out."""

import math
from typing import Any

from weald.parameters import NoneOr, Whole
from weald.theory.arguments import check, counts, numbers, plain


def bagged_variance(variance: Any, rho: Any, B: Any) -> Any:
    """Variance of the mean of B members: ρσ² + (1 - ρ)σ²/B.

    Holds for members of equal variance σ² and equal correlation ρ between any two. The second
    term goes to zero with more members, the first stays: what members share cannot be averaged
    away. Members that are drawn from one training set are never independent, so ρ = 0 is a
    limit, not a forecast.

    Parameters
    ----------
    variance : float or array
        σ², the variance of one member; at least 0.
    rho : float or array
        ρ, the correlation of two members; at most 1 and at least -1/(B - 1), below which no B
        members can be correlated.
    B : int or array of int
        Number of members.

    Returns
    -------
    float or array
        The variance of the mean; an array if one was given.

    Examples
    --------
    >>> from weald.theory import bagged_variance
    >>> bagged_variance(4.0, 0.25, 1), bagged_variance(4.0, 0.25, 10)
    (4.0, 1.3)
    >>> bagged_variance(4.0, 0.0, [1, 2, 4])
    array([4., 2., 1.])
    """
    me = "bagged_variance"
    sigma2 = numbers(me, "variance", variance, least=0.0, most=math.inf)
    members = counts(me, "B", B)
    correlation = numbers(me, "rho", rho, least=-1.0, most=1.0)
    if (1 + (members - 1) * correlation < -1e-12).any():
        raise ValueError(
            f"The 'rho' parameter of {me} must be at least -1/(B - 1): so many members cannot all "
            f"be so negatively correlated. Got rho={rho!r} and B={B!r}."
        )
    return plain(correlation * sigma2 + (1 - correlation) * sigma2 / members)


def left_out_share(n: int, m: int | None = None) -> float:
    """Share of rows that m draws with replacement from n rows leave out: (1 - 1/n)^m.

    It is the probability of one row and the expected share of all. For m = n it grows with n
    towards 1/e = 0.3679: a bootstrap sample holds 63.2 % of the rows.

    Parameters
    ----------
    n : int
        Rows drawn from.
    m : int or None, default=None
        Draws; None means n.

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
    # Not (1 - 1/n)**m: for large n the difference loses the digits that the power then magnifies.
    return math.exp(draws * math.log1p(-1 / int(n)))
