"""Naive rotation of a tree from its definition, with NumPy's eigenvectors."""

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from weald import _native
from weald.data import Rows, mass_of
from weald.resampling import ordered_rows
from weald.resampling.draws import Purpose

MASK = 2**64 - 1


def mix(x: int) -> int:
    for _ in range(2):
        x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & MASK
    return x ^ (x >> 32)


class Draws:
    """Counter-based random words of a key, as in cpp/base/draws.hpp."""

    def __init__(self, key: int) -> None:
        self.key = key

    def word(self, i: int) -> int:
        return mix((self.key + (i + 1) * 0x9E3779B97F4A7C15) & MASK)

    def below(self, i: int, n: int) -> int:
        return (self.word(i) * n) >> 64

    def unit(self, i: int) -> float:
        return (self.word(i) >> 11) / 2.0**53


def kept_classes(draws: Draws, classes: list[int]) -> list[int]:
    """A random set of classes; empty ones are drawn again."""
    if len(classes) == 1:
        return classes
    attempt = 0
    while True:
        first = attempt * len(classes)
        kept = [c for i, c in enumerate(classes) if draws.word(first + i) >> 63]
        if kept:
            return kept
        attempt += 1


def drawn_rows(
    model: Any, draws: Draws, rows: np.ndarray, mass: np.ndarray, is_copies: bool
) -> np.ndarray:
    """Number of draws of each row of the kept classes, class by class."""
    counts = np.zeros(len(mass))
    if model.replace:
        total = int(mass[rows].sum()) if is_copies else len(rows)
        units = np.repeat(rows, mass[rows]) if is_copies else None
        ends = np.cumsum(mass[rows].astype(object))
        for i in range(max(1, int(np.floor(model.sample_fraction * total + 0.5)))):
            unit = draws.below(i, int(ends[-1]))
            row = units[unit] if units is not None else rows[np.searchsorted(ends, unit, "right")]
            counts[row] += 1
        return counts
    for row in rows:
        expected = model.sample_fraction * (mass[row] if is_copies else 1.0)
        n = np.floor(expected) + (draws.unit(int(row)) < expected - np.floor(expected))
        counts[row] = n if is_copies else n * mass[row]
    return counts


def axes_of(X: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Eigenvectors of the covariance as columns, by decreasing eigenvalue, largest entry > 0."""
    centred = X - np.average(X, axis=0, weights=counts)
    covariance = (centred * counts[:, np.newaxis]).T @ centred / counts.sum()
    _, vectors = np.linalg.eigh(covariance)
    vectors = vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(len(vectors))])


def naive_rotation(
    model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, tree: int
) -> np.ndarray:
    """Rotation matrix of one tree of a model fitted on numbers without missing values.

    With a bootstrap `weight` is the in-bag count of each row.
    """
    columns = np.argsort(model.rotations_.rotated, kind="stable")
    rows = Rows(X, y.astype(float)).weighted(None if model.bootstrap else weight)
    index = ordered_rows(rows, n_threads=1).index
    table, target = rows.table[index] * model.rotations_.scale, rows.target[index]
    mass = np.ones(len(target), dtype=np.int64)
    if model.bootstrap:
        assert weight is not None
        mass = weight[index]
    elif rows.weight is not None:
        mass = mass_of(rows.weight[index])
    seen = np.flatnonzero(mass > 0)
    labels = target.astype(int) if is_classifier(model) else np.zeros(len(target), dtype=int)

    nothing = np.zeros((1, 2), dtype=np.uint64)
    draws = Draws(int(_native.draw(nothing, model.random_state, tree, Purpose.ROTATION)[0]))
    order = columns.tolist()
    for j in range(len(order)):
        k = j + draws.below(j, len(order) - j)
        order[j], order[k] = order[k], order[j]
    R = np.zeros((len(order), len(order)))
    bounds = model.rotations_.first_of_block
    for b, (begin, end) in enumerate(pairwise(bounds.tolist())):
        block = Draws(draws.word(2**40 + b))
        kept = kept_classes(Draws(block.word(0)), np.unique(labels[seen]).tolist())
        ours = np.concatenate([seen[labels[seen] == k] for k in kept])
        counts = drawn_rows(model, Draws(block.word(1)), ours, mass, bool(model.bootstrap))
        R[order[begin:end], begin:end] = axes_of(table[:, order[begin:end]], counts)
    return R
