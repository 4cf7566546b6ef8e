"""Correlated errors: the formula, and its two parameters estimated from all kinds of ensembles."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

import weald
from weald import DecisionTreeClassifier, DecisionTreeRegressor
from weald.theory import correlated_error, error_correlation, error_correlation_from_members


def naive(predictions: np.ndarray, in_bag: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """v and c by loops over rows and pairs."""
    row_v, row_c = [], []
    for i in range(len(y)):
        out = [k for k in range(len(predictions)) if in_bag[k, i] == 0]
        if len(out) < 2:
            continue
        errors = {k: np.atleast_1d(predictions[k, i] - y[i]) for k in out}
        row_v.append(np.mean([errors[k] @ errors[k] for k in out]))
        row_c.append(np.mean([errors[k] @ errors[m] for k in out for m in out if k != m]))
    return float(np.mean(row_v)), float(np.mean(row_c))


@pytest.mark.parametrize("outputs", [(), (3,)])
def test_estimate_against_loops(outputs: tuple[int, ...], rng: np.random.Generator) -> None:
    predictions = rng.normal(size=(6, 20, *outputs))
    in_bag = rng.integers(3, size=(6, 20))
    y = rng.normal(size=(20, *outputs))
    found = error_correlation_from_members(predictions, in_bag, y)
    v, c = naive(predictions, in_bag, y)
    assert (found.v, found.c) == (pytest.approx(v), pytest.approx(c))
    assert found.rho == pytest.approx(c / v)
    assert found.n_unscored == int(((in_bag == 0).sum(axis=0) < 2).sum()) > 0
    assert found.n_rows + found.n_unscored == 20
    assert np.isnan(found.row_v).sum() == found.n_unscored


def test_formula_is_the_error_of_the_mean_on_unseen_rows(
    rng: np.random.Generator,
) -> None:
    """An identity of sums, not of expectations."""
    predictions, y = rng.normal(size=(7, 50)), rng.normal(size=50)
    found = error_correlation_from_members(predictions, np.zeros((7, 50)), y)
    assert found.error(7) == pytest.approx(((predictions.mean(axis=0) - y) ** 2).mean(), rel=1e-12)


def test_known_correlation_is_found(rng: np.random.Generator) -> None:
    common, own = rng.normal(size=(1, 20_000)), rng.normal(size=(5, 20_000))
    found = error_correlation_from_members(
        np.sqrt(0.6) * common + np.sqrt(0.4) * own, np.zeros((5, 20_000)), np.zeros(20_000)
    )
    assert found.v == pytest.approx(1.0, abs=5 * found.v_error)
    assert found.c == pytest.approx(0.6, abs=5 * found.c_error)
    assert found.v_error < 0.02 and found.c_error < 0.02


def test_only_predictions_of_unseen_rows_are_used(rng: np.random.Generator) -> None:
    predictions, y = rng.normal(size=(6, 20)), rng.normal(size=20)
    in_bag = rng.integers(2, size=(6, 20))
    spoilt = np.where(in_bag > 0, np.nan, predictions)
    found = error_correlation_from_members(predictions, in_bag, y)
    assert error_correlation_from_members(spoilt, in_bag, y).to_dict()["c"] == found.c


def in_bag_of(ensemble: object, n: int) -> np.ndarray:
    return np.array([np.bincount(rows, minlength=n) for rows in ensemble.estimators_samples_])


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingRegressor(DecisionTreeRegressor(), n_estimators=8, random_state=0),
        BaggingRegressor(n_estimators=8, max_features=0.5, max_samples=0.7, random_state=0),
        RandomForestRegressor(n_estimators=8, random_state=0),
        ExtraTreesRegressor(n_estimators=8, bootstrap=True, random_state=0),
    ],
)
def test_regressors(ensemble: object) -> None:
    X, y = load_diabetes(return_X_y=True)
    ensemble.fit(X, y)
    columns = getattr(ensemble, "estimators_features_", [slice(None)] * 8)
    members = zip(ensemble.estimators_, columns, strict=True)
    answers = np.array([member.predict(X[:, mine]) for member, mine in members])
    found = error_correlation(ensemble, X, y)
    v, c = naive(answers, in_bag_of(ensemble, len(y)), y)
    assert (found.v, found.c) == (pytest.approx(v), pytest.approx(c))
    assert 0 < found.rho < 1


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0),
        RandomForestClassifier(n_estimators=8, random_state=0),
    ],
)
@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2], [1, 2, 3], [2, 1, 5]])
def test_classifiers_by_their_probabilities(ensemble: object, names: list) -> None:
    X, numbers = load_iris(return_X_y=True)
    y = np.array(names)[numbers]
    ensemble.fit(X, y)
    found = error_correlation(ensemble, X, y)
    # All classes are in every bootstrap sample, so that columns need no care here.
    answers = np.array([member.predict_proba(X) for member in ensemble.estimators_])
    goal = (y[:, None] == ensemble.classes_).astype(float)
    v, c = naive(answers, in_bag_of(ensemble, len(y)), goal)
    assert (found.v, found.c) == (pytest.approx(v), pytest.approx(c))


def test_votes_where_there_are_no_probabilities() -> None:
    X, numbers = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[numbers]
    ensemble = BaggingClassifier(LinearSVC(), n_estimators=5, random_state=0).fit(X, y)
    found = error_correlation(ensemble, X, y)
    # A wrong vote misses two classes by 1.
    out = in_bag_of(ensemble, len(y)) == 0
    wrong = np.array([member.predict(X) != numbers for member in ensemble.estimators_])
    scored = out.sum(axis=0) >= 2
    share = (wrong & out).sum(axis=0)[scored] / out.sum(axis=0)[scored]
    assert found.v == pytest.approx(2 * share.mean())


def test_it_extrapolates_to_more_estimators() -> None:
    X, y = make_friedman1(n_samples=3000, noise=1.0, random_state=0)
    forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X[:600], y[:600])
    found = error_correlation(forest, X[:600], y[:600])
    large = RandomForestRegressor(n_estimators=300, random_state=1).fit(X[:600], y[:600])
    error = ((large.predict(X[600:]) - y[600:]) ** 2).mean()
    assert found.error(300) == pytest.approx(error, rel=0.1)
    assert found.error(1) > 1.5 * error
    # The noise of y, of variance 1, is common to all base estimators.
    assert found.c > 1.0


def test_formula_of_arrays() -> None:
    np.testing.assert_allclose(correlated_error(2.0, 0.5, [1, 2, 10]), [2.0, 1.25, 0.65])
    assert correlated_error(2.0, 2.0, 1000) == 2.0
    assert correlated_error(2.0, -1.0, 3) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 0.0, 3), "'v' parameter of correlated_error"),
        ((1.0, 1.1, 3), "must be at most v"),
        ((1.0, -0.6, 3), r"at least -v/\(K - 1\)"),
        ((1.0, 0.5, 0), "'K' parameter"),
        ((1.0, float("nan"), 2), "'c' parameter"),
    ],
)
def test_formula_refuses(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        correlated_error(*arguments)


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="predictions must have the shape"):
        error_correlation_from_members(np.zeros((3, 5)), np.zeros((3, 4)), np.zeros(5))
    with pytest.raises(ValueError, match=r"y must have the shape \(5,\)"):
        error_correlation_from_members(np.zeros((3, 5)), np.zeros((3, 5)), np.zeros(4))
    with pytest.raises(ValueError, match="row 2 is not, in y or for estimator 1"):
        error_correlation_from_members(
            np.where(np.arange(15).reshape(3, 5) == 7, np.nan, 0.0), np.zeros((3, 5)), np.zeros(5)
        )
    with pytest.raises(ValueError, match="No row is out of bag for two base estimators"):
        error_correlation_from_members(np.zeros((3, 5)), np.ones((3, 5)), np.zeros(5))


def test_unsuitable_ensembles_are_rejected() -> None:
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(NotFittedError):
        error_correlation(BaggingRegressor(), X, y)
    with pytest.raises(TypeError, match="GradientBoostingRegressor has no 'estimators_samples_'"):
        error_correlation(GradientBoostingRegressor(n_estimators=2).fit(X, y), X, y)
    with pytest.raises(ValueError, match="No row is out of bag"):
        error_correlation(ExtraTreesRegressor(n_estimators=3).fit(X, y), X, y)
    bag = BaggingRegressor(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X must hold the training rows"):
        error_correlation(bag, X[:100], y[:100])


def test_it_prints(rng: np.random.Generator) -> None:
    found = error_correlation_from_members(
        rng.normal(size=(3, 9)), np.zeros((3, 9)), rng.normal(size=9)
    )
    text = str(found)
    assert "errors of 3 base estimators on 9 rows" in text and "rho = c / v" in text
    assert found.to_dict()["v"] == found.v


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_base_estimators_predict_on_the_container_of_their_fit(library: str) -> None:
    """A warning about missing or unknown feature names is an error."""
    module = pytest.importorskip(library)
    X, y = load_iris(return_X_y=True)
    columns = {name: X[:, i] for i, name in enumerate("abcd")}
    frame = (module.table if library == "pyarrow" else module.DataFrame)(columns)
    tree = DecisionTreeClassifier(max_depth=3)
    models = [
        weald.RandomForestClassifier(10, random_state=0),
        weald.BaggingClassifier(tree, 10, random_state=0),
        weald.BaggingClassifier(tree, 10, max_features=3, bootstrap_features=True, random_state=0),
        weald.ExtraTreesRegressor(10, bootstrap=True, random_state=0),
    ]
    if library == "pandas":
        models += [RandomForestClassifier(10, random_state=0), BaggingClassifier(tree, 10)]
        models[-1].set_params(max_features=2, random_state=0)
    for model in models:
        by_name = error_correlation(model.fit(frame, y), frame, y)
        by_place = error_correlation(clone(model).fit(X, y), X, y)
        assert (by_name.v, by_name.c) == (by_place.v, by_place.c)
