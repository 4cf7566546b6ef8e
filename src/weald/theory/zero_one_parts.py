"""0/1 loss cut into bias, variance and noise, row by row (Domingos 2000).

The main prediction is the most frequent answer. B = 1 where it is not the best answer, V is the
share of answers that differ from it. Where B = 0 every such answer is wrong and V adds to the
error; where B = 1 those among them that hit the best answer repair it and subtract. Without noise
error = B + V where B = 0, and B - P(answer = best, answer ≠ main) where B = 1; with two classes all
that differ hit, hence B + (1 - 2B)V.
"""

import numpy as np
from numpy.typing import NDArray

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected

Codes = NDArray[np.intp]
Parts = dict[str, Floats]


def zero_one_parts(answers: Codes, target: Codes, expected: Expected) -> Parts:
    """Parts of the error of every row; `answers` are class numbers, shape (repeats, rows)."""
    best: Codes = target if expected.values is None else expected.values
    main = modes(answers)
    bias = np.asarray(main != best, dtype=np.float64)
    variance = (answers != main).mean(axis=0)
    unbiased = np.where(bias == 0, variance, 0.0)
    biased = np.where(bias == 1, (answers == best).mean(axis=0), 0.0)
    error = (answers != target).mean(axis=0)
    parts = {
        "error": error,
        "variance": variance,
        "variance_unbiased": unbiased,
        "variance_biased": biased,
    }
    if expected.values is None:
        return {**parts, "bias_and_noise": bias}
    noise = np.asarray(target != best, dtype=np.float64)
    effect = error - (bias + unbiased - biased)
    return {**parts, "bias": bias, "noise": noise, "noise_effect": effect}


def modes(answers: Codes) -> Codes:
    """The most frequent class number of every column; ties go to the smallest."""
    n_classes = int(answers.max()) + 1
    votes = np.stack([(answers == k).sum(axis=0) for k in range(n_classes)])
    return np.asarray(votes.argmax(axis=0), dtype=np.intp)


def group_modes(codes: Codes, groups: Codes) -> Codes:
    """The most frequent class number among the equals of every row."""
    votes = np.zeros((int(groups.max()) + 1, int(codes.max()) + 1), dtype=np.intp)
    np.add.at(votes, (groups, codes), 1)
    return np.asarray(votes.argmax(axis=1)[groups], dtype=np.intp)
