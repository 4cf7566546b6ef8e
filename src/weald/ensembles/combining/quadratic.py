"""The least value of a quadratic function over numbers that are not negative."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A direction whose curvature is this small a share of the whole is one that others span already.
_FLAT = 1e-11


def nonnegative_minimum(curvature: Floats, slope: Floats) -> Floats:
    """The x >= 0 of least x'Ax/2 - b'x, for a positive semidefinite A (`curvature`) and b.

    Lawson and Hanson's active set: one number after another may leave zero, the one that gains
    most first; those that would turn negative go back. Few numbers, added in one fixed order: no
    result of BLAS or LAPACK, so that learnt weights are the same on every machine.

    >>> nonnegative_minimum(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    n = len(slope)
    size = np.maximum(np.diag(curvature), np.finfo(float).tiny)
    x = np.zeros(n)
    passive: list[int] = []
    flat: set[int] = set()
    for _ in range(3 * n + 10):
        pull = _pull(curvature, slope, x)
        gain = pull / np.sqrt(size)
        tolerance = 1e-12 * max(1.0, float(np.abs(slope / np.sqrt(size)).max()))
        open_ = [j for j in range(n) if j not in passive and j not in flat and gain[j] > tolerance]
        if not open_:
            return x
        chosen = max(open_, key=lambda j: (gain[j], -j))
        if not _enter(chosen, passive, curvature, slope, x):
            flat.add(chosen)
    return x


def _pull(curvature: Floats, slope: Floats, x: Floats) -> Floats:
    """How much faster than now the function would fall along each axis."""
    products = [math.fsum((row * x).tolist()) for row in curvature]
    return np.asarray(slope - np.array(products))


def _enter(chosen: int, passive: list[int], curvature: Floats, slope: Floats, x: Floats) -> bool:
    """Let one more number leave zero and settle the others; False if it adds no direction."""
    passive.append(chosen)
    while True:
        solved = _solved(curvature, slope, passive)
        if solved is None:
            passive.remove(chosen)
            return False
        negative = [i for i, value in enumerate(solved) if value <= 0]
        if not negative:
            x[passive] = solved
            return True
        # Go towards the solution until the first number reaches zero; it stays there.
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


def _solved(curvature: Floats, slope: Floats, passive: list[int]) -> list[float] | None:
    """Solve A x = b for the numbers in `passive` by Cholesky; None if A is flat there."""
    n = len(passive)
    factor = [[0.0] * n for _ in range(n)]
    half = [0.0] * n
    for i, row in enumerate(passive):
        for j, column in enumerate(passive[: i + 1]):
            rest = float(curvature[row, column]) - math.fsum(
                factor[i][k] * factor[j][k] for k in range(j)
            )
            if i == j:
                if rest <= _FLAT * float(curvature[row, row]):
                    return None
                factor[i][i] = math.sqrt(rest)
            else:
                factor[i][j] = rest / factor[j][j]
        before = math.fsum(factor[i][k] * half[k] for k in range(i))
        half[i] = (float(slope[row]) - before) / factor[i][i]
    x = [0.0] * n
    for i in reversed(range(n)):
        after = math.fsum(factor[k][i] * x[k] for k in range(i + 1, n))
        x[i] = (half[i] - after) / factor[i][i]
    return x
