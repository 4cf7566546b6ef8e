"""Invariance and equivariance of every estimator under transformations of the data."""

import numpy as np
import pytest

from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    EVERY_REGRESSOR,
    EVERY_TREE_MODEL,
    always_draws,
    answers,
    draws_columns,
    quick,
    table,
    target,
    task,
)

# Random draws depend on the table: estimators that always draw are excluded.
every_estimator = pytest.mark.parametrize(
    "estimator", [e for e in EVERY_ESTIMATOR if not always_draws(e) and not draws_columns(e)]
)
every_regressor = pytest.mark.parametrize(
    "estimator", [e for e in EVERY_REGRESSOR if not always_draws(e) and not draws_columns(e)]
)
every_tree_model = pytest.mark.parametrize(
    "estimator", [e for e in EVERY_TREE_MODEL if not draws_columns(e)]
)
every_classifier = pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)

# Few large leaves: small nodes have ties between columns, which the first column wins.
FEW_LEAVES = {"max_leaf_nodes": 4, "min_samples_leaf": 12}


@every_estimator
@pytest.mark.parametrize("power", [-20, 7, 300])
def test_scale_of_a_column(estimator, power: int) -> None:
    X, y = task(estimator, missing=0.1)
    scaled = X.copy()
    scaled[:, 1] = np.ldexp(scaled[:, 1], power)
    before, after = quick(estimator).fit(X, y), quick(estimator).fit(scaled, y)
    assert np.array_equal(answers(after, scaled), answers(before, X))
    if estimator not in EVERY_TREE_MODEL:
        return
    assert np.array_equal(after.forest_.feature, before.forest_.feature)
    is_scaled = before.forest_.feature == 1
    expected = np.where(
        is_scaled, np.ldexp(before.forest_.threshold, power), before.forest_.threshold
    )
    assert np.array_equal(after.forest_.threshold, expected)


@every_estimator
def test_a_monotonic_transform_of_a_column_changes_no_training_prediction(estimator) -> None:
    X, y = task(estimator, n=400, missing=0.1)
    mapped = X.copy()
    mapped[:, 0] = mapped[:, 0] ** 3
    mapped[:, 1] = np.exp(mapped[:, 1] / 100)
    before, after = quick(estimator).fit(X, y), quick(estimator).fit(mapped, y)
    assert np.array_equal(answers(after, mapped), answers(before, X))


@every_regressor
@pytest.mark.parametrize("power", [-990, -400, -9, 12, 400, 990])
def test_scale_of_the_target(estimator, power: int) -> None:
    X, y = task(estimator, missing=0.1)
    before, after = quick(estimator).fit(X, y), quick(estimator).fit(X, np.ldexp(y, power))
    assert np.array_equal(after.predict(X), np.ldexp(before.predict(X), power))
    if estimator not in EVERY_TREE_MODEL:
        return
    assert np.array_equal(after.forest_.threshold, before.forest_.threshold)


@every_regressor
def test_sign_of_the_target(estimator) -> None:
    X, y = task(estimator)
    before, after = quick(estimator).fit(X, y), quick(estimator).fit(X, -y)
    assert np.array_equal(after.predict(X), -before.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [e for e in EVERY_REGRESSOR if e in EVERY_TREE_MODEL and not draws_columns(e)],
)
def test_shift_of_the_target(estimator) -> None:
    X, y = task(estimator)
    before = quick(estimator, **FEW_LEAVES).fit(X, y)
    after = quick(estimator, **FEW_LEAVES).fit(X, y + 64)
    assert after.predict(X) == pytest.approx(before.predict(X) + 64, rel=1e-12)


@every_tree_model
def test_order_of_columns(estimator) -> None:
    X, y = task(estimator, n_columns=9)
    fresh = table(50, 9, seed=1)
    order = np.random.default_rng(5).permutation(9)
    before = quick(estimator, **FEW_LEAVES).fit(X, y)
    after = quick(estimator, **FEW_LEAVES).fit(X[:, order], y)
    assert np.array_equal(answers(after, fresh[:, order]), answers(before, fresh))


@every_estimator
@pytest.mark.parametrize("kind", ["constant", "missing", "duplicate"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_redundant_column(estimator, kind: str, side: str) -> None:
    def widen(X: np.ndarray) -> np.ndarray:
        extra = {
            "constant": np.full(len(X), 2.5),
            "missing": np.full(len(X), np.nan),
            "duplicate": X[:, 0],
        }[kind]
        return np.column_stack([extra, X] if side == "left" else [X, extra])

    X, y = task(estimator, missing=0.1)
    fresh = table(50, seed=1, missing=0.1)
    before, after = quick(estimator).fit(X, y), quick(estimator).fit(widen(X), y)
    assert np.array_equal(answers(after, widen(fresh)), answers(before, fresh))


@every_estimator
@pytest.mark.parametrize("factor", [2.0**-300, 0.5, 4.0, 2.0**300, 2.0**-900, 2.0**900])
def test_a_common_factor_of_all_weights(estimator, factor: float) -> None:
    """Without a penalty in units of weights, only their ratios matter."""
    X, y = task(estimator, missing=0.1)
    weight = np.random.default_rng(6).integers(1, 9, len(X)) / 8 + 1 / 64
    model = quick(estimator, min_child_weight=0.0)
    before = model.fit(X, y, weight).fingerprint()
    assert model.fit(X, y, weight * factor).fingerprint() == before


@every_classifier
@pytest.mark.parametrize("labels", [["a", "b", "c"], [-5, 0, 10**18], [False, True], [0.5, 1.5]])
def test_names_of_classes(estimator, labels: list) -> None:
    labels = np.array(labels)
    X = table()
    y = target(estimator, X, n_classes=len(labels))
    plain = quick(estimator).fit(X, y)
    if labels.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            quick(estimator).fit(X, labels[y])
        return
    named = quick(estimator).fit(X, labels[y])
    assert named.classes_.tolist() == labels.tolist()
    assert np.array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(named.predict(X), labels[plain.predict(X)])
    assert named.predict(X).dtype.kind == labels.dtype.kind


@pytest.mark.parametrize(
    "estimator",
    [e for e in EVERY_CLASSIFIER if e in EVERY_TREE_MODEL and not draws_columns(e)],
)
def test_order_of_two_classes(estimator) -> None:
    X = table()
    y = target(estimator, X, n_classes=2)
    before = quick(estimator, **FEW_LEAVES).fit(X, y).predict_proba(X)
    after = quick(estimator, **FEW_LEAVES).fit(X, 1 - y).predict_proba(X)
    assert after[:, ::-1] == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("estimator", EVERY_TREE_MODEL)
def test_missing_values_are_split_on(estimator) -> None:
    """A target that depends only on whether a value is missing is fitted."""
    rng = np.random.default_rng(7)
    X = table(200)
    is_missing = rng.random(200) < 0.5
    X[is_missing, 2] = np.nan
    y = is_missing.astype(np.int64)
    settings = {"learning_rate": 1.0, "max_leaf_nodes": 2, "max_features": None}
    model = quick(estimator, **settings).fit(X, y)
    assert np.array_equal(np.round(model.predict(X)), y)
    assert model.forest_.feature[0] == 2
    # A value outside the training range is not missing.
    outside = X[~is_missing][:2].copy()
    outside[:, 2] = [-1e9, 1e9]
    assert np.array_equal(np.round(model.predict(outside)), [0, 0])


@every_tree_model
def test_values_missing_only_when_predicting_go_with_the_heavier_child(estimator) -> None:
    X = np.repeat([[0.0], [1.0]], [30, 70], axis=0)
    y = np.repeat([0, 1], [30, 70])
    model = quick(estimator, max_leaf_nodes=2).fit(X, y)
    unknown = answers(model, [[np.nan]])
    assert np.array_equal(unknown, answers(model, [[1.0]]))
    other = quick(estimator, max_leaf_nodes=2).fit(1 - X, y)
    assert np.array_equal(answers(other, [[np.nan]]), answers(other, [[0.0]]))


@every_tree_model
def test_infinities_are_the_outermost_values(estimator) -> None:
    X = np.repeat([-np.inf, -1e308, 0.0, 1e308, np.inf], 20)[:, np.newaxis]
    y = np.repeat([0, 1, 0, 1, 0], 20)
    model = quick(estimator, learning_rate=1.0, n_estimators=20).fit(X, y)
    assert np.array_equal(np.round(model.predict(X)), y)
    assert np.isfinite(answers(model, X)).all()


@every_estimator
def test_zeros_of_both_signs_are_one_value(estimator) -> None:
    X, y = task(estimator)
    X[::2, 0], X[1::2, 0] = 0.0, -0.0
    plain = X.copy()
    plain[:, 0] = 0.0
    for drawn in ({}, {"subsample": 0.5}):
        before = quick(estimator, **drawn).fit(plain, y).fingerprint()
        assert quick(estimator, **drawn).fit(X, y).fingerprint() == before
