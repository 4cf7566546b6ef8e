"""Every rule against a row-by-row definition, and its invariances."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from weald import aggregation
from weald.aggregation import (
    disagreement,
    geometric_mean,
    majority,
    maximum,
    mean,
    median,
    minimum,
    product,
    rank_mean,
    ranks_among,
    shares,
    vote_shares,
    weighted_majority,
    weighted_mean,
)

quickly = settings(max_examples=60, deadline=None)


@st.composite
def votes(draw) -> tuple[np.ndarray, int]:
    n_classes = draw(st.integers(1, 5))
    shape = (draw(st.integers(1, 6)), draw(st.integers(0, 5)))
    return draw(arrays(np.int64, shape, elements=st.integers(0, n_classes - 1))), n_classes


@st.composite
def probabilities(draw) -> np.ndarray:
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4)))
    parts = draw(arrays(np.float64, shape, elements=st.integers(0, 8).map(float)))
    return shares(parts)


numbers = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.floats(-1e6, 1e6, width=32),
)


def weights_for(draw, n: int) -> np.ndarray:
    return np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)


# ---- votes ----


@quickly
@given(votes())
def test_majority_counts_and_breaks_ties_downwards(cast) -> None:
    said, n_classes = cast
    for row, winner in enumerate(majority(said, n_classes)):
        counts = Counter(said[:, row].tolist())
        most = max(counts.values())
        assert winner == min(label for label, count in counts.items() if count == most)


@quickly
@given(votes(), st.data())
def test_weighted_majority_equals_repeated_estimators(cast, data) -> None:
    said, n_classes = cast
    weights = weights_for(data.draw, len(said))
    repeated = np.repeat(said, weights.astype(int), axis=0)
    expected = majority(repeated, n_classes)
    assert np.array_equal(weighted_majority(said, weights, n_classes), expected)
    assert np.array_equal(weighted_majority(said, weights * 0.25, n_classes), expected)


@quickly
@given(votes())
def test_shares_of_votes_sum_to_one(cast) -> None:
    said, n_classes = cast
    got = vote_shares(said, n_classes)
    assert got.shape == (said.shape[1], n_classes)
    assert got.sum(axis=1) == pytest.approx(np.ones(said.shape[1]))


# ---- numbers ----

NAIVE = {
    "mean": lambda column: sum(column) / len(column),
    "minimum": min,
    "maximum": max,
    "median": lambda column: np.median(sorted(column)),
}


@quickly
@given(numbers)
@pytest.mark.parametrize("rule", NAIVE)
def test_rules_of_numbers_by_definition(rule: str, said) -> None:
    got = getattr(aggregation, rule)(said)
    expected = [NAIVE[rule](column.tolist()) for column in said.T]
    assert got == pytest.approx(expected, rel=1e-12, abs=1e-9)


@quickly
@given(numbers, st.data())
def test_weighted_mean_equals_repeated_estimators(said, data) -> None:
    weights = weights_for(data.draw, len(said))
    expected = mean(np.repeat(said, weights.astype(int), axis=0))
    assert weighted_mean(said, weights) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@quickly
@given(numbers, st.floats(-100, 100))
@pytest.mark.parametrize("rule", NAIVE)
def test_shifted_predictions_shift_the_combination(rule: str, said, shift) -> None:
    combine = getattr(aggregation, rule)
    assert combine(said + shift) == pytest.approx(combine(said) + shift, rel=1e-9, abs=1e-6)


@quickly
@given(numbers)
def test_disagreement_by_definition(said) -> None:
    if len(said) < 2:
        with pytest.raises(ValueError, match="at least two estimators; got one"):
            disagreement(said)
        return
    expected = said.std(axis=0, ddof=1)
    assert disagreement(said) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    centre = said[0]
    about = [math.sqrt(sum((x - c) ** 2 for x in col) / (len(col) - 1))
             for col, c in zip(said.T.tolist(), centre.tolist(), strict=True)]  # fmt: skip
    assert disagreement(said, centre) == pytest.approx(about, rel=1e-9, abs=1e-9)


# ---- probabilities ----

RULES = [mean, product, geometric_mean, minimum, maximum, median]


@quickly
@given(probabilities())
@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_estimators_does_not_matter(rule, said) -> None:
    assert rule(said[::-1]) == pytest.approx(rule(said), rel=1e-12, abs=1e-15)


@quickly
@given(probabilities())
@pytest.mark.parametrize("rule", RULES)
def test_the_other_rows_do_not_matter(rule, said) -> None:
    together = rule(said)
    for row in range(said.shape[1]):
        assert np.array_equal(rule(said[:, row : row + 1])[0], together[row])


@quickly
@given(probabilities())
@pytest.mark.parametrize("rule", RULES)
def test_equal_predictions_combine_to_themselves(rule, said) -> None:
    if rule is product:
        return  # the product moves away from 1/2 with every estimator
    same = np.repeat(np.maximum(said[:1], 1e-9), 4, axis=0)
    assert shares(rule(same)) == pytest.approx(shares(same[0]), abs=1e-9)


@quickly
@given(probabilities())
def test_product_by_definition(said) -> None:
    raw = np.prod(np.maximum(said, 1e-12), axis=0)
    expected = raw / raw.sum(axis=1, keepdims=True)
    assert product(said) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@quickly
@given(probabilities(), st.data())
def test_geometric_mean_by_definition(said, data) -> None:
    weights = weights_for(data.draw, len(said))
    for given_, w in ((None, np.ones(len(said))), (weights, weights), (weights * 7, weights)):
        powers = (w / w.sum())[:, np.newaxis, np.newaxis]
        raw = np.prod(np.maximum(said, 1e-12) ** powers, axis=0)
        expected = raw / raw.sum(axis=1, keepdims=True)
        assert geometric_mean(said, given_) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_product_of_many_estimators_does_not_vanish() -> None:
    said = np.tile([[[1e-9, 1 - 1e-9]]], (500, 1, 1))
    assert np.isfinite(product(said)).all() and product(said)[0, 1] == 1
    # One estimator with probability 0 or 1 does not overrule all others.
    said[0] = [[1.0, 0.0]]
    assert product(said)[0, 1] == pytest.approx(1)


def test_scores_of_zero_are_equal_shares() -> None:
    assert shares(minimum([[[1.0, 0.0]], [[0.0, 1.0]]])).tolist() == [[0.5, 0.5]]


# ---- ranks ----


@quickly
@given(
    arrays(np.float64, st.integers(1, 8), elements=st.integers(-4, 4).map(float)),
    arrays(np.float64, st.integers(1, 8), elements=st.integers(-4, 4).map(float)),
    st.data(),
)
def test_ranks_by_definition(scores, reference, data) -> None:
    weight = weights_for(data.draw, len(reference))
    for given_, known in ((None, reference), (weight, np.repeat(reference, weight.astype(int)))):
        expected = [np.mean((known < x) + 0.5 * (known == x)) for x in scores]
        assert ranks_among(scores, reference, given_) == pytest.approx(expected, abs=1e-12)


def test_a_monotonic_transform_of_one_estimator_changes_no_rank_mean() -> None:
    rng = np.random.default_rng(0)
    scores, reference = rng.normal(size=(3, 20)), rng.normal(size=(3, 50))
    before = rank_mean(scores, reference, [1, 2, 3])
    scores[1], reference[1] = np.exp(scores[1]), np.exp(reference[1])
    assert np.array_equal(rank_mean(scores, reference, [1, 2, 3]), before)
    by_hand = [1, 2, 3] @ np.stack(
        [ranks_among(s, r) for s, r in zip(scores, reference, strict=True)]
    )
    assert before == pytest.approx(by_hand / 6)


def test_without_reference_ranks_are_taken_in_the_list() -> None:
    scores = np.array([[0.3, 0.1, 0.2], [5.0, 7.0, 7.0]])
    expected = [(2.5 + 0.5) / 6, (0.5 + 2.0) / 6, (1.5 + 2.0) / 6]
    assert rank_mean(scores) == pytest.approx(expected)


# ---- bad input ----


@pytest.mark.parametrize(
    ("action", "fragment"),
    [
        (lambda: mean([1.0, 2.0]), "shape (estimators, rows)"),
        (lambda: mean(np.zeros((0, 3))), "at least one estimator"),
        (lambda: weighted_mean(np.ones((2, 3)), [1.0]), "one weight per estimator: 2"),
        (lambda: weighted_mean(np.ones((2, 3)), [0.0, 0.0]), "not all zero"),
        (lambda: product(np.ones((2, 3, 2)), [1.0, -1.0]), "non-negative"),
        (lambda: weighted_mean(np.ones((2, 3)), [1.0, np.nan]), "finite"),
        (lambda: majority([[0.5]], 2), "Votes must be integers"),
        (lambda: majority([[3]], 3), "from 0 to 2"),
        (lambda: ranks_among([1.0], []), "at least one reference score"),
        (lambda: ranks_among([1.0], [np.nan]), "and no NaN"),
        (
            lambda: rank_mean(np.ones((2, 3)), np.ones((1, 3))),
            "reference scores of all 2 estimators",
        ),
    ],
)
def test_bad_arrays_are_refused(action, fragment: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fragment)):
        action()
