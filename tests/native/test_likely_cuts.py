"""The cuts of a small node that a kernel lists, judged in turn: trees are those of plain code.

A tree of n rows has a root of n rows; nodes that are grown one by one, best first, come to the same
trees by another scan, which is plain on every machine.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_small_sort import seen_rows, tree_of
from native.test_thicket import BIG, assert_same
from weald import _native

SIZES = [*range(2, 41), 63, 64, 65, 255, 256, 257, 511, 512]
CRITERIA = ("squared_error", "gini", "entropy")
# Copies of a row; those of many rows add up to more than 2^16.
COPIES = {"one": (1, 2), "few": (1, 5), "many": (1, 1 << 14)}


def table_of(n_rows: int, rng: np.random.Generator, has_missing: bool) -> np.ndarray:
    """Columns without ties, with some and with many; one that tells the target's sign."""
    X = np.column_stack([rng.permutation(n_rows) // ties for ties in (1, 1, 9, 40)]).astype(float)
    if has_missing:
        X[rng.random(X.shape) < [0.0, 0.1, 0.1, 0.3]] = np.nan
    return X


def grown(n: int, criterion: str, copies: str, has_missing: bool, **limits: Any) -> dict[str, Any]:
    seen = seen_rows(n)
    rng = np.random.default_rng(n)
    seen[seen > 0] = rng.integers(*COPIES[copies], n)
    X = table_of(len(seen), rng, has_missing)
    # Of few values, so that many cuts of a node are as good as each other.
    y = np.rint(rng.normal(size=len(X)) + (X[:, 0] > len(X) / 3))
    if criterion == "squared_error":
        y = y if n % 2 else y + rng.normal(size=len(X))
        return tree_of(X, seen, criterion, values=y, **limits)
    classes = (y > 0).astype(np.int32)
    return tree_of(X, seen, criterion, classes=classes, n_classes=2, **limits)


CASES = list(product(SIZES, CRITERIA, COPIES, (False, True)))


def digest() -> str:
    return digest_of(grown(*case) for case in CASES)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    assert_same_digest(instructions, "test_likely_cuts", digest())


@pytest.mark.parametrize("n", SIZES)
def test_nodes_grown_at_once_are_those_grown_one_by_one(n: int) -> None:
    for case in product(CRITERIA, COPIES, (False, True)):
        assert_same(grown(n, *case), grown(n, *case, max_leaf_nodes=BIG))


@pytest.mark.parametrize("size", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_numbers_of_any_size(size: float, offset: float) -> None:
    """Far from zero, sums are large beside their differences."""
    n = 200
    seen, rng = seen_rows(n), np.random.default_rng(1)
    X = table_of(len(seen), rng, has_missing=False)
    values = (rng.normal(size=len(X)) + offset) * size
    assert_same(
        tree_of(X, seen, "squared_error", values=values),
        tree_of(X, seen, "squared_error", values=values, max_leaf_nodes=BIG),
    )


def spread_column(n: int, copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A table of one column, of which a tree sees every eighth row: so many times."""
    seen = np.zeros(8 * n, dtype=np.int64)
    seen[::8] = copies
    return np.arange(8.0 * n)[:, np.newaxis], seen


def gains_of_classes(copies: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Of all cuts of each row of both."""
    w = np.cumsum(copies, axis=-1, dtype=float)
    s = np.cumsum(copies * classes, axis=-1, dtype=float)
    d = s * w[:, -1:] - s[:, -1:] * w
    return (d[:, :-1] ** 2) / (w * (w[:, -1:] - w))[:, :-1]


def test_a_class_cut_just_close_enough_to_the_best() -> None:
    """The first cut that is close to a column's best is so by a hair: all cuts are judged."""
    rng = np.random.default_rng(3)
    half = rng.integers(1, 3000, (200_000, 10))
    copies = np.concatenate([half, half[:, ::-1]], axis=1)  # two cuts are the best, but for this:
    copies += rng.integers(0, 10, copies.shape)
    classes = np.tile(np.array([1, 1, 0, 1, 1, 0, 0, 1, 0, 0], dtype=np.int32), (len(half), 1))
    classes = np.concatenate([classes, classes[:, ::-1]], axis=1)
    gains = gains_of_classes(copies, classes)
    short = 2**16 * (1 - gains / gains.max(axis=1, keepdims=True))
    first = np.take_along_axis(short, (short < 0.98).argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    found = np.flatnonzero((first > 0.6) & (first < 0.95))
    assert len(found) > 5
    for i in found:
        X, seen = spread_column(20, copies[i])
        target = {"classes": np.repeat(classes[i], 8), "n_classes": 2}
        assert_same(
            tree_of(X, seen, "gini", **target),
            tree_of(X, seen, "gini", max_leaf_nodes=BIG, **target),
        )


@pytest.mark.parametrize("share", [0.3, 0.6, 0.75, 0.9, 1.1])
def test_a_cut_of_numbers_just_close_enough_to_the_best(share: float) -> None:
    """High, low, high: two cuts are the best, and the first is made worse by so little."""
    n, k = 40, 12
    half = np.random.default_rng(4).normal(size=n // 2) * 0.01 + (np.arange(n // 2) < k)
    y = np.concatenate([half, half[::-1]])
    d = y[:k].sum() * n - y.sum() * k
    y[0] -= share * 2.0**-31 * d / n
    X, seen = spread_column(n, np.ones(n, dtype=np.int64))
    values = np.repeat(y, 8)
    assert_same(
        tree_of(X, seen, "squared_error", values=values),
        tree_of(X, seen, "squared_error", values=values, max_leaf_nodes=BIG),
    )


def test_ranks_at_the_end_of_the_table() -> None:
    """The last column of the last row is read like any other."""
    n = 64
    X = np.random.default_rng(0).permutation(n * 64).reshape(n, 64).astype(float)
    classes = (X[:, -1] > np.median(X[:, -1])).astype(np.int32)
    copies = np.ones(n, dtype=np.int64)
    tree = tree_of(X, copies, "gini", classes=classes, n_classes=2)
    assert len(tree["feature"]) == 3
    assert tree["feature"][0] == 63
