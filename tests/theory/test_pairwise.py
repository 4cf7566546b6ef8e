"""Diversity of classifiers against counts by hand."""

import itertools

import numpy as np
import pytest

from weald.theory import diversity


def by_hand(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """The four measures of one pair from its table of right and wrong predictions."""
    n11, n10 = (first & second).sum(), (first & ~second).sum()
    n01, n00 = (~first & second).sum(), (~first & ~second).sum()
    n = n11 + n10 + n01 + n00
    both, cross = n11 * n00, n10 * n01
    observed, right_1, right_2 = (n11 + n00) / n, (n11 + n10) / n, (n11 + n01) / n
    chance = right_1 * right_2 + (1 - right_1) * (1 - right_2)
    return {
        "q": (both - cross) / (both + cross),
        "disagreement": (n10 + n01) / n,
        "double_fault": n00 / n,
        "kappa": (observed - chance) / (1 - chance),  # Cohen's
    }


def test_pairs_and_means() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    predictions = np.where(rng.random((5, 200)) < 0.7, y, rng.integers(0, 3, (5, 200)))
    right = predictions == y
    found = diversity(predictions, y)
    pairs = list(itertools.combinations(range(5), 2))
    for name in ("q", "disagreement", "double_fault", "kappa"):
        values = [by_hand(right[i], right[j])[name] for i, j in pairs]
        assert getattr(found, name) == pytest.approx(np.mean(values))
        assert [found.pairs[name][i, j] for i, j in pairs] == pytest.approx(values)
    assert found.accuracy == pytest.approx(right.mean())
    assert "Q" in str(found)


def test_only_rows_that_neither_has_seen() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros(300, dtype=int)
    predictions, in_bag = rng.integers(0, 2, (3, 300)), rng.integers(0, 2, (3, 300))
    found = diversity(predictions, y, in_bag)
    for i, j in itertools.combinations(range(3), 2):
        rows = (in_bag[i] == 0) & (in_bag[j] == 0)
        expected = by_hand(predictions[i][rows] == 0, predictions[j][rows] == 0)
        assert found.pairs["kappa"][i, j] == pytest.approx(expected["kappa"])


def test_independent_and_equal() -> None:
    rng = np.random.default_rng(0)
    y = np.ones(20_000, dtype=int)
    independent = (rng.random((4, 20_000)) < 0.7).astype(int)
    found = diversity(independent, y)
    assert abs(found.q) < 0.03 and abs(found.kappa) < 0.02
    assert found.disagreement == pytest.approx(2 * 0.7 * 0.3, abs=0.01)
    assert found.double_fault == pytest.approx(0.09, abs=0.01)
    equal = diversity(independent[[0, 0]], y)
    assert (equal.q, equal.kappa, equal.disagreement) == (1.0, 1.0, 0.0)
    perfect = diversity(np.ones((2, 10)), np.ones(10))
    assert np.isnan(perfect.q) and perfect.double_fault == 0.0


@pytest.mark.parametrize(
    ("predictions", "y", "in_bag", "message"),
    [
        ([1, 2], [1, 2], None, "must have the shape"),
        ([[1, 2]], [1, 2], None, "at least two"),
        ([[1, 2], [1, 2]], [1], None, "must have the shape"),
        ([[1, 2], [1, 2]], [1, 2], [[0, 0]], "in_bag must have the shape"),
        ([[1, 2], [1, 2]], [1, 2], [[1, 0], [0, 1]], "no pair to compare"),
    ],
)
def test_wrong_arguments(predictions: object, y: object, in_bag: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diversity(predictions, y, in_bag)
