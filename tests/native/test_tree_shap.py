"""Shapley values of the core against their definitions."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from native.instructions import run_with
from native.naive_shap import (
    background_game,
    integrated_values,
    path_game,
    shapley,
    tree_shap,
)
from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeRegressor,
    RandomForestClassifier,
    _native,
)
from weald.trees import Forest

EVERY_SET = _native.runnable_instructions()


def core_of(forest: Forest, player: np.ndarray | None = None) -> "_native.TreeShap":
    own = np.arange(forest.n_columns) if player is None else player
    return _native.TreeShap(
        **forest.native_arrays(),
        weight=forest.weight,
        player=own.astype(np.int32),
        n_players=int(own.max()) + 1,
    )


def background_core_of(forest: Forest, player: np.ndarray) -> "_native.BackgroundShap":
    return _native.BackgroundShap(
        **forest.native_arrays(), player=player.astype(np.int32), n_players=int(player.max()) + 1
    )


def table(rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
    """Numbers with ties and missing values."""
    values = rng.standard_normal((n, columns)).round(1)
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def with_levels(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, 0] = np.arange(len(X)) % 7
    X[::11, 0] = np.nan
    return X


def forests() -> dict[str, tuple[Forest, np.ndarray]]:
    rng = np.random.default_rng(0)
    X = table(rng, 400, 6)
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.nansum(np.abs(X[:, 2:]) > 0.7, axis=1)
    classes = np.digitize(y, [1, 3])
    levels = with_levels(X)
    of_levels = np.nan_to_num(levels[:, 0] % 3) + y
    fast = {"n_estimators": 4, "max_leaf_nodes": 15, "min_samples_leaf": 3, "n_bags": None}
    models = {
        "one output": (BoostedTreesRegressor(**fast), X, y),
        "a tree per class": (
            BoostedTreesClassifier(**fast, multi_class="tree_per_class"),
            X,
            classes,
        ),
        "vector leaves": (
            BoostedTreesClassifier(**fast, multi_class="vector_leaves"),
            X,
            classes,
        ),
        "full trees": (RandomForestClassifier(3, random_state=0), X[:150], classes[:150]),
        "sets of categories": (
            BoostedTreesRegressor(**fast, categorical_features=[0]),
            levels,
            of_levels,
        ),
        "one column": (DecisionTreeRegressor(max_depth=5), X[:, :1], y),
        "a leaf": (DecisionTreeRegressor(), X, np.ones(len(X))),
    }
    return {
        name: (model.fit(data, target).forest_, data)
        for name, (model, data, target) in models.items()
    }


FORESTS = forests()


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("grouped", [False, True])
def test_values_and_interactions_are_those_of_all_coalitions(name: str, grouped: bool) -> None:
    forest, X = FORESTS[name]
    player = np.arange(forest.n_columns)
    if grouped:
        player = np.minimum(player // 2, 2)
    core, n = core_of(forest, player), int(player.max()) + 1
    outputs = list(range(forest.n_outputs))
    values = core.values(X[:20], outputs, 2)
    pairs = core.interactions(X[:20], outputs, 2)
    for row in range(3):
        for output in outputs:
            game = path_game(forest, X[row], player, output)
            expected, expected_pairs = shapley(game, n)
            assert values[row, :, output] == pytest.approx(expected, abs=1e-12)
            assert pairs[row, :, :, output] == pytest.approx(expected_pairs, abs=1e-12)
            assert core.expected()[output] == pytest.approx(game(frozenset()), abs=1e-12)
    scores = forest.predict(X[:20], n_threads=1)
    assert values.sum(axis=1) + core.expected() == pytest.approx(scores, abs=1e-12)
    assert pairs.sum(axis=2) == pytest.approx(values, abs=1e-12)
    assert np.array_equal(pairs, pairs.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("engine", ["patterns", "pairs", "automatic"])
def test_values_against_background_rows_are_those_of_all_coalitions(name: str, engine: str) -> None:
    forest, X = FORESTS[name]
    for player in (np.arange(forest.n_columns), np.minimum(np.arange(forest.n_columns) // 2, 2)):
        core, n = background_core_of(forest, player), int(player.max()) + 1
        outputs, rows = list(range(forest.n_outputs)), X[50:57]
        values = core.values(X[:20], rows, outputs, 2, engine)
        for row in range(2):
            for output in outputs:
                game = background_game(forest, X[row], rows, player, output)
                expected, _ = shapley(game, n)
                assert values[row, :, output] == pytest.approx(expected, abs=1e-12)
        scores = forest.predict(X[:20], n_threads=1)
        mean = forest.predict(rows, n_threads=1).mean(axis=0)
        assert values.sum(axis=1) + mean == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize("n_columns", [3, 11, 20])
def test_values_of_deep_trees_equal_two_twins(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    X = table(rng, 120, n_columns)
    tree = DecisionTreeRegressor(max_features=1, random_state=0).fit(X, rng.normal(size=120))
    forest, player = tree.forest_, np.arange(n_columns)
    values = core_of(forest).values(X[:9], [0], 1)[:, :, 0]
    for row in range(2):
        expected = integrated_values(forest, X[row], player, 0)
        assert values[row] == pytest.approx(expected, abs=1e-12)
        assert values[row] == pytest.approx(tree_shap(forest, X[row], 0), abs=1e-9)


def chain(n_columns: int) -> Forest:
    """A tree that splits on another column at every step down."""
    n = 2 * n_columns + 1
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    leaves = np.cumsum(~inner) - 1
    weight = np.where(inner, 0.0, np.arange(n) % 7 + 1.0)
    weight[inner] = np.cumsum(weight[::-1])[::-1][inner]
    number = np.arange(n_columns, dtype=np.int32)
    feature = np.full(n, -1, dtype=np.int32)
    feature[inner] = number
    return Forest(
        feature=feature,
        threshold=np.zeros(n),
        right=np.where(inner, np.arange(n) + 2, leaves).astype(np.int32),
        missing_left=np.zeros(n, dtype=np.uint8),
        weight=weight,
        gain=np.zeros(n),
        value=(leaves[~inner] % 5 - 2.0)[:, np.newaxis],
        first_node=np.array([0, n]),
        first_leaf=np.array([0, n_columns + 1]),
        output=np.zeros(1, dtype=np.int32),
        tree_weight=np.ones(1),
        base_score=np.zeros(1),
        n_columns=n_columns,
    )


@pytest.mark.parametrize("n_columns", [17, 40, 101])
def test_values_of_long_paths_are_exact(n_columns: int) -> None:
    """The quadrature has as many points as it needs."""
    forest, rng = chain(n_columns), np.random.default_rng(0)
    X = rng.normal(size=(3, n_columns))
    X[1], X[2] = 1.0, -1.0
    values = core_of(forest).values(X, [0], 1)[:, :, 0]
    for row in range(3):
        expected = integrated_values(forest, X[row], np.arange(n_columns), 0)
        assert values[row] == pytest.approx(expected, abs=1e-13)


def test_paths_beyond_the_limit_are_refused() -> None:
    forest = chain(1025)
    core = core_of(forest)
    assert core.most_players() == 1025
    with pytest.raises(ValueError, match="1024 different columns"):
        core.values(np.zeros((1, 1025)), [0], 1)
    assert core_of(chain(1024)).values(np.zeros((1, 1024)), [0], 1).shape == (1, 1024, 1)
    # Deep, but one column.
    one = replace(forest, feature=np.minimum(forest.feature, 0), n_columns=1)
    assert core_of(one).values(np.ones((1, 1)), [0], 1)[0, 0, 0] == pytest.approx(
        forest.value[-1, 0] - core_of(one).expected()[0]
    )


def test_children_without_weight_have_no_influence_on_the_mean() -> None:
    forest = FORESTS["one output"][0]
    X = FORESTS["one output"][1]
    weight = forest.weight.copy()
    weight[::3] = 0.0
    empty = replace(forest, weight=weight)
    for row in range(3):
        expected, _ = shapley(path_game(empty, X[row], np.arange(6), 0), 6)
        assert core_of(empty).values(X[row : row + 1], [0], 1)[0, :, 0] == pytest.approx(expected)


def values_of_all() -> np.ndarray:
    parts = []
    for forest, X in FORESTS.values():
        core, outputs = core_of(forest), list(range(forest.n_outputs))
        parts += [core.values(X[:43], outputs, 2), core.interactions(X[:9], outputs, 1)]
    deep = chain(40)
    parts.append(core_of(deep).values(np.linspace(-1, 1, 400).reshape(10, 40), [0], 1))
    return np.concatenate([part.ravel() for part in parts])


@pytest.mark.parametrize("instructions", EVERY_SET)
def test_every_instruction_set_gives_the_same_bits(instructions: str) -> None:
    digest = hashlib.sha256(values_of_all().tobytes()).hexdigest()
    run_with(
        instructions,
        "import hashlib\nfrom native.test_tree_shap import values_of_all\n"
        f"assert hashlib.sha256(values_of_all().tobytes()).hexdigest() == {digest!r}",
    )


@pytest.mark.parametrize("name", FORESTS)
def test_values_do_not_depend_on_threads_layout_and_other_rows(name: str) -> None:
    forest, X = FORESTS[name]
    core, outputs = core_of(forest), list(range(forest.n_outputs))
    values = core.values(X, outputs, 1)
    assert np.array_equal(core.values(X, outputs, 3), values)
    assert np.array_equal(core.values(np.asfortranarray(X), outputs, 2), values)
    assert np.array_equal(core.values(X[7:8], outputs, 2), values[7:8])
    some = outputs[-1:]
    assert np.array_equal(core.values(X, some, 2), values[:, :, some])
    single = X.astype(np.float32)
    assert np.array_equal(
        core.values(single, outputs, 2), core.values(single.astype(np.float64), outputs, 2)
    )
    rows = X[:30]
    other = background_core_of(forest, np.arange(forest.n_columns))
    against = other.values(X, rows, outputs, 1)
    assert np.array_equal(other.values(X, rows, outputs, 3), against)


def test_wrong_arguments_are_refused() -> None:
    forest, X = FORESTS["one output"]
    arrays, player = forest.native_arrays(), np.arange(6, dtype=np.int32)
    given = {"weight": forest.weight, "player": player, "n_players": 6}
    for change, message in (
        ({"weight": forest.weight[:-1]}, "one entry per node"),
        ({"weight": -forest.weight}, "not negative"),
        ({"weight": np.full(len(forest.weight), np.inf)}, "finite"),
        ({"player": player[:-1]}, "one entry per column"),
        ({"player": player - 1}, r"\[0, n_players\)"),
        ({"n_players": 5}, r"\[0, n_players\)"),
        ({"n_players": 0}, "n_players"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.TreeShap(**arrays, **{**given, **change})
    core, other = core_of(forest), background_core_of(forest, player)
    for outputs in ([1], [-1]):
        with pytest.raises(ValueError, match="outputs"):
            core.values(X, outputs, 1)
        with pytest.raises(ValueError, match="outputs"):
            other.values(X, X, outputs, 1)
    with pytest.raises(ValueError, match="columns"):
        core.values(X[:, :5].copy(), [0], 1)
    with pytest.raises(ValueError, match="columns"):
        other.values(X, X[:, :5].copy(), [0], 1)
    with pytest.raises(ValueError, match="at least one row"):
        other.values(X, X[:0], [0], 1)
    with pytest.raises(ValueError, match="unknown engine"):
        other.values(X, X, [0], 1, "other")
    with pytest.raises(ValueError, match="too deep"):
        background_core_of(chain(20), np.arange(20)).values(
            np.zeros((1, 20)), np.zeros((1, 20)), [0], 1, "patterns"
        )
    assert core.values(X[:0], [0], 1).shape == (0, 6, 1)
    assert core.values(X, [], 1).shape == (len(X), 6, 0)
