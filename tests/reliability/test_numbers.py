"""What cells, targets and weights may hold: NaN, infinities, the ends of types, masks."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import weald
from contract.subjects import EVERY_TREE_MODEL, always_draws, answers, quick, table, task
from reliability.families import FAMILIES, every_family, every_family_of_numbers, every_foreign

NAN, INF = np.nan, np.inf


# ---- missing values ----


@every_foreign
def test_base_estimators_without_missing_value_support_raise(model) -> None:
    X = table(40, missing=0.1)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clone(model).fit(X, np.arange(40) % 2)


@every_family
def test_rows_and_columns_of_missing_values_are_predicted(estimator) -> None:
    X, y = task(estimator)
    X[:, 3] = NAN
    model = quick(estimator).fit(X, y)
    assert np.isfinite(answers(model, np.full((3, 4), NAN))).all()
    if estimator in EVERY_TREE_MODEL:
        assert model.feature_importances_[3] == 0
    # A column that had no missing value in training may have some now.
    later = X.copy()
    later[:, 0] = NAN
    assert np.isfinite(answers(model, later)).all()


@every_family
def test_every_kind_of_nan_is_missing(estimator) -> None:
    X, y = task(estimator, missing=0.2)
    others = np.where(np.isnan(X), np.uint64(0xFFF8_0000_DEAD_BEEF).view(np.float64), X)
    assert np.signbit(others[np.isnan(X)]).all()
    model = quick(estimator).fit(X, y)
    assert quick(estimator).fit(others, y).fingerprint() == model.fingerprint()
    assert np.array_equal(answers(model, others), answers(model, X))


# ---- the ends of number types ----


def told_apart(estimator: type, column: np.ndarray) -> np.ndarray:
    """A table of one column; those who part rows get a second, for equal rows stay together."""
    if not always_draws(estimator):
        return column[:, np.newaxis]
    return np.column_stack([column, np.arange(len(column)).astype(column.dtype)])


@every_family
def test_infinities_and_huge_values_are_ordered(estimator) -> None:
    """Midpoints of the largest doubles are finite, so both sides keep their rows."""
    values = np.array([-INF, -1.7e308, -5e-324, 5e-324, 1.7e308, INF])
    X = told_apart(estimator, np.repeat(values, 20))
    y = np.repeat([0, 0, 0, 1, 1, 1], 20)
    model = quick(estimator, n_estimators=20).fit(X, y)
    if "RotationForest" in estimator.__name__:  # sums of infinities are undefined
        assert np.isfinite(answers(model, X)).all()
    else:
        assert (np.round(model.predict(X)) == y).mean() > 0.9


@pytest.mark.parametrize(
    "estimator",
    [one for one in FAMILIES if "Rotation" not in one.__name__],  # sums of columns
)
def test_doubles_that_are_equal_in_float32(estimator) -> None:
    X = told_apart(estimator, np.resize([16777216.0, 16777217.0], 120))
    y = np.resize([0, 1], 120)
    model = quick(estimator, n_estimators=20).fit(X, y)
    assert np.array_equal(np.round(model.predict(X)), y)
    assert not np.array_equal(np.round(model.predict(X.astype(np.float32))), y)


@every_family
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_the_ends_of_whole_numbers(estimator, kind: type) -> None:
    """As doubles: neighbours beyond 2**53 are one value, the ends of a type are far apart."""
    limits = np.iinfo(kind)
    X = told_apart(estimator, np.resize(np.array([limits.min, limits.max], dtype=kind), 120))
    y = np.resize([0, 1], 120)
    model = quick(estimator, n_estimators=20).fit(X, y)
    assert np.array_equal(np.round(model.predict(X)), y)
    assert np.array_equal(answers(model, X.astype(np.float64)), answers(model, X))


@every_family
def test_long_doubles_beyond_the_range_warn(estimator) -> None:
    if np.finfo(np.longdouble).max <= np.finfo(np.float64).max:
        pytest.skip("long doubles are doubles here")
    X = np.resize(np.array(["1e400", "0", "-1e400"], dtype=np.longdouble), (120, 1))
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
        model = quick(estimator).fit(X, np.resize([0, 1, 0], 120))
    assert np.isfinite(answers(model, [[INF], [0.0]])).all()


@every_family
def test_whole_numbers_beyond_doubles_are_refused_by_name(estimator) -> None:
    X = np.array([[1, 2], [3, 10**400]] * 10, dtype=object)
    with pytest.raises(ValueError, match=r"Column 1 holds an integer too large .* in row 1"):
        quick(estimator).fit(X, np.arange(20) % 2)


@every_family_of_numbers
def test_targets_beyond_doubles_are_refused_by_row(estimator) -> None:
    X, _ = task(estimator, n=20)
    for y in ([*range(19), 10**400], np.array([*range(19), -(10**400)], dtype=object)):
        with pytest.raises(ValueError, match="y holds an integer too large .* in row 19"):
            quick(estimator).fit(X, y)


@every_family
def test_weights_beyond_doubles_are_refused(estimator) -> None:
    X, y = task(estimator, n=20)
    with pytest.raises(ValueError, match="sample_weight must hold a number for each row"):
        quick(estimator).fit(X, y, sample_weight=[*range(19), 10**400])


# ---- equal columns ----


@pytest.mark.parametrize("name", ["BoostedTrees", "DecisionTree", "GradientBoosting", "AdaBoost"])
@pytest.mark.parametrize("exact", [False, True])
def test_of_equal_columns_the_first_is_split_on(name: str, exact: bool) -> None:
    for kind in ("Classifier", "Regressor"):
        estimator = getattr(weald, name + kind)
        X, y = task(estimator)
        model = quick(estimator, exact=exact).fit(np.repeat(X, 2, axis=1), y)
        plain = quick(estimator, exact=exact).fit(X, y)
        assert not model.feature_importances_[1::2].any()
        assert np.array_equal(answers(model, np.repeat(X, 2, axis=1)), answers(plain, X))


# ---- targets ----

COUNTS = [
    weald.BoostedTreesRegressor(quality="fast", loss="poisson"),
    weald.BoostedTreesRegressor(quality="fast", loss="gamma"),
    weald.BoostedTreesRegressor(quality="fast", loss="tweedie"),
    weald.GradientBoostingRegressor(loss="poisson"),
    weald.DecisionTreeRegressor(criterion="poisson"),
    weald.RandomForestRegressor(criterion="poisson"),
    weald.ExtraTreesRegressor(criterion="poisson"),
]


@pytest.mark.parametrize("model", COUNTS, ids=str)
def test_targets_that_a_loss_does_not_take_are_named(model) -> None:
    way = getattr(model, "loss", None) or model.criterion
    y = np.arange(20.0) + 1
    y[3] = -1.0
    with pytest.raises(ValueError, match=way):
        clone(model).fit(table(20), y)
    y[3] = 0.0
    if way == "gamma":
        with pytest.raises(ValueError, match="strictly positive|greater than 0|positive"):
            clone(model).fit(table(20), y)
    else:
        assert np.isfinite(clone(model).fit(table(20), y).predict(table(20))).all()


@every_family_of_numbers
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_targets_are_finite(estimator, bad: float) -> None:
    y = np.arange(20.0)
    y[7] = bad
    with pytest.raises(ValueError, match="Input y contains (NaN|infinity)"):
        quick(estimator).fit(table(20), y)


def test_sure_probabilities_stay_finite() -> None:
    """Classes that a column parts without error, boosted for long: no log of zero."""
    X = np.arange(200.0)[:, np.newaxis]
    y = (X[:, 0] > 99).astype(int)
    for kind in (weald.BoostedTreesClassifier, weald.GradientBoostingClassifier):
        model = kind(n_estimators=400, learning_rate=1.0).fit(X, y)
        shares = model.predict_proba(X)
        assert np.isfinite(shares).all() and np.isfinite(model.decision_function(X)).all()
        assert (shares.argmax(axis=1) == y).all()


# ---- masks ----


def masked(values: Any) -> Any:
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[0] = True
    return np.ma.masked_array(values, mask)


@every_family
def test_no_mask_is_ignored(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    for arguments, advice in [
        ((masked(X), y), "X.filled(np.nan)"),
        ((X, masked(y)), "Drop the masked rows"),
        ((X, y, masked(np.ones(len(y)))), "sample_weight.filled(0)"),
    ]:
        with pytest.raises(TypeError, match=re.escape(advice)):
            quick(estimator).fit(*arguments)
    with pytest.raises(TypeError, match="filled"):
        model.predict(masked(X))


@every_foreign
def test_foreign_base_estimators_do_not_ignore_masks(model) -> None:
    X, y = table(40), np.arange(40) % 2
    fitted = clone(model).fit(X, y)
    with pytest.raises(TypeError, match="filled"):
        clone(model).fit(masked(X), y)
    with pytest.raises(TypeError, match="Drop the masked rows"):
        clone(model).fit(X, masked(y))
    with pytest.raises(TypeError, match="filled"):
        fitted.predict(masked(X))
