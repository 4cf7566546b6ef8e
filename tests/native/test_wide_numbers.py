"""Numbers of more than 255 bins: the trees are those of byte codes, or of sorted rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_options import settings
from native.test_sorted_engine import assert_equal, sorted_as
from weald import BoostedTreesRegressor, DecisionTreeRegressor, _native
from weald.data import BinnedTable, Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

N = 2_000


def table_of(seed: int, n_columns: int) -> np.ndarray:
    """Numbers, some of which are missing, some rounded; every third column is complete."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(N, n_columns))
    table[:, ::4] = np.round(table[:, ::4], 1)
    table[rng.random(table.shape) < 0.1] = np.nan
    table[:, ::3] = np.nan_to_num(table[:, ::3])
    return table


def with_wide_codes(binned: BinnedTable, columns: Any) -> BinnedTable:
    """The same codes, those of some columns in two bytes."""
    codes = replace(binned, codes=binned.codes.copy())
    for column in columns:
        codes.codes_of(column)[:] = 0
    wide = {int(c): binned.codes_of(c).astype(np.uint16) for c in columns}
    return replace(codes, wide=wide)


def some_limits(n_columns: int, cells: str) -> Iterator[TreeLimits]:
    common = TreeLimits(max_leaf_nodes=30, min_gain=0.0, cells=cells)
    yield common
    yield replace(common, min_samples_leaf=9, l1=0.5, l2=1.0)
    yield replace(common, growth="depth_wise", min_child_weight=3.0)
    yield replace(common, max_features=2, feature_sampling="node", seed=5)
    yield replace(common, directions=(1, -1) + (0,) * (n_columns - 2), min_samples_leaf=4)


def target_of(table: np.ndarray) -> np.ndarray:
    """Whole numbers, which cells of either kind hold exactly."""
    rng = np.random.default_rng(1)
    known = np.nan_to_num(table[:, :4], nan=0.5)
    return np.rint(np.clip(4 * known.sum(axis=1) + rng.normal(size=N), -30, 30))[np.newaxis]


@pytest.mark.parametrize("cells", ["packed", "blocks", "wide"])
@pytest.mark.parametrize(("n_columns", "wide"), [(5, [1, 2]), (5, range(5)), (19, range(1, 19))])
def test_same_trees_as_byte_codes(n_columns: int, wide: Any, cells: str) -> None:
    table = table_of(n_columns, n_columns)
    bytes_only = bin_rows(Rows(table, np.zeros(N)), max_bins=200, n_threads=1)
    assert isinstance(bytes_only, BinnedTable)
    codes = [bytes_only, with_wide_codes(bytes_only, wide)]
    copies = np.arange(N) % 3
    for limits in some_limits(n_columns, cells):
        expected, found = (
            TreeGrower(one, "newton", limits, n_threads=n).on_sums(target_of(table), None, copies)
            for n, one in enumerate(codes, start=1)
        )
        assert len(expected.value) > 10
        assert_equal(found, expected)
        assert found.saw_missing is not None and expected.saw_missing is not None
        assert found.saw_missing.tolist() == expected.saw_missing.tolist()


@pytest.mark.parametrize("n_classes", [0, 3])
def test_several_channels(n_classes: int) -> None:
    table = table_of(2, 9)
    bytes_only = bin_rows(Rows(table, np.zeros(N)), max_bins=200, n_threads=1)
    assert isinstance(bytes_only, BinnedTable)
    weight = np.random.default_rng(3).integers(1, 4, N).astype(float)
    sums = target_of(table)

    def grown(binned: BinnedTable) -> GrownTree:
        criterion = "gini" if n_classes else "squared_error"
        limits = TreeLimits(max_leaf_nodes=25, min_samples_leaf=3)
        grower = TreeGrower(binned, criterion, limits, n_threads=1)
        if n_classes:
            classes = (sums[0] % n_classes).astype(np.int32)
            return grower.on_classes(classes, n_classes, weight, None)
        return grower.on_values(np.vstack([sums, sums**2]), weight, None)

    assert_equal(grown(with_wide_codes(bytes_only, range(1, 9))), grown(bytes_only))


def test_same_tree_as_sorted_rows() -> None:
    table = table_of(4, 6)
    binned = bin_rows(Rows(table, np.zeros(N)), max_bins=900, n_threads=1)
    assert isinstance(binned, BinnedTable) and sorted(binned.wide) == [1, 2, 3, 5]
    for limits in some_limits(6, "wide"):
        expected, found = (
            TreeGrower(one, "newton", limits, n_threads=1).on_sums(target_of(table), None, None)
            for one in (sorted_as(binned, table), binned)
        )
        assert_equal(found, expected)


def digest() -> str:
    """Of trees on codes of two bytes: groups of every number of columns, some and all rows."""

    def trees() -> Iterator[dict[str, np.ndarray]]:
        for n_columns in range(1, 12):
            table = table_of(n_columns, n_columns)
            binned = bin_rows(Rows(table, np.zeros(N)), max_bins=700, n_threads=1)
            limits = TreeLimits(max_leaf_nodes=20, min_gain=0.0, cells="packed")
            tree = TreeGrower(binned, "newton", limits, n_threads=1).on_sums(
                target_of(np.repeat(table, 4, axis=1)), None, np.arange(N) % 2
            )
            yield {"feature": tree.feature, "threshold": tree.threshold, "value": tree.value}

    return digest_of(trees())


@pytest.mark.parametrize("instructions", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(instructions: str) -> None:
    assert_same_digest(instructions, "test_wide_numbers", digest())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_are_numbers_of_thresholds_below(dtype: type) -> None:
    values = table_of(5, 3).astype(dtype)
    cuts = np.unique(np.random.default_rng(6).normal(size=900))
    cuts[::7] = np.sort(np.nan_to_num(values[: len(cuts[::7]), 1]).astype(float))
    cuts = np.unique(cuts)
    codes = _native.apply_many_cuts(np.asfortranarray(values), 1, cuts, 2)
    below = 1 + np.searchsorted(cuts, values[:, 1].astype(float), side="left")
    assert codes.tolist() == np.where(np.isnan(values[:, 1]), 0, below).tolist()


def test_predictions_are_those_of_the_leaves() -> None:
    table, y = table_of(7, 5), target_of(table_of(7, 5))[0]
    tree = DecisionTreeRegressor(max_bins=800, max_leaf_nodes=60).fit(table, y)
    leaf = tree.apply(table)
    means = {one: y[leaf == one].mean() for one in np.unique(leaf)}
    assert np.allclose(tree.predict(table), [means[one] for one in leaf])


def test_more_bins_fit_a_comb_better() -> None:
    x = np.linspace(0, 1, 4_000)[:, np.newaxis]
    y = np.floor(500 * x[:, 0]) % 2
    scores = [
        BoostedTreesRegressor(
            quality="fast", n_estimators=30, max_leaf_nodes=600, max_bins=most, min_samples_leaf=1
        )
        .fit(x, y)
        .score(x, y)
        for most in (255, 2_000)
    ]
    assert scores[0] < 0.5 and scores[1] > 0.99


# ---- what is refused ----


def refused(binned: BinnedTable, limits: TreeLimits, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        TreeGrower(binned, "newton", limits, n_threads=1)


def test_damaged_wide_codes_are_refused() -> None:
    table = table_of(8, 6)
    good = bin_rows(Rows(table, np.zeros(N)), max_bins=900, n_threads=1)
    assert isinstance(good, BinnedTable)
    limits = TreeLimits()
    most = int(good.first[2] - good.first[1])
    beyond = good.wide[1].copy()
    beyond[7] = most + 2
    refused(replace(good, wide={**good.wide, 1: beyond}), limits, "one cut less than bins")
    refused(replace(good, wide={**good.wide, 1: beyond[:-1]}), limits, "one entry per row")
    with pytest.raises(ValueError, match="of columns of the table"):
        replace(good, wide={**good.wide, 6: good.wide[1]}).prove_sound()
    backwards = dict(sorted(good.wide.items(), reverse=True))
    refused(replace(good, wide=backwards), limits, "increasing order")
    refused(replace(good, wide={}), limits, "between 1 and 255 bins")
    refused(good, TreeLimits(growth="symmetric"), "at most 255 bins")


def test_option_trees_and_damaged_thresholds_are_refused() -> None:
    given = settings()
    given["n_bins"][0] = 1
    given["codes"] = given["codes"].copy()
    given["codes"][: -7 : (len(given["codes"]) - 7) // given["n_rows"]] = 0
    wide = np.ones(given["n_rows"], dtype=np.uint16)
    with pytest.raises(ValueError, match="at most 255 bins"):
        _native.OptionGrower(**{**given, "wide_columns": [0], "wide_codes": [wide]})
    values = table_of(9, 2)
    for cuts in ([2.0, 1.0], np.arange(65_536.0)):
        with pytest.raises(ValueError, match="sorted numbers"):
            _native.apply_many_cuts(values, 0, np.array(cuts), 1)
    with pytest.raises(ValueError, match="within the table"):
        _native.apply_many_cuts(values, 2, np.array([1.0]), 1)
