"""Tables in containers of every kind: read alike by all families, or refused with advice."""

import io
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import weald
from contract.frames import CONTAINERS, container, labels
from contract.subjects import answers, quick, table, task
from contract.test_hard_containers import (
    KINDS,
    Exchanged,
    Interface,
    LyingArray,
    Offers,
    Packed,
    PackedOrArray,
    Raises,
    Stream,
    as_arrow,
)
from reliability.families import FAMILIES, every_family, every_foreign

REFUSED = {
    "generator": (lambda X: (row for row in X), "a generator, which is not a table"),
    "map": (lambda X: map(list, X), "a map, which is not a table"),
    "file": (lambda X: io.StringIO("1,2"), "a StringIO, which is not a table"),
    "dict": (lambda X: {"a": X[:, 0], "b": X[:, 1]}, "a dict, which is not a table"),
    "set": (lambda X: {1, 2}, "a set, which is not a table"),
    "word": (lambda X: "table.csv", "a str, which is not a table"),
    "bytes": (lambda X: b"1,2", "a bytes, which is not a table"),
    "nothing": (lambda X: None, "a NoneType, which is not a table"),
    "records": (
        lambda X: np.zeros(len(X), dtype=[("a", "f8"), ("b", "f8")]),
        "a structured array with the fields 'a', 'b'.*pandas.DataFrame",
    ),
    "raw bytes": (lambda X: np.zeros((len(X), 2), dtype="V8"), "a structured array of raw bytes"),
}


@every_family
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_a_type_error(estimator, case: str) -> None:
    wrong, fragment = REFUSED[case]
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(TypeError, match=fragment):
        model.fit(wrong(X), y)
    with pytest.raises(TypeError, match=fragment):
        model.predict(wrong(X))
    assert model.fingerprint() == before


@every_foreign
@pytest.mark.parametrize("case", REFUSED)
def test_invalid_tables_are_rejected_before_foreign_base_estimators(model, case: str) -> None:
    wrong, fragment = REFUSED[case]
    with pytest.raises(TypeError, match=fragment):
        clone(model).fit(wrong(table(40)), np.arange(40) % 2)


# ---- arrays ----


@every_family
def test_read_only_files_are_read_in_place(estimator, tmp_path) -> None:
    X, y = task(estimator)
    for kind in (np.float32, np.float64):
        np.save(tmp_path / "X.npy", X.astype(kind))
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        model = quick(estimator).fit(mapped, y)
        assert model.fingerprint() == quick(estimator).fit(X, y).fingerprint()
        assert np.array_equal(answers(model, mapped), answers(model, X))


@every_family
def test_any_strides(estimator) -> None:
    X, y = task(estimator)
    expected = quick(estimator).fit(X, y).fingerprint()
    wide = np.zeros((240, 8))
    wide[::-2, ::-2] = X
    turned = np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    for same in (wide[::-2, ::-2], turned, np.asfortranarray(X), X.astype(">f8"), X.astype("<f4")):
        assert quick(estimator).fit(same, y).fingerprint() == expected


@every_family
def test_ranges_and_tuples_are_lists(estimator) -> None:
    X = [range(i, i + 3) for i in range(40)]
    y = [i % 2 for i in range(40)]
    expected = quick(estimator).fit(np.array(X), y).fingerprint()
    assert quick(estimator).fit(X, tuple(y)).fingerprint() == expected
    assert quick(estimator).fit(tuple(map(tuple, X)), y).fingerprint() == expected


@every_family
def test_sparse_matrices_that_are_not_tidy(estimator) -> None:
    """Unsorted, doubled and stored zeros; NaN is missing, and what is not stored is zero."""
    X, y = task(estimator)
    X = np.where(np.arange(X.size).reshape(X.shape) % 3, 0.0, X)
    X[5, 1] = np.nan
    expected = quick(estimator).fit(X, y)
    tidy = scipy.sparse.coo_array(np.where(X == 0, 7.0, X))
    values = np.where(tidy.data == 7.0, 0.0, tidy.data)
    order = np.random.default_rng(0).permutation(len(values))
    rows, columns = np.tile(tidy.row[order], 2), np.tile(tidy.col[order], 2)
    doubled = scipy.sparse.coo_array((np.tile(values[order] / 2, 2), (rows, columns)), X.shape)
    for layout in ("coo", "csr", "csc"):
        matrix = doubled.asformat(layout) if layout == "coo" else doubled.copy().asformat(layout)
        model = quick(estimator).fit(matrix, y)
        assert model.fingerprint() == expected.fingerprint()
        assert np.array_equal(answers(model, matrix), answers(expected, X))


# ---- frames ----

LAZY = [one for one in CONTAINERS if one not in ("objects", "lists")]


@every_family
@pytest.mark.parametrize("kind", LAZY)
def test_frames_of_every_kind(estimator, kind: str) -> None:
    """Text, categories, truth values, dates and gaps, for all families; bagged and combined too."""
    X, y = container(kind), labels()
    model = quick(estimator).fit(X, y)
    expected = quick(estimator).fit(container("polars"), y)
    # Folds are drawn by the text of the cells, which containers write differently.
    if estimator not in (weald.StackingClassifier, weald.BlendingRegressor):
        assert np.array_equal(answers(model, X), answers(expected, container("pandas")))
    assert model.feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    assert np.isfinite(answers(model, X)).all()


@every_family
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_columns_are_matched_by_name(estimator, kind: str) -> None:
    frame, y = container(kind), labels()
    model = quick(estimator).fit(frame, y)
    names = ["when", "city", "size", "flag"]
    turned = frame.select(names) if kind != "pandas" else frame[names]
    assert np.array_equal(answers(model, turned), answers(model, frame))
    fewer = frame.select(names[:3]) if kind != "pandas" else frame[names[:3]]
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- flag\n"):
        model.predict(fewer)


@every_foreign
def test_foreign_base_estimators_get_columns_in_the_order_of_fit(model) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = table(40), np.arange(40) % 2
    for frames in (pandas, polars):
        frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abcd")})
        fitted = clone(model).fit(frame, y)
        # Sums of other libraries may depend on where their numbers lie.
        turned = fitted.predict(frame[list("dcba")])
        assert turned == pytest.approx(fitted.predict(frame), rel=1e-9)
        renamed = frames.DataFrame({name: X[:, i] for i, name in enumerate("abcx")})
        with pytest.raises(ValueError, match="unseen at fit time:\n- x\n"):
            fitted.predict(renamed)


@every_family
def test_bad_names(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = task(estimator)
    for names, error, fragment in [
        (list("abab"), ValueError, "columns of the same name: 'a', 'b'. .* rename or drop"),
        (
            pandas.MultiIndex.from_product([["a", "b"], ["x", "y"]]),
            ValueError,
            "MultiIndex as column names",
        ),
        (["a", "b", 3, "d"], TypeError, "all input features have string names"),
    ]:
        with pytest.raises(error, match=fragment):
            quick(estimator).fit(pandas.DataFrame(X, columns=names), y)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    plain = quick(estimator).fit(frame, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        unnamed = answers(plain, X)
    assert np.array_equal(unnamed, answers(plain, frame))


@every_family
def test_the_index_of_a_frame_is_no_key(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = task(estimator)
    frame, series = pandas.DataFrame(X, columns=list("abcd")), pandas.Series(y)
    expected = quick(estimator).fit(frame, series).fingerprint()
    for index in (np.arange(120)[::-1], np.zeros(120), [f"row {i}" for i in range(120)]):
        moved = quick(estimator).fit(frame.set_axis(index), series)
        assert moved.fingerprint() == expected


@every_family
def test_columns_of_other_things_are_refused_by_name(estimator) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y = np.arange(20) % 2
    for X, fragment in [
        (pandas.DataFrame({"a": ["x", 1] * 10}), r"Column 'a' mixes text and numbers \(1 in row 1"),
        (
            pandas.DataFrame({"a": pandas.period_range("2020", periods=20, freq="M")}),
            "Column 'a' holds a Period in row 0.* Convert the column",
        ),
        (pandas.DataFrame({"a": [{"b": 1}] * 20}), "Column 'a' holds a dict in row 0"),
        (polars.DataFrame({"a": [[1, 2]] * 20}), "Column 'a' holds List.*or drop it"),
        (np.array([[None, [1]], [1.0, 2.0]] * 10, dtype=object), "Column 1 holds a list in row 0"),
        (np.array([[1.0], [b"x"]] * 10, dtype=object), "Column 0 holds a bytes in row 1"),
        (np.array([[1.0], [2j]] * 10, dtype=object), "Column 0 holds a complex in row 1"),
    ]:
        with pytest.raises(TypeError, match=fragment):
            quick(estimator).fit(X, y)


@every_family
def test_tables_without_rows_or_columns(estimator) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    no_chunk = pyarrow.table({"a": pyarrow.chunked_array([], type=pyarrow.float64())})
    for nothing in (no_chunk, polars.DataFrame({"a": []}), pandas.DataFrame({"a": []})):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            quick(estimator).fit(nothing, [])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        quick(estimator).fit(pandas.DataFrame(index=range(10)), np.arange(10) % 2)


# ---- what only offers to become a table ----

OTHERS = [one for one in FAMILIES if one not in KINDS]
every_other = pytest.mark.parametrize("estimator", OTHERS)


@every_other
@pytest.mark.parametrize("form", [Offers, Interface, Packed, PackedOrArray])
def test_an_offered_array_is_the_array(estimator, form) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(form(X), form(y), form(np.ones(len(y))))
    assert model.fingerprint() == quick(estimator).fit(X, y).fingerprint()
    assert np.array_equal(answers(model, form(X)), answers(model, X))


@every_other
def test_protocols_are_called_once_and_checked(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X, y)
    things = [Offers(X, X[:3]), Offers(y, y[:3]), Offers(np.ones(120), np.zeros(120))]
    assert quick(estimator).fit(*things).fingerprint() == model.fingerprint()
    assert [thing.n_asked for thing in things] == [1, 1, 1]
    table = Offers(X, 0 * X)
    assert np.array_equal(answers(model, table), answers(model, X)) and table.n_asked == 1
    lying = quick(estimator).fit(X.view(LyingArray), y.view(LyingArray))
    assert lying.fingerprint() == model.fingerprint()
    for wrong, fragment in [
        (Raises(), "cannot be read by its __array__: lost"),
        (Interface(X, shape=(10**6, 4)), "its memory has 3840 bytes"),
        (Interface(X, strides=(-32, 8)), "reaches from byte -3808"),
        (Packed(X, (2, 0)), "other devices to main memory"),
    ]:
        with pytest.raises((TypeError, ValueError), match=fragment):
            quick(estimator).fit(wrong, y)
        with pytest.raises((TypeError, ValueError), match=fragment):
            model.predict(wrong)


@every_other
@pytest.mark.parametrize("form", [Stream, Exchanged])
def test_an_offered_frame_is_the_frame(estimator, form) -> None:
    X, y = task(estimator)
    table = as_arrow(X)
    model = quick(estimator).fit(form(table), y)
    assert model.feature_names_in_.tolist() == table.column_names
    assert np.array_equal(answers(model, form(table)), answers(model, table))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(form(table.drop_columns(["x1"])))
    for wrong, fragment in [
        (Stream(None), "__arrow_c_stream__"),
        (Exchanged(table, size=lambda: 10**8), "has 100000000 values, but there are 120 rows"),
        (Exchanged(table, bufsize=8), "a buffer of 8 bytes"),
    ]:
        with pytest.raises((TypeError, ValueError), match=fragment):
            quick(estimator).fit(wrong, y)


@every_other
def test_an_array_that_another_thread_changes(estimator) -> None:
    """The values are undefined, but the fit succeeds."""
    X, y = task(estimator, n=5000)
    states = [X.copy(), np.full_like(X, np.nan), X[::-1].copy(), np.full_like(X, np.inf)]
    is_done = threading.Event()

    def scribble() -> None:
        while not is_done.is_set():
            for state in states:
                np.copyto(X, state)

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        model = quick(estimator, n_jobs=2, max_leaf_nodes=8).fit(X, y)
    finally:
        is_done.set()
        thread.join()
    assert np.isfinite(answers(model, states[0])).all()


# ---- levels ----

SPLITTERS = [one for one in FAMILIES if one is not weald.VotingRegressor]


@pytest.mark.parametrize("estimator", SPLITTERS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_levels_are_values(estimator) -> None:
    """Case, spaces and Unicode forms distinguish categories; an unknown category is missing."""
    pandas = pytest.importorskip("pandas")
    levels = np.array(["é", "e\u0301", "E", "e", "e "])
    place = np.resize(np.arange(5), 200)
    frame = pandas.DataFrame({"a": levels[place], "b": np.arange(200.0)})
    y = place % 2
    model = quick(estimator, n_estimators=20).fit(frame, y)
    assert (np.round(model.predict(frame)) == y).mean() > 0.95
    for never in ("é ", "ê", "É"):
        strange = frame[:5].assign(a=never)
        missing = frame[:5].assign(a=pandas.Series([None] * 5, dtype=object))
        assert np.array_equal(answers(model, strange), answers(model, missing))
        rows = strange.astype(object).to_numpy()
        assert np.array_equal(answers(model, rows), answers(model, missing))
    by_code = frame.astype({"a": "category"})
    assert np.array_equal(answers(model, by_code), answers(model, frame))


@pytest.mark.parametrize("name", ["BoostedTrees", "RandomForest", "DecisionTree", "AdaBoost"])
def test_numbers_as_levels_are_one_in_every_type(name: str) -> None:
    estimator: Any = getattr(weald, f"{name}Classifier")
    codes = np.resize([-2, 0, 1, 7], 120)
    y = np.isin(codes, [-2, 1]).astype(int)
    model = quick(estimator, categorical_features=[0]).fit(codes[:, np.newaxis], y)
    for kind in (np.int8, np.float32, np.float64, object):
        same = codes[:, np.newaxis].astype(kind)
        assert np.array_equal(answers(model, same), answers(model, codes[:, np.newaxis]))
        other = quick(estimator, categorical_features=[0]).fit(same, y)
        assert other.fingerprint() == model.fingerprint()
    missing = answers(model, [[np.nan]])
    for never in (3, 0.5, 1e300, -np.inf):
        assert np.array_equal(answers(model, [[never]]), missing)


def test_an_identifier_of_more_levels_than_codes() -> None:
    pandas = pytest.importorskip("pandas")
    n = 70_000
    frame = pandas.DataFrame({"id": np.arange(n).astype(str), "x": np.arange(n) % 7})
    y = (frame["x"] > 3).to_numpy()
    for estimator in (weald.BoostedTreesClassifier, weald.DecisionTreeClassifier):
        model = quick(estimator, n_estimators=2).fit(frame, y)
        assert model.feature_importances_.tolist() == [0.0, 1.0]
