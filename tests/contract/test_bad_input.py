"""Bad and extreme input to every estimator: a clear error, or a finite, defined prediction."""

import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError

import weald
from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    EVERY_REGRESSOR,
    EVERY_TREE_MODEL,
    NEEDS_AN_EDGE,
    always_draws,
    answers,
    chooses_settings,
    has,
    is_fitted,
    quick,
    settings,
    table,
    takes_several_targets,
    target,
    task,
)
from weald.data.targets import LARGEST_TARGET

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
every_tree_model = pytest.mark.parametrize("estimator", EVERY_TREE_MODEL)
# Estimators without cross-validation, which can be fitted on one row.
every_simple = pytest.mark.parametrize(
    "estimator", [e for e in EVERY_ESTIMATOR if not always_draws(e)]
)
every_classifier = pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)
every_regressor = pytest.mark.parametrize("estimator", EVERY_REGRESSOR)
EARLY = {"early_stopping": True, "subsample": 0.5}


def early_or_not(estimators: list[type]) -> pytest.MarkDecorator:
    """Each estimator, and once more with early stopping or subsampling if it has one of them."""
    cases = [(e, {}) for e in estimators] + [(e, EARLY) for e in estimators if settings(e, **EARLY)]
    return pytest.mark.parametrize(("estimator", "early"), cases)


NAN, INF = np.nan, np.inf
X0 = table(10)
Y0 = np.arange(10) % 2

BAD_TABLES = {
    "no rows": (np.zeros((0, 3)), [], "0 sample(s)"),
    "no columns": (np.zeros((10, 0)), Y0, "0 feature(s)"),
    "one dimension": (np.arange(10.0), Y0, "Expected 2D array, got 1D array instead"),
    "three dimensions": (np.zeros((10, 2, 2)), Y0, "dim 3"),
    "complex": (X0 + 1j, Y0, "Complex data not supported"),
    "lengths": (X0, Y0[:9], "inconsistent numbers of samples: [10, 9]"),
    "no target": (X0, None, "requires y to be passed, but the target y is None"),
    "two targets": (X0, np.stack([Y0, Y0], axis=1), "y should be a 1d array"),
    "bytes": (np.full((10, 2), b"b"), Y0, "bytes"),
    "ragged": ([[1.0], [1.0, 2.0]], [0, 1], "inhomogeneous"),
    "target of NaN": (X0, np.where(Y0, 1.0, NAN), "contains NaN"),
    "target of infinity": (X0, np.where(Y0, 1.0, INF), "infinity"),
}


@every_estimator
@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_and_targets(estimator, case: str) -> None:
    X, y, fragment = BAD_TABLES[case]
    if case == "two targets" and takes_several_targets(estimator):
        y, fragment = np.stack([y, y], axis=2), "dim 3"
    model = quick(estimator)
    with pytest.raises((ValueError, TypeError), match=re.escape(fragment)):
        model.fit(X, y)
    assert not is_fitted(model)
    model.fit(X0, Y0).predict(X0)


@every_estimator
@pytest.mark.parametrize("cell", [{"a": 1}, [1.0]], ids=["dict", "list"])
def test_cells_that_are_no_numbers(estimator, cell: Any) -> None:
    X = np.zeros((10, 2), dtype=object)
    X[3, 1] = cell
    with pytest.raises((TypeError, ValueError), match="number|sequence"):
        quick(estimator).fit(X, Y0)


@every_estimator
def test_records_generators_and_other_things(estimator) -> None:
    records = np.zeros(10, dtype=[("a", "f8"), ("b", "f8")])
    for wrong in (records, (row for row in X0), "table", None, 3.5):
        with pytest.raises((TypeError, ValueError)):
            quick(estimator).fit(wrong, Y0)


@every_estimator
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_matrices(estimator) -> None:
    with pytest.raises(TypeError, match="np.matrix is not supported"):
        quick(estimator).fit(np.matrix(X0), Y0)


@every_estimator
@pytest.mark.parametrize("target_of_none", [np.array, list], ids=["array", "list"])
def test_a_target_of_none(estimator, target_of_none) -> None:
    fragment = "contains NaN: (the label of )?row 0"
    with pytest.raises(ValueError, match=fragment):
        quick(estimator).fit(X0, target_of_none([None, *Y0[1:].tolist()]))


# ---- targets, and methods before the fit ----


@every_estimator
def test_target_as_a_column_is_flattened_with_a_warning(estimator) -> None:
    X, y = task(estimator)
    # Single trees accept it silently, as scikit-learn's do.
    is_tree = issubclass(estimator, (weald.DecisionTreeClassifier, weald.DecisionTreeRegressor))
    warns = pytest.warns(DataConversionWarning, match="A column-vector y was passed")
    with nullcontext() if is_tree else warns:
        model = quick(estimator).fit(X, y[:, np.newaxis])
    assert model.fingerprint() == quick(estimator).fit(X, y).fingerprint()


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (estimator, method)
        for estimator in EVERY_ESTIMATOR
        for method in ("predict", "predict_proba", "apply", "fingerprint", "text")
        if hasattr(estimator, method)
    ],
)
def test_before_the_fit(estimator, method: str) -> None:
    arguments = [] if method in ("fingerprint", "text") else [X0]
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(quick(estimator), method)(*arguments)
    if estimator in EVERY_TREE_MODEL:
        with pytest.raises(NotFittedError):
            _ = quick(estimator).feature_importances_


@every_estimator
def test_bad_tables_when_predicting(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    name = estimator.__name__
    for wrong, fragment in [
        (X[:, :3], f"X has 3 features, but {name} is expecting 4 features as input"),
        (np.hstack([X, X]), f"X has 8 features, but {name} is expecting 4 features as input"),
        (X[0], "Expected 2D array, got 1D array instead"),
        (X[:0], "0 sample(s)"),
        (X + 1j, "Complex data not supported"),
    ]:
        for method in (model.predict, getattr(model, "apply", model.predict)):
            with pytest.raises(ValueError, match=re.escape(fragment)):
                method(wrong)


@every_tree_model
@pytest.mark.parametrize("tree", [-1, 99, 10**6, 10**30])
def test_trees_that_do_not_exist(estimator, tree: int) -> None:
    X, y = task(estimator)
    with pytest.raises(ValueError, match=f"There is no tree {tree}"):
        quick(estimator).fit(X, y).text(tree)


@every_tree_model
@pytest.mark.parametrize("tree", ["a", "0", 0.0, None, [0]])
def test_trees_are_whole_numbers(estimator, tree: Any) -> None:
    X, y = task(estimator)
    with pytest.raises(TypeError, match="integer"):
        quick(estimator).fit(X, y).text(tree)


# ---- small and constant tables ----


@every_simple
def test_one_row(estimator) -> None:
    model = quick(estimator).fit([[1.0, NAN]], [7])
    assert model.predict([[0.0, 0.0], [NAN, INF]]).tolist() == [7, 7]
    if estimator in EVERY_TREE_MODEL:
        assert not model.feature_importances_.any()
    if is_classifier(model):
        assert model.predict_proba([[0.0, 0.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if always_draws(e)])
def test_one_row_cannot_be_parted(estimator) -> None:
    with pytest.raises(ValueError, match="n_samples = 1"):
        quick(estimator).fit([[1.0]], [0])


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if has(e, "early_stopping")])
def test_one_row_leaves_nothing_to_stop_by(estimator) -> None:
    if is_classifier(quick(estimator)):
        # One class is predicted without training.
        quick(estimator, early_stopping=True).fit([[1.0]], [0.0])
    else:
        with pytest.raises(ValueError, match=r"early_stopping .* n_samples = 1"):
            quick(estimator, early_stopping=True).fit([[1.0]], [0.0])
    quick(estimator, early_stopping=True).fit([[1.0], [1.0]], [0.0, 0.0])
    quick(estimator, early_stopping=True).fit([[1.0], [2.0]], [0, 1])


@every_simple
def test_one_column_and_two_rows(estimator) -> None:
    model = quick(estimator, min_samples_leaf=1, learning_rate=1.0).fit([[1.0], [2.0]], [0, 1])
    assert np.round(model.predict([[1.0], [2.0]])).tolist() == [0, 1]


@early_or_not([e for e in EVERY_REGRESSOR if not always_draws(e)])
@pytest.mark.parametrize("constant", [0.0, 0.1, -1e300, 1e-300, 3.0])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_constant_target_is_predicted_exactly(estimator, early, constant, is_weighted) -> None:
    X = table()
    weight = np.random.default_rng(0).random(len(X)) if is_weighted else None
    model = quick(estimator, **early).fit(X, np.full(len(X), constant), weight)
    assert set(model.predict(X)) == {constant}
    if estimator in EVERY_TREE_MODEL:
        assert not model.feature_importances_.any()


@early_or_not(EVERY_CLASSIFIER)
def test_one_class(estimator, early) -> None:
    X = table()
    model = quick(estimator, **early).fit(X, np.full(len(X), "only"))
    assert model.classes_.tolist() == ["only"]
    assert set(model.predict(X)) == {"only"}
    assert (model.predict_proba(X) == 1).all()


@every_estimator
@pytest.mark.parametrize("value", [3.0, NAN, INF])
def test_constant_columns_have_no_effect(estimator, value: float) -> None:
    X = np.full((60, 3), value)
    y = target(estimator, table(60))
    if estimator in NEEDS_AN_EDGE:
        with pytest.raises(ValueError, match="worse than random"):
            quick(estimator).fit(X, y)
        y[-1] = y[0]  # now guessing the first class is
    model = quick(estimator).fit(X, y)
    if estimator in EVERY_TREE_MODEL:
        assert not (model.forest_.feature >= 0).any()
        assert not model.feature_importances_.any()
    assert np.isfinite(answers(model, table(5, 3))).all()


# ---- extreme numbers ----


@early_or_not(EVERY_TREE_MODEL)
def test_extreme_values_in_the_table(estimator, early) -> None:
    X, y = task(estimator)
    X[:, 0] = np.resize([1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, INF, -INF, NAN], len(X))
    X[:, 1] = 2.0**53 + 2 * np.arange(len(X))
    model = quick(estimator, **early).fit(X, y)
    assert np.isfinite(model.forest_.value).all()
    assert not np.isnan(model.forest_.threshold).any()
    wild = np.array([[NAN] * 4, [INF] * 4, [-INF] * 4, [1e308] * 4])
    assert np.isfinite(answers(model, wild)).all()


@early_or_not(EVERY_REGRESSOR)
@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1e5, 1e300])
def test_extreme_targets_are_fitted(estimator, early, scale: float) -> None:
    """The unit of the target must not matter."""
    X, y = task(estimator)
    y = y / np.abs(y).max()
    model = quick(estimator, **early).fit(X, y * scale)
    ours = model.predict(X) / scale
    plain = quick(estimator, **early).fit(X, y).predict(X)
    # Another target changes the random draw of the rows for a final model, or for settings.
    slack = 2.5 if always_draws(estimator) else 1.3 if chooses_settings(estimator) else 1.1
    assert np.abs(ours - y).mean() < slack * np.abs(plain - y).mean() + 1e-3


@early_or_not(EVERY_REGRESSOR)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_targets_up_to_the_largest_double_are_fitted(estimator, early, is_weighted: bool) -> None:
    X = table()
    y = np.where(X[:, 0] > np.median(X[:, 0]), LARGEST_TARGET, -LARGEST_TARGET)
    y[:10] = LARGEST_TARGET
    weight = np.random.default_rng(0).random(len(X)) if is_weighted else None
    model = quick(estimator, **early).fit(X, y, weight)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert (np.sign(predicted[10:]) == np.sign(y[10:])).mean() > 0.8


@every_regressor
@pytest.mark.parametrize("size", [np.nextafter(LARGEST_TARGET, INF), 1.7e308])
@pytest.mark.parametrize("sign", [1, -1])
def test_larger_targets_are_refused(estimator, size: float, sign: int) -> None:
    y = np.arange(10.0)
    y[7] = sign * size
    with pytest.raises(ValueError, match="y contains .* too large for float64 sums: row 7 has"):
        quick(estimator).fit(X0, y)


RATED = [e for e in EVERY_ESTIMATOR if has(e, "learning_rate")]


@pytest.mark.parametrize("estimator", RATED)
@pytest.mark.parametrize("rate", [1e-300, 1e10, 1e300])
def test_a_mad_learning_rate(estimator, rate: float) -> None:
    """Scores of a regression diverge. Those of AdaBoost are bounded as long as one step is finite,
    and so is a median; those of log loss are bounded for any rate."""
    X, y = task(estimator)
    model = quick(estimator, learning_rate=rate, n_estimators=60)
    is_bounded = is_classifier(model) or estimator is weald.AdaBoostRegressor
    is_capped = is_classifier(model) and estimator is not weald.AdaBoostClassifier
    if not is_capped and (rate == 1e300 or (rate > 1 and not is_bounded)):
        with pytest.raises(ValueError, match=re.escape(f"learning_rate={rate} is too large")):
            model.fit(X, y)
        assert not hasattr(model, "forest_")
    else:
        assert np.isfinite(answers(model.fit(X, y), X)).all()


# ---- labels ----


@every_classifier
def test_labels_of_many_kinds(estimator) -> None:
    X = table(60)
    number = np.arange(60) % 3
    for labels in (
        np.array(["x", "y", "zebra " * 100]),
        np.array(["ä", "日本", "🌲"]),
        np.array([-(10**18), 0, 10**18]),
        np.array([0.0, 1.0, 2.0]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([0, 1, 255], dtype=np.uint8),
    ):
        model = quick(estimator).fit(X, labels[number])
        assert model.classes_.tolist() == sorted(labels.tolist())
        assert set(model.predict(X)) <= set(labels.tolist())
        assert model.predict_proba(X).shape == (60, 3)


@every_classifier
@pytest.mark.parametrize(
    ("y", "fragment"),
    [
        (np.linspace(0, 1, 10), "Unknown label type: continuous"),
        (np.array([1, "a"] * 5, dtype=object), "label"),
        (np.array([None, "a"] * 5, dtype=object), "contains NaN: the label of row 0 is missing"),
        (np.array(["a", None] * 5, dtype=object), "contains NaN: the label of row 1 is missing"),
        (np.array([NAN, "a"] * 5, dtype=object), "contains NaN"),
    ],
)
def test_bad_labels(estimator, y, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        quick(estimator).fit(X0, y)


@early_or_not(EVERY_CLASSIFIER)
def test_a_class_of_one_row_is_kept(estimator, early) -> None:
    X = table()
    y = target(estimator, X)
    y[5] = 9
    model = quick(estimator, min_samples_leaf=1, **early).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 9]
    shares = model.predict_proba(X)
    assert shares.shape[1] == 4 and (shares[5, 3] > 0 or not early)


@early_or_not(EVERY_CLASSIFIER)
def test_a_class_without_weight_is_kept(estimator, early) -> None:
    X = table()
    for n_classes in (2, 3):
        y = target(estimator, X, n_classes)
        model = quick(estimator, **early).fit(X, y, (y != 1).astype(float))
        assert model.classes_.tolist() == list(range(n_classes))
        shares = model.predict_proba(X)
        # SAMME's probabilities, as in scikit-learn, are never close to 0.
        most = 0.3 if estimator is weald.AdaBoostClassifier else 1e-3
        assert np.isfinite(shares).all() and shares[:, 1].max() < most
        assert (model.predict(X) != 1).all()


@every_classifier
def test_extreme_imbalance(estimator) -> None:
    X = table(5000)
    y = (X[:, 0] == X[:, 0].max()).astype(int)
    model = quick(estimator, min_samples_leaf=1).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@every_classifier
def test_many_classes(estimator) -> None:
    # Fewer classes than half the rows, so that scikit-learn does not take y for a regression.
    X, n_classes = table(600, 2), 100 if always_draws(estimator) else 200
    y = np.arange(600) * n_classes // 600
    model = quick(estimator, n_estimators=1, min_samples_leaf=1).fit(X, y)
    assert model.predict_proba(X).shape == (600, n_classes)


@every_classifier
def test_unused_categories_are_no_classes(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(pandas.Categorical(["b", "a"] * 5, categories=["a", "b", "never"]))
    assert quick(estimator).fit(X0, y).classes_.tolist() == ["a", "b"]


# ---- weights ----

BAD_WEIGHTS = {
    "too few": (np.ones(9), "sample_weight.shape == (9,), expected (10,)"),
    "too many": (np.ones(11), "sample_weight.shape == (11,), expected (10,)"),
    "a column": (np.ones((10, 1)), "Sample weights must be 1D array or scalar"),
    "negative": (np.array([1.0] * 9 + [-1]), "Negative values in data passed to `sample_weight`"),
    "all zero": (np.zeros(10), "Sample weights must contain at least one non-zero number"),
    "NaN": (np.array([NAN] + [1.0] * 9), "sample_weight contains NaN or infinity: row 0"),
    "infinite": (np.array([1.0, INF] + [1.0] * 8), "sample_weight contains NaN or infinity: row 1"),
    "text": (["heavy"] * 10, "heavy"),
}


@every_estimator
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(estimator, case: str) -> None:
    weight, fragment = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=re.escape(fragment)):
        quick(estimator).fit(X0, Y0, weight)


@every_estimator
def test_one_weight_for_all(estimator) -> None:
    X, y = task(estimator)
    expected = quick(estimator).fit(X, y, np.full(len(X), 2)).fingerprint()
    assert quick(estimator).fit(X, y, 2).fingerprint() == expected


@early_or_not(EVERY_ESTIMATOR)
def test_extreme_weights_are_fitted(estimator, early) -> None:
    """Constant weights of any scale give the model of no weights."""
    X, y = task(estimator)
    model = quick(estimator, min_child_weight=0.0, **early)
    expected = answers(clone(model).fit(X, y), X)
    assert len(np.unique(expected, axis=0)) > 1
    # With few rows, ties between splits are broken by the last bits of weighted sums.
    rel = 1e-2 if always_draws(estimator) else 1e-6
    for scale in (5e-324, 1e-310, 1e-300, 1e300, 1.7e308):
        got = answers(model.fit(X, y, np.full(len(X), scale)), X)
        assert np.isfinite(got).all()
        assert len(np.unique(got, axis=0)) > 1
        assert got == pytest.approx(expected, rel=rel, abs=1e-9), scale


@every_estimator
def test_weights_of_all_sizes(estimator) -> None:
    X, y = task(estimator)
    weight = 10.0 ** np.random.default_rng(0).integers(-300, 300, len(X))
    model = quick(estimator, min_child_weight=0.0).fit(X, y, weight)
    assert np.isfinite(answers(model, X)).all()


@every_estimator
def test_huge_whole_weights(estimator) -> None:
    X, y = task(estimator)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    free = settings(estimator, min_samples_leaf=1, bootstrap=False)
    plain = quick(estimator, **free).fit(X, y, weight)
    huge = quick(estimator, **free).fit(X, y, weight * 2**40)
    rel = 1e-2 if always_draws(estimator) else 1e-9
    assert answers(huge, X) == pytest.approx(answers(plain, X), rel=rel)


@every_estimator
def test_empty_sparse_columns(estimator) -> None:
    X = scipy.sparse.csr_array((60, 5), dtype=np.float64)
    y = target(estimator, table(60))
    y[-1] = y[0]
    model = quick(estimator).fit(X, y)
    assert np.isfinite(answers(model, X)).all()
