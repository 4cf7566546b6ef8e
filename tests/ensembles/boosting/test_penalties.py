"""L1 penalty, minimum gain of a split and pruning, against their formulas."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor


def task(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (n, 5)).astype(np.float64)
    return X, X[:, 0] * (X[:, 1] > 30) + X[:, 2] / 2 + rng.integers(0, 30, n)


def one_tree(**parameters) -> BoostedTreesRegressor:
    whole = {"n_estimators": 1, "learning_rate": 1.0, "min_samples_leaf": 2}
    return BoostedTreesRegressor(quality="fast", **{**whole, **parameters})


def children_of(forest) -> list[tuple[int, int]]:
    """For each inner node of the first tree its children; (-1, -1) for a leaf."""
    n = int(forest.first_node[1])
    return [(i + 1, int(forest.right[i])) if forest.feature[i] >= 0 else (-1, -1) for i in range(n)]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("l1", [0.0, 25.0])
def test_gains_add_up_to_the_drop_of_the_objective(exact: bool, l1: float) -> None:
    """Obj* = -1/2 sum of |G|_1^2 / (H + l2) + gamma T, with the size of G less l1."""
    X, y = task()
    l2, gamma = 3.0, 40.0
    model = one_tree(l2_regularization=l2, l1_regularization=l1, min_gain=gamma, exact=exact)
    forest = model.fit(X, y).forest_
    residual = y - y.mean()
    leaves = model._leaves(X)[:, 0]
    sums = np.bincount(leaves, weights=-residual)
    sizes = np.maximum(np.abs(sums) - l1, 0.0)
    counts = np.bincount(leaves)
    expected = -np.sign(sums) * sizes / (counts + l2)
    assert forest.value[:, 0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    inner = forest.feature >= 0
    objective = -0.5 * (sizes**2 / (counts + l2)).sum() + gamma * len(counts)
    drop = gamma - objective  # at the root G is zero, up to rounding
    assert (forest.gain[inner] - gamma).sum() == pytest.approx(drop, rel=1e-9)
    assert (forest.gain[inner] > gamma).all() and inner.sum() > 3


def test_leaves_below_l1_have_value_zero() -> None:
    X, y = task()
    model = one_tree(l1_regularization=1e9).fit(X, y)
    assert np.array_equal(model.predict(X), np.full(len(X), model.forest_.base_score[0]))
    values = [
        np.abs(one_tree(l1_regularization=l1, max_leaf_nodes=8).fit(X, y).forest_.value).sum()
        for l1 in (0.0, 50.0, 500.0)
    ]
    assert values[0] > values[1] > values[2] > 0


def test_a_split_may_stay_for_what_follows_it() -> None:
    """Of two columns that matter only together the first gains nothing by itself."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 2)).astype(np.float64)
    y = np.where(X[:, 0] == X[:, 1], 1.0, -1.0) + rng.normal(size=400) / 10
    before, after = (
        one_tree(min_gain=10.0, prune=prune).fit(X, y).forest_ for prune in ("before", "after")
    )
    assert len(before.feature) == 1
    assert len(after.feature) == 7
    assert after.gain[0] < 10.0 < min(after.gain[1], after.gain[after.right[0]])


@pytest.mark.parametrize("growth", ["best_first", "depth_wise"])
@pytest.mark.parametrize("exact", [False, True])
def test_pruned_trees_end_in_splits_worth_it(growth: str, exact: bool) -> None:
    X, y = task(1)
    gamma = 600.0
    settings = {"growth": growth, "exact": exact, "min_gain": gamma, "max_leaf_nodes": 20}
    before, after, whole = (
        one_tree(**{**settings, **more}).fit(X, y).forest_
        for more in ({}, {"prune": "after"}, {"min_gain": 0.0})
    )
    assert (before.gain[before.feature >= 0] > gamma).all()
    for node, (left, right) in enumerate(children_of(after)):
        if left >= 0 and after.feature[left] < 0 and after.feature[right] < 0:
            assert after.gain[node] > gamma
    assert len(after.feature) < len(whole.feature)
    assert set(zip(after.feature, after.threshold, strict=True)) <= set(
        zip(whole.feature, whole.threshold, strict=True)
    )


@pytest.mark.parametrize("power", [3, 400, -400])
@pytest.mark.parametrize("prune", ["before", "after"])
def test_the_unit_of_the_target_is_that_of_the_limits(power: int, prune: str) -> None:
    X, y = task(2)
    plain = one_tree(min_gain=32.0, l1_regularization=4.0, prune=prune, n_estimators=3).fit(X, y)
    if abs(power) > 100:
        # The limit itself must stay a float: here it is always met, or never.
        model = one_tree(min_gain=1e-3 if power > 0 else 1.0, prune=prune).fit(
            X, np.ldexp(y, power)
        )
        n_leaves = len(model.forest_.value)
        assert n_leaves > 20 if power > 0 else n_leaves == 1
        return
    model = one_tree(
        min_gain=32.0 * 4.0**power, l1_regularization=4.0 * 2.0**power, prune=prune, n_estimators=3
    ).fit(X, np.ldexp(y, power))
    assert np.array_equal(model.forest_.feature, plain.forest_.feature)
    assert np.array_equal(model.forest_.value, np.ldexp(plain.forest_.value, power))


@pytest.mark.parametrize(
    ("loss", "degree"),
    [("squared_error", (1, 2)), ("huber", (1, 2)), ("poisson", (1, 1)), ("tweedie", (0.5, 0.5))],
)
def test_extreme_targets_keep_the_limits_in_their_units(loss: str, degree) -> None:
    """Beyond 2^200 targets are kept divided, and so is what is compared with their sums."""
    X, y = task(3)
    y = y + 1.0
    power = {"tweedie_power": 1.5} if loss == "tweedie" else {}
    models = [
        one_tree(
            loss=loss,
            min_child_weight=0.0,
            l1_regularization=2.0 ** (3 + degree[0] * exponent),
            min_gain=2.0 ** (4 + degree[1] * exponent),
            learning_rate=0.5,
            **power,
        ).fit(X, np.ldexp(y, exponent))
        for exponent in (0, 240)
    ]
    features = [model.forest_.feature.tolist() for model in models]
    assert features[0] == features[1] and len(features[0]) > 5


@pytest.mark.parametrize("prune", ["before", "after"])
def test_whole_weights_are_repetitions_and_penalties_are_in_units_of_weight(prune: str) -> None:
    X, y = task(4, n=150)
    weight = np.random.default_rng(0).integers(0, 4, 150)

    def model(unit: float):
        return one_tree(
            l1_regularization=9.0 * unit,
            l2_regularization=2.0 * unit,
            min_gain=20.0 * unit,
            min_child_weight=5.0 * unit,
            min_samples_leaf=1,
            prune=prune,
            n_estimators=4,
        )

    weighted = model(1.0).fit(X, y, weight).fingerprint()
    repeated = model(1.0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert repeated.fingerprint() == weighted
    for unit in (4.0, 2.0**-30):
        assert model(unit).fit(X, y, weight * unit).fingerprint() == weighted
    # Equal weights are a unit, too: no other model, but other penalties.
    plain = model(1.0).fit(X, y).fingerprint()
    assert model(4.0).fit(X, y, np.full(150, 4.0)).fingerprint() == plain
    assert model(1.0).fit(X, y, np.full(150, 4.0)).fingerprint() != plain


def test_classes_too() -> None:
    X, y = task(5)
    classes = np.argsort(np.argsort(y)) * 3 // len(y)
    sizes = [
        len(
            BoostedTreesClassifier(quality="fast", n_estimators=3, **more)
            .fit(X, classes)
            .forest_.feature
        )
        for more in ({}, {"min_gain": 2.0, "prune": "after"}, {"min_gain": 2.0})
    ]
    assert sizes[0] > sizes[1] >= sizes[2] > 9
