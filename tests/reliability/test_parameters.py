"""Parameters: wrong, unknown, in conflict, changed after the fit; functions of the user."""

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import weald
from contract.subjects import EVERY_ESTIMATOR, answers, has, quick, same_parameters, table, task
from reliability.families import FAMILIES, every_family


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_an_unknown_parameter_names_the_nearest(estimator) -> None:
    known = list(quick(estimator).get_params(deep=False))
    name = known[-1] + "s"
    with pytest.raises(TypeError) as raised:
        estimator(**{name: 3})
    start = f"{estimator.__name__}() got an unexpected keyword argument '{name}'. "
    assert str(raised.value).startswith(start) and "Did you mean '" in str(raised.value)
    with pytest.raises(TypeError, match="It has .*'n_jobs'"):
        estimator(zzz=3)
    with pytest.raises(ValueError, match=rf"(?s)Invalid parameter '{name}' .* Valid parameters"):
        quick(estimator).set_params(**{name: 3})


def test_a_class_of_a_user_keeps_its_own_constructor() -> None:
    class Mine(weald.DecisionTreeRegressor):
        def __init__(self, *, depth: int = 2, max_depth: int | None = None) -> None:
            super().__init__(max_depth=max_depth)
            self.depth = depth

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"max_depth": self.max_depth, "depth": self.depth}

    assert Mine(depth=3).depth == 3
    with pytest.raises(TypeError, match="Mine.* 'dept'. Did you mean 'depth'"):
        Mine(dept=3)


def test_a_class_of_a_user_is_checked_by_its_own_parameters() -> None:
    """Whatever was fitted before: names are remembered class by class, values never."""

    class Narrow(weald.DecisionTreeRegressor):
        def __init__(self, *, max_depth: int | None = None) -> None:
            super().__init__(max_depth=max_depth)

    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8.0)
    weald.DecisionTreeRegressor().fit(X, y)
    narrow = Narrow(max_depth=1).fit(X, y)
    assert list(narrow.get_params()) == ["max_depth"]
    for model in (narrow, weald.DecisionTreeRegressor().fit(X, y)):
        with pytest.raises(ValueError, match="'max_depth' parameter"):
            model.set_params(max_depth=-1).fit(X, y)


every_seeded = pytest.mark.parametrize(
    "estimator", [one for one in FAMILIES if has(one, "random_state")]
)


@every_seeded
@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, "0", np.random.default_rng(0)], ids=str)
def test_what_are_no_seeds(estimator, seed: Any) -> None:
    X, y = task(estimator, n=20)
    with pytest.raises(ValueError, match=r"'random_state' parameter .* RandomState instance"):
        quick(estimator).set_params(random_state=seed).fit(X, y)


@every_seeded
def test_every_kind_of_seed(estimator) -> None:
    X, y = task(estimator, n=30)
    for seed in (0, 2**32 - 1, np.int64(7), None, np.random.RandomState(3)):
        model = quick(estimator).set_params(random_state=seed).fit(X, y)
        assert np.isfinite(answers(model, X)).all()


@every_family
def test_parameters_set_after_fit_change_no_prediction(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    expected = answers(model, X)
    name = "n_estimators" if has(estimator, "n_estimators") else "n_jobs"
    model.set_params(**{name: 2})
    assert np.array_equal(answers(model, X), expected)
    assert same_parameters(clone(model), model) and same_parameters(copy.deepcopy(model), model)
    assert not hasattr(clone(model), "n_features_in_")


# ---- what does not go together ----

FEWER = [one for one in FAMILIES if has(one, "warm_start")]


@pytest.mark.parametrize("estimator", FEWER)
def test_a_warm_start_cannot_remove_trees(estimator) -> None:
    X, y = task(estimator)
    named = {"max_features": 0.5} if "Forest" in estimator.__name__ else {}
    model = quick(estimator, warm_start=True, n_estimators=6, **named).fit(X, y)
    with pytest.raises(ValueError, match=r"n_estimators=3.*6|3 .* 6"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="4|features|columns"):
        model.set_params(n_estimators=9).fit(X[:, :2], y)
    assert np.isfinite(answers(model, X)).all()


CONFLICTS = [
    (
        weald.BoostedTreesRegressor(
            quality="fast", growth="symmetric", prune="after", min_gain=1.0
        ),
        "sym",
    ),
    (weald.BoostedTreesRegressor(quality="fast", quantile=0.3), "quantile"),
    (
        weald.BoostedTreesRegressor(
            quality="fast", feature_sampling="node", growth="symmetric", max_features=1
        ),
        "sym",
    ),
    (weald.RandomForestRegressor(bootstrap=False, oob_score=True), "bootstrap=True"),
    (weald.BaggingRegressor(bootstrap=False, oob_score=True), "bootstrap=True"),
    (weald.DecisionTreeRegressor(max_features=0.5, exact=True), "max_features|exact"),
]


@pytest.mark.parametrize(("model", "fragment"), CONFLICTS, ids=lambda value: str(value)[:60])
def test_conflicting_parameters_are_rejected(model, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        clone(model).fit(table(40), np.arange(40.0))


# ---- functions of the user ----


class Loss:
    """Squared error, which does something besides."""

    def __init__(self, besides: Any) -> None:
        self.besides = besides

    def gradient_hessian(self, y: Any, score: Any) -> Any:
        return self.besides(score - y, np.ones(len(y)), y)


def fit_again(g: Any, h: Any, y: Any) -> Any:
    weald.BoostedTreesRegressor(quality="fast", n_estimators=2).fit(
        np.arange(20.0)[:, None], np.arange(20.0)
    )
    return g, h


def meddle(g: Any, h: Any, y: Any) -> Any:
    y[:] = 0
    return g, h


def fail(g: Any, h: Any, y: Any) -> Any:
    raise ZeroDivisionError("mine")


LOSSES = {
    "raises": (fail, ZeroDivisionError, "mine"),
    "NaN": (lambda g, h, y: (g * np.nan, h), ValueError, "NaN|finite"),
    "shape": (lambda g, h, y: (g[:-1], h), ValueError, "shape|length|rows"),
    "meddles": (meddle, ValueError, "read-only"),
    "no pair": (lambda g, h, y: g, (TypeError, ValueError), "."),
}


@pytest.mark.parametrize("case", LOSSES)
def test_losses_that_go_wrong(case: str) -> None:
    besides, error, fragment = LOSSES[case]
    X, y = task(weald.BoostedTreesRegressor)
    model = weald.BoostedTreesRegressor(quality="fast", n_estimators=2).fit(X, y)
    before = model.fingerprint()
    kept = y.copy()
    with pytest.raises(error, match=fragment):
        model.set_params(loss=Loss(besides)).fit(X, y)
    assert model.fingerprint() == before and np.array_equal(y, kept)


def test_losses_may_fit_models_themselves() -> None:
    X, y = task(weald.BoostedTreesRegressor)
    model = weald.BoostedTreesRegressor(quality="fast", n_estimators=2, loss=Loss(fit_again)).fit(
        X, y
    )
    plain = weald.BoostedTreesRegressor(
        quality="fast", n_estimators=2, loss=Loss(lambda g, h, y: (g, h))
    )
    assert np.array_equal(model.predict(X), plain.fit(X, y).predict(X))


# ---- constraints and names ----


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"monotonic_cst": {"town": 1}}, "town"),
        ({"monotonic_cst": {9: 1}}, "9"),
        ({"monotonic_cst": [1, 0]}, "2|3"),
        ({"monotonic_cst": {"city": 1}}, "city"),
        ({"interaction_cst": [["town"]]}, "town"),
        ({"interaction_cst": [[9]]}, "9"),
        ({"interaction_cst": [[-9]]}, "-9"),
    ],
    ids=str,
)
def test_constraints_of_columns_that_are_not_there(parameters: dict[str, Any], fragment) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": np.arange(40.0), "city": ["a", "b"] * 20, "n": [1, 2] * 20})
    with pytest.raises(ValueError, match=fragment):
        weald.BoostedTreesRegressor(quality="fast", **parameters).fit(frame, np.arange(40.0))


STRANGE = ['a "b"', "c\nd", "{e: [1]}", "\x00", "", " ", "__class__", "ä\u0301", "x" * 5000]


@every_family
def test_strange_names_of_columns(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = task(estimator, n_columns=len(STRANGE))
    frame = pandas.DataFrame(X, columns=pandas.Index(STRANGE, dtype=object))
    model = quick(estimator).fit(frame, y)
    assert model.feature_names_in_.tolist() == STRANGE
    expected = answers(model, frame)
    assert np.array_equal(answers(model, frame[STRANGE[::-1]]), expected)
    other = copy.deepcopy(model)
    assert other.feature_names_in_.tolist() == STRANGE
    if hasattr(model, "text"):
        assert isinstance(model.text(0), str)
