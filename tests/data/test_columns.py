"""Column plans: categories by value and by frequency, kinds, dates."""

import numpy as np
import pytest

from weald.data.columns import MOST_LEVELS, Category, Moment, Number, _kept, count_levels, level_of
from weald.data.values import values_of


def column(values, dtype=object):
    return values_of(np.array(values, dtype=dtype), "Column 'c'")


def fitted(values, copies=None) -> Category:
    copies = np.ones(len(values), dtype=np.int64) if copies is None else np.array(copies)
    total = count_levels(column(values), copies)[2]
    return Category.of_counts(total, len(values), "Column 'c'")


def test_levels_are_sorted_and_counted() -> None:
    assert fitted(["b", None, "a", "b", "ä", "B"]).levels == ("B", "a", "b", "ä")
    assert fitted([3, 1.0, True, np.float32(2), None]).levels == (1, 2, 3)
    assert fitted(["a", "b"], [0, 1]).levels == ("b",)
    assert fitted([None, np.nan]).levels == ()


def test_levels_are_read_by_value() -> None:
    known = fitted(["a", "b", "c"])
    (places,) = known.read(column(["c", "x", None, "a"]))
    assert places.tolist()[0] == 2 and np.isnan(places[1:3]).all() and places[3] == 0
    numbers = fitted([10, 20])
    (places,) = numbers.read(column([20.0, 10.0, np.nan, 15], np.float64))
    assert places[:2].tolist() == [1, 0] and np.isnan(places[2:]).all()
    with pytest.raises(TypeError, match="Column 'c' had numbers as categories when fitted"):
        numbers.read(column(["10"]))


def test_of_many_levels_the_rare_are_left_out() -> None:
    assert len(_kept({f"l{i}": 1 for i in range(255)})) == 255
    counts = {f"l{i}": 1 + i % 20 for i in range(256)}
    assert all(counts[level] >= 10 for level in _kept(counts))
    assert _kept({f"id{i}": 1 for i in range(1000)}) == []


def test_no_more_levels_than_codes() -> None:
    counts = {i: 10 + i for i in range(MOST_LEVELS + 5)}
    kept = _kept(counts)
    assert len(kept) == MOST_LEVELS and min(kept) == 5
    # Of levels with the same number of rows all are kept or none.
    assert len(_kept({i: 10 + i // 10 for i in range(MOST_LEVELS + 5)})) == MOST_LEVELS - 5


def test_other_values_are_levels_by_their_text() -> None:
    pandas = pytest.importorskip("pandas")
    assert level_of(pandas.Interval(0, 1)) == "(0, 1]"
    assert level_of(-0.0) == 0 and level_of(2**70) == float(2**70)


def test_numeric_categories_are_numbers_if_requested() -> None:
    pandas = pytest.importorskip("pandas")
    import narwhals.stable.v1 as nw

    series = nw.from_native(pandas.Series(pandas.Categorical([3, None, 5])), series_only=True)
    (numbers,) = Number().read(values_of(series, "Column 'c'"))
    assert numbers[[0, 2]].tolist() == [3, 5] and np.isnan(numbers[1])


def test_moments_before_1970_and_far_away() -> None:
    when = np.array(["1969-12-31T23:30", "0001-01-01", "9999-12-31T12:00", "NaT"], dtype="M8[us]")
    seconds, year, month, day, weekday, hour = Moment(None).read(values_of(when, "c"))
    assert seconds[:3].tolist() == [-1800, -62135596800, 253402257600]
    assert year[:3].tolist() == [1969, 1, 9999] and month[:3].tolist() == [12, 1, 12]
    assert day[:3].tolist() == [365, 1, 365] and hour[:3].tolist() == [23, 0, 12]
    assert weekday[:3].tolist() == [2, 0, 4]
    assert np.isnan([part[3] for part in (seconds, year, month, day, weekday, hour)]).all()


def test_many_rows_of_few_days_have_the_parts_they_have_alone() -> None:
    rng = np.random.default_rng(0)
    when = np.datetime64("1968-12-30T00:00") + rng.integers(0, 900 * 1440, 3000).astype("m8[m]")
    when[17] = np.datetime64("NaT")
    together = Moment(None).read(values_of(when.astype("M8[us]"), "c"))
    for row in range(0, 3000, 250):
        alone = Moment(None).read(values_of(when[row : row + 1].astype("M8[us]"), "c"))
        for part, one in zip(together, alone, strict=True):
            assert part.dtype == one.dtype
            np.testing.assert_array_equal(part[row : row + 1], one)


def test_dictionaries_of_arrow_with_unsigned_indices() -> None:
    arrow = pytest.importorskip("pyarrow")
    import narwhals.stable.v1 as nw

    places = arrow.array([1, None, 0], type=arrow.uint32())
    column = arrow.DictionaryArray.from_arrays(places, ["a", "b"])
    series = nw.from_native(arrow.chunked_array([column]), series_only=True)
    codes, values = values_of(series, "Column 'c'").coded()
    assert codes.tolist() == [1, -1, 0] and values == ["a", "b"]
