"""Votes of independent voters, against enumeration of all outcomes."""

import itertools

import numpy as np
import pytest
from scipy.special import betainc

from weald.theory import majority_vote_accuracy


def by_counting(accuracies: list[float]) -> float:
    total = 0.0
    for outcome in itertools.product([True, False], repeat=len(accuracies)):
        chances = [p if right else 1 - p for p, right in zip(accuracies, outcome, strict=True)]
        margin = 2 * sum(outcome) - len(outcome)
        total += np.prod(chances) * (1.0 if margin > 0 else 0.5 if margin == 0 else 0.0)
    return total


def test_five_voters_at_seventy_per_cent() -> None:
    assert majority_vote_accuracy(5, 0.7) == 0.83692


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.7, 1.0])
def test_equal_voters_as_enumerated(n: int, p: float) -> None:
    expected = by_counting([p] * n)
    assert majority_vote_accuracy(n, p) == pytest.approx(expected, abs=1e-14)
    assert majority_vote_accuracy(n, [p] * n) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("n", range(1, 9))
def test_unequal_voters_as_enumerated(n: int, rng: np.random.Generator) -> None:
    accuracies = rng.uniform(size=n).tolist()
    expected = by_counting(accuracies)
    assert majority_vote_accuracy(n, accuracies) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n", [999, 1000, 1001, 5001])
@pytest.mark.parametrize("p", [0.01, 0.499, 0.5, 0.51, 0.9])
def test_thousands_of_voters(n: int, p: float) -> None:
    half = (n + 1) // 2
    expected = betainc(half, half, p)
    assert majority_vote_accuracy(n, p) == pytest.approx(expected, rel=1e-11, abs=1e-300)
    assert majority_vote_accuracy(n, np.full(n, p)) == pytest.approx(expected, rel=1e-10, abs=1e-15)


def test_a_vote_helps_above_one_half_and_harms_below() -> None:
    above = [majority_vote_accuracy(n, 0.55) for n in (1, 3, 11, 101, 1001, 10001)]
    below = [majority_vote_accuracy(n, 0.45) for n in (1, 3, 11, 101, 1001, 10001)]
    assert above == sorted(above) and above[-1] > 0.999
    assert below == sorted(below, reverse=True) and below[-1] < 0.001
    np.testing.assert_allclose(np.add(above, below), 1.0, rtol=0, atol=1e-12)
    assert {majority_vote_accuracy(n, 0.5) for n in (1, 2, 7, 1000)} == {0.5}


def test_the_last_of_an_even_number_adds_nothing() -> None:
    for n in (1, 3, 9, 333):
        assert majority_vote_accuracy(n, 0.6) == majority_vote_accuracy(n + 1, 0.6)


@pytest.mark.parametrize(
    ("n", "p", "message"),
    [
        (0, 0.7, "'n' parameter of majority_vote_accuracy must be an int"),
        (5.0, 0.7, "'n' parameter"),
        (5, 1.1, "'p' parameter of majority_vote_accuracy must be a float in the range"),
        (5, float("nan"), "'p' parameter"),
        (5, "0.7", "'p' parameter"),
        (3, [0.7, 0.7], "one for each of the 3 classifiers"),
        (2, [0.7, 1.7], "must lie in the range"),
    ],
)
def test_bad_arguments(n: object, p: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        majority_vote_accuracy(n, p)
