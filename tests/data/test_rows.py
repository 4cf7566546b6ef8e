"""Rows and their weights: repetitions, fractions, zeros, and what is refused."""

import numpy as np
import pytest

from weald.data import Rows
from weald.data.rows import MOST_COPIES, checked_weights


def rows(n: int = 4) -> Rows:
    return Rows(np.arange(float(n))[:, np.newaxis], np.arange(float(n)) * 10)


def test_no_weights_and_weights_of_one_are_the_same() -> None:
    for weight in (None, np.ones(4), 1, [1, 1, 1, 1]):
        weighted = rows().weighted(weight)
        assert weighted.copies is None and weighted.weight is None


def test_whole_numbers_are_copies() -> None:
    weighted = rows().weighted([1.0, 3.0, 2.0, 1.0])
    assert weighted.copies.tolist() == [1, 3, 2, 1] and weighted.copies.dtype == np.int64
    assert weighted.weight is None


def test_fractions_are_weights() -> None:
    weighted = rows().weighted([1.0, 3.0, 2.5, 1.0])
    assert weighted.weight.tolist() == [1.0, 3.0, 2.5, 1.0]
    assert weighted.copies is None


def test_rows_without_weight_are_dropped() -> None:
    weighted = rows().weighted([0, 2, 0, 1])
    assert weighted.n == 2
    assert weighted.table[:, 0].tolist() == [1.0, 3.0]
    assert weighted.target.tolist() == [10.0, 30.0]
    assert weighted.copies.tolist() == [2, 1]
    assert rows().weighted([0, 0.5, -0.0, 1]).weight.tolist() == [0.5, 1.0]
    assert rows().weighted([0, 1, 0, 1]).copies is None


def test_more_copies_than_sums_have_room_for_are_weights() -> None:
    most = MOST_COPIES // 4
    assert rows().weighted(np.full(4, most)).copies.tolist() == [most] * 4
    weighted = rows().weighted(np.full(4, most) + [0, 0, 0, 1])
    assert weighted.copies is None and weighted.weight.sum() == 4 * most + 1


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
    for weight in (1.7e308, 5e-324):
        weighted = rows().weighted(np.full(4, weight))
        assert 0.5 <= weighted.weight[0] < 1.0
        assert np.ldexp(weighted.weight, weighted.weight_exponent).tolist() == [weight] * 4
