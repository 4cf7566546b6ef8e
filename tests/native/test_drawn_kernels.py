"""Trees of drawn cuts: the same by every instruction set, and rows lie where their cuts send them."""

import hashlib
from itertools import product
from typing import Any

import numpy as np
import pytest

from native.instructions import run_with
from native.test_labels import params
from weald import _native

# Around the sixteen rows of a vector and the rows that small nodes have; and some nodes above.
SIZES = [*range(2, 36), 47, 48, 49, 63, 65, 255, 257, 513, 1100]
CRITERIA = ("squared_error", "gini", "entropy")


def grown(
    n: int, criterion: str, dtype: type, has_missing: bool, has_copies: bool
) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Two trees of a random table; with it, its target and its copies."""
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(n, 9)), rng.integers(0, 3, (n, 2)), np.zeros(n)])
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
        params=params(max_features=3, criterion=criterion, random_cuts=True),
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
    """Of all trees."""
    whole = hashlib.sha256()
    for case in CASES:
        for n in SIZES:
            trees = grown(n, *case)[0]
            for name in sorted(trees):
                whole.update(np.asarray(trees[name]).tobytes())
    return whole.hexdigest()


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_trees_by_all_instructions(instructions: str) -> None:
    run_with(
        instructions,
        f"from native.test_drawn_kernels import digest\nassert digest() == {digest()!r}",
    )


@pytest.mark.parametrize(("criterion", "dtype", "has_missing", "has_copies"), CASES)
def test_rows_lie_where_cuts_send_them(
    criterion: str, dtype: type, has_missing: bool, has_copies: bool
) -> None:
    """One row after another: weights of nodes, answers of leaves, and cuts inside the range."""
    for n in (16, 33, 300):
        trees, X, y, copies = grown(n, criterion, dtype, has_missing, has_copies)
        feature, value = trees["feature"], trees["value"].reshape(-1, 1 + (y.dtype != np.float64))
        first_node, first_leaf = trees["first_node"], trees["first_leaf"]

        def walk(tree: int, node: int, rows: np.ndarray) -> None:
            at = first_node[tree] + node
            assert trees["weight"][at] == copies[rows].sum()
            if feature[at] < 0:
                answer = np.average(y[rows], weights=copies[rows])
                leaf = first_leaf[tree] + trees["right"][at]
                np.testing.assert_allclose(value[leaf, -1], answer, rtol=1e-12, atol=1e-12)
                return
            x = X[rows, feature[at]].astype(np.float64)
            left = np.where(
                np.isnan(x), trees["missing_left"][at] != 0, x <= trees["threshold"][at]
            )
            assert 0 < left.sum() < len(rows)
            if not np.isnan(x).any():
                assert x.min() <= trees["threshold"][at] < x.max()
            walk(tree, node + 1, rows[left])
            walk(tree, int(trees["right"][at]), rows[~left])

        for tree in range(2):
            walk(tree, 0, np.arange(n))
