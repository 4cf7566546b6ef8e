"""Per-row decomposition of squared error into variance, bias² and noise.

With p the predictions of R models, f̄ their mean and s² their variance (R - 1 degrees of freedom),
mean (p - y)² = s² + [(f̄ - y)² - s²/R] for every row: the bracket estimates bias² + noise, corrected
for the variance of f̄. The two terms add up to the error exactly.
"""

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected, group_means

Parts = dict[str, Floats]


def squared_parts(predictions: Floats, target: Floats, expected: Expected) -> Parts:
    """Return the components of every row's error; `predictions` has the shape (repeats, rows)."""
    n_repeats = len(predictions)
    mean = predictions.mean(axis=0)
    variance = predictions.var(axis=0, ddof=1)
    error = ((predictions - target) ** 2).mean(axis=0)
    parts: Parts = {"error": error, "variance": variance}
    if expected.values is None:
        return {**parts, "bias_and_noise": (mean - target) ** 2 - variance / n_repeats}
    best: Floats = expected.values
    distance, deviation = (mean - best) ** 2 - variance / n_repeats, (target - best) ** 2
    if expected.source == "true_target":
        cross = 2 * (mean - best) * (best - target)
        return {**parts, "bias_squared": distance, "noise": deviation, "remainder": cross}
    # The mean of m repeated rows has the variance noise/m, which is part of the distance.
    m = expected.group_sizes
    noise = group_means(deviation, expected.groups) * m / (m - 1)
    return {**parts, "bias_squared": distance - noise / m, "noise": noise}
