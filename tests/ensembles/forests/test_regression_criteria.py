"""Regression trees with Poisson deviance and absolute error, against naive code."""

import numpy as np
import pytest

from weald import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from weald.trees.medians import weighted_median

EVERY_KIND = [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor]


def task(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.floor(np.exp(X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)))


def naive_median(values: np.ndarray, weight: np.ndarray) -> float:
    """Median with integer weights, by repeating values."""
    return float(np.median(np.repeat(values, weight)))


def naive_loss(criterion: str, y: np.ndarray, weight: np.ndarray) -> float:
    """Loss of the best constant prediction."""
    if criterion == "absolute_error":
        return float((weight * np.abs(y - naive_median(y, weight))).sum())
    mean = (weight * y).sum() / weight.sum()
    logs = np.log(np.where(y > 0, y, 1.0) / mean)
    return float((weight * np.where(y > 0, y * logs, 0.0)).sum())


def naive_best(criterion: str, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Largest decrease over all splits of all columns."""
    best = -np.inf
    for x in X.T:
        for cut in np.unique(x)[:-1]:
            left = x <= cut
            if criterion == "poisson" and not (y[left].any() and y[~left].any()):
                continue
            sides = [naive_loss(criterion, y[side], weight[side]) for side in (left, ~left)]
            best = max(best, naive_loss(criterion, y, weight) - sum(sides))
    return best


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
@pytest.mark.parametrize("n", [5, 40, 150])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_split_is_the_best_of_all(criterion, n, is_weighted, seed) -> None:
    X, y = task(n, seed)
    weight = np.random.default_rng(seed).integers(1, 4, n) if is_weighted else np.ones(n, int)
    best = max(naive_best(criterion, X, y, weight), 0.0)  # there may be no split at all
    for more in ({}, {"max_features": 3}):
        tree = DecisionTreeRegressor(criterion=criterion, max_depth=1, random_state=0, **more)
        assert tree.fit(X, y, weight).tree_.gain[0] == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 6}], ids=str)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_leaves_predict_medians(limits: dict, is_weighted: bool) -> None:
    X, y = task(200)
    weight = np.random.default_rng(0).integers(1, 5, 200) if is_weighted else np.ones(200, int)
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=5, **limits)
    model.fit(X, y, weight)
    leaves = model.forest_.apply(X, n_threads=1).ravel()
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        assert model.forest_.value[leaf, 0] == naive_median(y[rows], weight[rows])
    # The total gain of all splits is the loss of the root minus that of the leaves.
    left = sum(
        naive_loss("absolute_error", y[leaves == leaf], weight[leaves == leaf])
        for leaf in np.unique(leaves)
    )
    whole = naive_loss("absolute_error", y, weight)
    assert model.tree_.gain.sum() == pytest.approx(whole - left, rel=1e-9)
    assert model.forest_.gain.sum() == pytest.approx(whole, rel=1e-9)


def test_both_growers_make_the_same_tree_of_medians() -> None:
    """A limit on leaves that does not bind changes only the order of growth."""
    X, y = task(150)
    free = DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    bound = DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=10_000).fit(X, y)
    assert bound.fingerprint() == free.fingerprint()
    assert bound.forest_.gain == pytest.approx(free.forest_.gain)


def some_trees(kind: type, criterion: str, **settings):
    if kind is not DecisionTreeRegressor:
        settings["n_estimators"] = 4
    return kind(criterion=criterion, random_state=0, **settings)


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_whole_weights_are_repetitions(kind: type, criterion: str) -> None:
    X, y = task(90)
    rng = np.random.default_rng(1)
    copies = rng.integers(0, 4, 90)
    if kind is RandomForestRegressor:  # drawn rows count as often as they were drawn
        model = some_trees(kind, criterion, min_samples_leaf=2, max_features=2, max_samples=100)
    else:
        model = some_trees(kind, criterion, min_samples_leaf=1)
    weighted = model.fit(X, y, copies).fingerprint()
    again = rng.permutation(np.repeat(np.arange(90), copies))
    assert model.fit(X[again], y[again]).fingerprint() == weighted


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_order_scale_of_weights_and_threads_do_not_matter(kind: type, criterion: str) -> None:
    X, y = task(90)
    rng = np.random.default_rng(1)
    some, order, weight = rng.integers(0, 60, 90), rng.permutation(90), rng.integers(0, 4, 90)
    X, y = X[some], y[some]
    model = some_trees(kind, criterion, min_samples_leaf=2)
    expected = model.fit(X, y, weight).fingerprint()
    assert model.fit(X[order], y[order], weight[order]).fingerprint() == expected
    assert model.fit(X, y, weight * 4).fingerprint() == expected
    assert model.set_params(n_jobs=2).fit(X, y, weight).fingerprint() == expected


@pytest.mark.parametrize("n", [200, 3000])
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_large_nodes_and_missing_values(kind: type, n: int) -> None:
    X, y = task(n)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    for criterion in ("poisson", "absolute_error"):
        model = kind(5, criterion=criterion, random_state=0, min_samples_leaf=3)
        predicted = model.fit(X, y).predict(X)
        assert np.abs(y - predicted).mean() < 0.8 * np.abs(y - np.median(y)).mean()


def test_absolute_error_is_not_led_by_outliers() -> None:
    X, y = task(300)
    spoilt = y.copy()
    spoilt[::20] += 1e6
    errors = [
        np.abs(
            DecisionTreeRegressor(criterion=criterion, min_samples_leaf=20)
            .fit(X, spoilt)
            .predict(X)
            - y
        ).mean()
        for criterion in ("absolute_error", "squared_error")
    ]
    assert errors[0] < 0.01 * errors[1]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_pruned_leaves_predict_medians_again(kind: type) -> None:
    X, y = task(120)
    settings = {} if kind is DecisionTreeRegressor else {"n_estimators": 3, "bootstrap": False}
    whole = kind(criterion="absolute_error", random_state=0, **settings).fit(X, y)
    model = kind(criterion="absolute_error", ccp_alpha=0.05, random_state=0, **settings).fit(X, y)
    assert len(model.forest_.value) < len(whole.forest_.value)
    for number, leaves in enumerate(model.forest_.apply(X, n_threads=1).T):
        tree = model.forest_.tree(number)
        for leaf in np.unique(leaves):
            assert tree.value[leaf, 0] == np.median(y[leaves == leaf])


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_counts_only(kind: type) -> None:
    X, y = task(30)
    with pytest.raises(ValueError, match="of y are negative which .* first of them is -3"):
        kind(criterion="poisson").fit(X, np.where(np.arange(30) == 4, -3.0, y))
    with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
        kind(criterion="poisson").fit(X, np.zeros(30))
    # Rows of weight 0 are ignored.
    negative = np.where(np.arange(30) == 4, -3.0, y)
    kind(criterion="poisson").fit(X, negative, (negative >= 0).astype(float))


@pytest.mark.parametrize("scale", [2.0**-700, 2.0**700])
@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_any_unit(criterion: str, scale: float) -> None:
    X, y = task(80)
    limits = {"min_impurity_decrease": 0.01, "ccp_alpha": 0.01}
    model = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y)
    limits = {name: value * scale for name, value in limits.items()}
    other = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y * scale)
    assert np.array_equal(other.predict(X), model.predict(X) * scale)
    assert len(model.forest_.value) > 3


def test_no_levels_and_no_bins_by_absolute_error() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"] * 10})
    with pytest.raises(TypeError, match="absolute_error"):
        DecisionTreeRegressor(criterion="absolute_error").fit(frame, np.arange(20.0))
    with pytest.raises(ValueError, match="growth, exact and max_bins"):
        DecisionTreeRegressor(criterion="absolute_error", exact=True).fit(*task(20))


def test_weighted_medians() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, mass = rng.integers(0, 6, 7).astype(float), rng.integers(0, 3, 7)
        mass[0] = 1
        assert weighted_median(values, mass) == naive_median(values, mass)
