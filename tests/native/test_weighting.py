"""Sums and medians of weighted numbers."""

import math

import numpy as np
import pytest

from weald import _native


def test_sums_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-8, 8, 1000)
    total = _native.exact_total(values, None)
    assert total == pytest.approx(math.fsum(values), rel=1e-12)
    assert all(_native.exact_total(rng.permutation(values), None) == total for _ in range(5))


def test_copies_are_repeats() -> None:
    values, copies = np.array([0.1, 0.7, 1e-3]), np.array([3, 0, 7])
    assert _native.exact_total(values, copies) == _native.exact_total(
        np.repeat(values, copies), None
    )
    assert _native.exact_total(np.zeros(0), None) == 0.0
    for bad in (np.nan, np.inf):
        assert _native.exact_total(np.array([bad]), None) == np.inf
    with pytest.raises(ValueError, match="copies"):
        _native.exact_total(np.ones(2), np.ones(3, dtype=np.int64))


def naive_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    running = np.cumsum(weights[order])
    return values[order][np.argmax(running >= 0.5 * running[-1])]


@pytest.mark.parametrize("n_values", [1, 2, 3, 50])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_medians(n_values: int, n_threads: int) -> None:
    rng = np.random.default_rng(n_values)
    values = np.round(rng.normal(size=(700, n_values)), 1)
    weights = rng.integers(1, 5, n_values).astype(float)
    expected = [naive_median(row, weights) for row in values]
    assert _native.weighted_medians(values, weights, n_threads).tolist() == expected


def test_medians_of_odd_input() -> None:
    rows = np.array([[np.nan, 1.0, 2.0], [np.nan] * 3, [np.inf, -np.inf, 0.0]])
    medians = _native.weighted_medians(rows, np.ones(3), 1)
    assert medians[0] == 2.0 and np.isnan(medians[1]) and medians[2] == 0.0
    assert _native.weighted_medians(np.array([[3.0, 1.0]]), np.zeros(2), 1).tolist() == [1.0]
    with pytest.raises(ValueError, match="weights"):
        _native.weighted_medians(np.ones((2, 3)), np.ones(2), 1)
