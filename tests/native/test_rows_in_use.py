"""Trees grown on the first rows of a table; all others only get a leaf."""

import numpy as np
import pytest

from native.instructions import run_with
from native.test_loss_at import loss_of
from native.test_partition import walked
from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import ColumnTable, Rows, SortedTable, bin_rows
from weald.trees import ForestBuilder, TreeGrower, TreeLimits

# More rows than the blocks that threads share.
N, N_USED = 40_000, 33_001

LIMITS = {
    "packed": TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="packed"),
    "blocks": TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="blocks"),
    "wide": TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="wide"),
    "many leaves": TreeLimits(max_leaf_nodes=600, min_gain=0.0),
    "symmetric": TreeLimits(max_leaf_nodes=16, min_gain=0.0, growth="symmetric"),
}


def table_of(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 5, n)
    X[:, 2] *= rng.random(n) < 0.1  # mostly one value
    X[rng.random((n, 4)) < 0.1] = np.nan
    return X


def derivatives(X: np.ndarray, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    g = np.where(np.isnan(X[:, 0]), 0.5, np.sin(3 * X[:, 0])) + rng.normal(size=len(X))
    return g[np.newaxis], rng.random(len(X)) + 0.1


def masked(n: int, n_used: int, copies: np.ndarray | None = None) -> np.ndarray:
    """The plain twin: no copies of the rows that are not used."""
    all_copies = np.ones(n, dtype=np.int64) if copies is None else copies
    return np.where(np.arange(n) < n_used, all_copies, 0)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("name", LIMITS)
def test_first_rows_are_those_of_positive_copies(name: str, n_threads: int) -> None:
    X = table_of(N)
    g, h = derivatives(X)
    binned = bin_rows(Rows(X, np.zeros(N)), max_bins=63, n_threads=1)
    plain = TreeGrower(binned, "newton", LIMITS[name], n_threads=1)
    grower = TreeGrower(binned, "newton", LIMITS[name], n_threads=n_threads)
    repeated = np.random.default_rng(2).integers(0, 3, N)
    for copies in (None, repeated):
        twin = plain.on_sums(g, h, masked(N, N_USED, copies))
        assert_equal(grower.on_sums(g, h, copies, n_used=N_USED), twin)
        if name != "symmetric":
            (of_round,) = grower.on_each(g, h[np.newaxis], copies, n_used=N_USED)
            assert_equal(of_round, twin)


def test_on_the_derivatives_of_a_loss() -> None:
    X = table_of(N)
    y, scores = np.random.default_rng(3).integers(0, 2, N).astype(float), 0.1 * np.isnan(X[:, 0])
    binned = bin_rows(Rows(X, y), max_bins=63, n_threads=1)
    grower = TreeGrower(binned, "newton", LIMITS["packed"], n_threads=2)
    loss = loss_of("log_loss").for_core()
    of_first = grower.on_loss(loss, y, scores, None, None, n_used=N_USED)
    leaves = of_first.leaf_of_row.copy()
    twin = grower.on_loss(loss, y, scores, None, masked(N, N_USED))
    assert np.array_equal(leaves, twin.leaf_of_row)
    assert_equal(of_first, twin)


@pytest.mark.parametrize("n_used", [1, 30, 199, 200])
@pytest.mark.parametrize("engine", ["histograms", "ordered", "sorted", "exact"])
def test_small_tables(engine: str, n_used: int) -> None:
    n, limits = 200, TreeLimits(max_leaf_nodes=9, min_gain=0.0)
    X = table_of(n)
    if engine == "ordered":  # which needs values that are not missing
        X, limits = np.nan_to_num(X), TreeLimits(max_leaf_nodes=9, min_gain=0.0, cells="ordered")
    binned = bin_rows(Rows(X, np.zeros(n)), max_bins=255, n_threads=1)
    table = binned
    if engine == "sorted":
        table = SortedTable(X, binned.cuts, binned.first)
    if engine == "exact":
        table = SortedTable(X, None, None)
    plain = TreeGrower(table, "newton", limits, n_threads=1)
    grower = TreeGrower(table, "newton", limits, n_threads=2)
    some = np.random.default_rng(4).integers(0, 2, n)
    some[0] = 1
    g, h = derivatives(X)
    for copies in (None, some):
        twin = plain.on_sums(g, h, masked(n, n_used, copies))
        assert_equal(grower.on_sums(g, h, copies, n_used=n_used), twin)


def test_several_scores_share_a_tree() -> None:
    X = table_of(500)
    gradients = np.concatenate([derivatives(X, seed)[0] for seed in range(3)])
    hessian = derivatives(X)[1]
    binned = bin_rows(Rows(X, np.zeros(500)), max_bins=63, n_threads=1)
    plain, grower = (TreeGrower(binned, "newton", LIMITS["wide"], n_threads=1) for _ in range(2))
    twin = plain.on_sums(gradients, hessian, masked(500, 400))
    assert_equal(grower.on_sums(gradients, hessian, None, n_used=400), twin)


# ---- rows that are not used: partitioned by the core, walked here ----


def compare_unseen(n: int, n_threads: int) -> None:
    """Rows at the end, and rows without copies anywhere."""
    X = table_of(n, seed=n)
    g, h = derivatives(X)
    binned = bin_rows(Rows(X, np.zeros(n)), max_bins=255, n_threads=1)
    limits = TreeLimits(max_leaf_nodes=12, min_gain=0.0, cells="packed")
    grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
    some = (np.random.default_rng(n).random(n) < 0.3).astype(np.int64)
    some[0] = 1
    for copies, n_used in ((None, n - n // 3), (some, None), (some, n - n // 3)):
        tree = grower.on_sums(g, h, copies, n_used=n_used)
        np.testing.assert_array_equal(tree.leaf_of_row, walked(tree, X))


# Around the rows that the core reads, sends and shares at once.
SIZES = [2, 3, 17, 100, 1_533, 6_150, 24_580, 49_160, 60_000]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_other_rows_lie_where_the_tree_sends_them(n_threads: int) -> None:
    for n in SIZES:
        compare_unseen(n, n_threads)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_by_all_instructions(instructions: str) -> None:
    code = "from native.test_rows_in_use import SIZES, compare_unseen"
    run_with(instructions, f"{code}\nfor n in SIZES: compare_unseen(n, 2)")


@pytest.mark.parametrize("n_levels", [6, 400])
def test_other_rows_of_categories(n_levels: int) -> None:
    rng = np.random.default_rng(4)
    places = rng.integers(0, n_levels, 4_000).astype(np.float32)
    places[rng.random(4_000) < 0.1] = np.nan
    table = ColumnTable((places,), np.array([n_levels]))
    binned = bin_rows(Rows(table, np.zeros(4_000)), max_bins=255, n_threads=1)
    target = np.sin(np.nan_to_num(places, nan=3.0) * 7.0)[np.newaxis].astype(float)
    limits = TreeLimits(max_leaf_nodes=8, min_samples_leaf=5, min_gain=0.0)
    tree = TreeGrower(binned, "newton", limits, n_threads=2).on_sums(
        target, None, None, n_used=3_000
    )
    forest = ForestBuilder(np.zeros(1), 1)
    forest.add(tree, output=0)
    leaves = forest.build().apply(places[:, np.newaxis].astype(float), n_threads=1)
    assert len(tree.value) > 4
    assert leaves[:, 0].tolist() == tree.leaf_of_row.tolist()


@pytest.mark.parametrize("n_used", [0, -1, 11, 2**40])
def test_a_number_of_rows_that_are_not_there(n_used: int) -> None:
    X, g = table_of(10), np.ones((1, 10))
    grower = TreeGrower(
        bin_rows(Rows(X, np.zeros(10)), max_bins=8, n_threads=1),
        "newton",
        TreeLimits(),
        n_threads=1,
    )
    loss = loss_of("squared_error").for_core()
    for grow in (
        lambda: grower.on_sums(g, None, None, n_used=n_used),
        lambda: grower.on_each(g, None, None, n_used=n_used),
        lambda: grower.on_loss(loss, g[0], g[0], None, None, n_used=n_used),
    ):
        with pytest.raises(ValueError, match="n_used"):
            grow()
