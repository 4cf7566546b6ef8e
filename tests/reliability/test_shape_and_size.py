"""Tables of odd shapes and of sizes beyond 32 bits: correct predictions or a clear error, soon."""

import re
import sys

import numpy as np
import pytest
import scipy.sparse

import weald
from contract.subjects import EVERY_ESTIMATOR, answers, has, quick, table, task
from reliability.families import every_family
from weald import _native

# What is wrong, and the exact message.
BAD_SHAPES = {
    "no rows": (np.zeros((0, 3)), [], "Found array with 0 sample(s)"),
    "no columns": (np.zeros((10, 0)), np.arange(10) % 2, "Found array with 0 feature(s)"),
    "one dimension": (np.arange(10.0), np.arange(10) % 2, "Expected 2D array, got 1D array"),
    "one sparse dimension": (
        scipy.sparse.coo_array(np.arange(10.0)),
        np.arange(10) % 2,
        "Expected 2D array, got 1D array",
    ),
    "three dimensions": (np.zeros((10, 2, 2)), np.arange(10) % 2, "dim 3"),
    "another length": (table(10), np.arange(9) % 2, "inconsistent numbers of samples: [10, 9]"),
    "no target": (table(10), None, "requires y to be passed, but the target y is None"),
}


@every_family
@pytest.mark.parametrize("case", BAD_SHAPES)
def test_a_wrong_shape_is_a_value_error(estimator, case: str) -> None:
    X, y, fragment = BAD_SHAPES[case]
    with pytest.raises(ValueError, match=re.escape(fragment)):
        quick(estimator).fit(X, y)


@every_family
def test_several_targets_get_advice(estimator) -> None:
    X, y = task(estimator)
    if estimator.__name__ == "StackingClassifier":  # if its final estimator does
        with pytest.raises(ValueError, match="supports one output; y has 2 columns"):
            quick(estimator).fit(X, np.stack([y, y], axis=1))
        return
    if getattr(estimator, "_takes_several", False):
        assert quick(estimator).fit(X, np.stack([y, y], axis=1)).predict(X).shape == (120, 2)
        return
    kind = "Classifier" if estimator.__name__.endswith("Classifier") else "Regressor"
    for several in (np.stack([y, y], axis=1), [[one, one] for one in y.tolist()]):
        with pytest.raises(ValueError, match=rf"shape \(120, 2\) .*multioutput.MultiOutput{kind}"):
            quick(estimator).fit(X, several)


@every_family
def test_predict_rejects_tables_without_rows(estimator) -> None:
    """As scikit-learn does; predictor() of a model returns no predictions for no rows."""
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    for nothing in (X[:0], scipy.sparse.csr_array((0, 4))):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            model.predict(nothing)


@pytest.mark.parametrize("cv", [5, 3])
def test_more_folds_than_rows_are_refused(cv: int) -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    for kind in ("Classifier", "Regressor"):
        members = [("tree", getattr(weald, f"DecisionTree{kind}")())]
        with pytest.raises(ValueError, match=rf"n_splits={cv} .* n_samples=2"):
            getattr(weald, f"Stacking{kind}")(members, cv=cv).fit(X, y)
        with pytest.raises(ValueError, match=rf"n_splits={cv} .* n_samples=2"):
            getattr(weald, f"Voting{kind}")(members, weights="oof", cv=cv).fit(X, y)


# ---- beyond 32 bits ----

N_ROWS, N_COLUMNS = 66_000, 33_000


def beyond_2_to_the_31() -> np.ndarray:
    """A table of zeros, of which only the last rows take memory: they are ones."""
    if sys.platform != "linux":
        pytest.skip("needs pages of zeros that take no memory")
    try:
        X = np.zeros((N_ROWS, N_COLUMNS), dtype=np.float32)
    except MemoryError:
        pytest.skip("needs 8 GiB of addresses")
    assert X.size > 2**31
    X[-300:] = 1.0
    return X


def test_a_table_of_more_than_2_to_the_31_values() -> None:
    X = beyond_2_to_the_31()
    y = X[:, -1].astype(np.float64)
    # Its cells are distinguished to the last one,
    small = np.zeros((40, N_COLUMNS), dtype=np.float32)
    small[20:, -1] = 1.0
    tree = weald.DecisionTreeRegressor(n_jobs=2).fit(small, small[:, -1].astype(np.float64))
    assert tree.forest_.feature[0] == N_COLUMNS - 1
    assert np.array_equal(tree.predict(X), y)
    # and used for splits.
    model = weald.ExtraTreesRegressor(n_estimators=1, max_features=1, random_state=0, n_jobs=2)
    assert np.array_equal(model.fit(X, y).predict(X[-600:]), y[-600:])


def test_rows_and_columns_beyond_the_counters_are_refused() -> None:
    many = np.broadcast_to(np.float32(0), (2**32, 1))
    for estimator in (weald.BoostedTreesClassifier, weald.VotingClassifier):
        with pytest.raises(ValueError, match=r"X has 4,294,967,296 rows .* Fit on a part"):
            quick(estimator).fit(many, np.broadcast_to(0, 2**32))
    with pytest.raises(ValueError, match="too many rows"):
        _native.find_cuts(many, None, 255, 1)
    X, y = task(weald.DecisionTreeClassifier, n_columns=1)
    with pytest.raises(ValueError, match="too many rows"):
        weald.DecisionTreeClassifier().fit(X.astype(np.float32), y).predict(many)
    wide = scipy.sparse.csr_array((3, 2**31 + 5))
    for estimator in (weald.BoostedTreesClassifier, weald.StackingClassifier):
        with pytest.raises(ValueError, match=r"and 2,147,483,653 columns.* Fit on a part"):
            quick(estimator).fit(wide, [0, 1, 0])


@pytest.mark.parametrize("wide", [(2**32, 1), (1, 2**31)])
def test_codes_beyond_the_counters_are_refused(wide: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="rows, and columns"):
        _native.empty_codes(*wide)


def test_bins_beyond_memory_are_refused_before_they_are_made(monkeypatch) -> None:
    monkeypatch.setattr("weald.data.memory.most_bytes", lambda: 2**30)
    X = scipy.sparse.csr_array((2**16, 2**16))
    for model in (
        weald.BoostedTreesRegressor(growth="symmetric"),
        weald.BoostedTreesRegressor(exact=True),
        weald.RandomForestRegressor(),
    ):
        with pytest.raises(MemoryError, match=r"65,536 x 65,536 values.* 4.0 GiB.*fewer rows"):
            model.fit(X, np.zeros(2**16))


def test_lists_of_codes_within_memory_are_fitted(monkeypatch) -> None:
    """Boosted trees keep codes of sparse tables in lists."""
    monkeypatch.setattr("weald.data.memory.most_bytes", lambda: 2**30)
    X = scipy.sparse.csr_array(
        (np.ones(2**16), (np.arange(2**16), np.arange(2**16) % 7)), shape=(2**16, 2**16)
    )
    y = (np.arange(2**16) % 7 == 3) * 1.0
    model = weald.BoostedTreesRegressor(quality="fast", n_estimators=1, learning_rate=1.0)
    assert model.fit(X, y).predict(X[:7]) == pytest.approx(y[:7])


# Pointers of 64 bits: what they refer to must exist.
FAR = {
    "one beyond 2^31": lambda pointers: pointers.__setitem__(1, 2**31 + 5),
    "the last beyond 2^33": lambda pointers: pointers.__setitem__(-1, 2**33),
    "one that 32 bits would take for 4": lambda pointers: pointers.__setitem__(1, 2**32 + 4),
    "one that 32 bits would take for negative": lambda pointers: pointers.__setitem__(1, -(2**31)),
}


@every_family
@pytest.mark.parametrize("case", FAR)
def test_sparse_pointers_beyond_2_to_the_31(estimator, case: str) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    for layout in ("csr", "csc"):
        matrix = scipy.sparse.csr_array(X).asformat(layout)
        matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype("i8")
        FAR[case](matrix.indptr)
        with pytest.raises(ValueError, match="broken sparse matrix .* construct the matrix anew"):
            quick(estimator).fit(matrix, y)
        with pytest.raises(ValueError, match="broken sparse matrix .* construct the matrix anew"):
            model.predict(matrix)


def test_more_stored_values_than_2_to_the_31_are_counted_as_such() -> None:
    """One value is read again and again: it takes no memory. One place too few is noticed."""
    n = 2**31 + 8
    matrix = scipy.sparse.csc_array((4, 2), dtype=np.float32)
    matrix.data = np.broadcast_to(np.float32(1), n)
    matrix.indices = np.broadcast_to(np.int8(0), n - 1)
    matrix.indptr = np.array([0, 3, n])
    with pytest.raises(ValueError, match=rf"indices has {n - 1} entries, expected {n}"):
        weald.DecisionTreeRegressor().fit(matrix, np.arange(4.0))


@pytest.mark.parametrize("name", ["BoostedTreesClassifier", "RandomForestClassifier"])
def test_a_million_sparse_columns(name: str) -> None:
    X = scipy.sparse.lil_array((20, 10**6))
    X[:10, -1] = 1.0
    X[::3, 5] = 2.0
    model = quick(getattr(weald, name), n_estimators=1, max_features=None, min_samples_leaf=1)
    model.fit(X.tocsr(), np.repeat([1, 0], 10))
    assert model.feature_importances_[-1] == 1.0 or name == "RandomForestClassifier"
    assert model.predict(X.tocsr()).tolist() == [1] * 10 + [0] * 10


def test_many_rows_are_predicted_as_few() -> None:
    X, y = task(weald.BoostedTreesClassifier)
    model = quick(weald.BoostedTreesClassifier, n_estimators=2).fit(X, y)
    expected = answers(model, X[:1])
    said = answers(model, np.broadcast_to(X[0], (2_000_000, 4)))
    assert said.shape == (2_000_000, 3) and (said == expected).all()


# ---- numbers of estimators, leaves and bins ----


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if has(e, "n_estimators")])
@pytest.mark.parametrize("many", [2**31, 2**63, 10**30])
def test_too_many_estimators_are_rejected(estimator, many: int) -> None:
    X, y = task(estimator, n=12)
    with pytest.raises(ValueError, match=f"'n_estimators' parameter .* range .* Got {many}"):
        quick(estimator, n_estimators=many).fit(X, y)


def test_a_hundred_thousand_estimators() -> None:
    X = table(10)
    model = weald.ExtraTreesRegressor(n_estimators=100_000, max_depth=1, n_jobs=1, random_state=0)
    assert model.fit(X, np.arange(10.0)).forest_.n_trees == 100_000
    assert np.isfinite(model.predict(X[:2])).all()


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if has(e, "max_bins")])
def test_few_bins_and_too_many(estimator) -> None:
    X, y = task(estimator)
    most = 255 if "OptionTree" in estimator.__name__ else 65_535
    for max_bins in (2, 3, 4, 7, 15, 16, most):
        assert np.isfinite(answers(quick(estimator, max_bins=max_bins).fit(X, y), X)).all()
    for wrong in (0, 1, most + 1, -3):
        with pytest.raises(ValueError, match=rf"\[2, {most}\].* Got {wrong} instead"):
            quick(estimator, max_bins=wrong).fit(X, y)
