"""Accuracy of the majority vote of independent classifiers."""

from fractions import Fraction
from typing import Any

import numpy as np

from weald.parameters import Real, Whole
from weald.theory.arguments import Floats, check, numbers

# Up to these sizes the binomial tail is summed exactly in integers, within some 10 ms.
_EXACT_VOTERS = 1000
_EXACT_DENOMINATOR = 10**20


def majority_vote_accuracy(n: int, p: Any) -> float:
    """Probability that the majority vote of n independent classifiers is correct.

    For classifiers of equal accuracy p, the binomial tail Σ C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ over k > n/2;
    with even n, a tie counts one half (so that 6 classifiers are as accurate as 5). With n it
    increases towards 1 if p > ½, decreases towards 0 if p < ½, and is constant at p = ½.

    Assumes two classes and independent errors. The errors of classifiers trained on the same rows
    are correlated, and their vote gains less; see `correlated_error`.

    Parameters
    ----------
    n : int
        Number of classifiers.
    p : float or array of n floats
        Accuracy of all classifiers, or of each.

    Returns
    -------
    float
        Correctly rounded for a scalar p (taken as its shortest decimal representation) and up to
        1000 classifiers, else accurate to about 12 digits.

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
        return _equal_accuracies(n, float(p))
    accuracies = numbers("majority_vote_accuracy", "p", p, least=0.0, most=1.0)
    if accuracies.shape != (n,):
        raise ValueError(
            f"The 'p' parameter of majority_vote_accuracy must be one probability or one for each "
            f"of the {n} classifiers. Got an array of shape {accuracies.shape} instead."
        )
    return _different_accuracies(accuracies)


def _equal_accuracies(n: int, p: float) -> float:
    """Binomial tail for odd n; as ties count one half, 2m voters are equivalent to 2m - 1."""
    half = (n + 1) // 2
    # The decimal 0.7 instead of the nearest binary fraction.
    written = Fraction(repr(p))
    if n <= _EXACT_VOTERS and written.denominator <= _EXACT_DENOMINATOR:
        return _exact_tail(2 * half - 1, written)
    from scipy.special import betainc

    return float(betainc(half, half, p))


def _exact_tail(n: int, p: Fraction) -> float:
    """Σ C(n, k) pᵏ (1 - p)ⁿ⁻ᵏ over k > n/2, n odd, in exact integers, rounded once.

    With p = a / b every term is an integer over bⁿ, computed from the previous one, from k = n
    downwards.
    """
    right, wrong = p.numerator, p.denominator - p.numerator
    if right == 0:
        return 0.0
    term = total = right**n
    for k in range(n, n // 2 + 1, -1):
        term = term * k * wrong // ((n - k + 1) * right)
        total += term
    return float(total / p.denominator**n)


def _different_accuracies(accuracies: Floats) -> float:
    """Poisson binomial tail, by convolution with one classifier after the other."""
    n = len(accuracies)
    chance = np.zeros(n + 1)  # probability of k correct votes so far
    chance[0] = 1.0
    for p in accuracies:
        chance[1:] = chance[1:] * (1 - p) + chance[:-1] * p
        chance[0] *= 1 - p
    tie = chance[n // 2] / 2 if n % 2 == 0 else 0.0
    return float(min(1.0, chance[n // 2 + 1 :].sum() + tie))
