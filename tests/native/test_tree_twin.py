"""The core's trees equal the naive twin's, node by node."""

import dataclasses
import math

import numpy as np
import pytest

from native import naive
from native.learning import learn, random_limits, with_more
from native.tables import random_table, random_target
from weald import _native
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits


def codes_of_splits(tree: GrownTree, cuts: list[list[float]]) -> list[int]:
    """The last code each split sends left, from its threshold; infinity stands for the last."""
    return [
        0 if column < 0 else 1 + [*cuts[column], math.inf].index(t)
        for column, t in zip(tree.feature, tree.threshold.tolist(), strict=True)
    ]


def assert_same(tree: GrownTree, twin: naive.Node, cuts, lesson, limits) -> None:
    codes = codes_of_splits(tree, cuts)
    nodes = twin.in_order()
    leaf = 0
    for i, node in enumerate(nodes):
        where = f"node {i} of {len(nodes)}"
        assert tree.weight[i] == pytest.approx(float(node.cell.weight), rel=1e-12), where
        if node.split is None:
            assert tree.feature[i] == -1, where
            assert tree.right[i] == leaf, where
            largest = max(abs(float(s)) for cell in lesson.cells for s in cell.sums)
            # Exact sums have steps of 2^-60 of the largest addend.
            step = 2.0**-59 * largest * node.cell.copies / float(node.cell.weight + limits.l2)
            assert tree.value[leaf] == pytest.approx(node.value, rel=1e-12, abs=step), where
            assert set(np.flatnonzero(tree.leaf_of_row == leaf)) >= set(node.rows), where
            leaf += 1
            continue
        split = node.split
        got = (int(tree.feature[i]), codes[i])
        assert got == (split.column, split.code), where
        if split.missing_left is not None:
            assert bool(tree.missing_left[i]) == split.missing_left, where
        assert tree.gain[i] == pytest.approx(max(split.gain, 0.0), rel=1e-12, abs=split.unsure)
        right = nodes.index(node.right, i)
        assert tree.right[i] == right, where
    assert len(tree.feature) == len(nodes)
    assert len(tree.value) == leaf


def compare(
    criterion: str, seed: int, n: int, n_columns: int, cells: str = "wide", kind: str = ""
) -> int:
    """Grow both trees on one random table; returns how many nodes they have.

    `kind`: further limits. Packed cells have few bits; whole numbers fit them without rounding.
    """
    rng = np.random.default_rng([seed, n, n_columns])
    table = random_table(rng, n, n_columns)
    max_bins = int(rng.choice([2, 4, 16, 255]))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
    cuts = [naive.cuts_of_column(column, [1] * n, max_bins) for column in table.T]
    codes = [naive.codes_of_column(x, c) for x, c in zip(table.T, cuts, strict=True)]
    limits = with_more(random_limits(rng, criterion, cells), kind, rng, n_columns)
    grower = TreeGrower(binned, criterion, limits, n_threads=1 + seed % 3)
    tree, lesson = learn(criterion, grower, rng, n, cells, limits)
    guide = naive.Guide(tree.feature, codes_of_splits(tree, cuts), tree.missing_left, tree.right)
    twin = naive.TreeTwin(
        codes,
        [len(c) + 1 for c in cuts],
        lesson,
        criterion,
        naive.Limits(**{f.name: getattr(limits, f.name) for f in dataclasses.fields(naive.Limits)}),
        guide,
    ).grow()
    assert_same(tree, twin, cuts, lesson, limits)
    return len(tree.feature)


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 17, 20])
def test_small_tables(criterion: str, n_columns: int) -> None:
    sizes = [compare(criterion, seed, n=7 + 5 * seed, n_columns=n_columns) for seed in range(8)]
    assert max(sizes) > 3


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_rows(criterion: str, seed: int) -> None:
    compare(criterion, seed, n=300, n_columns=5)


@pytest.mark.parametrize("cells", ["packed", "blocks", "automatic"])
@pytest.mark.parametrize("n_columns", [1, 8, 9, 20])
def test_packed_cells(cells: str, n_columns: int) -> None:
    for seed in range(15):
        compare("newton", seed, n=7 + 5 * seed, n_columns=n_columns, cells=cells)


@pytest.mark.parametrize("seed", range(10))
def test_packed_cells_find_as_good_a_split(seed: int) -> None:
    """Rounded to fewer bits, a first split may be another one, but none that gains less."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, 300, 9)
    binned = bin_rows(Rows(table, np.zeros(300)), max_bins=64, n_threads=1)
    gradient, hessian = random_target(rng, 300), rng.exponential(size=300)
    gains = [
        TreeGrower(
            binned,
            "newton",
            TreeLimits(max_leaf_nodes=2, min_gain=0.0, min_samples_leaf=4, cells=cells),
            n_threads=1,
        )
        .on_sums(gradient[np.newaxis], hessian, None)
        .gain[0]
        for cells in ("automatic", "wide")
    ]
    assert gains[0] >= gains[1] * (1 - 1e-3)
