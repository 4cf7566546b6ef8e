"""Targets of 1e-270 to 1e270: what follows from them does not depend on their unit."""

from typing import Any

import numpy as np
import pytest

import weald
from weald.aggregation import disagreement
from weald.ensembles.exact_means import exact_means
from weald.ensembles.regressing import r_squared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = 3 * X[:, 0] + RNG.normal(size=150) + 5

# All beyond what is moderate, so that rows are drawn alike.
SCALES = [2.0**300, 2.0**600, 2.0**900, 2.0**-300, 2.0**-600, 2.0**-900]
BAGS: dict[str, Any] = {
    "forest": weald.RandomForestRegressor(40, oob_score=True, random_state=0),
    "bag of trees": weald.BaggingRegressor(n_estimators=40, oob_score=True, random_state=0),
    "bag": weald.BaggingRegressor(
        weald.DecisionTreeRegressor(), 40, oob_score=True, random_state=0
    ),
    "weighted bag": weald.BaggingRegressor(
        weald.DecisionTreeRegressor(), 40, oob_score=True, weights="oob", random_state=0
    ),
    "boosters": weald.BoostedTreesRegressor(
        quality="fast", n_estimators=10, n_bags=8, random_state=0
    ),
}


def facts(model: Any, scale: float) -> dict[str, Any]:
    """Estimates and predictions of a bag, in units of the target."""
    model.fit(X, Y * scale)
    means, spreads = model.predict(X, return_std=True)
    found = {
        "score": model.score(X, Y * scale),
        "absolute error": model.oob_.error("absolute_error") / scale,
        "its standard error": model.oob_.standard_error("absolute_error") / scale,
        "curve": model.oob_.curve("absolute_error").error[-1] / scale,
        "mean": means.mean() / scale,
        "spread": spreads.mean() / scale,
        "spread out of bag": np.nanmean(model.oob_.std) / scale,
        "interval": np.diff(model.predict_interval(X), axis=1).mean() / scale,
        "quantiles": model.predict_quantiles(X)[0, -1] / scale,
    }
    if hasattr(model, "oob_score_"):
        found["out-of-bag score"] = model.oob_score_
    if hasattr(model, "weights_"):
        found["weights"] = model.weights_
    return found


@pytest.mark.parametrize("name", BAGS)
@pytest.mark.parametrize("scale", SCALES)
def test_estimates_of_a_bag_scale_with_the_target(name: str, scale: float) -> None:
    expected, found = facts(BAGS[name], 1.0), facts(BAGS[name], scale)
    assert found.keys() == expected.keys()
    for what, value in expected.items():
        # The draws are others: rows are drawn by what they hold.
        assert found[what] == pytest.approx(value, rel=0.5 if what != "weights" else 2.0), what
    assert np.all(np.isfinite(found.get("weights", 0.0)))


@pytest.mark.parametrize("name", ["forest", "bag of trees", "boosters"])
def test_only_the_exponent_differs(name: str) -> None:
    first, *others = (facts(BAGS[name], scale) for scale in SCALES)
    for other in others:
        for what, value in first.items():
            assert other[what] == pytest.approx(value, rel=1e-9), what


def test_squared_errors_beyond_the_floats_are_infinite() -> None:
    model = weald.RandomForestRegressor(40, oob_score=True, random_state=0)
    for scale in (2.0**400, 2.0**-400):
        ledger = model.fit(X, Y * scale).oob_
        assert ledger.error() == pytest.approx(1.5 * scale**2, rel=0.5)
        assert ledger.standard_error() == pytest.approx(0.15 * scale**2, rel=0.9)
    ledger = model.fit(X, Y * 2.0**900).oob_
    assert ledger.error() == ledger.standard_error() == np.inf
    assert model.fit(X, Y * 2.0**-900).oob_.error() == 0.0


def test_importances_scale_with_the_target() -> None:
    def importance(scale: float) -> Any:
        model = weald.RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, Y * scale)
        found = model.oob_permutation_importance(X, Y * scale, loss="absolute_error", n_repeats=2)
        return np.array([found.importances_mean[0], found.standard_error[0]]) / scale

    for scale in SCALES:
        assert importance(scale) == pytest.approx(importance(1.0), rel=0.5)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "model",
    [
        weald.DecisionTreeRegressor(max_depth=4),
        weald.ExtraTreesRegressor(20, random_state=0),
        weald.RotationForestRegressor(10, random_state=0),
        weald.AdaBoostRegressor(n_estimators=10, random_state=0),
        weald.GradientBoostingRegressor(n_estimators=20),
        weald.BoostedTreesRegressor(quality="fast", n_estimators=20),
        weald.VotingRegressor([("tree", weald.DecisionTreeRegressor(max_depth=4))]),
        weald.StackingRegressor(
            [("tree", weald.DecisionTreeRegressor(max_depth=4))], "nonnegative", cv=2
        ),
        weald.OptionTreeRegressor(max_depth=4),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scores_do_not_depend_on_the_unit(model: Any, scale: float) -> None:
    plain = model.fit(X, Y).score(X, Y)
    assert model.fit(X, Y * scale).score(X, Y * scale) == pytest.approx(plain, abs=0.05)
    assert plain > 0.7


@pytest.mark.parametrize("scale", SCALES)
def test_spreads_of_option_trees_scale_with_the_target(scale: float) -> None:
    settings = {"max_depth": 3, "option_ratio": 0.05, "max_options": 3}
    _, plain = weald.OptionTreeRegressor(**settings).fit(X, Y).predict(X, return_std=True)
    model = weald.OptionTreeRegressor(**settings).fit(X, Y * scale)
    _, found = model.predict(X, return_std=True)
    assert plain.max() > 0
    np.testing.assert_allclose(found / scale, plain, rtol=1e-9)


def test_means_and_deviations_beyond_their_squares() -> None:
    large = np.array([[1e308, -1e308, 1.5e308, 1.7e308]])
    assert float(exact_means(large[0], None)) == pytest.approx(0.8e308)
    assert float(exact_means(np.array([1.0, np.inf]), None)) == np.inf
    assert np.isnan(exact_means(np.array([np.inf, -np.inf]), None))
    assert exact_means(np.array([[1.0, 3.0], [np.nan, 1.0]]), None).tolist()[0] == 2.0
    answers = np.array([[1.0], [3.0]])
    for scale in SCALES:
        assert disagreement(answers * scale) == pytest.approx([2**0.5 * scale], rel=1e-12)
        y = np.array([1.0, 2.0, 4.0])
        assert r_squared(y * scale, (y + 0.5) * scale) == pytest.approx(r_squared(y, y + 0.5))


# ---- numbers of all sizes in one target ----

TREES: list[Any] = [
    weald.DecisionTreeRegressor(),
    weald.DecisionTreeRegressor(exact=True),
    weald.DecisionTreeRegressor(max_leaf_nodes=100),
    weald.RandomForestRegressor(3, bootstrap=False, random_state=0),
    weald.ExtraTreesRegressor(3, random_state=0),
    weald.RotationForestRegressor(2, random_state=0),
    weald.OptionTreeRegressor(),
]


@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("largest", [1e12, 1e20, -1e20, 1e120, 1e300])
def test_small_numbers_beside_a_large_one(model: Any, largest: float) -> None:
    """Each row has a leaf of its own, which predicts the target of the row."""
    for n in (4, 40):
        table, y = np.arange(n)[:, np.newaxis] + 0.0, np.arange(n) * 1.2 + 1.1
        y[n - 1] = largest
        assert model.fit(table, y).predict(table) == pytest.approx(y, rel=1e-8, abs=0)


@pytest.mark.parametrize("weight", [None, np.array([2, 1, 1, 5])])
def test_the_mean_of_small_numbers_beside_a_large_one(weight: Any) -> None:
    table, y = np.arange(4)[:, np.newaxis] + 0.0, np.array([1.1, 2.3, 3.7, 1e20])
    for model in (
        weald.DecisionTreeRegressor(max_depth=1),
        weald.ExtraTreesRegressor(1, max_depth=1, random_state=1),
        weald.RandomForestRegressor(1, max_depth=1, bootstrap=False, random_state=0),
    ):
        small = np.flatnonzero(model.fit(table, y, weight).predict(table) < 1e19)
        assert len(small) >= 1 and small[-1] < 3
        expected = np.average(y[small], weights=None if weight is None else weight[small])
        assert model.predict(table[small]) == pytest.approx(expected, rel=1e-14, abs=0)


def test_small_and_large_outputs_beside_large_rows() -> None:
    table = np.arange(5)[:, np.newaxis] + 0.0
    y = np.array([[1.1, 1e-9], [2.3, 2e-9], [3.7, 3e-9], [1e20, 1e9], [4.9, 4e-9]])
    for model in (weald.DecisionTreeRegressor(), weald.ExtraTreesRegressor(2, random_state=0)):
        assert model.fit(table, y).predict(table) == pytest.approx(y, rel=1e-8, abs=0)
