"""Row weights of AdaBoost."""

import math

import numpy as np
import pytest

from weald.data import Rows
from weald.ensembles.adaboost.row_weights import RowWeights


def rows_of(n: int, sample_weight=None) -> Rows:
    return Rows(np.zeros((n, 1)), np.zeros(n)).weighted(sample_weight)


def test_they_add_up_to_one_and_stay_so() -> None:
    rng = np.random.default_rng(0)
    for sample_weight in (None, rng.integers(1, 4, 500), rng.random(500) + 0.01):
        weights = RowWeights(rows_of(500, sample_weight))
        for _ in range(50):
            weights.multiply_two(rng.random(500) < 0.3, 0.8, 1.7)
            assert math.fsum(weights.of_rows()) == pytest.approx(1.0, abs=1e-12)
        weights.multiply(rng.random(500))
        assert math.fsum(weights.of_rows()) == pytest.approx(1.0, abs=1e-12)


def test_whole_numbers_weigh_as_repeats() -> None:
    copies = np.array([1, 3, 2])
    once = RowWeights(rows_of(3, copies).with_whole_weights())
    again = RowWeights(rows_of(6))
    wrong = np.array([True, False, True])
    for weights, marked in ((once, wrong), (again, np.repeat(wrong, copies))):
        assert weights.share_of(marked) == 0.5
        weights.multiply_two(marked, 1.0, 3.0)
    assert np.array_equal(np.repeat(once.each, copies), again.each)
    assert once.mass.sum() == again.mass.sum()


def test_factors_weigh_as_repeats_up_to_rounding() -> None:
    copies = np.array([1, 3, 2])
    once, again = RowWeights(rows_of(3, copies)), RowWeights(rows_of(6))
    wrong = np.array([True, False, True])
    once.multiply_two(wrong, 1.0, 3.0)
    again.multiply_two(np.repeat(wrong, copies), 1.0, 3.0)
    together = np.bincount(np.repeat(np.arange(3), copies), again.of_rows())
    assert once.of_rows() == pytest.approx(together, rel=1e-12)


def test_no_row_is_lost() -> None:
    weights = RowWeights(rows_of(4))
    for _ in range(30):
        weights.multiply_two(np.array([True, False, False, False]), 1.0, 1e6)
    assert weights.each[1] == 2.0**-52 and (weights.mass >= 1).all()


def test_means() -> None:
    weights = RowWeights(rows_of(3, [0.5, 1.5, 2.0]))
    assert weights.mean_of(np.array([1.0, 2.0, 4.0])) == pytest.approx((0.5 + 3 + 8) / 4)
