"""Symmetric growth on categorical columns: against the naive twin, and invariants."""

import dataclasses

import numpy as np
import pytest

from native import naive
from native.learning import learn, random_limits, with_more
from native.naive_categories import SetGuide
from native.naive_level_sets import SetLevelTwin, SetTest
from native.test_categories import mixed_table, sets_of, twin_codes
from weald import BoostedTreesRegressor, DecisionTreeClassifier, _native
from weald.data import Rows, bin_rows
from weald.data.sources import ColumnTable
from weald.trees import TreeGrower, TreeLimits


class LevelGuide(SetGuide):
    def agrees(self, node: int, split) -> bool:
        if not isinstance(split, SetTest):
            return self.sets[node] is None and naive.Guide.agrees(self, node, split)
        if self.feature[node] != split.column or self.sets[node] is None:
            return False
        return self.sets[node] & split.told == split.left_set and (
            split.missing_left in (None, bool(self.missing_left[node]))
        )


def compare(
    criterion: str, seed: int, n: int, n_columns: int, cells: str = "wide", kind: str = ""
) -> int:
    rng = np.random.default_rng([seed, n, n_columns, 6])
    table = mixed_table(rng, n, n_columns)
    max_bins = int(rng.choice([2, 4, 8]))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=max_bins, n_threads=1)
    codes, n_bins, cuts = twin_codes(table, max_bins)
    limits = dataclasses.replace(
        random_limits(rng, criterion, cells),
        growth="symmetric",
        max_depth=None if rng.random() < 0.3 else int(rng.integers(1, 5)),
        max_leaf_nodes=None if rng.random() < 0.5 else int(rng.integers(2, 20)),
    )
    limits = with_more(limits, kind, rng, n_columns, table.n_levels == 0)
    grower = TreeGrower(binned, criterion, limits, n_threads=1 + seed % 3)
    tree, lesson = learn(criterion, grower, rng, n, cells, limits)
    last = [[*c, np.inf] for c in cuts]
    split_codes = [
        0 if f < 0 or s >= 0 else 1 + last[f].index(t)
        for f, s, t in zip(tree.feature, tree.category_set, tree.threshold.tolist(), strict=True)
    ]
    sets = sets_of(tree)
    guide = LevelGuide(tree.feature, split_codes, tree.missing_left, tree.right, sets)
    plain = {f.name: getattr(limits, f.name) for f in dataclasses.fields(naive.Limits)}
    twin = SetLevelTwin(
        codes, n_bins, lesson, criterion, naive.Limits(**plain), guide, table.n_levels > 0
    ).grow()
    nodes = twin.in_order()
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
        assert split.missing_left in (None, bool(tree.missing_left[i])), where
        if not isinstance(split, SetTest):
            assert sets[i] is None and split_codes[i] == split.code, where
            continue
        n_sets += 1
        missing_left = bool(tree.missing_left[i])
        assert sets[i] == {
            code
            for code in range(1, 64 * -(-n_bins[split.column] // 64) + 1)
            if (code in split.left_set if code in split.told else missing_left)
        }, where
    return n_sets


@pytest.mark.parametrize("criterion", _native.criteria())
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_equals_the_naive_twin(criterion: str, n_columns: int) -> None:
    sizes = [compare(criterion, seed, 9 + 6 * seed, n_columns) for seed in range(9)]
    assert sum(sizes) > 3


@pytest.mark.parametrize("cells", ["packed", "automatic"])
@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_packed_cells(cells: str, n_columns: int) -> None:
    sizes = [compare("newton", seed, 9 + 5 * seed, n_columns, cells) for seed in range(8)]
    assert sum(sizes) > 3


def test_one_level_of_few_levels_is_the_best_split() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        columns = tuple(rng.integers(0, 4, 200).astype(np.float32) for _ in range(3))
        table = ColumnTable(columns, np.full(3, 4))
        binned = bin_rows(Rows(table, np.zeros(200)), max_bins=8, n_threads=1)
        values = rng.integers(0, 9, (1, 200)).astype(float)
        one = TreeLimits(max_depth=1, min_gain=0.0)
        trees = [
            TreeGrower(
                binned, "squared_error", dataclasses.replace(one, growth=growth), n_threads=1
            ).on_values(values, None, None)
            for growth in ("symmetric", "depth_wise")
        ]
        assert sets_of(trees[0]) == sets_of(trees[1])
        assert trees[0].value.tolist() == trees[1].value.tolist()


def test_all_nodes_of_a_level_share_one_split() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 12, (2000, 3)).astype(float)
    y = (X[:, 0] % 3 == 1).astype(int) + (X[:, 1] % 2 == 1) * 2 + rng.integers(0, 2, 2000)
    model = DecisionTreeClassifier(growth="symmetric", max_depth=4, categorical_features=[0, 1, 2])
    forest = model.fit(X, y).forest_
    depth = {0: 0}
    for node in np.flatnonzero(forest.feature >= 0).tolist():
        depth[node + 1] = depth[int(forest.right[node])] = depth[node] + 1
    questions: dict[int, set[tuple[int, ...]]] = {}
    for node in np.flatnonzero(forest.feature >= 0).tolist():
        asked = (int(forest.feature[node]), *forest.levels_left(node, 12).tolist())
        questions.setdefault(depth[node], set()).add(asked)
    assert [len(questions[d]) for d in range(4)] == [1, 1, 1, 1]
    odd = tuple(bool(level % 2) for level in range(12))
    assert questions[0] <= {(1, *odd), (1, *(not one for one in odd))}


@pytest.mark.parametrize("n_levels", [5, 70, 300, 900])
def test_columns_of_any_number_of_levels(n_levels: int) -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, n_levels, 9000), rng.random(9000)]).astype(float)
    effect = rng.normal(size=n_levels)
    y = effect[X[:, 0].astype(int)] + X[:, 1]
    parameters = {"growth": "symmetric", "max_depth": 5, "n_estimators": 30, "learning_rate": 0.3}
    sets = BoostedTreesRegressor(quality="fast", **parameters, categorical_features=[0]).fit(X, y)
    order = BoostedTreesRegressor(quality="fast", **parameters).fit(X, y)
    assert (sets.forest_.category_set >= 0).any()
    assert sets.score(X, y) > min(0.85, order.score(X, y) + 0.05)
