"""The keys of a small node are sorted by vectors, or by plain code: trees are the same."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_labels import params
from weald import _native

# All numbers of keys in up to ten vectors of eight, and some around the ends of many of sixteen.
SIZES = [*range(2, 84), 95, 96, 97, 127, 129, 192, 200, 255, 257, 300, 511, 512, 513, 700, 1023]
TARGETS = ("numbers", "two classes", "three classes")
SPREAD = 7  # a tree samples one row in so many: neighbouring ranks would not be sorted


def seen_rows(n: int) -> np.ndarray:
    copies = np.zeros(SPREAD * n, dtype=np.int64)
    copies[np.random.default_rng(n).permutation(SPREAD * n)[:n]] = 1
    return copies


def tree_of(
    X: np.ndarray, copies: np.ndarray, criterion: str, max_leaf_nodes: int = 0, **target: Any
) -> dict[str, Any]:
    of_numbers = {"values": None, "classes": None, "n_classes": 0}
    return _native.grow_forest(
        table=_native.RankedTable(X, np.arange(len(X)), None, 1, keeps_values=False),
        params=params(max_features=X.shape[1], criterion=criterion, max_leaf_nodes=max_leaf_nodes),
        bootstrap=None,
        weight=None,
        copies=copies,
        first=0,
        n_trees=1,
        oob_sums=None,
        oob_counts=None,
        **(of_numbers | target),
    )


def grown(n: int, target: str, has_missing: bool) -> dict[str, Any]:
    """A tree of n rows that looks at both columns of every node; one has ties."""
    copies = seen_rows(n)
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.permutation(len(copies)), rng.permutation(len(copies)) // 9])
    X = X.astype(float)
    if has_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if target == "numbers":
        return tree_of(X, copies, "squared_error", values=rng.normal(size=len(X)))
    n_classes = TARGETS.index(target) + 1
    classes = rng.integers(0, n_classes, len(X)).astype(np.int32)
    return tree_of(X, copies, "entropy", classes=classes, n_classes=n_classes)


def digest() -> str:
    return digest_of(grown(*case) for case in product(SIZES, TARGETS, (False, True)))


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    assert_same_digest(instructions, "test_small_sort", digest())


@pytest.mark.parametrize("n", SIZES[::4])
def test_the_first_cut_is_the_best_of_all(n: int) -> None:
    copies = seen_rows(n)
    rng = np.random.default_rng(n)
    x, y = rng.permutation(len(copies)).astype(float), rng.normal(size=len(copies))
    tree = tree_of(x[:, None], copies, "squared_error", values=y)
    rows = np.flatnonzero(copies)
    rows = rows[np.argsort(x[rows])]
    left, n_left = np.cumsum(y[rows])[:-1], np.arange(1, n)
    scores = left**2 / n_left + (y[rows].sum() - left) ** 2 / (n - n_left)
    best = np.argmax(scores)
    assert x[rows[best]] <= tree["threshold"][0] < x[rows[best + 1]]
