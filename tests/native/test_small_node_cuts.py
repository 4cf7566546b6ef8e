"""Cuts of small nodes: the same trees by all instruction sets, and by growing node by node.

A tree of n rows has a root of n rows; nodes that are grown one by one, best first, come to the same
trees by another scan, which is plain on every machine.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_small_nodes import BIG, assert_same
from native.test_small_sort import seen_rows, tree_of
from weald import _native

SIZES = [*range(2, 41), 63, 64, 65, 255, 256, 257, 511, 512]
CRITERIA = ("squared_error", "gini", "entropy")
# Copies of a row; those of many rows add up to more than 2^16.
COPIES = {"one": (1, 2), "few": (1, 5), "many": (1, 1 << 14)}


def table_of(n_rows: int, rng: np.random.Generator, has_missing: bool) -> np.ndarray:
    """Columns without ties, with some and with many; one that determines the target's sign."""
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
    assert_same_digest(instructions, "test_small_node_cuts", digest())


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


def test_ranks_at_the_end_of_the_table() -> None:
    """The last column of the last row is read like any other."""
    n = 64
    X = np.random.default_rng(0).permutation(n * 64).reshape(n, 64).astype(float)
    classes = (X[:, -1] > np.median(X[:, -1])).astype(np.int32)
    copies = np.ones(n, dtype=np.int64)
    tree = tree_of(X, copies, "gini", classes=classes, n_classes=2)
    assert len(tree["feature"]) == 3
    assert tree["feature"][0] == 63
