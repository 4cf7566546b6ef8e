"""What the weighted errors of the rounds say about a boosted vote: edges and a bound."""

from typing import Any

import numpy as np

from weald.theory.arguments import Floats, numbers


def edges(errors: Any) -> Floats:
    """Edge of each weak learner over a coin: γ = ½ - e.

    Parameters
    ----------
    errors : array of float, or float
        Weighted training error e of every round, as AdaBoost's `estimator_errors_`. For two
        classes: with K classes a guess is right once in K, and an edge may be negative while
        SAMME still learns.

    Returns
    -------
    array
        One edge a round; negative where a member is worse than chance.

    Examples
    --------
    >>> from weald.theory import edges
    >>> edges([0.3, 0.5])
    array([0.2, 0. ])
    """
    return 0.5 - _errors("edges", errors)


def training_error_bound(errors: Any, *, cumulative: bool = False) -> Any:
    """Bound on the training error of AdaBoost: ∏ 2√(e(1 - e)), at most exp(-2 Σ γ²).

    The share of training rows that the weighted vote gets wrong is at most this product. Holds for
    two classes, the full step (`learning_rate=1`) and weights that follow the step, that is for
    every form of AdaBoost of two classes; also where a member worse than chance is flipped. It
    says nothing about new rows, and nothing where the learning rate is smaller or classes are
    more.

    Parameters
    ----------
    errors : array of float, or float
        Weighted training error of every round.
    cumulative : bool, default=False
        Give the bound after every round instead of the last one only.

    Returns
    -------
    float, or array with one bound a round

    Examples
    --------
    AdaBoost's three stumps on the ten points:

    >>> from weald.theory import training_error_bound
    >>> round(training_error_bound([3 / 10, 3 / 14, 3 / 22]), 6)
    0.51623
    """
    shares = _errors("training_error_bound", errors)
    bounds = np.cumprod(2 * np.sqrt(shares * (1 - shares)))
    return bounds if cumulative else float(bounds[-1])


def _errors(function: str, errors: Any) -> Floats:
    shares = np.atleast_1d(numbers(function, "errors", errors, least=0.0, most=1.0))
    if shares.ndim > 1:
        raise ValueError(
            f"The 'errors' parameter of {function} must be one error a round; got an array of the "
            f"shape {shares.shape}."
        )
    return shares
