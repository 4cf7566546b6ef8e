"""Naive extremely randomised trees in exact arithmetic, one column at a time."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from native.naive_columns import GOLDEN, WRAP, key_of_child, key_of_tree, mix, shuffled

TIE = Fraction(1, 10**12)


def drawn_cut(key: int, column: int, low: float, high: float) -> float:
    word = mix((key + (2**40 + column + 1) * GOLDEN) & WRAP)
    drawn = 2.0 * (low / 2 + (word >> 11) / 2.0**53 * (high / 2 - low / 2))
    return drawn if math.isfinite(drawn) and low <= drawn < high else low


@dataclass
class NaiveExtraTree:
    """One tree in pre-order; `target` holds classes, or integers to be averaged."""

    X: np.ndarray
    target: np.ndarray
    copies: np.ndarray
    max_features: int
    is_classifier: bool
    max_depth: int
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)

    def grow(self, rows: np.ndarray, key: int, depth: int = 0) -> None:
        is_done = depth == self.max_depth or len(set(self.target[rows])) == 1
        split = None if is_done else self.best(rows, key)
        column, cut, missing_left = split or (-1, 0.0, False)
        self.feature.append(column)
        self.threshold.append(cut)
        self.missing_left.append(missing_left)
        if split:
            is_left = self.sides(rows, column, cut, missing_left)
            self.grow(rows[is_left], key_of_child(key, "L"), depth + 1)
            self.grow(rows[~is_left], key_of_child(key, "R"), depth + 1)

    def best(self, rows: np.ndarray, key: int) -> tuple[int, float, bool] | None:
        best, bar = None, None
        for j, column in enumerate(shuffled(self.X.shape[1], key)):
            if j >= self.max_features and best:
                break
            for cut, missing_left in self.cuts(rows, column, key):
                is_left = self.sides(rows, column, cut, missing_left)
                score = self.score(rows[is_left]) + self.score(rows[~is_left])
                if bar is not None and score <= bar:
                    continue
                bar = score + TIE * abs(score)
                weight = self.copies[rows]
                if not np.isnan(self.X[rows, column]).any():
                    missing_left = bool(weight[is_left].sum() >= weight[~is_left].sum())
                best = (column, cut, missing_left)
        return best

    def cuts(self, rows: np.ndarray, column: int, key: int) -> list[tuple[float, bool]]:
        x = self.X[rows, column]
        present = x[~np.isnan(x)]
        if len(present) == 0 or (present.min() == present.max() and len(present) == len(x)):
            return []
        if present.min() == present.max():
            return [(math.inf, False)]
        cut = drawn_cut(key, column, float(present.min()), float(present.max()))
        return [(cut, False), (cut, True)] if len(present) < len(x) else [(cut, False)]

    def sides(self, rows: np.ndarray, column: int, cut: float, missing_left: bool) -> np.ndarray:
        x = self.X[rows, column]
        return (x <= cut) | (missing_left & np.isnan(x))

    def score(self, rows: np.ndarray) -> Fraction:
        """Contribution of a child to the gain: squared sums divided by the weight."""
        weight = self.copies[rows]
        if self.is_classifier:
            sums = np.bincount(self.target[rows], weights=weight).astype(int).tolist()
        else:
            sums = [int((weight * self.target[rows]).sum())]
        return Fraction(sum(s * s for s in sums), int(weight.sum()))


def naive_extra_tree(
    X: np.ndarray,
    target: np.ndarray,
    copies: np.ndarray,
    max_features: int,
    seed: int,
    number: int,
    *,
    is_classifier: bool,
    max_depth: int,
) -> NaiveExtraTree:
    tree = NaiveExtraTree(X.astype(float), target, copies, max_features, is_classifier, max_depth)
    tree.grow(np.flatnonzero(copies), key_of_tree(seed, number))
    return tree
