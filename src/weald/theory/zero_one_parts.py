"""Per-row decomposition of 0/1 loss into bias, variance and noise (Domingos 2000).

The main prediction is the mode of the predictions. B = 1 where it is not the optimal class, V is
the share of predictions that differ from it. Without noise, error = B + V where B = 0, and
B - P(prediction = optimal, prediction ≠ main) where B = 1; with two classes this is B + (1 - 2B)V.
"""

import numpy as np
from numpy.typing import NDArray

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected

Codes = NDArray[np.intp]
Parts = dict[str, Floats]


def zero_one_parts(predictions: Codes, target: Codes, expected: Expected) -> Parts:
    """Return the components of every row's error; `predictions` are class codes (repeats, rows)."""
    best: Codes = target if expected.values is None else expected.values
    main = modes(predictions)
    bias = np.asarray(main != best, dtype=np.float64)
    variance = (predictions != main).mean(axis=0)
    unbiased = np.where(bias == 0, variance, 0.0)
    biased = np.where(bias == 1, (predictions == best).mean(axis=0), 0.0)
    error = (predictions != target).mean(axis=0)
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


def modes(predictions: Codes) -> Codes:
    """Most frequent class code of every column; ties go to the smallest."""
    n_classes = int(predictions.max()) + 1
    votes = np.stack([(predictions == k).sum(axis=0) for k in range(n_classes)])
    return np.asarray(votes.argmax(axis=0), dtype=np.intp)


def group_modes(codes: Codes, groups: Codes) -> Codes:
    """Most frequent class code in the group of every row."""
    votes = np.zeros((int(groups.max()) + 1, int(codes.max()) + 1), dtype=np.intp)
    np.add.at(votes, (groups, codes), 1)
    return np.asarray(votes.argmax(axis=1)[groups], dtype=np.intp)
