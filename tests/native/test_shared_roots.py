"""Trees that share the pass over the codes at their roots are the trees that count their own.

Roots are shared where there are 32 rows to a bin: all tables here have that many.
"""

from dataclasses import replace

import numpy as np
import pytest

from native.test_sorted_engine import assert_equal
from weald import BoostedTreesClassifier
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

LIMITS = {"max_leaf_nodes": 8, "min_samples_leaf": 3, "min_gain": 0.0}


def table_of(kind: str, n: int) -> np.ndarray:
    """Columns of many, few and missing values, one of them nearly constant."""
    rng = np.random.default_rng(11)
    table = rng.normal(size=(n, 9)).astype(np.float32)
    table[:, 1] = np.rint(table[:, 1])
    table[:, 2] = table[:, 2] > 3
    table[rng.random(table.shape) < 0.1] = np.nan
    if kind == "bundles":
        flags = rng.integers(0, 2, (n, 14)).astype(np.float32)
        return np.column_stack([flags[:, :5], table, flags[:, 5:]])
    return table[:, :1] if kind == "one column" else table


def gradients_of(table: np.ndarray, n_trees: int) -> np.ndarray:
    rng = np.random.default_rng(12)
    pull = np.nan_to_num(table[:, :9], nan=0.5) @ rng.normal(size=(min(9, table.shape[1]), n_trees))
    return np.ascontiguousarray(rng.normal(size=(n_trees, len(table))) + pull.T)


def one_by_one(
    grower: TreeGrower,
    gradients: np.ndarray,
    hessians: np.ndarray | None,
    copies: np.ndarray | None,
    *,
    member: int = 0,
) -> list[GrownTree]:
    """What `on_each` does, without anything shared."""
    trees = []
    for k, gradient in enumerate(gradients):
        hessian = None if hessians is None else hessians[k]
        tree = grower.on_sums(gradient[np.newaxis], hessian, copies, member=member + k)
        trees.append(replace(tree, leaf_of_row=tree.leaf_of_row.copy()))
    return trees


@pytest.mark.parametrize(("kind", "n"), [("plain", 400), ("one column", 300), ("bundles", 20_000)])
@pytest.mark.parametrize("n_trees", [2, 4, 7, 9, 17])
@pytest.mark.parametrize("draw", ["all rows", "some rows", "copies"])
def test_same_trees(kind: str, n: int, n_trees: int, draw: str) -> None:
    table = table_of(kind, n)
    gradients = gradients_of(table, n_trees)
    hessians = np.random.default_rng(13).random((n_trees, n)) + 0.1
    counts = np.random.default_rng(14).integers(0, 2 if draw == "some rows" else 4, n)
    copies = None if draw == "all rows" else counts
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=255 if n > 1_000 else 7, n_threads=1)
    limits = TreeLimits(**LIMITS, cells="packed")
    expected = one_by_one(
        TreeGrower(binned, "newton", limits, n_threads=1), gradients, hessians, copies
    )
    assert all(len(tree.value) > 2 for tree in expected)
    for n_threads in (1, 3):
        grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
        for _ in range(2):  # the second time the scales of the first are tried
            for tree, twin in zip(
                grower.on_each(gradients, hessians, copies), expected, strict=True
            ):
                assert_equal(tree, twin)


def test_trees_of_wide_cells_count_their_own() -> None:
    """A heavy tail keeps one class out of what the others share."""
    table = table_of("plain", 3_000)
    gradients = gradients_of(table, 5)
    gradients[2] = np.exp(8 * gradients[2])
    binned = bin_rows(Rows(table, np.zeros(3_000)), max_bins=64, n_threads=1)
    limits = TreeLimits(**LIMITS)
    expected = one_by_one(TreeGrower(binned, "newton", limits, n_threads=1), gradients, None, None)
    grower = TreeGrower(binned, "newton", limits, n_threads=2)
    for tree, twin in zip(grower.on_each(gradients, None, None), expected, strict=True):
        assert_equal(tree, twin)


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.6, "random_state": 3}, {"max_depth": 2}])
def test_same_fingerprint(monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]) -> None:
    table = table_of("plain", 800)
    y = np.digitize(gradients_of(table, 1)[0], [-3, -1, 0, 1, 2, 4])
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=6, max_bins=15, n_jobs=2, **settings
    )
    shared = model.fit(table, y).fingerprint()
    monkeypatch.setattr(TreeGrower, "on_each", one_by_one)
    assert model.fit(table, y).fingerprint() == shared
