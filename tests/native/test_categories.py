"""Splits by sets of levels: the core against the naive twin, both engines against a walk."""

import dataclasses

import numpy as np
import pytest

from native import naive
from native.learning import learn, random_limits, with_more
from native.naive_categories import CategoryTreeTwin, SetGuide, SetSplit
from native.tables import random_table
from weald import _native
from weald.data import Rows, SortedTable, as_one_array, bin_rows
from weald.data.sources import ColumnTable
from weald.trees import ForestBuilder, GrownTree, TreeGrower, TreeLimits


def random_levels(rng, n: int) -> tuple[np.ndarray, int]:
    """Places of levels, some missing, and how many levels there are; not all need occur."""
    n_levels = int(rng.choice([1, 2, 3, 4, 5, 9, 30, 70, 255, 300, 700]))
    used = rng.integers(0, n_levels, n) if rng.random() < 0.5 else rng.integers(0, n_levels, n) // 3
    places = np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.2]), np.nan, used)
    return places.astype(np.float32), n_levels


def mixed_table(rng, n: int, n_columns: int) -> ColumnTable:
    numbers = random_table(rng, n, n_columns)
    columns, n_levels = [], []
    for i in range(n_columns):
        is_category = rng.random() < 0.6 or (i == n_columns - 1 and not any(n_levels))
        column, levels = random_levels(rng, n) if is_category else (numbers[:, i], 0)
        columns.append(column)
        n_levels.append(levels)
    return ColumnTable(tuple(columns), np.array(n_levels, dtype=np.int64))


def sets_of(tree: GrownTree) -> list[frozenset[int] | None]:
    """For each node the codes (one more than a level) of its set."""
    found: list[frozenset[int] | None] = []
    for set_ in tree.category_set.tolist():
        if set_ < 0:
            found.append(None)
            continue
        words = tree.words[tree.first_word[set_] : tree.first_word[set_ + 1]].tolist()
        bits = [64 * w + b for w, word in enumerate(words) for b in range(64) if word >> b & 1]
        found.append(frozenset(bit + 1 for bit in bits))
    return found


def sorted_table(table: ColumnTable, cuts: list[list[float]]) -> SortedTable:
    """Rows that the core keeps sorted by every column, cut where the twin's codes are."""
    own = [[] if n else list(c) for c, n in zip(cuts, table.n_levels.tolist(), strict=True)]
    ends = np.cumsum([0, *map(len, own)])
    levels = table.n_levels.astype(np.int32)
    values = np.array([cut for of_column in own for cut in of_column])
    return SortedTable(as_one_array(table), values, ends, levels)


def twin_codes(table: ColumnTable, max_bins: int):
    codes, n_bins, cuts = [], [], []
    for column, n_levels in zip(table.columns, table.n_levels.tolist(), strict=True):
        if n_levels:
            cut = [i + 0.5 for i in range(n_levels - 1)]
        else:
            cut = naive.cuts_of_column(column, [1] * len(column), max_bins)
        codes.append(naive.codes_of_column(column, cut))
        # For a column of wide codes the core has the categories up to the last that occurs.
        n_bins.append(len(cut) + 1 if n_levels <= 255 else max(1, *codes[-1]))
        cuts.append(cut)
    return codes, n_bins, cuts


def check_set(tree: GrownTree, i: int, split: SetSplit, codes: frozenset[int], n: int) -> None:
    """The set of node i has the codes of its split, of n, and all beyond where missing ones go."""
    missing_left = bool(tree.missing_left[i])
    expected = {
        code
        for code in range(1, n + 1)
        if (code in split.left_set if code in split.told else missing_left)
    }
    inside = {code for code in codes if code <= n}
    assert inside == expected, f"node {i}"
    assert len(codes) - len(inside) == (64 * -(-n // 64) - n) * missing_left, f"node {i}"
    assert tree.gain[i] == pytest.approx(max(split.plain_gain, 0), rel=1e-9, abs=1e-9)


def compare(
    criterion: str,
    seed: int,
    n: int,
    n_columns: int,
    cells: str,
    kind: str = "",
    is_sorted: bool = False,
) -> tuple[int, int]:
    rng = np.random.default_rng([seed, n, n_columns, 5])
    table = mixed_table(rng, n, n_columns)
    max_bins = int(rng.choice([4, 16, 255]))
    codes, n_bins, cuts = twin_codes(table, max_bins)
    if is_sorted:
        binned, n_bins = sorted_table(table, cuts), [len(cut) + 1 for cut in cuts]
    else:
        binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
    limits = with_more(
        random_limits(rng, criterion, cells), kind, rng, n_columns, table.n_levels == 0
    )
    grower = TreeGrower(binned, criterion, limits, n_threads=1 + seed % 3)
    tree, lesson = learn(criterion, grower, rng, n, cells, limits)
    last = [[*c, np.inf] for c in cuts]
    split_codes = [
        0 if f < 0 or s >= 0 else 1 + last[f].index(t)
        for f, s, t in zip(tree.feature, tree.category_set, tree.threshold.tolist(), strict=True)
    ]
    sets = sets_of(tree)
    guide = SetGuide(tree.feature, split_codes, tree.missing_left, tree.right, sets)
    plain = naive.Limits(
        **{f.name: getattr(limits, f.name) for f in dataclasses.fields(naive.Limits)}
    )
    is_category = table.n_levels > 0
    twin = CategoryTreeTwin(codes, n_bins, lesson, criterion, plain, guide, is_category)
    nodes = twin.grow().in_order()
    assert len(nodes) == len(tree.feature)
    n_sets = 0
    for i, node in enumerate(nodes):
        where = f"node {i} of {len(nodes)}"
        if node.split is None:
            assert tree.feature[i] == -1, where
            assert set(np.flatnonzero(tree.leaf_of_row == tree.right[i])) >= set(node.rows), where
            continue
        split = node.split
        assert tree.feature[i] == split.column, where
        if split.missing_left is not None:
            assert bool(tree.missing_left[i]) == split.missing_left, where
        if isinstance(split, SetSplit):
            n_sets += 1
            check_set(tree, i, split, sets[i], n_bins[split.column])
        else:
            assert sets[i] is None and split_codes[i] == split.code, where
    return len(nodes), n_sets


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_wide_cells(criterion: str, n_columns: int) -> None:
    sizes = [compare(criterion, seed, 9 + 6 * seed, n_columns, "wide") for seed in range(12)]
    assert sum(n_sets for _, n_sets in sizes) > 5


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_rows(criterion: str, seed: int) -> None:
    compare(criterion, seed, 400, 3, "wide")


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_sorted_rows(criterion: str, n_columns: int) -> None:
    sizes = [
        compare(criterion, seed, 9 + 6 * seed, n_columns, "wide", is_sorted=True)
        for seed in range(12)
    ]
    assert sum(n_sets for _, n_sets in sizes) > 5


@pytest.mark.parametrize("cells", ["packed", "automatic"])
@pytest.mark.parametrize("n_columns", [1, 4, 9])
def test_packed_cells(cells: str, n_columns: int) -> None:
    sizes = [compare("newton", seed, 9 + 9 * seed, n_columns, cells) for seed in range(15)]
    assert sum(n_sets for _, n_sets in sizes) > 5
    compare("newton", 99, 500, n_columns, cells)


# ---- predicting ----


def walked(forest, row: np.ndarray) -> float:
    """The sum over the trees, by the definition."""
    score = float(forest.base_score[0])
    for tree in range(forest.n_trees):
        first = at = int(forest.first_node[tree])
        while forest.feature[at] >= 0:
            x, missing = float(row[forest.feature[at]]), bool(forest.missing_left[at])
            set_ = int(forest.category_set[at])
            if set_ < 0:
                left = missing if np.isnan(x) else x <= forest.threshold[at]
            else:
                words = forest.words[forest.first_word[set_] : forest.first_word[set_ + 1]]
                is_level = x >= 0 and x < 64 * len(words) and x == int(x)
                left = missing
                if is_level:
                    left = bool(int(words[int(x) // 64]) >> (int(x) % 64) & 1)
            at = at + 1 if left else first + int(forest.right[at])
        leaf = int(forest.first_leaf[tree] + forest.right[at])
        score += float(forest.tree_weight[tree] * forest.value[leaf, 0])
    return score


@pytest.mark.parametrize("n_levels", [3, 64, 65, 200, 255, 256, 300, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_engines_equal_naive_traversal(n_levels: int, dtype: type) -> None:
    rng = np.random.default_rng(n_levels)
    n = 3000
    places = rng.integers(0, n_levels, n).astype(np.float32)
    places[rng.random(n) < 0.05] = np.nan
    table = ColumnTable((rng.normal(size=n), places), np.array([0, n_levels]))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=255, n_threads=1)
    limits = dataclasses.replace(random_limits(rng, "newton", "automatic"), max_leaf_nodes=20)
    limits = dataclasses.replace(limits, min_samples_leaf=3, max_depth=None, min_gain=0.0)
    grower = TreeGrower(binned, "newton", limits, n_threads=2)
    effect = np.append(rng.normal(size=n_levels), 0.5)
    forest = ForestBuilder(np.zeros(1), 2)
    for _ in range(4):
        target = effect[np.where(np.isnan(places), -1, places).astype(int)] + rng.normal(size=n)
        tree = grower.on_sums(target[np.newaxis], None, None)
        forest.add(tree, output=0)
    model = forest.build()
    assert len(model.first_word) > (1 if n_levels < 5000 else 0)
    strange = [np.nan, -1.0, 0.5, n_levels - 1, n_levels, 254, 255, 256, 1e9, np.inf, -np.inf, -0.0]
    rows = np.column_stack(
        [rng.normal(size=200), np.append(strange, rng.integers(0, n_levels, 188))]
    ).astype(dtype)
    expected = [walked(model, row) for row in rows]
    predictor = model._predictor
    engines = ["walk", "automatic"]
    if n_levels <= 255:
        engines.append("masks")
    for engine in engines:
        assert predictor.predict(rows, 2, engine)[:, 0].tolist() == expected, engine
    leaves = predictor.apply(rows, 1)
    summed = [
        sum(model.value[model.first_leaf[t] + leaf, 0] for t, leaf in enumerate(row))
        for row in leaves
    ]
    assert summed == pytest.approx(expected, rel=1e-12)


def test_unsampled_rows_follow_their_category() -> None:
    rng = np.random.default_rng(4)
    for n_levels in (6, 400):
        places = rng.integers(0, n_levels, 4000).astype(np.float32)
        table = ColumnTable((places,), np.array([n_levels]))
        binned = bin_rows(Rows(table, np.zeros(4000)), max_bins=255, n_threads=1)
        copies = (np.arange(4000) % 4 > 0).astype(np.int64)
        limits = random_limits(np.random.default_rng(1), "newton", "automatic")
        grower = TreeGrower(binned, "newton", limits, n_threads=2)
        tree = grower.on_sums(np.sin(places * 7.0)[np.newaxis].astype(float), None, copies)
        forest = ForestBuilder(np.zeros(1), 1)
        forest.add(tree, output=0)
        leaves = forest.build().apply(places[:, np.newaxis].astype(float), n_threads=1)
        assert leaves[:, 0].tolist() == tree.leaf_of_row.tolist()


DAMAGE = {
    "a set that is not there": lambda f: {"category_set": np.where(f.category_set >= 0, 99, -1)},
    "a strange mark": lambda f: {"category_set": np.where(f.category_set >= 0, -2, -1)},
    "a leaf with a set": lambda f: {"category_set": np.where(f.feature < 0, 0, f.category_set)},
    "words that end early": lambda f: {"words": f.words[:-1]},
    "words that no set has": lambda f: {"words": np.append(f.words, f.words[:1])},
    "a set without words": lambda f: {"first_word": np.insert(f.first_word, 1, 0)},
    "words that begin late": lambda f: {"first_word": f.first_word + 1},
    "sets for too few nodes": lambda f: {"category_set": f.category_set[:-1]},
    "no begin of words": lambda f: {"first_word": f.first_word[:0]},
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_sets_are_refused(what: str) -> None:
    table = ColumnTable((np.arange(60.0) % 5,), np.array([5]))
    binned = bin_rows(Rows(table, np.zeros(60)), max_bins=255, n_threads=1)
    grower = TreeGrower(
        binned, "newton", random_limits(np.random.default_rng(3), "newton", "wide"), n_threads=1
    )
    forest = ForestBuilder(np.zeros(1), 1)
    forest.add(grower.on_sums(np.sin(np.arange(60.0) % 5)[np.newaxis], None, None), output=0)
    model = forest.build()
    assert len(model.first_word) > 1
    changes = {
        name: array.astype(getattr(model, name).dtype)
        for name, array in DAMAGE[what](model).items()
    }
    with pytest.raises(ValueError, match="damaged|same length"):
        dataclasses.replace(model, **changes).predict(np.zeros((2, 1)), n_threads=1)


@pytest.mark.parametrize("seed", range(6))
def test_a_set_that_is_proven_beside_columns_that_must_be_counted(seed: int) -> None:
    # Few rows have large hessians, so that a sum of hessians proves few counts of rows.
    rng = np.random.default_rng(seed)
    n = 3000
    level = rng.integers(0, 6, n).astype(np.float32)
    numbers = [np.round(rng.normal(size=n), 2).astype(np.float32) for _ in range(5)]
    columns = (*numbers[:3], level, rng.integers(0, 40, n).astype(np.float32), *numbers[3:])
    table = ColumnTable(columns, np.array([0, 0, 0, 6, 40, 0, 0], dtype=np.int64))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=255, n_threads=1)
    gradient = np.rint(3 * np.isin(level, (1, 4)) - 1 + rng.normal(size=n))[np.newaxis]
    hessian = np.where(rng.random(n) < 0.05, 16.0, 1.0)
    # Too few rows for a leaf promise most: their column must be counted, and loses.
    numbers[0][:12], gradient[0, :12] = 9, 100
    packed, blocks, wide = (
        TreeGrower(
            binned,
            "newton",
            TreeLimits(max_leaf_nodes=31, min_samples_leaf=20, min_gain=0.0, cells=cells),
            n_threads=1,
        ).on_sums(gradient, hessian, None)
        for cells in ("packed", "blocks", "wide")
    )
    for words in (packed, blocks):
        assert sets_of(words) == sets_of(wide)
        assert words.feature.tolist() == wide.feature.tolist()
        assert words.threshold.tolist() == wide.threshold.tolist()
