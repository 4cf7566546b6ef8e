"""Trees that the core keeps are the trees whose arrays Python joins and adds up."""

from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor, _native
from weald.data import ColumnTable, Rows, bin_rows
from weald.trees import Forest, ForestBuilder, GrownTree, GrownTrees, TreeGrower, TreeLimits

N = 400
LIMITS = TreeLimits(max_leaf_nodes=6, min_samples_leaf=3, min_gain=0.0)


def a_table() -> np.ndarray:
    """Numbers, one of them missing now and then, and a column of seven levels."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(N, 4))
    table[rng.random(N) < 0.2, 1] = np.nan
    table[:, 3] = rng.integers(0, 7, N)
    return table


def rounds(n_rounds: int = 3, n_trees: int = 3) -> list[GrownTrees]:
    """Rounds of trees, some with splits on category sets."""
    table, rng = a_table(), np.random.default_rng(6)
    columns = ColumnTable(tuple(table.T.copy()), np.array([0, 0, 0, 7]))
    binned = bin_rows(Rows(columns, np.zeros(N)), max_bins=255, n_threads=1)
    level = rng.normal(size=(7, n_trees))[table[:, 3].astype(int)]
    grower = TreeGrower(binned, "newton", LIMITS, n_threads=2)
    return [
        grower.on_each(
            np.ascontiguousarray((level + rng.normal(size=level.shape)).T),
            rng.random((n_trees, N)) + 0.1,
            None,
        )
        for _ in range(n_rounds)
    ]


def built(parts: list[GrownTree] | list[GrownTrees]) -> Forest:
    builder = ForestBuilder(np.arange(3.0), 4)
    for number, part in enumerate(parts):
        if isinstance(part, GrownTrees):
            builder.add_round(part)
        else:
            builder.add(part, output=number % 3)
    return builder.build()


def assert_same(a: Forest, b: Forest) -> None:
    for name, array in vars(a).items():
        np.testing.assert_array_equal(array, getattr(b, name), err_msg=name, strict=True)


def test_joined_as_python_joins_them() -> None:
    kept = rounds()
    forest = built(kept)
    assert len(forest.first_word) > 3  # there are sets, and in several trees
    assert_same(forest, built([tree for one in kept for tree in one]))


def test_joined_with_trees_of_an_earlier_fit() -> None:
    first, *more = rounds()
    builder = ForestBuilder(np.arange(3.0), 4)
    for k, tree in enumerate(first):
        builder.add(tree, output=k)
    for one in more:
        builder.add_round(one)
    assert len(builder) == 9
    assert builder.rounds(3) == 3
    for _ in range(2):
        assert_same(builder.build(), built([first, *more]))


def tree_by_tree(grower: TreeGrower, *given: Any, **more: Any) -> list[GrownTree]:
    """What `on_each` gives, as arrays of Python: what follows is done tree by tree."""
    return list(ON_EACH(grower, *given, **more))


ON_EACH = TreeGrower.on_each


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (BoostedTreesRegressor, {"loss": "squared_error"}),
        (BoostedTreesRegressor, {"loss": "poisson", "learning_rate": 1.0}),
        (BoostedTreesRegressor, {"loss": "gamma", "max_features": 2, "random_state": 1}),
        (BoostedTreesRegressor, {"loss": "quantile", "quantile": 0.3}),
        (BoostedTreesRegressor, {"loss": "huber"}),
        (BoostedTreesClassifier, {}),
        (BoostedTreesClassifier, {"loss": "exponential"}),
        (BoostedTreesClassifier, {"subsample": 0.5, "random_state": 2, "n_bags": 2}),
        (
            BoostedTreesClassifier,
            {"early_stopping": True, "scoring": "accuracy", "random_state": 3},
        ),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_same_model(
    monkeypatch: pytest.MonkeyPatch, model: type, settings: dict[str, Any], n_classes: int
) -> None:
    table = a_table()
    y = np.floor(np.exp(table[:, 0] / 2) * 2) % n_classes + 1
    if settings.get("loss") == "exponential":
        y = np.minimum(y, 2)
    fitted = model(n_estimators=8, n_jobs=2, **settings).fit(table, y)
    monkeypatch.setattr(TreeGrower, "on_each", tree_by_tree)
    twin = model(n_estimators=8, n_jobs=2, **settings).fit(table, y)
    assert twin.fingerprint() == fitted.fingerprint()
    assert_same(fitted.forest_, twin.forest_)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_leaf_values_are_added_to_the_scores_of_their_tree(n_threads: int) -> None:
    """Many trees of few rows are shared out by trees."""
    rng = np.random.default_rng(7)
    table, n_trees = rng.normal(size=(1_500, 2)), 9
    binned = bin_rows(Rows(table, np.zeros(1_500)), max_bins=64, n_threads=1)
    grower = TreeGrower(binned, "newton", LIMITS, n_threads=n_threads)
    trees = grower.on_each(rng.normal(size=(n_trees, 1_500)), None, None)
    scores = rng.normal(size=(n_trees, 1_500))
    before = scores.copy()
    steps = [tree.value for tree in trees]
    largest = trees.take_steps("squared_error", 0.0, 0.25)
    assert largest == max(np.abs(step * 0.25).max() for step in steps)
    trees.add_to(scores, n_threads=n_threads)
    for k, tree in enumerate(trees):
        np.testing.assert_array_equal(tree.value, steps[k] * 0.25)
        np.testing.assert_array_equal(scores[k], before[k] + tree.value[tree.leaf_of_row, 0])


def test_steps_that_are_no_numbers_count_as_infinite() -> None:
    (trees,) = rounds(1)
    with np.errstate(over="ignore"):
        assert trees.take_steps("squared_error", 0.0, 1e308) == np.inf
    assert trees.take_steps("squared_error", 0.0, 1e-308) == np.inf


def test_scores_that_run_away_end_in_an_error() -> None:
    y = np.where(np.arange(N) % 2, 1.0, -1.0) * np.arange(N)
    with pytest.raises(ValueError, match="left the range of floats in round"):
        BoostedTreesRegressor(quality="fast", n_estimators=400, learning_rate=1e9).fit(a_table(), y)


def test_bad_arrays_are_refused() -> None:
    (trees,) = rounds(1)
    scores, leaves = np.zeros((3, N)), np.zeros((3, N), dtype=np.int32)
    for wrong in [(scores[:2], leaves), (scores, leaves[:2]), (scores[:, :-1].copy(), leaves)]:
        with pytest.raises(ValueError, match="shape"):
            trees.kept.add_to(*wrong, 1)
    for leaf in (-1, 99):
        leaves[1, 7] = leaf
        with pytest.raises(ValueError, match="invalid leaf index"):
            trees.kept.add_to(scores, leaves, 2)
    with pytest.raises(ValueError, match="unknown loss"):
        trees.take_steps("none", 0.0, 1.0)
    with pytest.raises(ValueError, match="rate"):
        trees.take_steps("squared_error", 0.0, 0.0)
    assert _native.join_trees([])["value"].shape == (0, 1)
    with pytest.raises((TypeError, ValueError)):
        _native.join_trees([trees.kept, None])
