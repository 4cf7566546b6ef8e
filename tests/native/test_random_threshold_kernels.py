"""Trees of drawn cuts: the same by every instruction set, and rows lie where cuts send them."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_labels import params
from weald import _native

# Around the sixteen rows of a vector and the rows that small nodes have; and some nodes above.
SIZES = [*range(2, 36), 47, 48, 49, 63, 65, 255, 257, 513, 1100]
CRITERIA = ("squared_error", "gini", "entropy")


# Columns with many values, and how many of all a node draws: one, two, several
# at once, and more than one vector has, of rows that one or two vectors hold and of wider ones.
SHAPES = ((3, 2), (9, 3), (25, 7), (40, 11), (3, 1))


def grown(
    n: int,
    criterion: str,
    dtype: type,
    has_missing: bool,
    has_copies: bool,
    shape: tuple[int, int] = SHAPES[1],
) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Two trees of a random table; with it, its target and its copies."""
    rng = np.random.default_rng(n)
    n_columns, max_features = shape
    far = rng.choice([-1.0, 0.0, 1.0], n) * np.finfo(dtype).max  # farther apart than any number
    coarse = np.column_stack([rng.integers(0, 3, (n, 2)), np.zeros(n), far])
    X = np.column_stack([rng.normal(size=(n, n_columns)), coarse])
    if has_missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    X = X.astype(dtype)
    y = rng.normal(size=n) + (np.nan_to_num(X[:, 0]) > 0)
    classes = (y > np.median(y)).astype(np.int32)
    of_numbers = {"values": y, "classes": None, "n_classes": 0}
    of_classes = {"values": None, "classes": classes, "n_classes": 2}
    copies = rng.integers(1, 5, n) if has_copies else np.ones(n, dtype=np.int64)
    trees = _native.grow_forest(
        table=_native.RankedTable(X, np.arange(n), None, 1, keeps_values=True),
        params=params(max_features=max_features, criterion=criterion, random_cuts=True),
        bootstrap=None,
        weight=None,
        copies=copies if has_copies else None,
        first=0,
        n_trees=2,
        oob_sums=None,
        oob_counts=None,
        **(of_numbers if criterion == "squared_error" else of_classes),
    )
    return trees, X, y if criterion == "squared_error" else classes, copies


CASES = list(product(CRITERIA, (np.float32, np.float64), (False, True), (False, True)))


def digest() -> str:
    return digest_of(
        grown(n, *case, shape)[0]
        for case, shape in product(CASES, SHAPES)
        for n in (SIZES if shape in SHAPES[:2] else SIZES[::5])
    )


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    assert_same_digest(instructions, "test_random_threshold_kernels", digest())


@pytest.mark.parametrize(
    ("n", "shape"), [(16, SHAPES[2]), (33, SHAPES[1]), (300, SHAPES[3]), (301, SHAPES[0])]
)
@pytest.mark.parametrize(("criterion", "dtype", "has_missing", "has_copies"), CASES)
def test_rows_lie_where_cuts_send_them(
    n: int,
    shape: tuple[int, int],
    criterion: str,
    dtype: type,
    has_missing: bool,
    has_copies: bool,
) -> None:
    """One node after another: node weights, leaf values, and thresholds inside the range."""
    trees, X, y, copies = grown(n, criterion, dtype, has_missing, has_copies, shape)
    value = trees["value"].reshape(-1, 1 if criterion == "squared_error" else 2)[:, -1]

    def walk(tree: int, node: int, rows: np.ndarray) -> None:
        at = trees["first_node"][tree] + node
        feature, cut, right = (trees[name][at] for name in ("feature", "threshold", "right"))
        assert trees["weight"][at] == copies[rows].sum()
        if feature < 0:
            answer = np.average(y[rows], weights=copies[rows])
            leaf = trees["first_leaf"][tree] + right
            np.testing.assert_allclose(value[leaf], answer, rtol=1e-12, atol=1e-12)
            return
        x = X[rows, feature].astype(np.float64)
        left = np.where(np.isnan(x), trees["missing_left"][at] != 0, x <= cut)
        assert 0 < left.sum() < len(rows)
        assert np.isnan(x).any() or x.min() <= cut < x.max()
        walk(tree, node + 1, rows[left])
        walk(tree, int(right), rows[~left])

    for tree in range(2):
        walk(tree, 0, np.arange(n))
