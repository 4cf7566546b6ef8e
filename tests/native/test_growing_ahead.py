"""Children made before their turn comes: the trees of several threads are those of one."""

import dataclasses

import numpy as np
import pytest

from native.learning import random_limits, with_more
from native.tables import random_table, random_target, random_weights
from native.test_categories import mixed_table
from native.test_sorted_engine import assert_equal
from weald.data import Rows, bin_rows
from weald.trees import TreeGrower, TreeLimits


def grown(binned, limits: TreeLimits, lessons, n_threads: int) -> list:
    grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
    trees = [grower.on_sums(*lesson) for lesson in lessons]
    return [dataclasses.replace(tree, leaf_of_row=tree.leaf_of_row.copy()) for tree in trees]


# Tables of more than 10 000 values are worth a second thread; nodes that do not keep all threads
# busy are split together.
@pytest.mark.parametrize("cells", ["packed", "wide"])
@pytest.mark.parametrize("has_sets", [False, True])
@pytest.mark.parametrize("kind", ["", "columns", "groups", "directions", "prune"])
def test_same_trees(cells: str, has_sets: bool, kind: str) -> None:
    rng = np.random.default_rng([len(cells), has_sets, len(kind)])
    for _ in range(3):
        n, n_columns = int(rng.integers(2_500, 6_000)), 5
        table = (mixed_table if has_sets else random_table)(rng, n, n_columns)
        max_bins = int(rng.choice([4, 255]))
        binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
        ordered = None if binned.is_category is None else 1 - binned.is_category.astype(int)
        limits = with_more(random_limits(rng, "newton", cells), kind, rng, n_columns, ordered)
        limits = dataclasses.replace(
            limits, max_leaf_nodes=int(rng.integers(2, 40)), max_depth=None
        )
        lessons = [(random_target(rng, n)[np.newaxis], *random_weights(rng, n)) for _ in range(2)]
        plain = grown(binned, limits, lessons, 1)
        for n_threads in (2, 3):
            for a, b in zip(grown(binned, limits, lessons, n_threads), plain, strict=True):
                assert_equal(a, b)


def test_equal_gains_keep_their_order() -> None:
    """Four quarters of the rows are alike: ties are split in the order of creation."""
    quarter = np.repeat(np.arange(4), 1_000)
    within = np.tile(np.arange(1_000), 4) % 10
    table = np.column_stack([quarter, within, within, np.zeros(4_000)])
    gradient = (quarter * 100.0 + within)[np.newaxis]
    binned = bin_rows(Rows(table, np.zeros(4_000)), max_bins=255, n_threads=1)
    for leaves in range(4, 12):
        for growth in ("best_first", "depth_wise"):
            limits = TreeLimits(growth=growth, max_leaf_nodes=leaves, min_gain=0.0)
            (plain,) = grown(binned, limits, [(gradient, None, None)], 1)
            assert len(plain.value) == leaves
            for n_threads in (2, 3):
                (tree,) = grown(binned, limits, [(gradient, None, None)], n_threads)
                assert_equal(tree, plain)


def test_rows_of_middling_nodes_are_sent_by_several_threads() -> None:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(40_000, 14))
    gradient = (table[:, 0] * table[:, 1] + rng.normal(size=40_000))[np.newaxis]
    hessian = rng.random(40_000)
    binned = bin_rows(Rows(table, np.zeros(40_000)), max_bins=255, n_threads=2)
    limits = TreeLimits(max_leaf_nodes=31, min_samples_leaf=20, min_gain=0.0)
    (plain,) = grown(binned, limits, [(gradient, hessian, None)], 1)
    for n_threads in (2, 3):
        (tree,) = grown(binned, limits, [(gradient, hessian, None)], n_threads)
        assert_equal(tree, plain)
