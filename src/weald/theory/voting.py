"""How often a majority of independent members is right."""

from fractions import Fraction
from typing import Any

import numpy as np

from weald.parameters import Real, Whole
from weald.theory.arguments import Floats, check, numbers

# Up to here the tail is added up in whole numbers, which takes some hundredths of a second at most.
_EXACT_MEMBERS = 1000
_EXACT_DENOMINATOR = 10**20


def majority_vote_accuracy(n: int, p: Any) -> float:
    """Probability that the majority of n independent members is right.

    For members that are each right with probability p it is the tail of a binomial distribution,
    Σ C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ over k > n/2; of an even number a tie counts one half. (So the last
    of an even number of equal members adds nothing: 6 are as good as 5.) Above p = ½ it grows with
    n towards 1, below it falls towards 0, at ½ a vote does not help.

    Holds for two classes and errors that are independent. Members trained on the same rows err
    together, and their vote gains less: `correlated_error` shows by how much.

    Parameters
    ----------
    n : int
        Number of members.
    p : float or array of n floats
        Probability to be right, of all or of each.

    Returns
    -------
    float
        For one p (taken as the decimal number it is written as) and up to 1000 members correctly
        rounded, otherwise right to about 12 digits.

    Examples
    --------
    >>> from weald.theory import majority_vote_accuracy
    >>> majority_vote_accuracy(5, 0.7)
    0.83692
    >>> majority_vote_accuracy(2, 0.7), majority_vote_accuracy(1001, 0.5)
    (0.7, 0.5)
    >>> round(majority_vote_accuracy(3, [0.9, 0.6, 0.6]), 6)
    0.792
    """
    check("majority_vote_accuracy", Whole(1), n=n)
    n = int(n)
    if np.ndim(p) == 0:
        check("majority_vote_accuracy", Real(0.0, 1.0), p=p)
        return _equal_members(n, float(p))
    accuracies = numbers("majority_vote_accuracy", "p", p, least=0.0, most=1.0)
    if accuracies.shape != (n,):
        raise ValueError(
            f"The 'p' parameter of majority_vote_accuracy must be one probability or one for each "
            f"of the {n} members. Got an array of the shape {accuracies.shape} instead."
        )
    return _unequal_members(accuracies)


def _equal_members(n: int, p: float) -> float:
    """The binomial tail, with n made odd: with ties counted one half, 2m members are as 2m - 1."""
    half = (n + 1) // 2
    # The decimal 0.7 that was meant, not the nearest binary fraction.
    written = Fraction(repr(p))
    if n <= _EXACT_MEMBERS and written.denominator <= _EXACT_DENOMINATOR:
        return _exact_tail(2 * half - 1, written)
    from scipy.special import betainc

    return float(betainc(half, half, p))


def _exact_tail(n: int, p: Fraction) -> float:
    """Σ C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ over k > n/2, n odd, in whole numbers, rounded once.

    With p = a / b every term is a whole number over bⁿ. Each follows from the one before; the
    first is that of k = n, whose coefficient is 1.
    """
    right, wrong = p.numerator, p.denominator - p.numerator
    if right == 0:
        return 0.0
    term = total = right**n
    for k in range(n, n // 2 + 1, -1):
        term = term * k * wrong // ((n - k + 1) * right)
        total += term
    return float(total / p.denominator**n)


def _unequal_members(accuracies: Floats) -> float:
    """The same for members of different accuracy: one after the other joins the count."""
    n = len(accuracies)
    chance = np.zeros(n + 1)  # of k right answers among the members so far
    chance[0] = 1.0
    for p in accuracies:
        chance[1:] = chance[1:] * (1 - p) + chance[:-1] * p
        chance[0] *= 1 - p
    tie = chance[n // 2] / 2 if n % 2 == 0 else 0.0
    return float(min(1.0, chance[n // 2 + 1 :].sum() + tie))
