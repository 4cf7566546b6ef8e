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
    squares = np.zeros(answers.shape[1:])
    for answer in answers:
        squares += (answer - centre) ** 2
    return np.asarray(np.sqrt(squares / (len(answers) - 1)))
