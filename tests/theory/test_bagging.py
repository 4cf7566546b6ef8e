"""The variance of a mean and the share of rows left out, against counting and matrices."""

import itertools
import math

import numpy as np
import pytest

from weald.theory import bagged_variance, left_out_share


@pytest.mark.parametrize("rho", [-0.1, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("B", [1, 2, 7])
def test_variance_of_a_mean_is_that_of_the_covariance_matrix(rho: float, B: int) -> None:
    covariance = 2.5 * ((1 - rho) * np.eye(B) + rho * np.ones((B, B)))
    weights = np.full(B, 1 / B)
    assert bagged_variance(2.5, rho, B) == pytest.approx(weights @ covariance @ weights, rel=1e-12)


def test_limits_of_bagged_variance() -> None:
    assert bagged_variance(3.0, 1.0, 1000) == 3.0
    assert bagged_variance(3.0, 0.0, 1000) == pytest.approx(0.003)
    assert bagged_variance(3.0, -1 / 9, 10) == pytest.approx(0.0, abs=1e-15)
    assert bagged_variance(3.0, 0.4, 10**9) == pytest.approx(1.2)


def test_bagged_variance_of_arrays() -> None:
    members = np.array([1, 10, 100])
    expected = [bagged_variance(2.0, 0.5, int(B)) for B in members]
    np.testing.assert_array_equal(bagged_variance(2.0, 0.5, members), expected)
    assert isinstance(bagged_variance(2.0, 0.5, np.int64(3)), float)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 0.5, 3), "'variance' parameter of bagged_variance must lie in the range"),
        ((1.0, 1.5, 3), "'rho' parameter"),
        ((1.0, -0.6, 3), r"at least -1/\(B - 1\)"),
        ((1.0, 0.5, 0), "'B' parameter"),
        ((1.0, 0.5, 2.5), "must be an int or an array of int"),
        ((1.0, 0.5, True), "must be an int or an array of int"),
        ((float("nan"), 0.5, 3), "'variance' parameter"),
        (("much", 0.5, 3), "must be a number"),
        ((1.0, 0.5, []), "is empty"),
    ],
)
def test_bagged_variance_refuses(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bagged_variance(*arguments)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (4, 2), (3, 5)])
def test_left_out_share_counts_all_draws(n: int, m: int) -> None:
    missed = [0 not in drawn for drawn in itertools.product(range(n), repeat=m)]
    assert left_out_share(n, m) == pytest.approx(np.mean(missed), rel=1e-14)


def test_left_out_share_converges_to_one_in_e() -> None:
    shares = [left_out_share(n) for n in (1, 2, 10, 1000, 10**6)]
    assert shares == sorted(shares)
    assert left_out_share(10**12) == pytest.approx(1 / math.e, rel=1e-11)
    assert left_out_share(10**12) < 1 / math.e


def test_left_out_share_at_its_ends() -> None:
    assert left_out_share(1) == 0.0
    assert left_out_share(1, 0) == left_out_share(5, 0) == 1.0


@pytest.mark.parametrize("arguments", [(0,), (-3,), (2.5,), (True,), (5, -1), (5, 1.5), ("n",)])
def test_left_out_share_refuses(arguments: tuple) -> None:
    with pytest.raises(ValueError, match="parameter of left_out_share must be an int"):
        left_out_share(*arguments)
