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


def test_reweighting() -> None:
    rng = np.random.default_rng(0)
    each, wrong = rng.random(50) / 50, rng.random(50) < 0.3
    each[3], copies = 1e-30, rng.integers(1, 4, 50)
    expected = np.maximum(each * np.where(wrong, 1.25, 0.5), 2.0**-52)
    for times in (None, copies):
        mine, mass = each.copy(), np.empty(50)
        _native.reweight(mine, mass, wrong, times, 0.5, 1.25, 2.0**-52, 2.0**52)
        assert np.array_equal(mine, expected)
        assert np.array_equal(mass, np.rint(expected * 2.0**52) * (1 if times is None else times))
        assert _native.mass_of(mass, wrong) == mass[wrong].sum()


def test_reweighting_checks_sizes() -> None:
    n, m, marks = np.ones(3), np.ones(2), np.zeros(3, dtype=bool)
    for call in (
        lambda: _native.reweight(n, m, marks, None, 1.0, 1.0, 0.0, 1.0),
        lambda: _native.reweight(n, n, marks[:2], None, 1.0, 1.0, 0.0, 1.0),
        lambda: _native.reweight(n, n, marks, np.ones(2, dtype=np.int64), 1.0, 1.0, 0.0, 1.0),
        lambda: _native.mass_of(m, marks),
    ):
        with pytest.raises(ValueError, match="one entry per row"):
            call()
