"""Columns of every type for every estimator: text, categories, dates, booleans."""

import datetime
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from contract.frames import CITIES, CONTAINERS, N, cells, container, labels
from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    answers,
    has,
    quick,
    searches,
    table,
    target,
)
from weald.data import dense_blocks, table_for_predict

FRAMED = [e for e in EVERY_ESTIMATOR if has(e, "categorical_features")]
every_estimator = pytest.mark.parametrize("estimator", FRAMED)
every_forest = pytest.mark.parametrize("estimator", [e for e in FRAMED if not searches(e)])
X0 = table(10)
Y0 = np.arange(10) % 2


def small(estimator: type, **parameters: Any) -> Any:
    return quick(estimator, min_samples_leaf=2, learning_rate=0.5, **parameters)


@cache
def of_polars(estimator: type) -> tuple[Any, str, np.ndarray]:
    """A model fitted on a polars frame, its fingerprint, and its predictions."""
    X = container("polars")
    model = small(estimator, subsample=0.7).fit(X, labels())
    return model, model.fingerprint(), answers(model, X)


@every_estimator
@pytest.mark.filterwarnings("ignore:X (has|does not have)( valid)? feature names:UserWarning")
@pytest.mark.parametrize("kind", CONTAINERS)
def test_the_same_columns_in_any_container(estimator, kind: str) -> None:
    X, y = container(kind), labels()
    expected, fingerprint, predictions = of_polars(estimator)
    fitted = small(estimator, subsample=0.7).fit(X, y)
    assert fitted.fingerprint() == fingerprint
    assert np.array_equal(answers(expected, X), predictions)
    assert np.array_equal(answers(fitted, container("pandas category")), predictions)
    if kind not in ("objects", "lists"):
        assert fitted.feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    assert fitted.n_features_in_ == 4
    shares = fitted.feature_importances_
    assert shares.shape == (4,) and shares.sum() == pytest.approx(1) and (shares > 0).sum() >= 3


@every_estimator
@pytest.mark.parametrize("n_jobs", [2, 8])
def test_the_same_model_for_any_order_of_rows_and_threads(estimator, n_jobs: int) -> None:
    frame, y = container("pandas"), labels()
    weight = np.random.default_rng(1).integers(0, 3, N)
    before = small(estimator).fit(frame, y, weight)
    order = np.random.default_rng(2).permutation(N)
    after = small(estimator, n_jobs=n_jobs).fit(frame.iloc[order], y[order], weight[order])
    assert after.fingerprint() == before.fingerprint()


@every_estimator
def test_categories_of_zero_weight_rows_are_unknown(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    city = np.array(["a", "b", "c"] * 20)
    y = target(estimator, table(60))
    frame, weight = pandas.DataFrame({"city": city}), (city != "c").astype(float)
    weighted = small(estimator).fit(frame, y, weight)
    removed = small(estimator).fit(frame[city != "c"], y[city != "c"])
    assert weighted.fingerprint() == removed.fingerprint()


# ---- categories ----


@every_estimator
def test_levels_are_compared_by_value_and_not_by_code(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    frame, y = container("pandas category"), labels()
    model = small(estimator).fit(frame, y)
    expected = answers(model, frame)
    other = frame.copy()
    for categories in (sorted(CITIES), ["x", *CITIES, "y"]):
        other["city"] = pandas.Categorical(cells()["city"], categories=categories)
        assert np.array_equal(answers(model, other), expected)
        assert small(estimator).fit(other, y).fingerprint() == model.fingerprint()
    other["city"] = pandas.Series(cells()["city"], dtype=object)
    assert np.array_equal(answers(model, other), expected)


@every_estimator
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_an_unknown_category_is_missing(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    model = small(estimator).fit(container("pandas"), labels())
    rows = container("pandas").iloc[:20].copy()
    rows["city"] = pandas.Series([None] * 20, dtype=object)
    expected = answers(model, rows)
    for strange in ("Rom", "bonn", "Bonn ", ""):
        rows["city"] = strange
        for new in (
            rows,
            polars.from_pandas(rows),
            pyarrow.Table.from_pandas(rows, preserve_index=False),
            rows.astype(object).to_numpy(),
        ):
            assert np.array_equal(answers(model, new), expected), (strange, type(new))


@every_estimator
def test_whole_numbers_can_be_called_categories(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(-3, 4, (80, 2)).astype(float)
    X[::9, 0] = np.nan
    y = target(estimator, X)
    model = small(estimator, categorical_features=[0]).fit(X, y)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    for choice, table_ in [
        ([True, False], X),
        (np.array([-2]), X),
        ((0,), np.asfortranarray(X)),
        (["a"], frame),
    ]:
        fitted = small(estimator, categorical_features=choice).fit(table_, y)
        assert fitted.fingerprint() == model.fingerprint()
    by_type = frame.astype({"a": "category"})
    named = small(estimator).fit(by_type, y)
    assert named.fingerprint() == model.fingerprint()
    assert np.array_equal(answers(named, by_type), answers(model, X))
    assert np.array_equal(answers(named, frame), answers(model, X))
    # A value between two categories is none of them; a boolean is a number.
    strange = np.array([[0.5, 1.0], [99.0, 1.0]])
    assert np.array_equal(answers(model, strange), answers(model, [[np.nan, 1.0]] * 2))
    plain = small(estimator, categorical_features=None).fit(by_type, y)
    assert plain.fingerprint() == small(estimator).fit(X, y).fingerprint()


@every_forest
def test_ordered_categories_keep_their_order(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    sizes = ["small", "medium", "large", "huge"]
    rank = np.random.default_rng(0).integers(0, 4, 80)
    y = (rank >= 2).astype(int)
    kind = pandas.CategoricalDtype(sizes, ordered=True)
    frame = pandas.DataFrame({"size": pandas.Series(np.array(sizes)[rank]).astype(kind)})
    model = small(estimator, max_leaf_nodes=2).fit(frame, y)
    by_rank = small(estimator, max_leaf_nodes=2).fit(rank[:, np.newaxis].astype(float), y)
    assert np.array_equal(model.forest_.threshold, by_rank.forest_.threshold)
    if not getattr(estimator, "_random_cuts", False):
        assert model.forest_.threshold[0] == 1.5
    # In prediction the values count, whatever order is declared.
    assert np.array_equal(answers(model, frame.astype(str)), answers(model, frame))
    turned = frame.astype(pandas.CategoricalDtype(sizes[::-1], ordered=True))
    assert np.array_equal(answers(model, turned), answers(model, frame))


@every_estimator
def test_every_kind_of_missing_is_missing(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    y = labels()
    frame = pandas.DataFrame({"city": cells()["city"], "size": cells()["size"]})
    expected = small(estimator).fit(frame, y).fingerprint()
    for nothing in (None, np.nan, pandas.NA, pandas.NaT, float("-nan")):
        other = frame.astype({"city": object, "size": object})
        for name in other.columns:
            other[name] = [nothing if pandas.isna(v) else v for v in other[name]]
            other[name] = other[name].astype(object)
        assert small(estimator).fit(other, y).fingerprint() == expected


@every_estimator
def test_wrong_choices_of_columns(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    frame, y = container("pandas"), labels()
    for choice, X, fragment in [
        (
            ["town"],
            frame,
            "names 'town', which is not a column of X; its columns are 'size', 'city'",
        ),
        (["city"], X0, "names 'city', but X has no column names"),
        ([4], frame, "has the position 4, but X has 4 columns, numbered from 0 to 3"),
        ([True], frame, "is a mask of 1 columns, but X has 4"),
        (
            ["city", "when"],
            frame,
            "names column 'when', which holds dates or times; these are ordered",
        ),
        (["flag"], frame, "Column 'city' holds text and is not among categorical_features"),
        (None, frame, "Column 'city' holds text and is not among categorical_features"),
    ]:
        with pytest.raises(ValueError, match=fragment):
            small(estimator, categorical_features=choice).fit(X, y[: len(X)])
    both = pandas.DataFrame({"a": pandas.Categorical([1, "x"] * 5)})
    with pytest.raises(TypeError, match="Column 'a' mixes text and numbers as categories"):
        small(estimator).fit(both, Y0)


@every_estimator
def test_another_kind_of_column_when_predicting(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    frame, y = container("pandas"), labels()
    model = small(estimator).fit(frame, y)
    for column, values, error, fragment in [
        ("size", "abc", ValueError, "Column 'size' holds text ('abc' in row 0), which could not"),
        ("size", frame["when"], TypeError, "Column 'size' holds dates or times"),
        ("city", 1.0, TypeError, "Column 'city' had text as categories when fitted and has n"),
        ("city", frame["when"], TypeError, "Column 'city' holds dates or times"),
        ("when", 5.0, TypeError, "Column 'when' holds numbers, which could not be converted to d"),
        ("when", "2024", TypeError, "Column 'when' holds text ('2024' in row 0)"),
    ]:
        wrong = frame.copy()
        wrong[column] = values
        with pytest.raises(error) as raised:
            model.predict(wrong)
        assert fragment in str(raised.value)
    numbers = small(estimator, categorical_features=[0]).fit(X0.round(), Y0)
    with pytest.raises(TypeError, match="Column 0 had numbers as categories when fitted"):
        numbers.predict(np.full((2, 4), "a", dtype=object))
    # An empty column is of no other type.
    empty = frame.copy()
    for name in empty.columns:
        empty[name] = pandas.Series([None] * N, dtype=object)
    assert np.isfinite(answers(model, empty)).all()


# ---- dates ----


def moments(library: str, zone: str | None = None) -> Any:
    frames = pytest.importorskip(library)
    values = [v and v.replace(minute=30) for v in cells()["when"]]
    if library == "pandas":
        column = frames.to_datetime(frames.Series(values))
        column = column.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else column
    else:
        column = frames.Series(values)
        if zone:
            column = column.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return frames.DataFrame({"when": column})


@every_estimator
def test_the_parts_of_a_date(estimator) -> None:
    model = small(estimator).fit(moments("polars"), labels())
    assert model.n_features_in_ == 1 and model.feature_importances_.tolist() == [1.0]
    (read,) = dense_blocks(table_for_predict(model, moments("pandas")))
    for row, value in enumerate(cells()["when"]):
        if value is None:
            assert np.isnan(read[row]).all()
            continue
        value = value.replace(minute=30, tzinfo=datetime.UTC)
        assert read[row].tolist() == [
            value.timestamp(),
            value.year,
            value.month,
            value.timetuple().tm_yday,
            value.weekday(),
            value.hour,
        ]


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_time_zones(estimator, library: str) -> None:
    y = labels()
    berlin = moments(library, "Europe/Berlin")
    model = small(estimator).fit(berlin, y)
    # The same instants in another time zone.
    assert np.array_equal(answers(model, moments(library, "Asia/Tokyo")), answers(model, berlin))
    naive = small(estimator).fit(moments(library), y)
    with pytest.raises(TypeError, match="was in no time zone when fitted and is in Europe/Berlin"):
        naive.predict(berlin)
    with pytest.raises(TypeError, match="was in Europe/Berlin when fitted and is in no time zone"):
        model.predict(moments(library))


@every_estimator
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_units_of_dates_and_arrays_of_them(estimator) -> None:
    frame, y = moments("polars"), labels()
    model = small(estimator).fit(frame, y)
    array = frame["when"].to_numpy()[:, np.newaxis]
    for unit in ("s", "ms", "us", "ns"):
        assert small(estimator).fit(array.astype(f"M8[{unit}]"), y).fingerprint() == (
            model.fingerprint()
        )
        assert np.array_equal(answers(model, array.astype(f"M8[{unit}]")), answers(model, frame))


@every_forest
@pytest.mark.parametrize("kind", ["date", "duration", "time"])
def test_days_durations_and_times_of_day(estimator, kind: str) -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    values = [v and v.replace(year=1960 + v.day) for v in cells()["when"]]
    start = datetime.datetime(1970, 1, 1)
    made: list[Any] = {
        "date": [v and v.date() for v in values],
        "time": [v and v.time() for v in values],
        "duration": [v and v - start for v in values],
    }[kind]
    y = labels()
    model = small(estimator).fit(polars.DataFrame({"a": made}), y)
    other = pandas.DataFrame({"a": pandas.Series(made, dtype=object)})
    assert small(estimator).fit(other, y).fingerprint() == model.fingerprint()
    assert np.array_equal(answers(model, other), answers(model, polars.DataFrame({"a": made})))
    assert (model.forest_.feature >= 0).any()


# ---- errors ----


@every_estimator
@pytest.mark.parametrize("mask", [False, True, np.ma.nomask])
def test_masked_arrays_are_refused(estimator, mask: Any) -> None:
    fitted = quick(estimator).fit(X0, Y0)
    masked = np.ma.masked_array(X0, mask)
    applied = getattr(fitted, "apply", fitted.predict)
    for method in (lambda X: quick(estimator).fit(X, Y0), fitted.predict, applied):
        with pytest.raises(TypeError, match=r"Masked arrays .* X.filled\(np.nan\)"):
            method(masked)


@every_estimator
def test_columns_of_other_things_are_refused_by_name(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for X, fragment in [
        (pandas.DataFrame({"a": ["x", 1] * 5}), "Column 'a' mixes text and numbers (1 in row 1)"),
        (
            pandas.DataFrame({"a": pandas.period_range("2020", periods=10, freq="M")}),
            "Column 'a' holds a Period in row 0",
        ),
        (pandas.DataFrame({"a": [{"b": 1}] * 10}), "Column 'a' holds a dict in row 0"),
        (polars.DataFrame({"a": [[1, 2]] * 10}), "Column 'a' holds List"),
        (polars.DataFrame({"a": [b"x"] * 10}), "Column 'a' holds "),
        (np.array([[None, [1]], [1.0, 2.0]], dtype=object), "Column 1 holds a list in row 0"),
    ]:
        with pytest.raises(TypeError) as raised:
            quick(estimator).fit(X, Y0[: len(X)])
        assert fragment in str(raised.value)


# ---- names ----


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_are_matched_by_name(estimator, library: str) -> None:
    frames = pytest.importorskip(library)
    X = table(60)
    y = target(estimator, X)
    names = ["größe", "価格", 'a "b"\n', "d"]

    def frame(order: list[int], names: list[str] = names, values: np.ndarray = X) -> Any:
        columns = {names[i]: values[:, i] for i in order}
        return frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)

    model = quick(estimator).fit(frame([0, 1, 2, 3]), y)
    assert model.feature_names_in_.tolist() == names
    expected = answers(model, frame([0, 1, 2, 3]))
    assert np.array_equal(answers(model, frame([2, 0, 3, 1])), expected)
    assert model.fingerprint() == quick(estimator).fit(X, y).fingerprint()
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- 価格\n"):
        model.predict(frame([0, 2, 3]))
    wrong = frame([0, 1, 2, 3], ["größe", "価格", "c", "d"])
    with pytest.raises(ValueError, match='unseen at fit time:\n- c\nF.*missing:\n- a "b"\n'):
        model.predict(wrong)
    more = frame([0, 1, 2, 3, 4], [*names, "e"], np.column_stack([X, X[:, 0]]))
    with pytest.raises(ValueError, match="unseen at fit time:\n- e\n"):
        model.predict(more)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(frame([0, 1, 2, 3], values=X[:0]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert np.array_equal(answers(model, X), expected)


@every_estimator
def test_names_that_are_none(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    X = table(60)
    y = target(estimator, X)
    numbered = pandas.DataFrame(X)
    model = quick(estimator).fit(numbered, y)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(answers(model, X), answers(model, numbered))
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 4 features"):
        model.predict(numbered[[0, 1]])
    named = pandas.DataFrame(X, columns=list("abcd"))
    with pytest.warns(UserWarning, match="X has feature names, but .* without feature names"):
        model.predict(named)
    model.fit(named, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(numbered)
    assert not hasattr(clone(model).fit(X, y), "feature_names_in_")
    assert not hasattr(model.fit(numbered, y), "feature_names_in_")


@every_estimator
def test_bad_names(estimator) -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    twice = pandas.DataFrame(X0, columns=["a", "b", "a", "b"])
    arrow = pyarrow.Table.from_arrays([pyarrow.array(X0[:, 0])] * 2, names=["a", "a"])
    levels = pandas.DataFrame(X0, columns=pandas.MultiIndex.from_product([["a", "b"], ["x", "y"]]))
    mixed = pandas.DataFrame(X0, columns=["a", "b", 3, "d"])
    for X, error, fragment in [
        (twice, ValueError, "X has columns of the same name: 'a', 'b'. "),
        (arrow, ValueError, "X has columns of the same name: 'a'. "),
        (levels, ValueError, "X has a MultiIndex as column names"),
        (mixed, TypeError, "all input features have string names"),
    ]:
        with pytest.raises(error, match=fragment):
            quick(estimator).fit(X, Y0)
    # The index is not used: rows and targets are matched by position.
    frame = pandas.DataFrame(X0, columns=list("abcd"))
    expected = quick(estimator).fit(frame, Y0).fingerprint()
    frame.index = [7] * 10
    assert quick(estimator).fit(frame, pandas.Series(Y0)).fingerprint() == expected


# ---- targets ----


@pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)
def test_labels_in_any_container(estimator) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    X = table(60)
    words = np.array(["no", "yes", "maybe"])[target(estimator, X)].tolist()
    expected = quick(estimator).fit(X, words)
    assert expected.classes_.tolist() == ["maybe", "no", "yes"]
    dictionary = pyarrow.chunked_array([words[:20], words[20:]]).dictionary_encode()
    for y in (
        pandas.Series(words),
        pandas.Series(words, dtype="category"),
        pandas.Series(words, dtype="string"),
        polars.Series(words),
        polars.Series(words, dtype=polars.Categorical),
        polars.Series(words, dtype=polars.Enum(["yes", "no", "maybe", "never"])),
        pyarrow.chunked_array([words[:20], words[20:]]),
        pyarrow.chunked_array([c.dictionary_encode() for c in dictionary.cast("string").chunks]),
    ):
        model = quick(estimator).fit(X, y)
        assert model.classes_.tolist() == ["maybe", "no", "yes"]
        assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    for y in (polars.Series([None, *words[1:]]), pandas.Series([None, *words[1:]])):
        with pytest.raises(ValueError, match="contains NaN"):
            quick(estimator).fit(X, y)
    truth = quick(estimator).fit(X, polars.Series([word == "yes" for word in words]))
    assert truth.classes_.tolist() == [False, True] and truth.predict(X).dtype == bool


@pytest.mark.parametrize("estimator", [e for e in EVERY_ESTIMATOR if e not in EVERY_CLASSIFIER])
def test_numbers_in_any_container(estimator) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X = table(60)
    y = target(estimator, X).astype(float)
    expected = quick(estimator).fit(X, y).fingerprint()
    for series in (
        polars.Series(y),
        pyarrow.chunked_array([y]),
        pandas.Series(y, dtype="Float64"),
        pandas.Series(y, dtype="double[pyarrow]"),
    ):
        assert quick(estimator).fit(X, series).fingerprint() == expected
    with pytest.raises(TypeError, match="y holds dates or durations"):
        quick(estimator).fit(X, np.arange(60).astype("M8[D]"))
    with pytest.raises(ValueError, match="contains NaN"):
        quick(estimator).fit(X, polars.Series([None, *y[1:]]))
