"""Number of columns sampled per split (`max_features`)."""

import math

import numpy as np

from weald.parameters import AnyOf, Limit, NoneOr, OneOf, Share, Whole

MAX_FEATURES: Limit = NoneOr(
    AnyOf((Whole(1), Share(0.0, 1.0, open_below=True), OneOf(("sqrt", "log2", "third"))))
)


def n_drawn(max_features: float | str | None, n: int) -> int:
    """Convert `max_features` to a number of columns, at least 1 and at most `n`.

    >>> [n_drawn(wanted, 64) for wanted in (None, "sqrt", "log2", "third", 0.5, 1.0, 7, 100)]
    [64, 8, 6, 21, 32, 64, 7, 64]
    """
    if max_features is None:
        return n
    if isinstance(max_features, str):
        shares = {"sqrt": math.isqrt(n), "log2": n.bit_length() - 1, "third": n // 3}
        return max(1, shares[max_features])
    if isinstance(max_features, (int, np.integer)):
        return min(n, int(max_features))
    return max(1, int(max_features * n))
