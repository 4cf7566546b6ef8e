"""How far the members are apart."""

import numpy as np
from numpy.typing import ArrayLike

from weald.aggregation.arrays import Floats, checked_scores
from weald.aggregation.means import mean


def disagreement(scores: ArrayLike, combined: ArrayLike | None = None) -> Floats:
    """The ensemble's uncertainty: the standard deviation of the members about their ensemble.

    sqrt(1 / (K - 1) * sum over the K members of (answer - combined)**2). It is zero where all
    members say what the ensemble says, and a shift of all answers does not change it. Errors that
    all members share do not show in it.

    Parameters
    ----------
    scores : array, shape (members, rows) or (members, rows, classes)
        Answers of at least two members.
    combined : array of the shape of one answer, or None
        What the ensemble says; None: the mean.

    Examples
    --------
    >>> disagreement([[1.0, 2.0], [3.0, 2.0]]).round(4).tolist()
    [1.4142, 0.0]
    """
    answers = checked_scores(scores)
    if len(answers) < 2:
        raise ValueError("One member alone cannot disagree: give two or more.")
    centre = mean(answers) if combined is None else np.asarray(combined, dtype=np.float64)
    return deviation(answers, centre)


def deviation(answers: Floats, centre: Floats) -> Floats:
    """The standard deviation of answers, members first, about their centre.

    It is worked out in a unit of its own, in which no square leaves the range of floats.

    >>> deviation(np.array([[1e200], [3e200]]), np.array([2e200])).tolist()
    [1.414213562373095e+200]
    """
    largest = max(float(np.abs(answer - centre).max(initial=0.0)) for answer in answers)
    exponent = int(np.frexp(largest)[1]) if np.isfinite(largest) else 0
    squares = np.zeros(np.shape(centre))
    for answer in answers:
        squares += np.ldexp(answer - centre, -exponent) ** 2
    return np.asarray(np.ldexp(np.sqrt(squares / (len(answers) - 1)), exponent))
