"""Rows and their weights: factors of sums, their unit, zeros, and what is refused."""

import numpy as np
import pytest

from weald.data import Rows
from weald.data.rows import MOST_COPIES, checked_weights, effective_rows


def rows(n: int = 4) -> Rows:
    return Rows(np.arange(float(n))[:, np.newaxis], np.arange(float(n)) * 10)


def test_equal_weights_are_a_unit_and_no_weights() -> None:
    for weight, unit in ((None, 1.0), (np.ones(4), 1.0), (3, 3.0), ([0.1] * 4, 0.1)):
        weighted = rows().weighted(weight)
        assert weighted.copies is None and weighted.weight is None
        assert weighted.weight_unit == unit and weighted.total_weight is None


@pytest.mark.parametrize("weight", [[1.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.5, 1.0]])
def test_weights_are_factors_whether_they_are_whole_numbers_or_not(weight: list) -> None:
    weighted = rows().weighted(weight)
    assert weighted.weight.tolist() == weighted.total_weight.tolist() == weight
    assert weighted.copies is None and weighted.weight_unit == 1.0


def test_rows_without_weight_are_dropped() -> None:
    weighted = rows().weighted([0, 2, 0, 1])
    assert weighted.n == 2
    assert weighted.table[:, 0].tolist() == [1.0, 3.0]
    assert weighted.target.tolist() == [10.0, 30.0]
    assert weighted.weight.tolist() == [2.0, 1.0]
    assert rows().weighted([0, 0.5, -0.0, 1]).weight.tolist() == [0.5, 1.0]
    assert rows().weighted([0, 2, 0, 2]).weight is None


@pytest.mark.parametrize(
    ("weight", "copies", "unit"),
    [
        ([1, 3, 2, 1], [1, 3, 2, 1], 1.0),
        ([4, 12, 8, 4], [1, 3, 2, 1], 4.0),
        ([0.25, 0.75, 0.5, 0.25], [1, 3, 2, 1], 0.25),
        ([1, 3, 2.5, 1], [2, 6, 5, 2], 0.5),
        ([2.0**300, 3 * 2.0**300, 2.0**301, 2.0**300], [1, 3, 2, 1], 2.0**300),
    ],
)
def test_weights_as_whole_numbers(weight: list, copies: list, unit: float) -> None:
    whole = rows().weighted(weight).with_whole_weights()
    assert whole.copies.tolist() == copies and whole.copies.dtype == np.int64
    assert whole.weight is None and whole.weight_unit == unit
    assert whole.total_weight.tolist() == copies
    assert whole.with_whole_weights() is whole


def test_more_whole_weight_than_sums_have_room_for_stays_a_factor() -> None:
    most = MOST_COPIES // 4
    weight = np.full(4, float(most)) + [-1, 1, 0, 0]
    assert rows().weighted(weight).with_whole_weights().copies.tolist() == weight.tolist()
    weight[3] += 1
    assert rows().weighted(weight).with_whole_weights().copies is None
    for fractions in ([0.1, 0.2, 0.3, 0.4], [5e-324, 1.0, 1.0, 1.7e308]):
        weighted = rows().weighted(fractions)
        assert weighted.with_whole_weights() is weighted
    assert rows().with_whole_weights().copies is None


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float32, np.bool_, object])
def test_weights_of_any_type(kind: type) -> None:
    weighted = rows().weighted(np.array([1, 1, 0, 1]).astype(kind))
    assert weighted.n == 3


def test_take_takes_all_of_a_row() -> None:
    taken = Rows(
        rows().table, rows().target, np.array([1, 2, 3, 4]), np.array([0.1, 0.2, 0.3, 0.4])
    ).take(np.array([2, 0]))
    assert taken.table[:, 0].tolist() == [2.0, 0.0]
    assert taken.target.tolist() == [20.0, 0.0]
    assert taken.copies.tolist() == [3, 1]
    assert taken.weight.tolist() == [0.3, 0.1]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((4, 1)), "Sample weights must be 1D array or scalar"),
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(4,\)"),
        ([1, np.nan, 1, 1], "contains NaN or infinity: row 1 has nan"),
        ([1, 1, np.inf, 1], "contains NaN or infinity: row 2 has inf"),
        ([1, 1, 1, -0.5], r"Negative values in data passed to `sample_weight`: row 3 has -0.5"),
        (np.zeros(4), "at least one non-zero number"),
        (-1, "Negative values"),
    ],
)
def test_wrong_weights_are_refused(weight, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_weights(weight, 4)


def test_weights_near_the_end_of_doubles() -> None:
    for weight in ([1.7e308, 1e300, 1e308, 1e307], [5e-324, 1e-323, 3e-310, 1e-320]):
        weighted = rows().weighted(weight)
        assert 1.0 <= weighted.weight.max() < 2.0
        assert (weighted.weight * weighted.weight_unit).tolist() == weight


def test_effective_rows() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    assert effective_rows(weight, 3) == pytest.approx(36 / 14, rel=1e-15)
    for factor in (4.0, 2.0**900, 2.0**-900):
        assert effective_rows(weight * factor, 3) == effective_rows(weight, 3)
    assert effective_rows(None, 7) == effective_rows(np.full(7, 0.1), 7) == 7.0
