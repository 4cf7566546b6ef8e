"""The best stump by trying every candidate, in exact numbers."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np

NEAR = Fraction(1, 2**40)


@dataclass(frozen=True)
class Candidate:
    column: int
    threshold: float
    missing_left: bool | None  # None: no value is missing, the heavier side is meant
    goes_right: np.ndarray
    score: Fraction


def side_score(criterion: str, sums: list[int]) -> Fraction:
    weight = sum(sums)
    if criterion == "error":
        return Fraction(max(sums))
    if criterion == "gini":
        return Fraction(sum(s * s for s in sums), weight)
    with mpmath.workdps(40):
        bits = mpmath.fsum(s * mpmath.log(mpmath.mpf(s) / weight, 2) for s in sums if s)
        return Fraction(str(bits))


def sums_of(classes: np.ndarray, mass: np.ndarray, n_classes: int) -> list[int]:
    return [int(mass[classes == k].sum()) for k in range(n_classes)]


def cut_between(a: float, b: float) -> float:
    middle = a / 2 + b / 2
    return middle if math.isfinite(middle) and a <= middle < b else a


def candidates(table, classes, mass, n_classes: int, criterion: str) -> list[Candidate]:
    """In the order in which they win ties; a row of no mass is not there, but its value is."""
    found = []
    for column, x in enumerate(table.T):
        x = x + 0.0
        missing = np.isnan(x)
        is_missing = bool(mass[missing].sum() > 0)
        values = sorted(set(x[~missing].tolist()))
        for value, after in itertools.zip_longest(values, values[1:]):
            is_rest = not mass[~missing & (x > value)].any()
            threshold = math.inf if after is None else cut_between(value, after)
            for missing_left in (False, True) if is_missing else (None,):
                right = np.where(missing, not missing_left, x > value)
                if missing_left is False and is_rest:
                    threshold, right = math.inf, missing.copy()
                counted = mass > 0
                if missing_left is None:
                    right[missing] = False
                sides = [
                    sums_of(classes[part], mass[part], n_classes)
                    for part in (counted & ~right, counted & right)
                ]
                if not all(map(sum, sides)):
                    continue
                score = sum(side_score(criterion, side) for side in sides)
                found.append(Candidate(column, threshold, missing_left, right, score))
    return found


def best_stump(table, classes, mass, n_classes: int, criterion: str) -> Candidate | None:
    if len({int(k) for k in classes[mass > 0]}) < 2:
        return None
    every = candidates(table, classes, mass, n_classes, criterion)
    if not every:
        return None
    bar = max(one.score for one in every) - NEAR * int(mass.sum())
    return next(one for one in every if one.score >= bar)
