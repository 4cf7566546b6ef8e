"""Squared error cut into variance, bias² and noise, row by row.

With p the answers of the models of R training sets, f̄ their mean, s² their variance (over R - 1),
every row has mean (p - y)² = s² + [(f̄ - y)² - s²/R]: the bracket estimates bias² + noise without
the variance that R models leave in f̄. The two add up to the error exactly.
"""

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected, group_means

Parts = dict[str, Floats]


def squared_parts(answers: Floats, target: Floats, expected: Expected) -> Parts:
    """Parts of the error of every row; `answers` have the shape (repeats, rows)."""
    n_repeats = len(answers)
    mean = answers.mean(axis=0)
    variance = answers.var(axis=0, ddof=1)
    error = ((answers - target) ** 2).mean(axis=0)
    parts: Parts = {"error": error, "variance": variance}
    if expected.values is None:
        return {**parts, "bias_and_noise": (mean - target) ** 2 - variance / n_repeats}
    best: Floats = expected.values
    distance, deviation = (mean - best) ** 2 - variance / n_repeats, (target - best) ** 2
    if expected.source == "true_target":
        cross = 2 * (mean - best) * (best - target)
        return {**parts, "bias_squared": distance, "noise": deviation, "remainder": cross}
    # The mean of m repeated rows is itself off by noise/m, which the distance from it contains.
    m = expected.group_sizes
    noise = group_means(deviation, expected.groups) * m / (m - 1)
    return {**parts, "bias_squared": distance - noise / m, "noise": noise}
