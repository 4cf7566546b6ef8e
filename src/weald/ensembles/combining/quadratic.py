"""Non-negative quadratic programming, reproducible on every machine."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A pivot below this fraction of the diagonal means a linearly dependent column.
_MIN_PIVOT = 1e-11


def nonnegative_minimum(hessian: Floats, linear: Floats) -> Floats:
    """Minimise x'Ax/2 - b'x over x >= 0.

    A (`hessian`) must be positive semidefinite; b is `linear`. Active-set method of Lawson and
    Hanson. Sums have a fixed order and do not use BLAS or LAPACK, so that the result is the same
    on every machine.

    >>> nonnegative_minimum(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    n = len(linear)
    size = np.maximum(np.diag(hessian), np.finfo(float).tiny)
    x = np.zeros(n)
    passive: list[int] = []
    dependent: set[int] = set()
    for _ in range(3 * n + 10):
        descent = _negative_gradient(hessian, linear, x)
        gain = descent / np.sqrt(size)
        tolerance = 1e-12 * max(1.0, float(np.abs(linear / np.sqrt(size)).max()))
        excluded = {*passive, *dependent}
        candidates = [j for j in range(n) if j not in excluded and gain[j] > tolerance]
        if not candidates:
            return x
        chosen = max(candidates, key=lambda j: (gain[j], -j))
        if not _enter(chosen, passive, hessian, linear, x):
            dependent.add(chosen)
    return x


def _negative_gradient(hessian: Floats, linear: Floats, x: Floats) -> Floats:
    """Negative gradient at x: b - Ax."""
    products = [math.fsum((row * x).tolist()) for row in hessian]
    return np.asarray(linear - np.array(products))


def _enter(chosen: int, passive: list[int], hessian: Floats, linear: Floats, x: Floats) -> bool:
    """Add a variable to the passive set; False if it is linearly dependent or returns to zero."""
    passive.append(chosen)
    while True:
        solved = _solved(hessian, linear, passive)
        if solved is None:
            passive.remove(chosen)
            return False
        negative = [i for i, value in enumerate(solved) if value <= 0]
        if not negative:
            x[passive] = solved
            return True
        # Move towards the solution until the first variable reaches zero, and fix it there.
        now = x[passive]
        steps = {i: now[i] / (now[i] - solved[i]) for i in negative if now[i] > solved[i]}
        step = min(steps.values(), default=0.0)
        x[passive] = now + step * (np.array(solved) - now)
        leaving = [passive[i] for i in negative if steps.get(i, 0.0) <= step]
        for j in leaving:
            x[j] = 0.0
            passive.remove(j)
        if chosen in leaving:
            return False


def _solved(hessian: Floats, linear: Floats, passive: list[int]) -> list[float] | None:
    """Solve Ax = b for the variables in `passive` by Cholesky; None if A is singular there."""
    n = len(passive)
    factor = [[0.0] * n for _ in range(n)]
    half = [0.0] * n
    for i, row in enumerate(passive):
        for j, column in enumerate(passive[: i + 1]):
            rest = float(hessian[row, column]) - math.fsum(
                factor[i][k] * factor[j][k] for k in range(j)
            )
            if i == j:
                if rest <= _MIN_PIVOT * float(hessian[row, row]):
                    return None
                factor[i][i] = math.sqrt(rest)
            else:
                factor[i][j] = rest / factor[j][j]
        before = math.fsum(factor[i][k] * half[k] for k in range(i))
        half[i] = (float(linear[row]) - before) / factor[i][i]
    x = [0.0] * n
    for i in reversed(range(n)):
        after = math.fsum(factor[k][i] * x[k] for k in range(i + 1, n))
        x[i] = (half[i] - after) / factor[i][i]
    return x
