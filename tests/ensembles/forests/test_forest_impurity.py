"""`tree_.impurity` of the trees of regression forests, against the rows of each node."""

import pickle
from typing import Any

import numpy as np
import pytest

from weald import ExtraTreesRegressor, RandomForestRegressor

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 4))
X[:, 2] = RNG.integers(0, 3, N)
X[:20] = X[0]  # rows that no column separates
Y = np.abs(3 * X[:, 0] + RNG.normal(size=N)) + 0.1

SETTINGS: list[dict[str, Any]] = [
    {},
    {"min_samples_leaf": 5},
    {"max_depth": 3},
    {"max_leaf_nodes": 9},
    {"min_samples_leaf": 3, "ccp_alpha": 0.01},
    {"min_samples_leaf": 4, "monotonic_cst": [1, 0, 0, 0]},
]


def impurity(criterion: str, y: np.ndarray, mass: np.ndarray) -> float:
    """Textbook formula."""
    if criterion == "absolute_error":
        order = np.argsort(y)
        whole = np.repeat(y[order], mass[order].astype(int))
        return float(np.abs(whole - np.median(whole)).mean())
    mean = np.average(y, weights=mass)
    lost = y * np.log(y / mean) if criterion == "poisson" else (y - mean) ** 2
    return float(np.average(lost, weights=mass))


def fitted(kind: Any, criterion: str, settings: dict[str, Any], **more: Any) -> Any:
    known = {"min_samples_leaf": 1, "max_features": 2, "random_state": 1, **settings}
    return kind(3, criterion=criterion, **known).fit(X, more.pop("y", Y), **more)


def of_nodes(view: Any, criterion: str, mass: np.ndarray, y: np.ndarray = Y) -> list[float]:
    reaches = view.decision_path(X).toarray().astype(bool) & (mass > 0)[:, np.newaxis]
    return [impurity(criterion, y[here], mass[here]) for here in reaches.T]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(
    "criterion", ["squared_error", "friedman_mse", "absolute_error", "poisson"]
)
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_impurity_of_every_node(kind: Any, criterion: str, settings: dict[str, Any]) -> None:
    forest = fitted(kind, criterion, settings)
    for tree, view in enumerate(forest.estimators_):
        mass = forest.in_bag_counts(tree) if forest.bootstrap else np.ones(N)
        wanted = of_nodes(view, criterion, mass)
        np.testing.assert_allclose(view.tree_.impurity, wanted, rtol=1e-9, atol=1e-12)
        assert not view.tree_.gain[view.tree_.feature < 0].any()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_weights(criterion: str) -> None:
    """Integer weights equal repetitions bit by bit; other weights enter the impurities."""
    copies, settings = RNG.integers(1, 4, N), {"min_samples_leaf": 5}
    weighted = fitted(ExtraTreesRegressor, criterion, {}, sample_weight=copies)
    again = ExtraTreesRegressor(3, criterion=criterion, max_features=2, random_state=1)
    again.fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
    assert weighted.forest_.gain.tobytes() == again.forest_.gain.tobytes()
    if criterion == "absolute_error":  # the naive median supports integer weights only
        return
    weight = RNG.uniform(0.5, 2.0, N)
    view = fitted(ExtraTreesRegressor, criterion, settings, sample_weight=weight).estimators_[0]
    wanted = of_nodes(view, criterion, weight)
    np.testing.assert_allclose(view.tree_.impurity, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("criterion", "size"),
    [
        ("squared_error", 1e-140),
        ("squared_error", 1e3),
        ("squared_error", 1e150),
        ("absolute_error", 1e-200),
        ("absolute_error", 1e300),
    ],
)
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_targets_of_any_size(kind: Any, criterion: str, size: float) -> None:
    """Gains are stored scaled where squares would overflow."""
    forest = fitted(kind, criterion, {"min_samples_leaf": 5}, y=Y * size)
    view = forest.estimators_[0]
    mass = forest.in_bag_counts(0) if forest.bootstrap else np.ones(N)
    got = view.tree_.impurity / size
    got = got if criterion == "absolute_error" else got / size
    np.testing.assert_allclose(got, of_nodes(view, criterion, mass), rtol=1e-9)


def test_several_outputs() -> None:
    both = np.column_stack([Y, X[:, 1] ** 2])
    view = fitted(RandomForestRegressor, "squared_error", {"bootstrap": False}, y=both)
    for tree in view.estimators_:
        each = [of_nodes(tree, "squared_error", np.ones(N), y) for y in both.T]
        np.testing.assert_allclose(tree.tree_.impurity, np.mean(each, axis=0), atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=str)
def test_kept_by_pickles_and_warm_starts(settings: dict[str, Any]) -> None:
    whole = fitted(RandomForestRegressor, "squared_error", settings)
    again = pickle.loads(pickle.dumps(whole))
    grown = RandomForestRegressor(
        1, warm_start=True, max_features=2, random_state=1, **{"min_samples_leaf": 1, **settings}
    ).fit(X, Y)
    grown.set_params(n_estimators=3).fit(X, Y)
    for other in (again, grown):
        assert other.forest_.gain.tobytes() == whole.forest_.gain.tobytes()
        got, wanted = (model.estimators_[-1].tree_.impurity for model in (other, whole))
        assert np.array_equal(got, wanted)


def test_a_warm_start_on_a_target_of_another_size() -> None:
    settings: dict[str, Any] = {"min_samples_leaf": 5, "max_features": 2, "random_state": 1}
    grown = ExtraTreesRegressor(1, warm_start=True, **settings).fit(X, Y)
    grown.set_params(n_estimators=2).fit(X, Y * 1e120)
    first, second = (view.tree_.impurity[0] for view in grown.estimators_)
    assert first == pytest.approx(Y.var())
    assert second / 1e240 == pytest.approx(Y.var())
