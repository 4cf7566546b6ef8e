"""Edges of weak learners and AdaBoost's bound on the training error."""

from typing import Any

import numpy as np

from weald.theory.arguments import Floats, numbers


def edges(errors: Any) -> Floats:
    """Edge of each weak learner over random guessing: γ = ½ - e.

    Parameters
    ----------
    errors : array of float, or float
        Weighted training error e of every round, as in AdaBoost's `estimator_errors_`. Meant for
        two classes: with K classes, chance level is 1/K, and SAMME still improves with a slightly
        negative edge.

    Returns
    -------
    array
        One edge per round; negative where a weak learner is worse than chance.

    Examples
    --------
    >>> from weald.theory import edges
    >>> edges([0.3, 0.5])
    array([0.2, 0. ])
    """
    return 0.5 - _errors("edges", errors)


def training_error_bound(errors: Any, *, cumulative: bool = False) -> Any:
    """Bound on the training error of AdaBoost: ∏ 2√(e(1 - e)), at most exp(-2 Σ γ²).

    Upper bound on the share of training rows that the weighted vote misclassifies. Valid for all
    forms of binary AdaBoost with `learning_rate=1`, also if weak learners worse than chance are
    inverted. It does not bound the error on new rows, and does not hold for smaller learning rates
    or more than two classes.

    Parameters
    ----------
    errors : array of float, or float
        Weighted training error of every round.
    cumulative : bool, default=False
        Return the bound after every round instead of the final one only.

    Returns
    -------
    float, or array with one bound per round

    Examples
    --------
    The textbook example of three stumps on ten points:

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
            f"The 'errors' parameter of {function} must be 1-dimensional, with one error per "
            f"round; got an array of shape {shares.shape}."
        )
    return shares
